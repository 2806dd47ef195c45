"""Where the arrays of a class's steps lie in scratch memory, and how many blocks a rectangle has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from ge_compiler.runtime.lifted.values import Operand, Scratch, Step, Trace

ALIGNMENT = 64
"""Bytes: a cache line."""

SCRATCH = 2 * 2**20
"""Bytes that a rectangle may take: about what stays in the cache of one core."""


@dataclass
class Layout:
    """Byte offsets of scratch arrays for rectangles of `widths` blocks at most."""

    widths: tuple[int, ...]
    offsets: dict[Scratch, int] = field(default_factory=dict[Scratch, int])
    size: int = 0


class _Free:
    """Bytes that no living array has, as ranges in order; there is no end to them."""

    def __init__(self) -> None:
        self._ranges: list[list[int]] = []
        self.end = 0

    def take(self, size: int) -> int:
        fits = [r for r in self._ranges if r[1] - r[0] >= size]
        if fits:
            best = min(fits, key=lambda r: r[1] - r[0])
            best[0] += size
            if best[0] == best[1]:
                self._ranges.remove(best)
            return best[0] - size
        start = self._ranges.pop()[0] if self._ranges and self._ranges[-1][1] == self.end else self.end
        self.end = start + size
        return start

    def give(self, start: int, size: int) -> None:
        ranges = sorted([*self._ranges, [start, start + size]])
        self._ranges = ranges[:1]
        for first, last in ranges[1:]:
            if self._ranges[-1][1] == first:
                self._ranges[-1][1] = last
            else:
                self._ranges.append([first, last])


def lay_out(trace: Trace, widths: tuple[int, ...]) -> Layout:
    """Arrays that live at the same time lie apart from each other."""
    layout, free = Layout(widths), _Free()
    last = {x: i for i, step in enumerate(trace.steps) for x in _scratches(step)}
    for i, step in enumerate(trace.steps):
        ending = {x for x in _scratches(step) if last[x] == i}
        out = step.out.source
        if isinstance(out, Scratch) and out not in layout.offsets:
            heir = next((x.source for x in step.inputs if step.in_place and x.source in ending and _alike(x, step.out)), None)
            if isinstance(heir, Scratch):
                layout.offsets[out] = layout.offsets[heir]
                ending.remove(heir)
            else:
                layout.offsets[out] = free.take(bytes_of(out, widths))
        for x in ending:
            free.give(layout.offsets[x], bytes_of(x, widths))
    layout.size = free.end
    return layout


def _scratches(step: Step) -> list[Scratch]:
    return [x.source for x in (step.out, *step.inputs) if isinstance(x.source, Scratch) and 0 not in x.shape]


def _alike(x: Operand, out: Operand) -> bool:
    """Whether two operands are whole arrays whose elements lie in the same order."""
    return x.is_whole and out.is_whole and x.shape == out.shape and x.axes == out.axes and _size(x) == _size(out)


def _size(x: Operand) -> int:
    assert isinstance(x.source, Scratch)
    return x.source.dtype.itemsize


def bytes_of(x: Scratch, widths: Sequence[int]) -> int:
    return -(-x.elements(widths) * x.dtype.itemsize // ALIGNMENT) * ALIGNMENT


def chosen_widths(trace: Trace, limit: int | None) -> tuple[int, ...]:
    """How many blocks a rectangle has along each axis: at most `limit` in all, or as many as `SCRATCH` has room for."""
    if limit is None:
        limit = max(1, SCRATCH // max(1, lay_out(trace, (1,) * len(trace.widths)).size))
    widths: list[int] = []
    for width in reversed(trace.widths):
        widths.insert(0, max(1, min(width, limit)))
        limit //= widths[0]
    return tuple(widths)


def corners(trace: Trace, widths: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The first block of each rectangle of a class, and how many it has along each axis."""
    starts = [range(0, whole, width) for whole, width in zip(trace.widths, widths, strict=True)]
    for corner in product(*starts):
        yield corner, tuple(min(w, whole - c) for w, whole, c in zip(widths, trace.widths, corner, strict=True))
