"""Lifted kernels that run: rectangles on worker threads, shadows of global memory, and what is kept from one call to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.func import FuncOp

from ge_compiler.dialects.semantics import Array
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.runtime.lifted import arithmetic
from ge_compiler.runtime.lifted.binding import Bound, Memories, bind
from ge_compiler.runtime.lifted.indices import NotLifted
from ge_compiler.runtime.lifted.kernel import Followed, Phase, follow
from ge_compiler.runtime.lifted.layout import Layout, chosen_widths, corners, lay_out
from ge_compiler.runtime.lifted.values import Global, Trace

Pair = tuple[int, int]
"""Two arguments of a kernel."""


@dataclass
class Part:
    """One class of blocks and how its rectangles lie in scratch memory."""

    trace: Trace
    layout: Layout
    bound: dict[tuple[int, tuple[int, ...]], Bound] = field(default_factory=dict[tuple[int, tuple[int, ...]], Bound])
    """By worker and size of the rectangle."""


class Rectangle(NamedTuple):
    part: Part
    corner: tuple[int, ...]
    widths: tuple[int, ...]


class Worker:
    """The scratch memory of one thread."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._scratch = np.empty(0, np.uint8)

    def run(self, rectangles: Sequence[Rectangle], memories: Memories) -> None:
        with np.errstate(all="ignore"):
            for part, corner, widths in rectangles:
                self._bound(part, widths).run(corner, memories)

    @property
    def size(self) -> int:
        return self._scratch.size

    def reserve(self, size: int) -> bool:
        """Room for `size` bytes; whether the memory is another one now."""
        if size <= self._scratch.size:
            return False
        self._scratch = np.empty(size, np.uint8)
        return True

    def _bound(self, part: Part, widths: tuple[int, ...]) -> Bound:
        key = self.number, widths
        if key not in part.bound:
            part.bound[key] = bind(part.trace, part.layout, widths, self._scratch)
        return part.bound[key]


@dataclass
class Kernel:
    """A lifted kernel."""

    followed: Followed
    phases: list[tuple[Phase, list[Part], list[Global]]]
    """With the global memory that each phase uses, shadows included."""

    @property
    def scratch(self) -> int:
        return max((part.layout.size for _, parts, _ in self.phases for part in parts), default=0)

    @property
    def instructions(self) -> Counter[str]:
        return self.followed.instructions

    def parts(self) -> Iterator[Part]:
        for _, parts, _ in self.phases:
            yield from parts

    def written(self) -> frozenset[int]:
        """The arguments that may change."""
        return frozenset(i for phase, _, _ in self.phases for i in phase.written - phase.kept)


def lift(
    kernel: FuncOp, target: NpuTarget, shapes: Sequence[tuple[int, ...]], groups: Sequence[int], overlaps: Sequence[Pair], width: int | None
) -> Kernel:
    """
    `kernel` in rectangles of at most `width` blocks; arguments of one number in `groups` are the same region, those of `overlaps` share a
    part of their memory. Raises `NotLifted`.
    """
    followed = follow(kernel, target, shapes, groups)
    _check_overlaps(followed.phases, groups, overlaps)
    phases: list[tuple[Phase, list[Part], list[Global]]] = []
    for phase in followed.phases:
        limit = 1 if phase.keeps_order else width
        parts = [Part(trace, lay_out(trace, chosen_widths(trace, limit))) for trace in phase.traces]
        operands = [x for trace in phase.traces for step in trace.steps for x in (step.out, *step.inputs)]
        sources = list(dict.fromkeys(x.source for x in operands if isinstance(x.source, Global)))
        phases.append((phase, parts, sources))
    return Kernel(followed, phases)


def _check_overlaps(phases: Sequence[Phase], groups: Sequence[int], overlaps: Sequence[Pair]) -> None:
    """Raises `NotLifted` where a launch changes memory that it knows by two names, so that who is first matters."""
    written = frozenset[int]().union(*(phase.written for phase in phases))
    kept = frozenset[int]().union(*(phase.kept for phase in phases))
    alike = [(i, j) for j in range(len(groups)) for i in range(j) if groups[i] == groups[j] and kept & {i, j}]
    for i, j in (*overlaps, *alike):
        if written & {i, j}:
            raise NotLifted(f"arguments #{i} and #{j} share memory that the kernel changes")


