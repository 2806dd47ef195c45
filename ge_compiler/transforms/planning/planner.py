"""
The planner, without any IR: from sizes and lifetimes to offsets.

A request is a rectangle of bytes by time, or several that stand at the same bytes; the planner moves it along the bytes so that no two
rectangles overlap and the pile stays low.
Finding the lowest pile is NP-hard; a few orders of greedy placement, then small changes of the best of them, tried until one reaches the
lower bound, do well in practice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ge_compiler.dialects.memory import round_up


@dataclass(frozen=True)
class Request:
    """A buffer that needs room."""

    size: int
    """Bytes."""
    first: int
    """The first step at which it is used."""
    end: int
    """The step after the last at which it is used."""
    gaps: tuple[tuple[int, int], ...] = ()
    """Steps in between, from the first number up to the second, at which it holds nothing: in order, apart from each other."""

    def stacked(self, slots: int, alignment: int) -> Request:
        """Room for several slots, one behind the other."""
        return self if slots == 1 else replace(self, size=round_up(self.size, alignment) * slots)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The steps at which it is held, from the first number up to the second."""
        edges = [self.first, *(edge for gap in self.gaps for edge in gap), self.end]
        return list(zip(edges[::2], edges[1::2], strict=True))

    def meets(self, other: Request) -> bool:
        """Whether both are held at some step."""
        return any(a[0] < b[1] and b[0] < a[1] for a in self.spans for b in other.spans)


Offsets = tuple[int, ...]


def peak(requests: Sequence[Request], offsets: Sequence[int]) -> int:
    """Bytes from the start of the memory to the end of the highest buffer that holds any."""
    return max((offset + request.size for request, offset in zip(requests, offsets, strict=True) if request.size), default=0)


def most_held(requests: Sequence[Request]) -> list[int]:
    """The requests, by index, that are held at the step at which their sizes add up to most."""
    best, most = list[int](), -1
    for step in sorted({start for request in requests for start, _ in request.spans}):
        held = [i for i, request in enumerate(requests) if any(start <= step < end for start, end in request.spans)]
        total = sum(requests[i].size for i in held)
        if total > most:
            best, most = held, total
    return best


def lower_bound(requests: Sequence[Request]) -> int:
    """Bytes that no plan can do without: the most that is held at one step."""
    changes: dict[int, int] = {}
    for request in requests:
        for start, end in request.spans:
            changes[start] = changes.get(start, 0) + request.size
            changes[end] = changes.get(end, 0) - request.size
    held = most = 0
    for step in sorted(changes):
        held += changes[step]
        most = max(most, held)
    return most


def plan(requests: Sequence[Request], alignment: int = 1) -> Offsets:
    """
    An offset for each request: a multiple of `alignment` bytes, no overlap between buffers that are held at the same step.

    The result depends on the arguments alone.
    """
    padded = [replace(request, size=round_up(request.size, alignment)) for request in requests]
    bound = lower_bound(padded)
    best: Offsets | None = None
    for candidate in _candidates(padded, bound):
        if best is None or peak(padded, candidate) < peak(padded, best):
            best = candidate
        if peak(padded, best) <= bound:
            break
    assert best is not None
    return best


def plan_without_reuse(requests: Sequence[Request], alignment: int = 1) -> Offsets:
    """Every buffer has bytes of its own, in order: what a fault is narrowed down with."""
    offsets: list[int] = []
    free = 0
    for request in requests:
        offsets.append(free)
        free += round_up(request.size, alignment)
    return tuple(offsets)


def _candidates(requests: Sequence[Request], bound: int) -> Iterable[Offsets]:
    """Plans, the most promising first."""
    meeting = _meeting(requests)
    largest_first = _order(requests, lambda r: (-r.size, r.first))
    in_time = _order(requests, lambda r: (r.first, -r.size))
    longest_first = _order(requests, lambda r: (r.first - r.end, -r.size))
    most_meetings = sorted(range(len(requests)), key=lambda i: (-sum(requests[j].size for j in meeting[i]), i))
    yield _place(requests, largest_first, meeting, _best_fit)
    yield _place(requests, in_time, meeting, _alternate_ends(bound))
    for order in (in_time, longest_first, most_meetings):
        yield _place(requests, order, meeting, _best_fit)
        yield _place(requests, order, meeting, _first_fit)
    starts = (largest_first, in_time, longest_first)
    yield from _lowered(requests, min(starts, key=lambda order: peak(requests, _place(requests, order, meeting, _best_fit))), meeting)


