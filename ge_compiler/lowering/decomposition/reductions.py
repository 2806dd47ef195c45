"""Reductions, softmax and norms: sums in f32, the largest element taken off before exponentials, a variance of two passes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import SSAValue

from ge_compiler.dialects import fused, ge
from ge_compiler.dialects.types import integer_bits, is_integer, tensor_type
from ge_compiler.lowering.decomposition.region import NoLowering, Region, element_of, number


def reduction(op: ge.ReductionOp, region: Region) -> SSAValue:
    along, shape = op.dimensions(), tensor_type(op.y).get_shape()
    if op.KIND == "prod":
        raise NoLowering("there is no vector instruction that multiplies along an axis")
    x = region.operand(op.x)
    bits = integer_bits(element_of(x))
    if 0 < bits < 32 and op.KIND != "sum" and _count(x, along) == 0:
        # The bound of the wider type, in which it is computed, is not that of the type.
        bound = number(_bound(bits, op.KIND), element_of(x))
        return region.add(fused.FullOp(bound, TensorType(element_of(x), shape)))
    wide = region.wide(x)
    value = _mean(wide, along, region) if op.KIND == "mean" else _reduce(op.KIND, wide, along, region)
    return region.reshape(value, shape)


def argument(op: ge.ArgOp, region: Region) -> SSAValue:
    """The least place where an element is the extreme one, or NaN: then that is the extreme one too, which equals nothing."""
    x, axis = region.wide(region.operand(op.x)), op.dimension()
    extreme = _reduce("max" if isinstance(op, ge.ArgMaxDOp) else "min", x, [axis], region)
    is_extreme = region.apply("eq", x, _back(extreme, x, [axis], region))
    if not is_integer(element_of(x)):
        is_extreme = region.apply("logical_or", is_extreme, region.apply("ne", x, x))
    shape = tensor_type(x).get_shape()
    places = region.add(fused.IotaOp(axis, TensorType(i32, shape)))
    found = region.apply("select", is_extreme, places, region.full(shape[axis], places))
    return region.reshape(_reduce("min", found, [axis], region), tensor_type(op.y).get_shape())


def _bound(bits: int, kind: str) -> int:
    """What the largest (`max`) or smallest of no elements is in an integer type."""
    if bits == 1:
        return int(kind == "min")
    return -(1 << (bits - 1)) if kind == "max" else (1 << (bits - 1)) - 1


def _count(x: SSAValue, along: Sequence[int]) -> int:
    return prod(tensor_type(x).get_shape()[d] for d in along)


def _reduce(kind: str, x: SSAValue, along: Sequence[int], region: Region) -> SSAValue:
    return region.add(fused.ReduceOp(kind, x, along)) if along else x


def _mean(x: SSAValue, along: Sequence[int], region: Region) -> SSAValue:
    total, count = _reduce("sum", x, along, region), _count(x, along)
    if count == 0:
        return region.apply("div", total, region.full(0, total))  # NaN
    return total if count == 1 else region.apply("muls", total, scalar=1 / count)


def _back(value: SSAValue, like: SSAValue, along: Sequence[int], region: Region) -> SSAValue:
    """A reduced value, repeated along the dimensions that have vanished."""
    shape = tensor_type(like).get_shape()
    return region.along(value, [d for d in range(len(shape)) if d not in along], shape)


def _shifted(op: ge.SoftmaxBase, region: Region) -> SSAValue:
    """x less its largest element, so that no exponential overflows."""
    x, along = region.wide(region.operand(op.x)), op.dimensions()
    return region.apply("sub", x, _back(_reduce("max", x, along, region), x, along, region))


def softmax(op: ge.SoftmaxV2Op, region: Region) -> SSAValue:
    along, exponentials = op.dimensions(), region.apply("exp", _shifted(op, region))
    total = _reduce("sum", exponentials, along, region)
    return region.apply("div", exponentials, _back(total, exponentials, along, region))


def log_softmax(op: ge.LogSoftmaxV2Op, region: Region) -> SSAValue:
    along, shifted = op.dimensions(), _shifted(op, region)
    total = _reduce("sum", region.apply("exp", shifted), along, region)
    return region.apply("sub", shifted, _back(region.apply("ln", total), shifted, along, region))


def layer_norm(op: ge.LayerNormV4Op, region: Region) -> SSAValue:
    x, along = region.wide(region.operand(op.x)), op.dimensions()
    centred = region.apply("sub", x, _back(_mean(x, along, region), x, along, region))
    # The mean is rounded, which would be all that is left of a row of equal elements: the mean of what is left takes it away.
    rest = _mean(centred, along, region)
    variance = region.apply("sub", _mean_square(centred, along, region), region.apply("square", rest))
    exact = region.apply("sub", centred, _back(rest, x, along, region))
    return _scaled(op, exact, region.apply("maxs", variance, scalar=0), region)


def rms_norm(op: ge.RmsNormOp, region: Region) -> SSAValue:
    x = region.wide(region.operand(op.x))
    return _scaled(op, x, _mean_square(x, op.dimensions(), region), region)


def _mean_square(x: SSAValue, along: Sequence[int], region: Region) -> SSAValue:
    return _mean(region.apply("square", x), along, region)


def _scaled(op: ge.NormOp, x: SSAValue, square: SSAValue, region: Region) -> SSAValue:
    """`x` by the root of `square` and epsilon, times gamma, plus beta."""
    along, shape = op.dimensions(), tensor_type(x).get_shape()
    factor = region.apply("rsqrt", region.apply("adds", square, scalar=op.epsilon.value.data))
    value = region.apply("mul", x, _back(factor, x, along, region))
    for (_, parameter), function in zip(op.parameters(), ("mul", "add"), strict=False):
        value = region.apply(function, value, region.broadcast(region.wide(region.operand(parameter)), shape))
    return value
