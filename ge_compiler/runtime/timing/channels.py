"""Numbers for flags, and the joining of a cluster's streams by them.

A program is read with one number for a flag, whichever lane uses it. Lanes that run the same program stay one stream: they do the same
things at the same times. Where lanes differ, each gets flags of its own, and the cube sets and waits for those of all lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ge_compiler.dialects.target import CUBE, NpuTarget
from ge_compiler.runtime.checks.recorder import streams_of
from ge_compiler.runtime.timing.program import ALL_CORES, LOOP, SET, WAIT, Body, Channel, Cluster, Item, Loop, Pool, Stream


@dataclass(frozen=True)
class Flag:
    """A flag as the text names it."""

    across: bool
    """Whether it orders two core kinds."""
    receiver: str
    """The core kind that waits for it."""
    name: str
    event: str
    number: int

    def __str__(self) -> str:
        what = f"cross-core flag to {self.receiver}" if self.across else f"flag {self.name}"
        return f"{what}[{self.number}]" + (f" event {self.event!r}" if self.event else "")


@dataclass
class Channels:
    """The flags of a kernel in the order in which they were met."""

    flags: list[Flag] = field(default_factory=list[Flag])
    _numbers: dict[Flag, int] = field(default_factory=dict[Flag, int])

    def number(self, across: bool, receiver: str, name: str, event: str, number: int) -> int:
        flag = Flag(across, receiver, name, event, number)
        if flag not in self._numbers:
            self._numbers[flag] = len(self.flags)
            self.flags.append(flag)
        return self._numbers[flag]


def joined(pool: Pool, channels: Channels, target: NpuTarget, bodies: Sequence[Body], blocks: int, count: int) -> Cluster:
    """The cluster whose streams, in the order of the target's, run `bodies`. A stream that does nothing is left out."""
    kinds = streams_of(target)
    lanes = [body for stream, body in zip(kinds, bodies, strict=True) if stream.kind != CUBE and target.is_split]
    if len(lanes) > 1 and any(lane is not lanes[0] for lane in lanes):
        return _with_lanes(pool, channels, target, bodies, blocks, count)
    used = [(s, body) for s, body in zip(kinds, bodies, strict=True) if s.lane == 0 and _does_something(body)]
    streams = tuple(Stream(s.kind, s.units, body, 1 if s.kind == CUBE or not lanes else len(lanes)) for s, body in used)
    at = {stream.kind: i for i, stream in enumerate(streams)}
    return Cluster(streams, tuple(Channel(str(flag), at.get(flag.receiver, 0), flag.across) for flag in channels.flags), count, blocks)


def _does_something(body: Body) -> bool:
    return any(item[0] != ALL_CORES for item in body.items)


def _with_lanes(pool: Pool, channels: Channels, target: NpuTarget, bodies: Sequence[Body], blocks: int, count: int) -> Cluster:
    """The same where lanes differ: flags of lane n have the numbers from n times the number of flags on."""
    kinds, size = streams_of(target), len(channels.flags)
    lanes = range(target.vec_per_cube)
    used = [(s, body) for s, body in zip(kinds, bodies, strict=True) if _does_something(body)]
    at = {(s.kind, s.lane): i for i, (s, _) in enumerate(used)}

    def of_cube(item: Item) -> Item:
        channel: int = item[3][0]
        return (*item[:3], tuple(channel + lane * size for lane in lanes), *item[4:]) if channels.flags[channel].across else item

    def of_lane(lane: int) -> Callable[[Item], Item]:
        return lambda item: (*item[:3], (item[3][0] + lane * size,), *item[4:])

    streams = tuple(Stream(s.kind, s.units, _rewritten(pool, body, of_cube if s.kind == CUBE else of_lane(s.lane), {})) for s, body in used)
    names = [(flag, lane) for lane in lanes for flag in channels.flags]
    made = tuple(
        Channel(
            str(flag) if not flag.across and flag.receiver == CUBE else f"{flag} of lane {lane}",
            at.get((flag.receiver, 0 if flag.receiver == CUBE else lane), 0),
            flag.across,
        )
        for flag, lane in names
    )
    return Cluster(streams, made, count, blocks)


def _rewritten(pool: Pool, body: Body, change: Callable[[Item], Item], known: dict[Body, Body]) -> Body:
    """A body with other items for its flags."""
    if body not in known:
        items: list[Item] = []
        for item in body.items:
            if item[0] == LOOP:
                loop: Loop = item[1]
                items += pool.loop(loop.count, _rewritten(pool, loop.body, change, known))
            else:
                items.append(change(item) if item[0] in (SET, WAIT) else item)
        known[body] = pool.body(items)
    return known[body]
