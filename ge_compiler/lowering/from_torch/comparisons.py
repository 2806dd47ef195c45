"""Comparisons, selections and logic."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from ge_compiler.dialects.types import is_integer
from ge_compiler.lowering.from_torch.conversion import Conversion, converts, element_type, is_boolean

COMPARISONS = {"eq": "Equal", "ge": "GreaterEqual", "gt": "Greater", "le": "LessEqual", "lt": "Less", "ne": "NotEqual"}
_LOGIC = {"and": ("LogicalAnd", "BitwiseAnd"), "or": ("LogicalOr", "BitwiseOr"), "xor": ("NotEqual", "BitwiseXor")}


def _enter_comparison(name: str, mnemonic: str) -> None:
    @converts(f"aten.{name}.Tensor", f"aten.{name}.Scalar")
    def comparison(c: Conversion, x1: SSAValue, x2: SSAValue | float) -> SSAValue:
        return c.op(mnemonic, *c.common(x1, x2))


def _enter_logic(name: str, mnemonic: str, of_bits: str) -> None:
    @converts(f"aten.logical_{name}.default")
    def logical(c: Conversion, x1: SSAValue, x2: SSAValue) -> SSAValue:
        return c.op(mnemonic, truth(c, x1), truth(c, x2))

    @converts(f"aten.bitwise_{name}.Tensor", f"aten.bitwise_{name}.Scalar", f"aten.__{name}__.Tensor", f"aten.__{name}__.Scalar")
    def bitwise(c: Conversion, x1: SSAValue, x2: SSAValue | float) -> SSAValue:
        first, second = c.common(x1, x2)
        return c.op(mnemonic if is_boolean(first) else of_bits, first, second)


for _name, _mnemonic in COMPARISONS.items():
    _enter_comparison(_name, _mnemonic)
for _name, (_mnemonic, _of_bits) in _LOGIC.items():
    _enter_logic(_name, _mnemonic, _of_bits)


@converts("aten.logical_not.default")
def logical_not(c: Conversion, x: SSAValue) -> SSAValue:
    return c.op("LogicalNot", truth(c, x))


@converts("aten.bitwise_not.default")
def bitwise_not(c: Conversion, x: SSAValue) -> SSAValue:
    return c.op("LogicalNot" if is_boolean(x) else "Invert", x)


@converts("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
def where(c: Conversion, condition: SSAValue, x1: SSAValue | float, x2: SSAValue | float) -> SSAValue:
    return c.op("SelectV2", truth(c, condition), _operand(c, x1), _operand(c, x2))


@converts("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(c: Conversion, x: SSAValue, mask: SSAValue, value: SSAValue | float) -> SSAValue:
    return where(c, mask, value, x)


@converts("aten.isnan.default")
def isnan(c: Conversion, x: SSAValue) -> SSAValue:
    return c.constant(0, i1, c.shape) if is_integer(element_type(x)) else c.op("NotEqual", x, x)


@converts("aten.isinf.default")
def isinf(c: Conversion, x: SSAValue) -> SSAValue:
    if is_integer(element_type(x)):
        return c.constant(0, i1, c.shape)
    return c.op("Equal", c.op("Abs", x), c.constant(math.inf, element_type(x)))


@converts("aten.isfinite.default")
def isfinite(c: Conversion, x: SSAValue) -> SSAValue:
    if is_integer(element_type(x)):
        return c.constant(1, i1, c.shape)
    return c.op("Less", c.op("Abs", x), c.constant(math.inf, element_type(x)))


@converts("aten.sign.default")
def sign(c: Conversion, x: SSAValue) -> SSAValue:
    """0 of NaN, as torch has it."""
    zero, one, minus_one = (c.constant(value, c.element) for value in (0, 1, -1))
    below = c.op("SelectV2", c.op("Less", x, zero), minus_one, zero)
    return c.op("SelectV2", c.op("Greater", x, zero), one, below)


def truth(c: Conversion, x: SSAValue) -> SSAValue:
    """Whether each element is not zero."""
    return c.cast(x, i1)


def _operand(c: Conversion, x: SSAValue | float) -> SSAValue:
    return c.promoted(x) if isinstance(x, SSAValue) else c.constant(x, c.element)
