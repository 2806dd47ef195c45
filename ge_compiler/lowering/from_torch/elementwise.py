"""Elementwise operators, casts, and operators without an effect."""

from __future__ import annotations

import math
from typing import Any

from xdsl.dialects.builtin import Float32Type, IntegerType
from xdsl.ir import SSAValue

from ge_compiler.lowering.from_torch.conversion import CONVERTERS, Conversion, Transposed, converts

UNARY = {
    "aten.abs.default": "Abs",
    "aten.erf.default": "Erf",
    "aten.exp.default": "Exp",
    "aten.log.default": "Log",
    "aten.neg.default": "Neg",
    "aten.reciprocal.default": "Reciprocal",
    "aten.relu.default": "Relu",
    "aten.rsqrt.default": "Rsqrt",
    "aten.sigmoid.default": "Sigmoid",
    "aten.silu.default": "Swish",
    "aten.sqrt.default": "Sqrt",
    "aten.square.default": "Square",
    "aten.tanh.default": "Tanh",
}
BINARY = {
    "aten.div.Tensor": "RealDiv",
    "aten.maximum.default": "Maximum",
    "aten.minimum.default": "Minimum",
    "aten.mul.Tensor": "Mul",
}


def _enter_unary(overload: str, mnemonic: str) -> None:
    @converts(overload)
    def unary(c: Conversion, x: SSAValue) -> SSAValue:
        return c.elementwise(mnemonic, c.promoted(x))


def _enter_binary(overload: str, mnemonic: str) -> None:
    @converts(overload)
    def binary(c: Conversion, x1: SSAValue, x2: SSAValue | float) -> SSAValue | Transposed:
        if not isinstance(x2, SSAValue):
            return CONVERTERS[overload.removesuffix(".Tensor") + ".Scalar"](c, x1, x2)
        return c.elementwise(mnemonic, c.promoted(x1), c.promoted(x2))


for _overload, _mnemonic in UNARY.items():
    _enter_unary(_overload, _mnemonic)
for _overload, _mnemonic in BINARY.items():
    _enter_binary(_overload, _mnemonic)


@converts("aten.gelu.default")
def gelu(c: Conversion, x: SSAValue, approximate: str) -> SSAValue:
    return c.gelu(c.promoted(x), approximate)


@converts("aten.add.Tensor", "aten.add.Scalar")
def add(c: Conversion, x1: SSAValue, x2: SSAValue | float, alpha: float) -> SSAValue:
    if not isinstance(x2, SSAValue):
        return _with_scalar(c, "Adds", x1, x2 * alpha)
    return c.elementwise("Add", c.promoted(x1), _scaled(c, x2, alpha))


@converts("aten.sub.Tensor", "aten.sub.Scalar")
def sub(c: Conversion, x1: SSAValue, x2: SSAValue | float, alpha: float) -> SSAValue:
    if not isinstance(x2, SSAValue):
        return _with_scalar(c, "Adds", x1, -x2 * alpha)
    return c.elementwise("Sub", c.promoted(x1), _scaled(c, x2, alpha))


@converts("aten.rsub.Scalar")
def rsub(c: Conversion, x: SSAValue, value: float, alpha: float) -> SSAValue:
    return c.elementwise("Adds", c.elementwise("Neg", _scaled(c, x, alpha)), value=_exact(c, value))


@converts("aten.mul.Scalar")
def mul_scalar(c: Conversion, x: SSAValue, value: float) -> SSAValue:
    return _with_scalar(c, "Muls", x, value)


@converts("aten.div.Scalar")
def div_scalar(c: Conversion, x: SSAValue, value: float) -> SSAValue:
    if _has_exact_reciprocal(value):
        return _with_scalar(c, "Muls", x, 1 / value)
    # The division happens in f32, where the divisor is not yet rounded to the result's type.
    quotient = c.elementwise("RealDiv", c.cast(x, Float32Type()), c.constant(value, Float32Type()))
    return c.cast(quotient, c.result.get_element_type())


@converts("aten.pow.Tensor_Scalar")
def pow_scalar(c: Conversion, x: SSAValue, exponent: float) -> SSAValue:
    x = c.promoted(x)
    match exponent:
        case 1:
            return x
        case 2:
            return c.elementwise("Square", x)
        case 3:
            return c.elementwise("Mul", c.elementwise("Square", x), x)
        case 0.5:
            return c.elementwise("Sqrt", x)
        case -0.5:
            return c.elementwise("Rsqrt", x)
        case -1:
            return c.elementwise("Reciprocal", x)
        case _:
            return c.decline(f"exponent {exponent}; supported are -1, -0.5, 0.5, 1, 2 and 3")


@converts("aten.clamp.default")
def clamp(c: Conversion, x: SSAValue, low: float | None, high: float | None) -> SSAValue:
    x = c.promoted(x)
    x = x if low is None else c.elementwise("Maxs", x, value=_exact(c, low))
    return x if high is None else c.elementwise("Mins", x, value=_exact(c, high))


@converts("aten.clamp_min.default")
def clamp_min(c: Conversion, x: SSAValue, low: float) -> SSAValue:
    return clamp(c, x, low, None)


@converts("aten.clamp_max.default")
def clamp_max(c: Conversion, x: SSAValue, high: float) -> SSAValue:
    return clamp(c, x, None, high)


@converts("aten._to_copy.default")
def to_copy(c: Conversion, x: SSAValue, *_: Any) -> SSAValue:
    if c.result.get_element_type() == IntegerType(1):
        return c.decline("a cast to booleans is not supported yet")
    return c.cast(x, c.result.get_element_type())


@converts("aten.alias.default", "aten.clone.default", "aten.contiguous.default", "aten.detach.default", "aten.lift_fresh_copy.default")
def identity(c: Conversion, x: SSAValue | Transposed, *_: Any) -> SSAValue | Transposed:
    return x


@converts("aten.dropout.default")
def dropout(c: Conversion, x: SSAValue, p: float, train: bool) -> SSAValue:
    return c.decline("dropout while training is not supported; the model must be in eval mode") if train and p else x


def _with_scalar(c: Conversion, mnemonic: str, x: SSAValue, value: float) -> SSAValue:
    return c.elementwise(mnemonic, c.promoted(x), value=_exact(c, value))


def _scaled(c: Conversion, x: SSAValue, alpha: float) -> SSAValue:
    x = c.promoted(x)
    return x if alpha == 1 else c.elementwise("Muls", x, value=_exact(c, alpha))


def _exact(c: Conversion, value: float) -> float:
    """Integers must survive the attribute's f32."""
    if isinstance(c.result.get_element_type(), IntegerType) and abs(value) > 2**24:
        return c.decline(f"the integer {value} is too large for a scalar operand (at most 2^24)")
    return float(value)


def _has_exact_reciprocal(value: float) -> bool:
    return value != 0 and math.isfinite(value) and abs(math.frexp(value)[0]) == 0.5
