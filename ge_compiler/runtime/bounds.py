"""Whether a rectangle lies inside what it is cut from, and a row in its table: the checks that every level makes before it reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.ge.shapes import show
from ge_compiler.dialects.semantics import Array


def cut(op: Operation, what: str, shape: Sequence[int], offsets: Sequence[int], extents: Sequence[int]) -> tuple[slice, ...]:
    """
    The slices of the rectangle of `extents` at `offsets` in an array of `shape`, all in elements.

    Raises `CompileError` at `op` where a dimension is left; a rectangle without elements may start anywhere.
    """
    for offset, extent, size in zip(offsets, extents, shape, strict=True):
        if extent < 0 or (0 not in extents and not 0 <= offset <= size - extent):
            raise CompileError.at(op, _message(what, shape, offsets, extents))
    return tuple(slice(offset, offset + extent) for offset, extent in zip(offsets, extents, strict=True))


def _message(what: str, shape: Sequence[int], offsets: Sequence[int], extents: Sequence[int]) -> str:
    for d, (offset, extent, size) in enumerate(zip(offsets, extents, shape, strict=True)):
        if extent < 0:
            return f"{what}: extent {extent} of dimension {d} is negative"
        if not 0 <= offset <= size - extent:
            return f"{what}: elements [{offset}, {offset + extent}) of dimension {d} are out of bounds, it is {show(tuple(shape))}"
    raise AssertionError("the rectangle is inside")


def check_room(op: Operation, extents: Sequence[int], room: Sequence[int]) -> None:
    """Raises `CompileError` at `op` unless valid extents fit the static shape of the tile; -1 in `room` is any size."""
    for extent, size in zip(extents, room, strict=True):
        if extent < 0 or extent > size >= 0:
            raise CompileError.at(op, f"valid extents {show(tuple(extents))} exceed the tile {show(tuple(room))}")


def check_rows(op: Operation, what: str, indices: Array, count: int) -> None:
    """Raises `CompileError` at `op` unless each of `indices` is a row of `what`, which has `count`."""
    outside = (indices < 0) | (indices >= count)
    if outside.any():
        place = tuple(int(i) for i in np.argwhere(outside)[0])
        here = place[0] if indices.ndim <= 2 else place
        message = f"index {indices[place]} in row {here} is out of bounds: {what} has {count} rows"
        raise CompileError.at(op, message)


def defined(op: Operation, name: str, value: Array | None) -> Array:
    """`value`. Raises `CompileError` at `op` where it is a tile that nothing has written."""
    if value is None:
        raise CompileError.at(op, f"{name} is a tile that nothing has written: the loop that should fill it ran no iteration")
    return value
