"""What every operator of `ge` has in common: a rule that gives its result types, and a numpy meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.ge import shapes
from ge_compiler.dialects.types import Tensor, verify_element_types

ShapeRule = Callable[[Any], Sequence[Tensor]]
"""Operator -> result types. Raises `VerifyException` with the rule that is broken."""


class Written(IRDLOperation):
    """
    An op that is written as its operands, its attributes and its type.

    One parser and one printer serve them all: a format of its own for each op would double the time to start.
    """

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        unresolved = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        start = parser.pos
        type_ = parser.parse_function_type()
        operands = parser.resolve_operands(unresolved or [], type_.inputs.data, start)
        known = cls.get_irdl_definition().properties
        properties = {name: d.default_value for name, d in known.items() if d.default_value is not None}
        properties |= {name: attributes.pop(name) for name in [*attributes] if name in known}
        return cls.create(operands=operands, result_types=type_.outputs.data, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        known = self.get_irdl_definition().properties
        written = {name: value for name, value in self.properties.items() if name not in known or value != known[name].default_value}
        printer.print_op_attributes(self.attributes | written)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)


class GeOp(Written):
    """An operator: its result types follow from its operands and attributes by `SHAPE_RULE`."""

    SHAPE_RULE: ClassVar[ShapeRule]
    """A function of `ge.shapes`."""

    MEANING: ClassVar[str]
    """`file.function` of `ge.semantics`: (operator, operand arrays) -> result arrays."""

    def infer_types(self) -> Sequence[Tensor]:
        """The types that the results must have. Raises `VerifyException` if the operands do not fit."""
        return type(self).SHAPE_RULE(self)

    def verify_(self) -> None:
        verify_element_types(self)
        for i, (result, expected) in enumerate(zip(self.results, self.infer_types(), strict=True)):
            if not shapes.is_compatible(result.type, expected):
                raise VerifyException(f"result #{i} is {result.type}, but the operands give {expected}")
