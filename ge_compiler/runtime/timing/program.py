"""What a core runs, as a tree that is read from the IR once and never changes: everything is a number, nothing an address.

A `Body` is a sequence of items, a `Loop` repeats a body. Bodies and loops are *interned*: equal ones are one object, so a loop whose
iterations all do the same is one body however often it runs, and iterations that take turns between slots are a body of several turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xdsl.ir import Operation

from ge_compiler.dialects.instruction_costs import Cost, Overheads

INSTRUCTION, WAIT, SET, BARRIER, BARRIER_ALL, SCALAR, ALL_CORES, LOOP = range(8)
"""The first number of an item says what it is."""

Item: TypeAlias = tuple[Any, ...]
"""
On a pipe: (INSTRUCTION, pipe, issue, work), (WAIT, pipe, issue, channels), (SET, pipe, issue, channels, latency), (BARRIER, pipe, issue).
Of a core: (BARRIER_ALL,), (SCALAR, ticks), (ALL_CORES,), (LOOP, loop). Pipes are numbered within their stream, channels within their
cluster; `work` is a number in the table of costs; `issue` and `latency` are ticks.
"""


@dataclass(eq=False, slots=True)
class Body:
    """Items in the order of the program."""

    items: tuple[Item, ...]
    length: int
    """How many items it executes, loops run out."""
    scalar: int
    """Ticks that the scalar unit takes to hand them out."""


@dataclass(eq=False, slots=True)
class Loop:
    """A body that runs so many times."""

    count: int
    body: Body


_SHORT = 64
"""Loops of at most so many items are written out: entering them would take longer."""


@dataclass
class Pool:
    """Keeps one object for equal bodies and loops."""

    _bodies: dict[tuple[Item, ...], Body] = field(default_factory=dict[tuple[Item, ...], Body])
    _loops: dict[tuple[int, Body], Loop] = field(default_factory=dict[tuple[int, Body], Loop])

    def body(self, items: Sequence[Item]) -> Body:
        key = tuple(items)
        found = self._bodies.get(key)
        if found is None:
            found = self._bodies[key] = Body(key, sum(map(_length, key)), sum(map(_scalar, key)))
        return found

    def loop(self, count: int, body: Body) -> list[Item]:
        """The items of a loop: nothing where nothing is done, the body's own where it is short."""
        if count <= 0 or not body.items:
            return []
        if len(body.items) == 1 and body.items[0][0] == LOOP:
            inner: Loop = body.items[0][1]
            count, body = count * inner.count, inner.body
        if count == 1 or count * body.length <= _SHORT:
            return list(body.items) * count
        found = self._loops.get((count, body))
        if found is None:
            found = self._loops[count, body] = Loop(count, body)
        return [(LOOP, found)]

    def sequence(self, bodies: Sequence[Body]) -> list[Item]:
        """Bodies in order, with what repeats as loops."""
        items: list[Item] = []
        at = 0
        while at < len(bodies):
            period, count = _repetition(bodies, at)
            if count < 2:
                items += bodies[at].items
                at += 1
                continue
            turn = bodies[at] if period == 1 else self.body(self.sequence(bodies[at : at + period]))
            items += self.loop(count, turn)
            at += period * count
        return items


def _length(item: Item) -> int:
    return item[1].count * item[1].body.length if item[0] == LOOP else 1


def _scalar(item: Item) -> int:
    if item[0] == LOOP:
        return item[1].count * item[1].body.scalar
    return item[2] if item[0] <= BARRIER else item[1] if item[0] == SCALAR else 0


_LONGEST_PERIOD = 64


def _repetition(bodies: Sequence[Body], at: int) -> tuple[int, int]:
    """The period with which the bodies from `at` on repeat, and how often: what covers most, the shorter period of equals."""
    best, covered = (1, 1), 1
    for period in range(1, min(_LONGEST_PERIOD, (len(bodies) - at) // 2) + 1):
        # A multiple of a period that has been seen to end within it ends there too.
        if bodies[at + period] is not bodies[at] or (period <= covered and period % best[0] == 0 and best[1] > 1):
            continue
        end = at + period
        while end < len(bodies) and bodies[end] is bodies[end - period]:
            end += 1
        count = (end - at) // period
        if count >= 2 and count * period > covered:
            best, covered = (period, count), count * period
        if end == len(bodies):
            break
    return best


@dataclass(frozen=True, slots=True)
class Channel:
    """A flag: its tokens go from one pipe to another of its cluster, in order."""

    name: str
    """As in the text, such as `<aic.mte2>, <aic.mte1>[0]`."""
    receiver: int
    """The stream that waits for it."""
    across: bool
    """Whether another stream sets it."""


@dataclass(frozen=True, eq=False)
class Stream:
    """One program of a cluster."""

    kind: str
    """The core kind: `ai`, `aic` or `aiv`."""
    pipes: tuple[str, ...]
    body: Body
    copies: int = 1
    """How many lanes run it: lanes with the same program are one stream, since they do the same at the same time."""


@dataclass(frozen=True, eq=False)
class Cluster:
    """The programs of a cluster, and of how many clusters they are."""

    streams: tuple[Stream, ...]
    channels: tuple[Channel, ...]
    count: int = 1
    blocks: int = 1
    """How many blocks of the grids each of them runs."""


@dataclass(frozen=True, eq=False)
class Work:
    """An instruction with its extents: what it costs, and for which tensor."""

    cost: Cost
    argument: int | None
    """The argument of the kernel whose bytes in global memory it moves."""
    op: Operation
    """The first instruction in the text that is like it: for labels."""


@dataclass(frozen=True, eq=False)
class KernelProgram:
    """A kernel as clusters run it: clusters that do the same are one, with their number."""

    name: str
    clusters: tuple[Cluster, ...]
    works: tuple[Work, ...]
    pipes: tuple[int, ...]
    """For each work, its pipe within its stream."""
    overheads: Overheads
    cores: int
    """Of the target, with or without work."""


def work_counts(body: Body, known: dict[Body, Counter[int]] | None = None) -> Counter[int]:
    """How often a body does each work."""
    known = {} if known is None else known
    if body in known:
        return known[body]
    total: Counter[int] = Counter()
    for item in body.items:
        if item[0] == INSTRUCTION:
            total[item[3]] += 1
        elif item[0] == LOOP:
            loop: Loop = item[1]
            for work, count in work_counts(loop.body, known).items():
                total[work] += count * loop.count
    known[body] = total
    return total
