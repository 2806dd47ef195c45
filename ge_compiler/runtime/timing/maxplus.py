"""
Loops that do not settle, in a number of steps that grows with the logarithm of their count.

One period of the recurrence is linear over (max, +): the state behind it is a matrix times the state before it. Powers of the matrix lead
over many periods at once, whether or not the state ever comes back: two circuits of nearly the same length may drift for very long.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ge_compiler.runtime.timing.program import BARRIER, BARRIER_ALL, INSTRUCTION, SCALAR, SET, WAIT, Item
from ge_compiler.runtime.timing.scoreboard import Board, Core

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Row = npt.NDArray[np.int64]

Trace = list[tuple[int, Item]]
"""Items in the order in which they were executed, each with the number of its core."""

LARGEST = 400
"""Of a state: the work grows with the third power."""
_NEVER = -(1 << 60)


def leap(board: Board, moved: Sequence[Core], trace: Trace, count: int) -> bool:
    """Takes the times of a board `count` periods ahead, each of which executes `trace`; not if its state is too large."""
    import numpy as np

    start = [time for times in _state(board, moved) for time in times]
    if len(start) > LARGEST:
        return False
    unit = np.full((len(start), len(start)), _NEVER, dtype=np.int64)
    np.fill_diagonal(unit, 0)
    matrix = np.array(_Symbolic(board, moved, list(unit)).run(trace))
    state = np.array(start, dtype=np.int64)
    while count:
        if count & 1:
            state = (matrix + state).max(axis=1)
        count >>= 1
        if count:
            matrix = np.array([(row[:, None] + matrix).max(axis=0) for row in matrix])
            np.maximum(matrix, _NEVER, out=matrix)
    _restore(board, moved, [int(time) for time in state])
    return True


def _state(board: Board, moved: Sequence[Core]) -> list[Any]:
    """The containers of all times of the cores that move, in an order of its own."""
    containers: list[Any] = []
    for core in moved:
        containers += [[core.time], core.head, core.free, core.done, *core.queues]
    numbers = {core.number for core in moved}
    channels = board.cluster.channels
    return containers + [tokens for tokens, channel in zip(board.tokens, channels, strict=True) if channel.receiver in numbers]


def _restore(board: Board, moved: Sequence[Core], times: list[int]) -> None:
    at = 0
    for container in _state(board, moved):
        values = times[at : at + len(container)]
        at += len(container)
        container.clear()
        container.extend(values)
    at = 0
    for core in moved:
        core.time = times[at]
        at += 1 + 3 * len(core.head) + sum(len(queue) for queue in core.queues)


class _Symbolic:
    """The recurrence on rows of a matrix: for each time of the state before, how much later than that a time is at least."""

    def __init__(self, board: Board, moved: Sequence[Core], rows: list[Row]) -> None:
        self.board, self.moved = board, moved
        given = iter(rows)
        self.time: dict[int, Row] = {}
        self.head: dict[tuple[int, int], Row] = {}
        self.free: dict[tuple[int, int], Row] = {}
        self.done: dict[tuple[int, int], Row] = {}
        self.queue: dict[tuple[int, int], deque[Row]] = {}
        for core in moved:
            n, pipes = core.number, range(len(core.head))
            self.time[n] = next(given)
            for table in (self.head, self.free, self.done):
                table.update({(n, pipe): next(given) for pipe in pipes})
            self.queue.update({(n, pipe): deque(next(given) for _ in core.queues[pipe]) for pipe in pipes})
        receivers = {core.number for core in moved}
        kept = [i for i, channel in enumerate(board.cluster.channels) if channel.receiver in receivers]
        self.tokens = {i: deque(next(given) for _ in board.tokens[i]) for i in kept}

    def run(self, trace: Trace) -> list[Row]:
        """The rows of the state behind a period."""
        for core, item in trace:
            self._step(core, item)
        rows: list[Row] = []
        for core in self.moved:
            n, pipes = core.number, range(len(core.head))
            rows.append(self.time[n])
            rows += [table[n, pipe] for table in (self.head, self.free, self.done) for pipe in pipes]
            rows += [row for pipe in pipes for row in self.queue[n, pipe]]
        return rows + [row for tokens in self.tokens.values() for row in tokens]

    def _step(self, core: int, item: Item) -> None:
        import numpy as np

        kind: int = item[0]
        if kind == SCALAR:
            self.time[core] = self.time[core] + item[1]
        elif kind == BARRIER_ALL:
            rows = [table[key] for table in (self.head, self.done) for key in table if key[0] == core]
            self.time[core] = np.maximum.reduce([self.time[core], *rows])
        elif kind in (INSTRUCTION, WAIT, SET, BARRIER):
            pipe: int = item[1]
            self.time[core] = np.maximum(self.time[core], self.queue[core, pipe].popleft()) + item[2]
            self._execute((core, pipe), item, np.maximum(self.head[core, pipe], self.time[core]))
            self.queue[core, pipe].append(self.head[core, pipe])

    def _execute(self, at: tuple[int, int], item: Item, head: Row) -> None:
        """What a pipe does with an item that it reaches at `head`."""
        import numpy as np

        if item[0] == INSTRUCTION:
            work: int = item[3]
            fill, occupancy, latency = self.board.costs[work]
            self.head[at] = np.maximum(head, self.free[at])
            self.free[at] = np.maximum(self.free[at], head + fill) + occupancy
            self.done[at] = np.maximum(self.done[at], self.free[at] + latency)
            return
        channels: tuple[int, ...] = item[3] if item[0] in (WAIT, SET) else ()
        if item[0] == WAIT:
            head = np.maximum.reduce([head, *(self.tokens[channel].popleft() for channel in channels)])
        elif item[0] == BARRIER:
            head = np.maximum(head, self.done[at])
        else:
            for channel in channels:
                if channel in self.tokens:
                    self.tokens[channel].append(np.maximum(head, self.done[at]) + item[4])
        self.head[at] = head
