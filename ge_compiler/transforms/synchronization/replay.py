"""
Whether the flags of a trace keep everything in order, whatever the pace of each pipe.

Each pipe carries a clock: of every pipe, how many entries of its queue are known to be complete when its next entry starts. A set leaves
the clock for its wait, a wait and a barrier take others' clocks in. One pass suffices, since every wait comes after its set.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Hashable

from xdsl.ir import Operation

from ge_compiler.transforms.synchronization.trace import Event, Item, Kind, Trace

Clock = list[int]


def _by_itself(event: Event) -> Hashable:
    return event


def is_ordered(trace: Trace, without: Container[Operation] = (), number: Callable[[Event], Hashable] = _by_itself) -> bool:
    """
    Whether every instruction starts after all that it must wait for, no wait is for ever, and no event is set twice or left over.

    The flags and barriers in `without` count as removed. `number` maps events to what the chip tells them apart by.
    """
    replay = _Replay(trace, number)
    steps = (replay.instruction, replay.set, replay.wait, replay.barrier)
    for item in trace.items:
        if item.op not in without and not steps[item.kind](item):
            return False
    return not any(replay.tokens.values())


class _Replay:
    """The clocks of all pipes. Each step says whether all is well."""

    def __init__(self, trace: Trace, number: Callable[[Event], Hashable]) -> None:
        pipes = range(len(trace.pipes))
        self.clocks: list[Clock] = [[0 for _ in pipes] for _ in pipes]
        self.issued: Clock = [0 for _ in pipes]
        self.tokens: dict[Hashable, deque[Clock]] = {}
        self._last_wait: dict[Hashable, tuple[int, int]] = {}
        self._users: dict[tuple[Hashable, Kind], int] = {}
        self._number = number

    def instruction(self, item: Item) -> bool:
        clock = self.clocks[item.pipe]
        self.issued[item.pipe] = item.position + 1
        return all(clock[pipe] > position for pipe, position in item.needs)

    def set(self, item: Item) -> bool:
        event, clock = self._number(item.event), self.clocks[item.pipe].copy()
        # Everything before a set is complete when it runs, on a pipe that is not in order too.
        clock[item.pipe] = self.issued[item.pipe] = item.position + 1
        pending = self.tokens.setdefault(event, deque())
        pending.append(clock)
        if not item.binary:
            return self._has_one_user(event, item)
        pipe, position = self._last_wait.get(event, (item.pipe, -1))
        return len(pending) == 1 and clock[pipe] > position

    def wait(self, item: Item) -> bool:
        event, clock = self._number(item.event), self.clocks[item.pipe]
        pending = self.tokens.get(event)
        if not pending:
            return False
        self.clocks[item.pipe] = [max(a, b) for a, b in zip(clock, pending.popleft(), strict=True)]
        self.issued[item.pipe] = item.position + 1
        self._last_wait[event] = (item.pipe, item.position)
        return self._has_one_user(event, item)

    def _has_one_user(self, event: Hashable, item: Item) -> bool:
        """Whether one pipe alone sets an event, and one waits for it: of two, either might be the first."""
        return self._users.setdefault((event, item.kind), item.pipe) == item.pipe

    def barrier(self, item: Item) -> bool:
        if len(item.pipes) == 1:
            self.clocks[item.pipe][item.pipe] = self.issued[item.pipe]
            return True
        joined = [max(entries) for entries in zip(*(self.clocks[pipe] for pipe in item.pipes), strict=True)]
        for pipe in item.pipes:
            joined[pipe] = self.issued[pipe]
        for pipe in item.pipes:
            self.clocks[pipe] = joined.copy()
        return True
