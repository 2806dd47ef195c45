"""Operators that only rearrange elements: views, slices, concatenations, repetitions; and those that write one into another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ge_compiler.lowering.from_torch.conversion import Conversion, converts, is_boolean, shape_of


@converts(
    "aten._reshape_alias.default",
    "aten._unsafe_view.default",
    "aten.squeeze.default",
    "aten.squeeze.dim",
    "aten.squeeze.dims",
    "aten.unsqueeze.default",
    "aten.view.default",
)
def reshape(c: Conversion, x: SSAValue, *_: Any) -> SSAValue:
    return c.reshape(x, c.shape)


@converts("aten.expand.default")
def expand(c: Conversion, x: SSAValue, *_: Any) -> SSAValue:
    return c.broadcast(x, c.shape)


@converts("aten.permute.default")
def permute(c: Conversion, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    return c.transpose(x, [dim % len(dims) for dim in dims])


@converts("aten.transpose.int")
def transpose(c: Conversion, x: SSAValue, dim0: int, dim1: int) -> SSAValue:
    permutation = list(range(len(c.shape)))
    if permutation:
        permutation[dim0], permutation[dim1] = permutation[dim1], permutation[dim0]
    return c.transpose(x, permutation)


@converts("aten.t.default")
def swap_last(c: Conversion, x: SSAValue) -> SSAValue:
    return transpose(c, x, -2, -1) if len(c.shape) > 1 else x


@converts("aten.slice.Tensor")
def slice_(c: Conversion, x: SSAValue, dim: int, start: int | None, end: int | None, step: int) -> SSAValue:
    dim %= len(c.shape)
    return c.slice(x, dim, *clipped(shape_of(x)[dim], start, end), step)


@converts("aten.select.int")
def select(c: Conversion, x: SSAValue, dim: int, index: int) -> SSAValue:
    shape = shape_of(x)
    dim, index = dim % len(shape), index % shape[dim]
    return c.reshape(c.slice(x, dim, index, index + 1), c.shape)


@converts(
    "aten.split.Tensor",
    "aten.split_with_sizes.default",
    "aten.unsafe_split.Tensor",
    "aten.unsafe_split_with_sizes.default",
)
def split(c: Conversion, x: SSAValue, _: int | Sequence[int], dim: int) -> list[SSAValue]:
    """The sizes of the parts are those of the results."""
    dim %= len(shape_of(x))
    parts: list[SSAValue] = []
    start = 0
    for result in c.results:
        stop = start + result.get_shape()[dim]
        parts.append(c.slice(x, dim, start, stop))
        start = stop
    return parts


@converts("aten.unbind.int")
def unbind(c: Conversion, x: SSAValue, dim: int) -> list[SSAValue]:
    dim %= len(shape_of(x))
    return [c.reshape(c.slice(x, dim, i, i + 1), c.shape) for i in range(len(c.results))]


@converts("aten.cat.default")
def cat(c: Conversion, xs: Sequence[SSAValue], dim: int) -> SSAValue:
    parts = [c.promoted(x) for x in xs if len(shape_of(x)) == len(c.shape)]  # torch ignores tensors of shape (0,)
    return parts[0] if len(parts) == 1 else c.op("ConcatD", parts, concat_dim=dim % len(c.shape))


@converts("aten.stack.default")
def stack(c: Conversion, xs: Sequence[SSAValue], dim: int) -> SSAValue:
    dim %= len(c.shape)
    return cat(c, [c.reshape(x, (*shape_of(x)[:dim], 1, *shape_of(x)[dim:])) for x in xs], dim)


@converts("aten.repeat.default")
def repeat(c: Conversion, x: SSAValue, repeats: Sequence[int]) -> SSAValue:
    shape = (1,) * (len(repeats) - len(shape_of(x))) + shape_of(x)
    apart = [size for dim in shape for size in (1, dim)]
    repeated = [size for pair in zip(repeats, shape, strict=True) for size in pair]
    return c.reshape(c.broadcast(c.reshape(x, apart), repeated), c.shape)


@converts("aten.repeat_interleave.self_int")
def repeat_interleave(c: Conversion, x: SSAValue, repeats: int, dim: int | None, *_: Any) -> SSAValue:
    if dim is None:
        x, dim = c.reshape(x, (math.prod(shape_of(x)),)), 0
    shape = shape_of(x)
    dim %= len(shape)
    head, tail = shape[: dim + 1], shape[dim + 1 :]
    return c.reshape(c.broadcast(c.reshape(x, (*head, 1, *tail)), (*head, repeats, *tail)), c.shape)


@converts("aten.roll.default")
def roll(c: Conversion, x: SSAValue, shifts: Sequence[int], dims: Sequence[int]) -> SSAValue:
    if not dims:
        return c.reshape(_rolled(c, c.reshape(x, (math.prod(c.shape),)), shifts[0], 0), c.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        x = _rolled(c, x, shift, dim % len(c.shape))
    return x


@converts("aten.unfold.default")
def unfold(c: Conversion, x: SSAValue, dim: int, size: int, step: int) -> SSAValue:
    """Windows along `dim`, whose elements become the last dimension."""
    shape = shape_of(x)
    rank = len(shape)
    if not rank:
        return c.reshape(x, c.shape)
    dim %= rank
    count = c.shape[dim]
    if size == step:
        windows = c.reshape(c.slice(x, dim, 0, count * size), (*shape[:dim], count, size, *shape[dim + 1 :]))
    else:
        starts = c.reshape(c.range(i64, count, 0, step), (count, 1))
        windows = c.op("GatherV2", x, c.op("Add", starts, c.range(i64, size, 0, 1)), axis=dim)
    return c.transpose(windows, [*range(dim + 1), *range(dim + 2, rank + 1), dim + 1])


@converts("aten.diff.default")
def diff(c: Conversion, x: SSAValue, order: int, dim: int, before: SSAValue | None, after: SSAValue | None) -> SSAValue:
    dim %= len(shape_of(x))
    parts = [part for part in (before, x, after) if part is not None]
    x = c.op("ConcatD", parts, concat_dim=dim) if len(parts) > 1 else x
    for _ in range(order):
        extent = shape_of(x)[dim]
        later, earlier = c.slice(x, dim, min(1, extent), extent), c.slice(x, dim, 0, max(extent - 1, 0))
        x = c.op("NotEqual" if is_boolean(x) else "Sub", later, earlier)
    return x


@converts("aten.constant_pad_nd.default")
def constant_pad(c: Conversion, x: SSAValue, pad: Sequence[int], value: float) -> SSAValue:
    for i in range(len(pad) // 2):
        dim = len(c.shape) - 1 - i
        before, after = pad[2 * i], pad[2 * i + 1]
        extent = shape_of(x)[dim]
        x = c.slice(x, dim, max(-before, 0), extent - max(-after, 0))
        parts = [_filled(c, x, dim, before, value), [x], _filled(c, x, dim, after, value)]
        x = x if before <= 0 and after <= 0 else c.op("ConcatD", [part for some in parts for part in some], concat_dim=dim)
    return x


@converts("aten.pad.default")
def pad(c: Conversion, x: SSAValue, padding: Sequence[int], mode: str, value: float | None) -> SSAValue:
    return constant_pad(c, x, padding, value or 0) if mode == "constant" else c.decline(f"padding of mode '{mode}'")


@converts("aten.copy.default")
def copy(c: Conversion, x: SSAValue, source: SSAValue, *_: Any) -> SSAValue:
    return c.broadcast(c.promoted(source), c.shape)


@converts("aten.slice_scatter.default")
def slice_scatter(c: Conversion, x: SSAValue, source: SSAValue, dim: int, start: int | None, end: int | None, step: int) -> SSAValue:
    dim %= len(c.shape)
    return _assigned(c, x, source, dim, clipped(c.shape[dim], start, end)[0], step)


@converts("aten.select_scatter.default")
def select_scatter(c: Conversion, x: SSAValue, source: SSAValue, dim: int, index: int) -> SSAValue:
    dim %= len(c.shape)
    row = c.reshape(source, (*c.shape[:dim], 1, *c.shape[dim + 1 :]))
    return _assigned(c, x, row, dim, index % c.shape[dim], 1)


def clipped(extent: int, start: int | None, end: int | None) -> tuple[int, int]:
    """The bounds of a Python slice within an extent, in order."""
    first, last, _ = slice(start, end).indices(extent)
    return first, max(first, last)


def _assigned(c: Conversion, x: SSAValue, source: SSAValue, dim: int, start: int, step: int) -> SSAValue:
    """`x` with a window replaced that starts at `start` of `dim` and has the shape of `source`."""
    source = c.promoted(source)
    if shape_of(source) == c.shape:
        return source
    begin, strides = [0] * len(c.shape), [1] * len(c.shape)
    begin[dim], strides[dim] = start, step
    return c.op("StridedSliceAssignD", x, source, begin=begin, strides=strides)


def _rolled(c: Conversion, x: SSAValue, shift: int, dim: int) -> SSAValue:
    extent = shape_of(x)[dim]
    border = extent - shift % extent if extent else 0
    if border == extent:
        return x
    return c.op("ConcatD", [c.slice(x, dim, border, extent), c.slice(x, dim, 0, border)], concat_dim=dim)


def _filled(c: Conversion, x: SSAValue, dim: int, extent: int, value: float) -> list[SSAValue]:
    shape = shape_of(x)
    return [c.constant(value, c.element, (*shape[:dim], extent, *shape[dim + 1 :]))] if extent > 0 else []
