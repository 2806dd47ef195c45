"""The functions of the table on tensors."""

from __future__ import annotations

from typing import Any, Self

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import operand_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.elementwise import ElementwiseOp, define, operand_names
from ge_compiler.dialects.functions import FUNCTIONS, Function
from ge_compiler.dialects.types import tensor_type


class FusedElementwiseOp(ElementwiseOp):
    """
    A function of the table on tensors of one shape; broadcasting is a `fused.broadcast` before it.

    Written as operands, attributes, and one type; conditions have a type of their own before it, and a predicate's result one behind it.
    One parser and one printer serve all: a format of its own for each op would cost a tenth of the time to start.
    """

    result = result_def(TensorType)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        function = FUNCTIONS[cls.FUNCTION]
        start = parser.pos
        unresolved = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        if len(unresolved) != function.operands:
            parser.raise_error(f"expected {function.operands} operands, got {len(unresolved)}", start, parser.pos)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types, result = _parse_types(parser, function)
        operands = parser.resolve_operands(unresolved, types, start)
        properties = {name: attributes.pop(name) for name in [*attributes] if name in cls.get_irdl_definition().properties}
        return cls.create(operands=operands, result_types=[result], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes | self.properties)
        printer.print_string(" : ")
        _print_types(printer, self)

    def verify_(self) -> None:
        self.verify_elements(list(self.operands), self.result)
        for i, x in enumerate(self.operands):
            if tensor_type(x).get_shape() != tensor_type(self.result).get_shape():
                raise VerifyException(f"keeps the shape, but operand #{i} is {x.type} and the result {self.result.type}")


def _parse_types(parser: Parser, function: Function) -> tuple[list[Attribute], Attribute]:
    """The types of the operands and of the result."""
    conditions: list[Attribute] = []
    for _ in range(function.conditions):
        conditions.append(parser.parse_type())
        parser.parse_punctuation(",")
    result = type_ = parser.parse_type()
    if function.is_predicate:
        parser.parse_characters("to")
        result = parser.parse_type()
    return conditions + [type_] * (function.operands - function.conditions), result


def _print_types(printer: Printer, op: FusedElementwiseOp) -> None:
    for condition in op.operands[: op.function.conditions]:
        printer.print_attribute(condition.type)
        printer.print_string(", ")
    printer.print_attribute(op.operands[-1].type if op.function.is_predicate else op.result.type)
    if op.function.is_predicate:
        printer.print_string(" to ")
        printer.print_attribute(op.result.type)


def _fields(function: Function) -> dict[str, Any]:
    names = operand_names(function)
    return {**{name: operand_def(TensorType) for name in names}, "result": result_def(TensorType), "traits": traits_def(Pure())}


ELEMENTWISE: dict[str, type[FusedElementwiseOp]] = define("fused", "", FusedElementwiseOp, FUNCTIONS.values(), _fields)
"""The elementwise primitives, by name in the table of functions."""
