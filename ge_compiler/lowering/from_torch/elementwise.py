"""Elementwise operators on numbers, casts, and operators without an effect."""

from __future__ import annotations

import math
from typing import Any

from xdsl.dialects.builtin import f32, i1
from xdsl.ir import SSAValue

from ge_compiler.dialects.types import is_integer
from ge_compiler.lowering.from_torch.conversion import Conversion, converts, is_boolean

UNARY = {
    "aten.abs.default": "Abs",
    "aten.acos.default": "Acos",
    "aten.acosh.default": "Acosh",
    "aten.asin.default": "Asin",
    "aten.asinh.default": "Asinh",
    "aten.atan.default": "Atan",
    "aten.atanh.default": "Atanh",
    "aten.ceil.default": "Ceil",
    "aten.cos.default": "Cos",
    "aten.cosh.default": "Cosh",
    "aten.erf.default": "Erf",
    "aten.exp.default": "Exp",
    "aten.expm1.default": "Expm1",
    "aten.floor.default": "Floor",
    "aten.log.default": "Log",
    "aten.log1p.default": "Log1p",
    "aten.neg.default": "Neg",
    "aten.reciprocal.default": "Reciprocal",
    "aten.relu.default": "Relu",
    "aten.round.default": "Rint",
    "aten.rsqrt.default": "Rsqrt",
    "aten.sigmoid.default": "Sigmoid",
    "aten.silu.default": "Swish",
    "aten.sin.default": "Sin",
    "aten.sinh.default": "Sinh",
    "aten.sqrt.default": "Sqrt",
    "aten.square.default": "Square",
    "aten.tan.default": "Tan",
    "aten.tanh.default": "Tanh",
    "aten.trunc.default": "Trunc",
}
BINARY = {
    "aten.atan2.default": "Atan2",
    "aten.clamp_max.Tensor": "Minimum",
    "aten.clamp_min.Tensor": "Maximum",
    "aten.div.Tensor": "RealDiv",
    "aten.maximum.default": "Maximum",
    "aten.minimum.default": "Minimum",
    "aten.max.other": "Maximum",
    "aten.min.other": "Minimum",
    "aten.mul.Tensor": "Mul",
}
_OF_BOOLEANS = {"Add": "LogicalOr", "Maximum": "LogicalOr", "Minimum": "LogicalAnd", "Mul": "LogicalAnd"}
_ROUNDING = ("Ceil", "Floor", "Rint", "Trunc")


def _enter_unary(overload: str, mnemonic: str) -> None:
    @converts(overload)
    def unary(c: Conversion, x: SSAValue) -> SSAValue:
        x = c.promoted(x)
        return x if mnemonic in _ROUNDING and is_integer(c.element) else c.op(mnemonic, x)


def _enter_binary(overload: str, mnemonic: str) -> None:
    @converts(overload)
    def binary(c: Conversion, x1: SSAValue, x2: SSAValue | float) -> SSAValue:
        if isinstance(x2, SSAValue):
            return _binary(c, mnemonic, x1, x2)
        return {"Mul": mul_scalar, "RealDiv": div_scalar}[mnemonic](c, x1, x2)


for _overload, _mnemonic in UNARY.items():
    _enter_unary(_overload, _mnemonic)
for _overload, _mnemonic in BINARY.items():
    _enter_binary(_overload, _mnemonic)


@converts("aten.gelu.default")
def gelu(c: Conversion, x: SSAValue, approximate: str) -> SSAValue:
    return c.op("GeluV2", c.promoted(x), approximate=approximate)


@converts("aten.add.Tensor")
def add(c: Conversion, x1: SSAValue, x2: SSAValue | float, alpha: float) -> SSAValue:
    if not isinstance(x2, SSAValue):
        return c.scalar("Adds", c.promoted(x1), x2 * alpha)
    return _binary(c, "Add", x1, _scaled(c, x2, alpha))


@converts("aten.sub.Tensor")
def sub(c: Conversion, x1: SSAValue, x2: SSAValue | float, alpha: float) -> SSAValue:
    if not isinstance(x2, SSAValue):
        return c.scalar("Adds", c.promoted(x1), -x2 * alpha)
    return c.op("Sub", c.promoted(x1), _scaled(c, x2, alpha))


