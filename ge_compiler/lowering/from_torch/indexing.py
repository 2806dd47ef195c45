"""Operators that read or write rows whose numbers are data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ge_compiler.lowering.from_torch.conversion import Conversion, broadcast_shape, converts, element_type, is_boolean, shape_of


@converts("aten.embedding.default")
def embedding(c: Conversion, table: SSAValue, indices: SSAValue, *_: Any) -> SSAValue:
    return c.op("GatherV2", table, indices, axis=0)


@converts("aten.index_select.default")
def index_select(c: Conversion, x: SSAValue, dim: int, indices: SSAValue) -> SSAValue:
    rank = len(c.shape)
    if not rank:
        return x
    return c.op("GatherV2", x, c.reshape(indices, (math.prod(shape_of(indices)),)), axis=dim % rank)


@converts("aten.index.Tensor")
def index(c: Conversion, x: SSAValue, indices: Sequence[SSAValue | None]) -> SSAValue:
    """Indices of neighbouring dimensions are one index into those dimensions taken as one."""
    first, given = _neighbouring(c, indices)
    shape = shape_of(x)
    extents = shape[first : first + len(given)]
    merged = c.reshape(x, (*shape[:first], math.prod(extents), *shape[first + len(given) :]))
    return c.op("GatherV2", merged, _combined(c, given, extents), axis=first)


@converts("aten.index_copy.default")
def index_copy(c: Conversion, x: SSAValue, dim: int, indices: SSAValue, source: SSAValue) -> SSAValue:
    if not c.shape:
        return c.reshape(source, ())
    count = math.prod(shape_of(indices))
    dim %= len(c.shape)
    rows = c.reshape(source, (*c.shape[:dim], count, *c.shape[dim + 1 :]))
    return c.op("ScatterUpdate", x, c.reshape(indices, (count,)), rows, axis=dim)


@converts("aten.index_put.default")
def index_put(c: Conversion, x: SSAValue, indices: Sequence[SSAValue | None], values: SSAValue, accumulate: bool) -> SSAValue:
    first, given = _neighbouring(c, indices)
    if accumulate:
        c.decline("values that share an index and are added up")
    shape = shape_of(x)
    extents, places = shape[first : first + len(given)], broadcast_shape(*given)
    head, tail = shape[:first], shape[first + len(given) :]
    rows = c.broadcast(c.promoted(values), (*head, *places, *tail))
    numbers = c.reshape(_combined(c, given, extents), (math.prod(places),))
    merged = c.reshape(x, (*head, math.prod(extents), *tail))
    rows = c.reshape(rows, (*head, math.prod(places), *tail))
    return c.reshape(c.op("ScatterUpdate", merged, numbers, rows, axis=first), shape)


@converts("aten.flip.default")
def flip(c: Conversion, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    return c.op("ReverseD", x, axes=list(dims)) if dims else x


@converts("aten.gather.default")
def gather(c: Conversion, x: SSAValue, dim: int, places: SSAValue, *_: Any) -> SSAValue:
    return c.op("GatherElements", x, places, dim=dim) if c.shape else x


@converts("aten.take_along_dim.default")
def take_along_dim(c: Conversion, x: SSAValue, places: SSAValue, dim: int | None) -> SSAValue:
    """Dimensions other than `dim` broadcast."""
    if dim is None:
        flat = [c.reshape(value, (math.prod(shape_of(value)),)) for value in (x, places)]
        return c.op("GatherElements", *flat, dim=0)
    dim %= len(c.shape)
    shape = (*c.shape[:dim], shape_of(x)[dim], *c.shape[dim + 1 :])
    return c.op("GatherElements", c.broadcast(x, shape), c.broadcast(places, c.shape), dim=dim)


@converts("aten.scatter.src", "aten.scatter.value", "aten.scatter_add.default")
def scatter(c: Conversion, x: SSAValue, dim: int, places: SSAValue, source: SSAValue | float) -> SSAValue:
    """Of the source the part is taken that has places."""
    shape = shape_of(places)
    if not c.shape:
        c.decline("a tensor without dimensions")
    if not isinstance(source, SSAValue):
        source = c.constant(source, c.element, shape)
    for axis, extent in enumerate(shape):
        source = c.slice(source, axis, 0, extent)
    adds = str(c.node.target) == "aten.scatter_add.default"
    return c.op("ScatterElements", x, places, source, axis=dim, reduction="add" if adds else None)


def _neighbouring(c: Conversion, indices: Sequence[SSAValue | None]) -> tuple[int, list[SSAValue]]:
    """The first dimension that has an index, and the indices of it and those after it."""
    dims = [dim for dim, value in enumerate(indices) if value is not None]
    given = [value for value in indices if value is not None]
    if not dims or dims != list(range(dims[0], dims[0] + len(dims))):
        c.decline("indices of dimensions that are not neighbours")
    if any(map(is_boolean, given)):
        c.decline("a mask as an index")
    return dims[0], given


def _combined(c: Conversion, indices: Sequence[SSAValue], extents: Sequence[int]) -> SSAValue:
    """The row-major number of each place in dimensions of these extents."""
    number = _counted_from_front(c, indices[0], extents[0])
    for value, extent in zip(indices[1:], extents[1:], strict=True):
        number = c.op("Add", c.scalar("Muls", number, extent), _counted_from_front(c, value, extent))
    return number


def _counted_from_front(c: Conversion, x: SSAValue, extent: int) -> SSAValue:
    """Indices of PyTorch may be negative: they count from the back."""
    x = c.cast(x, i64)
    zero = c.constant(0, element_type(x))
    return c.op("SelectV2", c.op("Less", x, zero), c.scalar("Adds", x, extent), x)