class Shadows:
    """Copies of constant tensors in f32, or turned, kept from call to call up to a number of bytes."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.bytes = 0
        self._kept: dict[tuple[int, tuple[int, ...], Global], tuple[Array, Array]] = {}

    def of(self, array: Array, source: Global, constant: bool) -> Array:
        """The shadow of `array` that `source` says; `constant` arrays never change."""
        key = array.__array_interface__["data"][0], array.shape, Global(0, source.wide, source.turned)
        if constant and key in self._kept:
            return self._kept[key][1]
        made = _shadow(array, source)
        if constant and (self.limit is None or self.bytes + made.nbytes <= self.limit):
            self._kept[key] = array, made  # the array as well, so that no other takes its place
            self.bytes += made.nbytes
        return made


def _shadow(array: Array, source: Global) -> Array:
    matrix = array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)
    if source.turned:
        matrix = matrix.T
    made = np.empty(matrix.shape, np.float32 if source.wide else array.dtype)
    if source.turned and source.wide:
        # Converting and turning at once would read or write with large strides element by element.
        straight = np.empty(array.shape, np.float32)
        arithmetic.convert(straight, array)
        matrix = straight.reshape(matrix.shape[::-1]).T
        np.copyto(made, matrix)
    else:
        arithmetic.convert(made, matrix)
    return made


class Lifted:
    """
    What lifted execution keeps from call to call: kernels by name and shapes, shadows of weights, workers' scratch memory. Modules and
    weights that were executed with it must not be changed.

    `width` limits the blocks of a rectangle (all sizes give the same bits), `workers` is the number of threads, `shadow_limit` the bytes
    of weights' shadows that are kept.
    """

    def __init__(self, *, width: int | None = None, workers: int = 1, shadow_limit: int | None = None) -> None:
        self.width = width
        self.shadows = Shadows(shadow_limit)
        self.proven: tuple[object, ...] | None = None
        """The program of which every launch has been lifted, and been seen to read only what was written before."""
        self.lock = Lock()
        """Held while a program executes: scratch memory serves one at a time."""
        self._prepared: tuple[tuple[object, ...], Any] | None = None
        self._workers = [Worker(i) for i in range(workers)]
        self._pool = ThreadPoolExecutor(workers) if workers > 1 else None
        self._kernels: dict[object, Kernel | NotLifted] = {}

    def prepared(self, key: tuple[object, ...], make: Callable[[], Any]) -> Any:
        """What `make` gave the last time, if that was for the same objects."""
        known = self._prepared
        if known is None or not _same(known[0], key):
            self._prepared = known = key, make()
        return known[1]

    def is_proven(self, program: tuple[object, ...]) -> bool:
        """Whether `program` is the one that is `proven`."""
        return self.proven is not None and _same(self.proven, program)

    @property
    def scratch_bytes(self) -> int:
        """What each worker has for arrays of rectangles."""
        return max(worker.size for worker in self._workers)

    def kernel(self, function: FuncOp, target: NpuTarget, arrays: Sequence[Array]) -> Kernel:
        """The lifted form of `function` for arguments like `arrays`. Raises `NotLifted`."""
        groups, overlaps = _sharing(arrays)
        key = function, tuple(x.shape for x in arrays), groups, overlaps
        if key not in self._kernels:
            try:
                self._kernels[key] = lift(function, target, key[1], groups, overlaps, self.width)
            except NotLifted as reason:
                self._kernels[key] = reason
        found = self._kernels[key]
        if isinstance(found, NotLifted):
            raise found
        return found

    def run(self, kernel: Kernel, arrays: Sequence[Array], constant: Sequence[bool]) -> None:
        """Execute a launch; arrays are contiguous, those marked are weights. Raises `CompileError` where data names no row."""
        self._reserve(kernel)
        for phase, parts, sources in kernel.phases:
            memories = {s: self._memory(s, arrays, constant) for s in sources}
            rectangles = [Rectangle(part, *where) for part in parts for where in corners(part.trace, part.layout.widths)]
            if phase.keeps_order:
                rectangles.sort(key=lambda x: phase.turn([a + b for a, b in zip(x.part.trace.start, x.corner, strict=True)]))
            if self._pool is None or any(part.trace.scatters for part in parts):
                self._workers[0].run(rectangles, memories)
                continue
            count = len(self._workers)
            futures = [self._pool.submit(w.run, rectangles[i::count], memories) for i, w in enumerate(self._workers)]
            for future in futures:
                future.result()

    def _reserve(self, kernel: Kernel) -> None:
        grown = [worker.reserve(kernel.scratch) for worker in self._workers]
        if any(grown):
            for other in self._kernels.values():
                for part in other.parts() if isinstance(other, Kernel) else ():
                    part.bound.clear()

    def _memory(self, source: Global, arrays: Sequence[Array], constant: Sequence[bool]) -> Array:
        if source.number < 0:
            return arithmetic.numbers().view(np.uint8)
        array = arrays[source.number]
        if source.wide or source.turned:
            array = self.shadows.of(array, source, constant[source.number])
        return array.reshape(-1).view(np.uint8)


def _same(some: Sequence[object], others: Sequence[object]) -> bool:
    return all(x is y for x, y in zip(some, others, strict=True))


def _sharing(arrays: Sequence[Array]) -> tuple[tuple[int, ...], tuple[Pair, ...]]:
    """For each array the first one that is the same region, and the pairs that share a part of their memory."""
    places = [(x.__array_interface__["data"][0], x.shape, x.dtype) for x in arrays]
    groups = tuple(i if x.size == 0 else places.index(places[i]) for i, x in enumerate(arrays))
    pairs = [(i, j) for j, y in enumerate(arrays) for i, x in enumerate(arrays[:j]) if groups[i] != groups[j] and np.may_share_memory(x, y)]
    return groups, tuple(pairs)
