"""The recurrence: when every instruction of a cluster starts and ends, in whole ticks, in the order of the program.

Each core issues its items in order, each into the queue of its pipe, which has room for so many. The pipe takes an instruction up when all
before it there has begun, is held for its occupancy, and what it wrote is there a latency later:

    arrival = max(head, issue);  end = max(free + occupancy, arrival + fill + occupancy);  head = max(arrival, free);  done = end + latency

A wait moves the head of its pipe to the token; a set gives a token when its pipe is done, and holds nothing up. Since a token's time does
not depend on who else runs, a core is run until it needs a token that is not there yet, then the next one is. Where all need one, a wait is
put off, with what is behind it on its pipe: other pipes of its core may have to go on before the token is given.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.runtime.timing.program import BARRIER, INSTRUCTION, LOOP, SCALAR, SET, WAIT, Body, Cluster, Item, Stream

Costs = Sequence[tuple[int, int, int]]
"""Fill, occupancy and latency of each work."""


class Event(NamedTuple):
    """An item that a pipe took up: an instruction from when it held the pipe, another one from when the pipe was free for it."""

    core: int
    item: Item
    start: int
    end: int


class Frame:
    """A body that a core is in: its next item, and for a loop, which iteration of how many."""

    __slots__ = ("at", "body", "count", "drift", "entry", "history", "items", "iteration", "seen", "visits")

    def __init__(self, body: Body, count: int) -> None:
        self.body, self.items, self.count = body, body.items, count
        self.at = self.iteration = self.visits = 0
        self.history: dict[Any, Any] = {}
        self.seen: tuple[int, ...] = ()
        self.entry: Any = None
        self.drift: Any = None


class Core:
    """One stream while it runs: its issue time and what its pipes are up to."""

    def __init__(self, number: int, stream: Stream, depth: int) -> None:
        pipes = range(len(stream.pipes))
        self.number, self.stream, self.depth = number, stream, depth
        self.frames = [Frame(stream.body, 1)]
        self.time = 0
        self.head, self.free, self.done, self.busy = ([0 for _ in pipes] for _ in range(4))
        self.queues = [deque([0] * depth, depth) for _ in pipes]
        """When each of the last items of a pipe left its queue."""
        self.deferred: list[deque[tuple[Item, int]]] = [deque() for _ in pipes]
        """Items that have been issued, with the time, but wait for a token that is not there yet, or stand behind one that does."""
        self.executed = 0
        self.paused = False

    @property
    def end(self) -> int:
        """When everything so far is complete."""
        return max(self.time, *self.done, *self.head)

    def catch_up(self) -> None:
        """
        Counts an issue time that lies far back as later, where that changes nothing.

        Pipes take up items when those before them are, at `head` or later. While all that is still to be handed out takes less than is left
        until then, it does not matter when the scalar unit began.
        """
        least = min(self.head) - self.stream.body.scalar
        if least > self.time and not self.waits:
            self.time = least

    @property
    def waits(self) -> bool:
        """Whether any pipe has items that it cannot take up yet."""
        return any(self.deferred)

    def run(self, board: Board) -> bool:
        """Runs as far as tokens, queues, a pause or a barrier of all cores allow; whether it got anywhere."""
        start, frames = self.executed, self.frames
        self.paused = False
        for waiting in self.deferred:
            while waiting and (self._instruction if waiting[0][0][0] == INSTRUCTION else self._order)(board, *waiting[0]):
                waiting.popleft()
                self.executed += 1
        while frames:
            frame = frames[-1]
            frame.at = self._issue(board, frame.items, frame.at)
            if frame.at == len(frame.items):
                self._end_of_body(board, frame)
            elif not self._step(board, frame, frame.items[frame.at]):
                break
        return self.executed != start

    def _step(self, board: Board, frame: Frame, item: Item) -> bool:
        """Goes into a loop or over a barrier of all pipes, or puts an item off; not if it has to wait."""
        if item[0] == LOOP:
            entered = Frame(item[1].body, item[1].count)
            if board.folding is None or not board.folding.enter(board, self, entered):
                self.frames.append(entered)
        elif not (self._put_off(board, item) if item[0] <= BARRIER else self._barrier(board, item[0])):
            return False
        if board.trace is not None:
            board.trace.append((self.number, item))
        frame.at += 1
        self.executed += 1
        return True

    def _put_off(self, board: Board, item: Item) -> bool:
        """Issues an item that its pipe cannot take up yet; not if its queue is full or something else comes first."""
        pipe: int = item[1]
        waiting = self.deferred[pipe]
        if len(waiting) == self.depth or (not waiting and (self.paused or not board.defers)):
            return False
        self.time = max(self.time, self.queues[pipe][len(waiting)]) + item[2]
        waiting.append((item, self.time))
        board.defers = False
        return True

    def _end_of_body(self, board: Board, frame: Frame) -> None:
        frame.iteration += 1
        if frame.iteration < frame.count:
            frame.at = 0
            if board.folding is not None:
                board.folding.iteration(board, self, frame)
        if frame.iteration == frame.count:
            self.frames.pop()
            if board.folding is not None and frame.entry is not None:
                board.folding.leave(board, self, frame)

    def _issue(self, board: Board, items: Sequence[Item], at: int) -> int:
        """Issues items from `at` on and lets their pipes take them up, as far as that goes; where it stopped."""
        queues, deferred, first, time, waits = self.queues, self.deferred, at, self.time, self.waits
        for item in items[at:] if at else items:
            kind: int = item[0]
            if kind <= BARRIER:
                pipe: int = item[1]
                if waits and deferred[pipe]:
                    break
                issued = queues[pipe][0]
                issued = (time if time > issued else issued) + item[2]
                if not (self._instruction(board, item, issued) if kind == INSTRUCTION else self._order(board, item, issued)):
                    break
                time = issued
            elif kind == SCALAR:
                time = time + item[1]
            else:
                break
            at += 1
        self.time = time
        self.executed += at - first
        if board.trace is not None:
            board.trace += [(self.number, item) for item in items[first:at]]
        return at

    # Nearly all time that timing takes is spent here, so maxima are written out.

    def _instruction(self, board: Board, item: Item, issued: int) -> bool:
        """Lets a pipe take up an instruction that was issued at a time; not behind a change of costs."""
        pipe: int = item[1]
        free, head = self.free[pipe], self.head[pipe]
        if board.until is not None and free >= board.until:
            self.paused = True
            return False
        work: int = item[3]
        fill, occupancy, latency = board.costs[work]
        if issued > head:
            head = issued
        arrival = head + fill
        if free > head:
            head = free
        self.head[pipe] = head
        self.queues[pipe].append(head)
        self.free[pipe] = end = (free if free > arrival else arrival) + occupancy
        self.busy[pipe] += occupancy
        if board.events is not None:
            board.events.append(Event(self.number, item, end - occupancy, end))
        end = end + latency
        if end > self.done[pipe]:
            self.done[pipe] = end
        return True

    def _order(self, board: Board, item: Item, issued: int) -> bool:
        """The same for a flag or a barrier of a pipe; not where a token is not there yet."""
        kind: int = item[0]
        pipe: int = item[1]
        head, tokens = self.head[pipe], board.tokens
        if issued > head:
            head = issued
        start = head
        if kind == SET:
            given: tuple[int, ...] = item[3]
            done = self.done[pipe]
            for channel in given:
                tokens[channel].append((done if done > head else head) + item[4])
        elif kind == WAIT:
            channels: tuple[int, ...] = item[3]
            if not all(map(tokens.__getitem__, channels)):
                return False
            for channel in channels:
                token = tokens[channel].popleft()
                if token > head:
                    head = token
        elif self.done[pipe] > head:
            head = self.done[pipe]
        self.head[pipe] = head
        self.queues[pipe].append(head)
        if board.events is not None:
            board.events.append(Event(self.number, item, max(start, self.free[pipe]), head))
        return True

    def _barrier(self, board: Board, kind: int) -> bool:
        if kind in board.held or self.waits:
            return False
        for time in (*self.done, *self.head):
            if time > self.time:
                self.time = time
        return True


class Folding(Protocol):
    """What is told about loops, and may move a core ahead through them."""

    def enter(self, board: Board, core: Core, frame: Frame) -> bool:
        """A loop is about to start; whether its effect has been applied already."""
        ...

    def iteration(self, board: Board, core: Core, frame: Frame) -> None:
        """Another iteration of a loop is about to start."""
        ...

    def leave(self, board: Board, core: Core, frame: Frame) -> None:
        """A loop is through whose frame has an `entry`."""
        ...


@dataclass
class Board:
    """A cluster while it runs."""

    cluster: Cluster
    costs: Costs
    queue: int
    folding: Folding | None = None
    until: int | None = None
    """Where costs change: no pipe starts anything behind it."""
    held: frozenset[int] = frozenset()
    """Kinds of items that no core passes: barriers of all cores, until the others are there."""
    defers: bool = False
    """Whether a wait for a token that is not there may be put off: when no core gets anywhere otherwise."""
    events: list[Event] | None = None
    """What pipes took up, one by one, if asked for."""
    trace: list[tuple[int, Item]] | None = None
    """The items that were issued, each with the number of its core, while somebody asks for them."""
    jumps: list[Jump] = field(default_factory=list["Jump"])
    cores: list[Core] = field(init=False)
    tokens: list[deque[int]] = field(init=False)
    own: list[list[int]] = field(init=False)
    """The flags of each core that no other one sets."""

    def __post_init__(self) -> None:
        self.cores = [Core(i, stream, self.queue) for i, stream in enumerate(self.cluster.streams)]
        self.tokens = [deque() for _ in self.cluster.channels]
        self.own = [[] for _ in self.cores]
        for number, channel in enumerate(self.cluster.channels):
            if not channel.across:
                self.own[channel.receiver].append(number)

    @property
    def end(self) -> int:
        """When everything so far is complete."""
        return max(core.end for core in self.cores)

    @property
    def evaluated(self) -> int:
        """How many items were executed one by one."""
        return sum(core.executed for core in self.cores)

    @property
    def finished(self) -> bool:
        return not any(core.frames or core.waits for core in self.cores)

    def release(self, time: int) -> None:
        """Lets cores go on behind a barrier of all cores, at a time."""
        for core in self.cores:
            core.time = time
            if core.frames:
                core.frames[-1].at += 1

    def forget(self) -> None:
        """Costs have changed: what was seen of loops does not hold any more."""
        for frame in (frame for core in self.cores for frame in core.frames):
            frame.history, frame.seen, frame.entry = {}, (), None

    def run(self) -> None:
        """Runs the cluster to its end, or to where it is held or paused. Raises `CompileError` where its flags never come."""
        while True:
            progress = [core.run(self) for core in self.cores]
            if any(progress):
                continue
            if self.finished or any(core.paused for core in self.cores) or self._all_held():
                return
            self.defers = True
            if not any(core.run(self) for core in self.cores):
                raise CompileError(f"deadlock: {self._stuck()}; run verify-sync")

    def _all_held(self) -> bool:
        waiting = [core.frames[-1].items[core.frames[-1].at] for core in self.cores if core.frames]
        return bool(self.held) and all(item[0] in self.held for item in waiting)

    def _stuck(self) -> str:
        names: list[str] = []
        for core in self.cores:
            for pipe, waiting in zip(core.stream.pipes, core.deferred, strict=True):
                if waiting and waiting[0][0][0] == WAIT:
                    channel: int = waiting[0][0][3][0]
                    names.append(f"<{pipe}> waits for {self.cluster.channels[channel].name}")
        return ", ".join(names) or "cores wait for each other"


@dataclass(frozen=True)
class Jump:
    """Iterations of a loop that were not evaluated: the state repeats after each period."""

    core: int
    body: Body
    start: int
    """When the first of them starts."""
    period: int
    """Ticks."""
    iterations: int
    """In a period."""
    periods: int
    moved: tuple[int, ...] = ()
    """The cores that went on."""
    first: int = 0
    """The first of the iterations that were not evaluated, counted from 0."""
    events: int = 0
    """How many events came before."""