_ROUNDS, _PLACEMENTS = 60, 15_000
"""How often an order is changed before the best plan so far is good enough, and how many buffers are placed anew for it at most."""


def _lowered(requests: Sequence[Request], order: Sequence[int], meeting: Sequence[Sequence[int]]) -> Iterator[Offsets]:
    """Plans from changes of `order`, one after the other: the buffer that reaches highest is placed earlier."""
    offsets = _place(requests, order, meeting, _best_fit)
    for i in range(min(_ROUNDS, _PLACEMENTS // max(1, len(requests)))):
        top = max(range(len(requests)), key=lambda j: offsets[j] + requests[j].size)
        at = {j: place for place, j in enumerate(order)}
        before_all = min((at[j] for j in meeting[top]), default=0)
        changed = [j for j in order if j != top]
        changed.insert(min(before_all, at[top]) if i % 2 == 0 else at[top] // 2, top)
        lowered = _place(requests, changed, meeting, _best_fit)
        yield lowered
        # A little worse is a way out of a dead end.
        if peak(requests, lowered) * 20 <= peak(requests, offsets) * 21:
            order, offsets = changed, lowered


def _order(requests: Sequence[Request], key: Callable[[Request], tuple[int, int]]) -> list[int]:
    return sorted(range(len(requests)), key=lambda i: (key(requests[i]), i))


def _meeting(requests: Sequence[Request]) -> list[list[int]]:
    """For each request, the others that are held at a step at which it is."""
    meeting: list[set[int]] = [set() for _ in requests]
    held: list[tuple[int, int]] = []
    for start, end, i in sorted((start, end, i) for i, request in enumerate(requests) for start, end in request.spans):
        if start < end:
            held = [(until, j) for until, j in held if until > start]
            for _, j in held:
                meeting[i].add(j)
                meeting[j].add(i)
            held.append((end, i))
    return [sorted(others) for others in meeting]


Gap = tuple[int, int | None]
"""Free bytes from the first number up to the second; the last one has no end."""
Fit = Callable[[Sequence[Gap], int], int]
"""Chooses the offset of a buffer among the gaps that are free for it, given its size."""


def _place(requests: Sequence[Request], order: Sequence[int], meeting: Sequence[Sequence[int]], fit: Fit) -> Offsets:
    offsets: dict[int, int] = {}
    for i in order:
        taken = sorted((offsets[j], offsets[j] + requests[j].size) for j in meeting[i] if j in offsets)
        offsets[i] = fit(_gaps(taken), requests[i].size)
    return tuple(offsets[i] for i in range(len(requests)))


def _gaps(taken: Iterable[tuple[int, int]]) -> list[Gap]:
    gaps: list[Gap] = []
    free = 0
    for start, end in taken:
        if start > free:
            gaps.append((free, start))
        free = max(free, end)
    return [*gaps, (free, None)]


def _best_fit(gaps: Sequence[Gap], size: int) -> int:
    fitting = [(end - start, start) for start, end in gaps if end is not None and end - start >= size]
    return min(fitting)[1] if fitting else gaps[-1][0]


def _first_fit(gaps: Sequence[Gap], size: int) -> int:
    return next(start for start, end in gaps if end is None or end - start >= size)


def _alternate_ends(height: int) -> Fit:
    """The bottom where it is free, else the top of `height` bytes: where each buffer meets only its neighbours, this needs no more."""

    def fit(gaps: Sequence[Gap], size: int) -> int:
        start, end = gaps[0]
        if start == 0 and (end is None or end >= size):
            return 0
        start, end = gaps[-1]
        return height - size if start <= height - size else _first_fit(gaps, size)

    return fit
