"""Whether blocks may run in any order: none reads or writes what another one writes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_compiler.dialects.semantics import Array
from ge_compiler.runtime.lifted.indices import NotLifted
from ge_compiler.runtime.lifted.values import Access, Trace

LARGEST = 2**24
"""Elements of a tensor up to which each is looked at, where blocks do not write rectangles apart from each other."""


def check_order(traces: Sequence[Trace], shapes: Sequence[tuple[int, ...]], groups: Sequence[int]) -> None:
    """Raises `NotLifted` unless the blocks of a grid touch different elements of each tensor that they write."""
    written = {groups[a.number] for t in traces for a in t.accesses if a.writes}
    for number in sorted({a.number for t in traces for a in t.accesses if groups[a.number] in written}):
        shape = shapes[number]
        if 0 in shape:
            continue
        if any(groups[a.number] == groups[number] and a.number < number for t in traces for a in t.accesses):
            continue  # it was looked at under the first number
        of_tensor = [(t, [a for a in t.accesses if groups[a.number] == groups[number]]) for t in traces]
        if not _apart(of_tensor, shape):
            _look_at_each(of_tensor, shape)


def _apart(of_tensor: Sequence[tuple[Trace, Sequence[Access]]], shape: tuple[int, ...]) -> bool:
    """Whether each block keeps to a rectangle of its own, in rows and columns of the tensor's matrix."""
    rectangles: list[Array] = []
    for trace, accesses in of_tensor:
        bounds = [_rectangles(trace, a, shape[-1] if shape else 1) for a in accesses]
        if any(b is None for b in bounds):
            return False
        if bounds:
            stack = np.stack([b for b in bounds if b is not None])
            rectangles.append(np.concatenate([stack[..., :2].min(axis=0), stack[..., 2:].max(axis=0)], axis=-1))
    if not rectangles:
        return True
    all_ = np.concatenate(rectangles)
    if len(np.unique(all_, axis=0)) < len(all_):
        return False
    return all(_disjoint(np.unique(all_[:, [d, d + 2]], axis=0)) for d in range(2))


def _disjoint(intervals: Array) -> bool:
    """Whether intervals, sorted by their starts, do not touch each other."""
    return bool((intervals[1:, 0] > intervals[:-1, 1]).all())


def _rectangles(trace: Trace, access: Access, columns: int) -> Array | None:
    """First row, first column, last row, last column of each block; `None` where a rectangle goes around the end of a row."""
    coordinates = np.indices(trace.widths).reshape(len(trace.widths), -1)
    start = access.at.base + sum(c * s for c, s in zip(coordinates, access.at.strides, strict=True))
    row, column = np.divmod(np.broadcast_to(np.asarray(start), coordinates.shape[1:]), columns)
    down = across = 0
    for extent, stride in zip(access.shape, access.strides, strict=True):
        rows, rest = divmod(stride, columns) if extent > 1 else (0, 0)
        if rows and rest:
            return None
        down, across = down + rows * (extent - 1), across + rest * (extent - 1)
    if (column + across >= columns).any():
        return None
    return np.stack([row, column, row + down, column + across], axis=-1)


def _look_at_each(of_tensor: Sequence[tuple[Trace, Sequence[Access]]], shape: tuple[int, ...]) -> None:
    size = int(np.prod(shape))
    if size > LARGEST:
        raise NotLifted("blocks do not write rectangles apart from each other")
    owner = np.zeros(size, np.int32)
    first = 1
    later: list[tuple[Array, Array]] = []
    for trace, accesses in of_tensor:
        blocks = int(np.prod(trace.widths))
        numbers = np.arange(first, first + blocks, dtype=np.int32).reshape(*trace.widths, 1, 1)
        first += blocks
        for a in accesses:
            strides = [s * owner.itemsize for s in (*a.at.strides, *a.strides)]
            view = np.ndarray((*trace.widths, *a.shape), owner.dtype, owner.data, a.at.base * owner.itemsize, strides)
            if not a.writes:
                later.append((view, numbers))
                continue
            _claim(view, numbers)
            view[...] = numbers
            _claim(view, numbers)
    for view, numbers in later:
        _claim(view, numbers)


def _claim(view: Array, numbers: Array) -> None:
    if ((view != 0) & (view != numbers)).any():
        raise NotLifted("blocks touch what other blocks write")
