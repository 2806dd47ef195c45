"""What a kernel waits for: its critical path, read off numbers that remember how they came about.

The recurrence runs once more, on integers that carry the path that led to them. Where a loop was jumped over, the path holds one period
after the other; what a period consists of is read from the path just before the jump.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ge_compiler.runtime.timing.fold import Folding
from ge_compiler.runtime.timing.program import BARRIER, INSTRUCTION, LOOP, SCALAR, SET, WAIT, Body, Cluster, Item, Loop, Stream
from ge_compiler.runtime.timing.scoreboard import Board, Costs

Label = tuple[str, str]
"""What time goes to: ("busy", pipe), ("fill", pipe), ("latency", pipe), ("flag", its name), ("issue", core kind) or ("loop", core kind)."""


class _Labelled(int):
    """Ticks that say what they are for."""

    label: Label

    def __new__(cls, ticks: int, label: Label) -> _Labelled:
        made = super().__new__(cls, ticks)
        made.label = label
        return made


_Path = tuple[Any, Label | None, int]


class _Moment(int):
    """A time that remembers its path."""

    path: _Path | None = None

    def __add__(self, ticks: int) -> _Moment:
        made = _Moment(int(self) + int(ticks))
        made.path = (self.path, getattr(ticks, "label", None), int(ticks))
        return made


@dataclass(frozen=True)
class CriticalPath:
    """Where the ticks of a kernel went, and how often each flag was on the way."""

    ticks: Counter[Label]
    crossings: Counter[str]
    steady: Counter[Label]
    """The ticks of one period of the longest loop that was jumped over; empty without one."""
    period: int
    """Ticks of that period: the sum of `steady`."""

    @property
    def total(self) -> int:
        return sum(self.ticks.values())


def critical_path(cluster: Cluster, costs: Costs, depth: int, pipe_of: Sequence[int]) -> CriticalPath:
    """The critical path of a cluster that runs alone under these costs."""
    names = _names(cluster, pipe_of)
    labelled = [tuple(_Labelled(t, (what, name)) for t, what in zip(c, _PARTS, strict=True)) for c, name in zip(costs, names, strict=True)]
    streams = tuple(Stream(s.kind, s.pipes, _relabelled(cluster, s, s.body, {}), s.copies) for s in cluster.streams)
    board = Board(Cluster(streams, cluster.channels), labelled, depth, Folding(), events=[])  # pyright: ignore[reportArgumentType]
    for core in board.cores:
        core.time = _Moment()
        for times in (core.head, core.free, core.done):
            times[:] = [_Moment() for _ in times]
        core.queues[:] = [deque((_Moment() for _ in queue), depth) for queue in core.queues]
    board.run()
    last = max((t for core in board.cores for t in (core.time, *core.done, *core.head)), key=int)
    return _summary(getattr(last, "path", None), {jump.period * jump.periods: jump.period for jump in board.jumps})


_PARTS = ("fill", "busy", "latency")


def _names(cluster: Cluster, pipe_of: Sequence[int]) -> list[str]:
    """For each work, the pipe that does it."""
    names = ["" for _ in pipe_of]
    for stream in cluster.streams:
        for body in _bodies(stream.body, set()):
            for item in body.items:
                if item[0] == INSTRUCTION:
                    names[item[3]] = stream.pipes[item[1]]
    return names


def _bodies(body: Body, seen: set[Body]) -> Iterator[Body]:
    if body not in seen:
        seen.add(body)
        yield body
        for item in body.items:
            if item[0] == LOOP:
                yield from _bodies(item[1].body, seen)


def _relabelled(cluster: Cluster, stream: Stream, body: Body, known: dict[Body, Body]) -> Body:
    if body not in known:
        known[body] = Body(tuple(_labelled(cluster, stream, item, known) for item in body.items), body.length, body.scalar)
    return known[body]


def _labelled(cluster: Cluster, stream: Stream, item: Item, known: dict[Body, Body]) -> Item:
    kind = item[0]
    if kind == LOOP:
        return (LOOP, Loop(item[1].count, _relabelled(cluster, stream, item[1].body, known)))
    if kind == SCALAR:
        return (SCALAR, _Labelled(item[1], ("loop", stream.kind)))
    if kind not in (INSTRUCTION, WAIT, SET, BARRIER):
        return item
    issued = _Labelled(item[2], ("issue", stream.kind))
    if kind == SET:
        channel: int = item[3][0]
        return (*item[:2], issued, item[3], _Labelled(item[4], ("flag", cluster.channels[channel].name)))
    return (*item[:2], issued, *item[3:])


def _steps(path: _Path | None) -> Iterator[tuple[_Path, Label | None, int]]:
    while path is not None:
        yield path, path[1], path[2]
        path = path[0]


def _summary(path: _Path | None, periods: Mapping[int, int]) -> CriticalPath:
    """Adds a path up. `periods` says how many ticks a period has of the jumps of so many ticks."""
    total, steady, longest = _Sum(), _Sum(), 0
    for node, label, amount in _steps(path):
        if label is not None:
            total.add(label, amount)
        elif amount:
            found = _period(node[0], periods[amount], periods)
            total.repeat(found, amount // periods[amount])
            steady, longest = (found, amount) if amount > longest else (steady, longest)
    return CriticalPath(total.ticks, +total.crossings, steady.ticks, sum(steady.ticks.values()))


@dataclass
class _Sum:
    """What ticks went to, and how often each flag was on the way."""

    ticks: Counter[Label] = field(default_factory=Counter[Label])
    crossings: Counter[str] = field(default_factory=Counter[str])

    def add(self, label: Label, ticks: int) -> None:
        self.ticks[label] += ticks
        self.crossings[label[1]] += label[0] == "flag"

    def repeat(self, other: _Sum, times: int) -> None:
        self.ticks.update({label: count * times for label, count in other.ticks.items()})
        self.crossings.update({flag: count * times for flag, count in other.crossings.items()})


def _period(path: _Path | None, period: int, periods: Mapping[int, int]) -> _Sum:
    """What the last `period` ticks of a path went to, with the loops in it that were jumped over."""
    found, left = _Sum(), period
    for node, label, amount in _steps(path):
        if left == 0:
            break
        part = min(amount, left)
        if label is not None:
            found.add(label, part)
        elif part:
            inner = periods[amount]
            found.repeat(_period(node[0], inner, periods), part // inner)
            found.repeat(_period(node[0], part % inner, periods), 1)
        left -= part
    if left:
        found.add(_OTHER, left)
    return found


_OTHER: Label = ("other", "")
"""What lies before the start of a path."""
