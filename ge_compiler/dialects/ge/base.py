"""What every operator of `ge` has in common: a rule that gives its result types, and a numpy meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.ge import shapes
from ge_compiler.dialects.types import Tensor, verify_element_types

ShapeRule = Callable[[Any], Sequence[Tensor]]
"""Operator -> result types. Raises `VerifyException` with the rule that is broken."""

Integers = DenseArrayBase[IntegerType]
"""A list of whole numbers, printed as `array<i64: 0, 1>`."""


class GeOp(IRDLOperation):
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


FORMAT = " attr-dict `:` functional-type(operands, results)"
"""How the text of an operator ends, after its operands."""