@converts("aten.rsub.Scalar", "aten.rsub.Tensor")
def rsub(c: Conversion, x1: SSAValue, x2: SSAValue | float, alpha: float) -> SSAValue:
    if isinstance(x2, SSAValue):
        return sub(c, x2, x1, alpha)
    return c.scalar("Adds", c.op("Neg", _scaled(c, x1, alpha)), x2)


@converts("aten.mul.Scalar")
def mul_scalar(c: Conversion, x: SSAValue, value: float) -> SSAValue:
    return c.scalar("Muls", c.promoted(x), value)


@converts("aten.div.Scalar")
def div_scalar(c: Conversion, x: SSAValue, value: float) -> SSAValue:
    if _has_exact_reciprocal(value):
        return c.scalar("Muls", c.promoted(x), 1 / value)
    # The division happens in f32, where the divisor is not yet rounded to the result's type.
    return c.promoted(c.op("RealDiv", c.wide(x), c.constant(value, f32)))


@converts("aten.div.Tensor_mode")
def div_mode(c: Conversion, x1: SSAValue, x2: SSAValue | float, mode: str | None) -> SSAValue:
    match mode:
        case "floor":
            return c.op("FloorDiv", *c.common(x1, x2))
        case "trunc" if not is_integer(c.element):
            first, second = c.common(x1, x2)
            return c.promoted(c.op("Trunc", c.op("RealDiv", c.wide(first), c.wide(second))))
        case None:
            return c.op("RealDiv", c.promoted(x1), c.promoted(x2) if isinstance(x2, SSAValue) else c.constant(x2, c.element))
        case _:
            return c.decline(f"division of integers with rounding mode '{mode}'")


@converts("aten.floor_divide.default")
def floor_divide(c: Conversion, x1: SSAValue, x2: SSAValue | float) -> SSAValue:
    return c.op("FloorDiv", *c.common(x1, x2))


@converts("aten.fmod.Tensor", "aten.fmod.Scalar")
def fmod(c: Conversion, x1: SSAValue, x2: SSAValue | float) -> SSAValue:
    return c.op("Mod", *c.common(x1, x2))


@converts("aten.remainder.Tensor", "aten.remainder.Scalar")
def remainder(c: Conversion, x1: SSAValue, x2: SSAValue | float) -> SSAValue:
    return c.op("FloorMod", *c.common(x1, x2))


@converts("aten.pow.Tensor_Scalar")
def pow_scalar(c: Conversion, x: SSAValue, exponent: float) -> SSAValue:
    x = c.promoted(x)
    match exponent:
        case 0:
            return c.constant(1, c.element, c.shape)
        case 1:
            return x
        case 2:
            return c.op("Square", x)
        case 3:
            return c.op("Mul", c.op("Square", x), x)
        case 0.5:
            return c.op("Sqrt", x)
        case -0.5:
            return c.op("Rsqrt", x)
        case -1 if not is_integer(c.element):
            return c.op("Reciprocal", x)
        case _:
            return c.op("Pow", x, c.constant(exponent, c.element))


@converts("aten.pow.Tensor_Tensor", "aten.pow.Scalar")
def pow_tensor(c: Conversion, x: SSAValue | float, exponent: SSAValue) -> SSAValue:
    base = x if isinstance(x, SSAValue) else c.constant(x, c.element)
    return c.op("Pow", c.promoted(base), c.promoted(exponent))


@converts("aten.clamp.default")
def clamp(c: Conversion, x: SSAValue, low: float | None, high: float | None) -> SSAValue:
    x = c.promoted(x)
    x = x if low is None else c.scalar("Maxs", x, low)
    return x if high is None else c.scalar("Mins", x, high)


@converts("aten.clamp.Tensor")
def clamp_tensor(c: Conversion, x: SSAValue, low: SSAValue | None, high: SSAValue | None) -> SSAValue:
    x = c.promoted(x)
    x = x if low is None else c.op("Maximum", x, c.promoted(low))
    return x if high is None else c.op("Minimum", x, c.promoted(high))


@converts("aten.clamp_min.default")
def clamp_min(c: Conversion, x: SSAValue, low: float) -> SSAValue:
    return clamp(c, x, low, None)


@converts("aten.clamp_max.default")
def clamp_max(c: Conversion, x: SSAValue, high: float) -> SSAValue:
    return clamp(c, x, None, high)


@converts("aten.hardtanh.default")
def hardtanh(c: Conversion, x: SSAValue, low: float, high: float) -> SSAValue:
    return clamp(c, x, low, high)


