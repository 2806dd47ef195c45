"""Steps bound to memory: flat lists of functions and arrays, in which only arrays of global memory change from rectangle to rectangle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ge_compiler.dialects.semantics import Array
from ge_compiler.runtime.lifted.layout import Layout
from ge_compiler.runtime.lifted.values import Global, Operand, Scratch, Trace

Memories = Mapping[Global, Array]
"""The bytes of global tensors and of their shadows."""


@dataclass
class _Patch:
    """Which array of which step shows global memory."""

    arguments: list[Array]
    position: int
    source: Global
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """Bytes."""
    dtype: np.dtype[Any]
    offset: int
    moves: tuple[int, ...]
    """Bytes from one block to the next."""


@dataclass
class Bound:
    """The steps of a class for rectangles of one size, in one scratch memory."""

    steps: list[tuple[Callable[..., None], list[Array]]] = field(default_factory=list[Any])
    patches: list[_Patch] = field(default_factory=list[_Patch])

    def run(self, corner: Sequence[int], memories: Memories) -> None:
        """Execute the rectangle whose first block is at `corner` of the class."""
        for p in self.patches:
            offset = p.offset
            for c, move in zip(corner, p.moves, strict=True):
                offset += c * move
            p.arguments[p.position] = np.ndarray(p.shape, p.dtype, memories[p.source], offset, p.strides)
        for function, arguments in self.steps:
            function(*arguments)


def bind(trace: Trace, layout: Layout, widths: Sequence[int], scratch: Array) -> Bound:
    """The steps of `trace` on rectangles of `widths` blocks, which lie in `scratch` as `layout` says."""
    bound = Bound()
    for step in trace.steps:
        operands = (step.out, *step.inputs)
        if any(0 in x.shape for x in operands):
            arguments: list[Array] = [_empty(x, widths) if 0 in x.shape else _scratch_view(x, layout, widths, scratch) for x in operands]
        else:
            arguments = [_scratch_view(x, layout, widths, scratch) for x in operands]
        bound.steps.append((step.function, arguments))
        for position, x in enumerate(operands):
            if isinstance(x.source, Global) and 0 not in x.shape:
                bound.patches.append(_patch(arguments, position, x, widths))
    return bound


def _empty(x: Operand, widths: Sequence[int]) -> Array:
    return np.empty((*_grid(x, widths), *x.shape), x.source.dtype if isinstance(x.source, Scratch) else x.dtype)


def _grid(x: Operand, widths: Sequence[int]) -> tuple[int, ...]:
    return tuple(w if has else 1 for w, has in zip(widths, x.axes, strict=True))


def _scratch_view(x: Operand, layout: Layout, widths: Sequence[int], scratch: Array) -> Array:
    """The array of an operand in scratch memory; a stand-in for one in global memory."""
    source = x.source
    if isinstance(source, Global):
        return scratch
    itemsize, grid = source.dtype.itemsize, _grid(x, widths)
    stride, strides = source.rows * source.columns * itemsize, [x.row_stride * itemsize, x.column_stride * itemsize]
    for width in reversed(grid):
        strides.insert(0, stride)
        stride *= width
    return np.ndarray((*grid, *x.shape), source.dtype, scratch, layout.offsets[source] + x.offset * itemsize, strides)


def _patch(arguments: list[Array], position: int, x: Operand, widths: Sequence[int]) -> _Patch:
    assert isinstance(x.source, Global)
    size = x.dtype.itemsize
    # What all blocks write has every axis, or numpy could not repeat what it is made of.
    grid = _grid(x, widths)
    strides = (*(s * size for s in x.strides), x.row_stride * size, x.column_stride * size)
    return _Patch(arguments, position, x.source, (*grid, *x.shape), strides, x.dtype, x.offset * size, tuple(s * size for s in x.strides))
