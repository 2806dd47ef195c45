"""Elementwise operators: floats are computed in f32, integers in at least 32 bits, booleans as they are."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, i1
from xdsl.ir import SSAValue

from ge_compiler.dialects import fused, ge
from ge_compiler.dialects.types import is_integer, tensor_type
from ge_compiler.lowering.decomposition.region import NoLowering, Region, element_of, splat


def operands(op: ge.GeOp, region: Region) -> list[SSAValue]:
    """The operands in the type that they are computed in, repeated to the shape of the result."""
    shape = tensor_type(op.results[0]).get_shape()
    return [region.broadcast(region.wide(region.operand(x)), shape) for x in op.operands]


def function(op: ge.ElementwiseOp, region: Region) -> SSAValue:
    name, scalar = op.function()
    values = operands(op, region)
    if name == "abs" and is_integer(element_of(values[0])):
        return region.apply("max", values[0], region.apply("neg", values[0]))
    return region.apply(name, *values, scalar=scalar)


def logical(op: ge.LogicalOp, region: Region) -> SSAValue:
    shape = tensor_type(op.results[0]).get_shape()
    return region.apply(op.function()[0], *[region.broadcast(region.operand(x), shape) for x in op.operands])


def select(op: ge.SelectV2Op, region: Region) -> SSAValue:
    shape = tensor_type(op.y).get_shape()
    condition, x1, x2 = (region.operand(x) for x in op.operands)
    choices = [x if element_of(x) == i1 else region.wide(x) for x in (x1, x2)]
    return region.apply("select", *[region.broadcast(x, shape) for x in (condition, *choices)])


def cast_to(op: ge.CastOp, region: Region) -> SSAValue:
    value, element = region.operand(op.x), element_of(op.y)
    return value if element_of(value) == element else region.add(fused.CastOp(value, element, required=True))


def numpy_function(op: ge.NumpyOp, region: Region) -> SSAValue:
    mnemonic = op.name.removeprefix("ge.")
    if mnemonic in _BITWISE and element_of(op.operands[0]) == i1:
        shape = tensor_type(op.results[0]).get_shape()
        return region.apply(_BITWISE[mnemonic], *[region.broadcast(region.operand(x), shape) for x in op.operands])
    if mnemonic in _OTHERS:
        return _OTHERS[mnemonic](op, region)
    raise NoLowering("there is no vector instruction for it yet")


_BITWISE = {"BitwiseAnd": "logical_and", "BitwiseOr": "logical_or", "Invert": "logical_not"}
"""What bits are in a boolean."""


def _is_nan(op: ge.GeOp, region: Region) -> SSAValue:
    (x,) = operands(op, region)
    return region.apply("ne", x, x)


def _is_finite(op: ge.GeOp, region: Region) -> SSAValue:
    (x,) = operands(op, region)
    rest = region.apply("sub", x, x)  # 0, but NaN for infinities and NaN
    return region.apply("eq", rest, rest)


def _is_infinite(op: ge.GeOp, region: Region) -> SSAValue:
    (x,) = operands(op, region)
    rest = region.apply("sub", x, x)
    return region.apply("logical_and", region.apply("eq", x, x), region.apply("ne", rest, rest))


def _sign(op: ge.GeOp, region: Region) -> SSAValue:
    (x,) = operands(op, region)
    zero = region.full(0, x)
    above, below = (region.cast(region.apply(name, x, zero), element_of(x)) for name in ("gt", "lt"))
    return region.apply("sub", above, below)


def _power(op: ge.GeOp, region: Region) -> SSAValue:
    exponent = _constant(op.operands[1])
    if exponent is None or is_integer(element_of(op.operands[0])):
        raise NoLowering("only powers of floats to a constant are written in multiplications and roots")
    base = region.wide(region.operand(op.operands[0]))
    return region.broadcast(_constant_power(base, exponent, region), tensor_type(op.results[0]).get_shape())


_MOST_FACTORS = 16


def _constant_power(base: SSAValue, exponent: float, region: Region) -> SSAValue:
    if exponent < 0:
        return region.apply("rec", _constant_power(base, -exponent, region))
    if exponent == 0:
        return region.full(1, base)
    if exponent % 1 == 0.5 and exponent <= _MOST_FACTORS:
        root = region.apply("sqrt", base)
        return root if exponent == 0.5 else region.apply("mul", _constant_power(base, exponent - 0.5, region), root)
    if exponent % 1 or exponent > _MOST_FACTORS:
        raise NoLowering(f"the power {exponent} is not a product of at most {_MOST_FACTORS} factors and a root")
    half = base if exponent == 1 else _constant_power(base, exponent // 2, region)
    squared = half if exponent == 1 else region.apply("mul", half, half)
    return region.apply("mul", squared, base) if exponent % 2 and exponent > 1 else squared


def _constant(value: SSAValue) -> float | None:
    """The one value of a constant operand."""
    owner = value.owner
    if not isinstance(owner, ge.ConstOp) or not owner.value.is_splat():
        return None
    return float(cast(FloatAttr | IntegerAttr, splat(owner)).value.data)


def _differ(op: ge.GeOp, region: Region) -> SSAValue:
    if element_of(op.operands[0]) != i1:
        raise NoLowering("there is no vector instruction for bits of integers")
    return region.apply("ne", *operands(op, region))


def _exp_minus_one(op: ge.GeOp, region: Region) -> SSAValue:
    """2t / (1 - t) with t = tanh(x / 2) keeps the digits near 0, and loses them far above it."""
    (x,) = operands(op, region)
    t = region.apply("tanh", region.apply("muls", x, scalar=0.5))
    rest = region.apply("adds", region.apply("muls", t, scalar=-1), scalar=1)
    near = region.apply("div", region.apply("muls", t, scalar=2), rest)
    far = region.apply("adds", region.apply("exp", x), scalar=-1)
    return region.apply("select", region.apply("gt", x, region.full(0.5, x)), far, near)


def _log_of_one_plus(op: ge.GeOp, region: Region) -> SSAValue:
    """What 1 + x lost in rounding is put back by x / ((1 + x) - 1), but where nothing is left of x, or of 1."""
    (x,) = operands(op, region)
    one = region.full(1, x)
    sum_ = region.apply("add", x, one)
    kept = region.apply("sub", sum_, one)
    log = region.apply("ln", sum_)
    exact = region.apply("mul", log, region.apply("div", x, kept))
    near = region.apply("select", region.apply("eq", sum_, one), x, exact)
    return region.apply("select", region.apply("ge", x, region.full(2.0**24, x)), log, near)


_OTHERS = {
    "BitwiseXor": _differ,
    "Expm1": _exp_minus_one,
    "IsFinite": _is_finite,
    "IsInf": _is_infinite,
    "IsNan": _is_nan,
    "Log1p": _log_of_one_plus,
    "Pow": _power,
    "Sign": _sign,
}