@converts("aten.relu6.default")
def relu6(c: Conversion, x: SSAValue) -> SSAValue:
    return clamp(c, x, 0, 6)


@converts("aten.hardsigmoid.default")
def hardsigmoid(c: Conversion, x: SSAValue) -> SSAValue:
    return c.promoted(_gate(c, c.wide(x)))


@converts("aten.hardswish.default")
def hardswish(c: Conversion, x: SSAValue) -> SSAValue:
    wide = c.wide(x)
    return c.promoted(c.op("Mul", wide, _gate(c, wide)))


@converts("aten.leaky_relu.default")
def leaky_relu(c: Conversion, x: SSAValue, slope: float) -> SSAValue:
    below = c.scalar("Muls", c.scalar("Mins", x, 0), slope)
    return c.op("Add", c.scalar("Maxs", x, 0), below)


@converts("aten.elu.default")
def elu(c: Conversion, x: SSAValue, alpha: float, scale: float, input_scale: float) -> SSAValue:
    wide = c.wide(x)
    below = c.scalar("Muls", c.op("Expm1", c.scalar("Muls", c.scalar("Mins", wide, 0), input_scale)), alpha)
    return c.promoted(c.scalar("Muls", c.op("Add", c.scalar("Maxs", wide, 0), below), scale))


@converts("aten.softplus.default")
def softplus(c: Conversion, x: SSAValue, beta: float, threshold: float) -> SSAValue:
    """ln(1 + exp(beta x)) / beta, where torch gives x itself beyond the threshold."""
    wide = c.wide(x)
    scaled = c.scalar("Muls", wide, beta)
    curve = c.scalar("Muls", c.op("Log1p", c.op("Exp", scaled)), 1 / beta)
    return c.promoted(c.op("SelectV2", c.op("Greater", scaled, c.constant(threshold, f32)), wide, curve))


@converts("aten.addcmul.default")
def addcmul(c: Conversion, x: SSAValue, x1: SSAValue, x2: SSAValue, value: float) -> SSAValue:
    product = c.op("Mul", c.promoted(x1), c.promoted(x2))
    return c.op("Add", c.promoted(x), _scaled(c, product, value))


@converts("aten.addcdiv.default")
def addcdiv(c: Conversion, x: SSAValue, x1: SSAValue, x2: SSAValue, value: float) -> SSAValue:
    quotient = c.op("RealDiv", c.promoted(x1), c.promoted(x2))
    return c.op("Add", c.promoted(x), _scaled(c, quotient, value))


@converts("aten._to_copy.default", "aten.type_as.default")
def to_copy(c: Conversion, x: SSAValue, *_: Any) -> SSAValue:
    return c.promoted(x)


@converts(
    "aten.alias.default",
    "aten.clone.default",
    "aten.detach.default",
    "aten.lift_fresh_copy.default",
)
def identity(c: Conversion, x: SSAValue, *_: Any) -> SSAValue:
    return x


@converts("aten.dropout.default")
def dropout(c: Conversion, x: SSAValue, p: float, train: bool) -> SSAValue:
    return c.decline("it draws random numbers") if train and p else x


@converts("aten.native_dropout.default")
def native_dropout(c: Conversion, x: SSAValue, p: float, train: bool | None) -> list[SSAValue]:
    return c.decline("it draws random numbers") if train and p else [x, c.constant(1, i1, c.shape)]


def _binary(c: Conversion, mnemonic: str, x1: SSAValue, x2: SSAValue) -> SSAValue:
    x1, x2 = c.promoted(x1), c.promoted(x2)
    return c.op(_OF_BOOLEANS[mnemonic] if is_boolean(x1) else mnemonic, x1, x2)


def _scaled(c: Conversion, x: SSAValue, alpha: float) -> SSAValue:
    x = c.promoted(x)
    return x if alpha == 1 else c.scalar("Muls", x, alpha)


def _gate(c: Conversion, x: SSAValue) -> SSAValue:
    """min(max(x + 3, 0), 6) / 6, in f32."""
    clipped = c.scalar("Mins", c.scalar("Maxs", c.scalar("Adds", x, 3), 0), 6)
    return c.op("RealDiv", clipped, c.constant(6, f32))


def _has_exact_reciprocal(value: float) -> bool:
    return value != 0 and math.isfinite(value) and abs(math.frexp(value)[0]) == 0.5
