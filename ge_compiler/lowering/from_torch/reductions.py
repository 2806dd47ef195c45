"""Operators that reduce dimensions, and the normalisations that are made of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ge_compiler.lowering.from_torch.comparisons import truth
from ge_compiler.lowering.from_torch.conversion import Conversion, converts, element_type, normalized, shape_of

Dims = int | Sequence[int] | None

RMS_EPSILON = 2.0**-23
"""What torch takes where an RMS norm of any float type up to f32 names none."""


@converts("aten.sum.dim_IntList")
def sum_(c: Conversion, x: SSAValue, dims: Dims, keep: bool, *_: Any) -> SSAValue:
    return reduced(c, "ReduceSumD", c.promoted(x), dims, keep)


@converts("aten.sum.default")
def sum_all(c: Conversion, x: SSAValue, *_: Any) -> SSAValue:
    return sum_(c, x, None, False)


@converts("aten.mean.dim")
def mean(c: Conversion, x: SSAValue, dims: Dims, keep: bool, *_: Any) -> SSAValue:
    return reduced(c, "ReduceMeanD", c.promoted(x), dims, keep)


@converts("aten.mean.default")
def mean_all(c: Conversion, x: SSAValue, *_: Any) -> SSAValue:
    return mean(c, x, None, False)


@converts("aten.adaptive_avg_pool1d.default", "aten.adaptive_avg_pool2d.default")
def adaptive_average(c: Conversion, x: SSAValue, sizes: Sequence[int]) -> SSAValue:
    head = shape_of(x)[: -len(sizes)]
    extents = shape_of(x)[-len(sizes) :]
    if any(extent % size for extent, size in zip(extents, sizes, strict=True)):
        c.decline("windows of different sizes")
    apart = [number for extent, size in zip(extents, sizes, strict=True) for number in (size, extent // size)]
    dims = [len(head) + 1 + 2 * i for i in range(len(sizes))]
    return reduced(c, "ReduceMeanD", c.reshape(x, (*head, *apart)), dims, False)


@converts("aten.amax.default")
def amax(c: Conversion, x: SSAValue, dims: Dims, keep: bool) -> SSAValue:
    return reduced(c, "ReduceMaxD", x, dims, keep)


@converts("aten.amin.default")
def amin(c: Conversion, x: SSAValue, dims: Dims, keep: bool) -> SSAValue:
    return reduced(c, "ReduceMinD", x, dims, keep)


@converts("aten.max.default")
def max_all(c: Conversion, x: SSAValue) -> SSAValue:
    return amax(c, x, None, False)


@converts("aten.min.default")
def min_all(c: Conversion, x: SSAValue) -> SSAValue:
    return amin(c, x, None, False)


@converts("aten.any.default", "aten.any.dim", "aten.any.dims")
def any_(c: Conversion, x: SSAValue, dims: Dims = None, keep: bool = False) -> SSAValue:
    return amax(c, truth(c, x), dims, keep)


@converts("aten.all.default", "aten.all.dim", "aten.all.dims")
def all_(c: Conversion, x: SSAValue, dims: Dims = None, keep: bool = False) -> SSAValue:
    return amin(c, truth(c, x), dims, keep)


@converts("aten.var.correction")
def var(c: Conversion, x: SSAValue, dims: Dims, correction: float | None, keep: bool) -> SSAValue:
    return c.promoted(_variance(c, c.wide(x), dims, 1 if correction is None else correction, keep))


@converts("aten.std.correction")
def std(c: Conversion, x: SSAValue, dims: Dims, correction: float | None, keep: bool) -> SSAValue:
    return c.promoted(c.op("Sqrt", _variance(c, c.wide(x), dims, 1 if correction is None else correction, keep)))


@converts("aten.var.dim")
def var_dim(c: Conversion, x: SSAValue, dims: Dims, unbiased: bool, keep: bool) -> SSAValue:
    return var(c, x, dims, int(unbiased), keep)


@converts("aten.std.dim")
def std_dim(c: Conversion, x: SSAValue, dims: Dims, unbiased: bool, keep: bool) -> SSAValue:
    return std(c, x, dims, int(unbiased), keep)


@converts("aten.var_mean.correction")
def var_mean(c: Conversion, x: SSAValue, dims: Dims, correction: float | None, keep: bool) -> list[SSAValue]:
    return [var(c, x, dims, correction, keep), mean(c, x, dims, keep)]


@converts("aten.linalg_vector_norm.default")
def vector_norm(c: Conversion, x: SSAValue, order: float, dims: Dims, keep: bool, *_: Any) -> SSAValue:
    if order != 2:
        c.decline(f"norms of order {order}")
    return c.promoted(c.op("Sqrt", reduced(c, "ReduceSumD", c.op("Square", c.wide(x)), dims, keep)))


@converts("aten.softmax.int", "aten._softmax.default")
def softmax(c: Conversion, x: SSAValue, dim: int, *_: Any) -> SSAValue:
    return _along(c, "SoftmaxV2", x, dim)


@converts("aten.log_softmax.int", "aten._log_softmax.default")
def log_softmax(c: Conversion, x: SSAValue, dim: int, *_: Any) -> SSAValue:
    return _along(c, "LogSoftmaxV2", x, dim)


@converts("aten.layer_norm.default")
def layer_norm(
    c: Conversion, x: SSAValue, shape: Sequence[int], gamma: SSAValue | None, beta: SSAValue | None, epsilon: float, *_: Any
) -> SSAValue:
    if gamma is None and beta is not None:
        gamma = c.constant(1, element_type(beta), shape)
    parameters = [value for value in (gamma, beta) if value is not None]
    return c.promoted(c.op("LayerNormV4", x, parameters, normalized_dims=len(shape), epsilon=epsilon))


@converts("aten.native_layer_norm.default")
def native_layer_norm(
    c: Conversion, x: SSAValue, shape: Sequence[int], gamma: SSAValue | None, beta: SSAValue | None, epsilon: float
) -> list[SSAValue]:
    dims = [-1 - i for i in range(len(shape))]
    wide = c.wide(x)
    centre = reduced(c, "ReduceMeanD", wide, dims, True)
    scale = c.op("Rsqrt", c.scalar("Adds", _variance(c, wide, dims, 0, True), epsilon))
    statistics = [c.cast(value, type_.get_element_type()) for value, type_ in zip((centre, scale), c.results[1:], strict=True)]
    return [layer_norm(c, x, shape, gamma, beta, epsilon), *statistics]


@converts("aten.rms_norm.default")
def rms_norm(c: Conversion, x: SSAValue, shape: Sequence[int], gamma: SSAValue | None, epsilon: float | None) -> SSAValue:
    epsilon = RMS_EPSILON if epsilon is None else epsilon
    return c.promoted(c.op("RmsNorm", x, gamma, normalized_dims=len(shape), epsilon=epsilon))


@converts("aten.group_norm.default")
def group_norm(c: Conversion, x: SSAValue, groups: int, gamma: SSAValue | None, beta: SSAValue | None, epsilon: float, *_: Any) -> SSAValue:
    batch, channels, *rest = shape_of(x)
    apart = (batch, groups, channels // groups * math.prod(rest))
    y = c.reshape(c.op("LayerNormV4", c.reshape(c.wide(x), apart), [], normalized_dims=1, epsilon=epsilon), c.shape)
    return c.promoted(_affine(c, y, gamma, beta))


@converts("aten._native_batch_norm_legit_no_training.default")
def batch_norm(
    c: Conversion,
    x: SSAValue,
    gamma: SSAValue | None,
    beta: SSAValue | None,
    centre: SSAValue,
    variance: SSAValue,
    _: float,
    epsilon: float,
) -> list[SSAValue]:
    scale = c.op("Rsqrt", c.scalar("Adds", c.wide(variance), epsilon))
    y = c.op("Mul", c.op("Sub", c.wide(x), _per_channel(c, centre)), _per_channel(c, scale))
    unused = [c.constant(0, type_.get_element_type(), type_.get_shape()) for type_ in c.results[1:]]
    return [c.promoted(_affine(c, y, gamma, beta)), *unused]


def reduced(c: Conversion, mnemonic: str, x: SSAValue, dims: int | Iterable[int] | None, keep: bool) -> SSAValue:
    """One of the reductions along `dims`, all if there are none."""
    rank = len(shape_of(x))
    return c.op(mnemonic, x, axes=normalized(dims, rank), keep_dims=keep) if rank else x


def _variance(c: Conversion, x: SSAValue, dims: Dims, correction: float, keep: bool) -> SSAValue:
    shape = shape_of(x)
    count = math.prod(shape[dim] for dim in normalized(dims, len(shape))) if shape else 1
    deviation = c.op("Sub", x, reduced(c, "ReduceMeanD", x, dims, True))
    total = reduced(c, "ReduceSumD", c.op("Square", deviation), dims, keep)
    return c.op("RealDiv", total, c.constant(max(count - correction, 0), f32))


def _along(c: Conversion, mnemonic: str, x: SSAValue, dim: int) -> SSAValue:
    x = c.promoted(x)
    rank = len(c.shape)
    flat = x if rank else c.reshape(x, (1,))
    return c.reshape(c.op(mnemonic, flat, axes=[dim % max(rank, 1)]), c.shape)


def _affine(c: Conversion, y: SSAValue, gamma: SSAValue | None, beta: SSAValue | None) -> SSAValue:
    y = y if gamma is None else c.op("Mul", y, _per_channel(c, gamma))
    return y if beta is None else c.op("Add", y, _per_channel(c, beta))


def _per_channel(c: Conversion, x: SSAValue) -> SSAValue:
    """A vector with an element for each channel, which are dimension 1 of the result, in f32."""
    return c.wide(c.reshape(x, (*shape_of(x), *(1 for _ in c.shape[2:]))))
