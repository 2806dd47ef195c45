"""When every pipe of a kernel does what: the run of the recurrence again, on boards that keep what they see.

Each pipe has a row of slices, in order and without overlap: instructions, waits for flags, and for each steady loop that was jumped over
one slice for all its iterations. An arrow leads from the last instruction before a flag is set to the first after the wait for it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from xdsl.dialects.func import FuncOp

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.runtime.timing.fold import Folding
from ge_compiler.runtime.timing.kernel import KernelTime
from ge_compiler.runtime.timing.program import BARRIER, INSTRUCTION, SET, WAIT, Cluster, Item, KernelProgram, Stream
from ge_compiler.runtime.timing.scoreboard import Board, Core, Costs, Frame

MOST_ITEMS = 2_000_000
"""So many instructions and flags a timeline holds at most one by one."""


class Kind(StrEnum):
    """What a pipe does in a slice."""

    INSTRUCTION = "instruction"
    WAIT = "wait"
    STEADY = "steady"


@dataclass(frozen=True, slots=True)
class Slice:
    """What a pipe does from one tick to another, counted from the start of the kernel."""

    start: int
    end: int
    kind: Kind
    name: str
    work: int | None = None
    """Of an instruction, its number in the program's table."""
    trips: tuple[int, int] = (0, 0)
    """Of a steady loop, the first and the last iteration that it stands for, counted from 0."""
    period: int = 0
    """Ticks after which a steady loop repeats."""
    busy: int = 0
    """Ticks of such a period in which the pipe is held."""


@dataclass(eq=False)
class Row:
    """A pipe of one core, or of lanes that all do the same."""

    stream: Stream
    pipe: str
    slices: list[Slice] = field(default_factory=list[Slice])


class End(NamedTuple):
    """One end of an arrow: a slice by the number of its row and its own in that row."""

    row: int
    slice: int


@dataclass(frozen=True, slots=True)
class Arrow:
    """A flag on its way."""

    flag: str
    source: End
    target: End


@dataclass(eq=False)
class Timeline:
    """What one cluster does; clusters that do the same have one, with their number in `cluster.count`."""

    cluster: Cluster
    rows: list[Row]
    arrows: list[Arrow]
    end: int
    """Ticks until all is done."""


def timeline(time: KernelTime, kernel: FuncOp, full: bool = False) -> list[Timeline]:
    """
    The timelines of a kernel's clusters; with `full`, iterations of steady loops are listed like all others.

    Raises `CompileError` if that would be more than `MOST_ITEMS`.
    """
    items = sum(stream.body.length for cluster in time.program.clusters for stream in cluster.streams)
    if full and items > MOST_ITEMS:
        message = f"takes {items} instructions and flags on a core of each kind, and a trace holds at most {MOST_ITEMS}"
        raise CompileError.at(kernel, f"@{time.name} {message}: leave out --trace-full")
    names = _names(time.program, kernel)

    def make(cluster: Cluster, costs: Costs, depth: int) -> Board:
        return _Recorder(cluster, costs, depth, None if full else _Folding(), events=[], names=names)

    found: list[Timeline] = []
    for board in time.record(make):
        assert isinstance(board, _Recorder)
        found.append(Timeline(board.cluster, board.rows, board.arrows, int(board.end)))
    return found


def _names(program: KernelProgram, kernel: FuncOp) -> list[str]:
    """For each work, its instruction and the argument whose bytes it moves."""
    arguments = [value.name_hint or str(i) for i, value in enumerate(kernel.body.block.args)]
    return [w.op.name.removeprefix("npu.") + ("" if w.argument is None else f" %{arguments[w.argument]}") for w in program.works]


class _Sent(NamedTuple):
    """Where a flag was set, and how many loops had been jumped over."""

    row: int
    slice: int
    jumps: int


@dataclass
class _Recorder(Board):
    """A board that keeps what its pipes do."""

    names: list[str] = field(default_factory=list[str])
    rows: list[Row] = field(init=False)
    arrows: list[Arrow] = field(init=False, default_factory=list[Arrow])

    def __post_init__(self) -> None:
        super().__post_init__()
        self.cores = [_Core(core.number, core.stream, core.depth) for core in self.cores]
        self.rows = [Row(core.stream, pipe) for core in self.cores for pipe in core.stream.pipes]
        self._first = [sum(len(c.stream.pipes) for c in self.cores[:number]) for number in range(len(self.cores))]
        self._sent: list[deque[_Sent | None]] = [deque() for _ in self.cluster.channels]
        self._arriving: list[list[tuple[int, _Sent]]] = [[] for _ in self.rows]

    def row(self, core: Core, pipe: int) -> int:
        return self._first[core.number] + pipe

    def did(self, row: int, work: int, end: int) -> None:
        """A pipe was held by an instruction."""
        slices, occupancy = self.rows[row].slices, self.costs[work][1]
        if not occupancy:
            return
        slices.append(Slice(int(end) - occupancy, int(end), Kind.INSTRUCTION, self.names[work], work))
        for channel, sent in self._arriving[row]:
            if sent.jumps == len(self.jumps):
                flag = self.cluster.channels[channel].name
                self.arrows.append(Arrow(flag, End(sent.row, sent.slice), End(row, len(slices) - 1)))
        self._arriving[row].clear()

    def set(self, row: int, channels: tuple[int, ...]) -> None:
        """A pipe gave tokens."""
        slices = self.rows[row].slices
        last = next((i for i in range(len(slices) - 1, -1, -1) if slices[i].kind is Kind.INSTRUCTION), None)
        for channel in channels:
            self._sent[channel].append(None if last is None else _Sent(row, last, len(self.jumps)))

    def waited(self, row: int, channels: tuple[int, ...], start: int, end: int) -> None:
        """A pipe took tokens, or stood at a barrier."""
        if end > start:
            what = " and ".join(self.cluster.channels[channel].name for channel in channels)
            self.rows[row].slices.append(Slice(start, end, Kind.WAIT, f"wait: {what}" if what else "barrier"))
        for channel in channels:
            sent = self._sent[channel].popleft()
            if sent is not None:
                self._arriving[row].append((channel, sent))

    def jumped(self, core: Core, trips: tuple[int, int]) -> None:
        """All pipes of a core went on by whole periods of a loop."""
        jump = self.jumps[-1]
        for pipe in range(len(core.stream.pipes)):
            row = self.row(core, pipe)
            slices = self.rows[row].slices
            # A pipe that takes part was held, or waited, within the last period.
            if slices and slices[-1].end > jump.start - jump.period:
                start = slices[-1].end
                busy, name = _busy(slices, start - jump.period), f"trips {trips[0] + 1} to {trips[1] + 1}"
                end = start + jump.period * jump.periods
                slices.append(Slice(start, end, Kind.STEADY, name, trips=trips, period=jump.period, busy=busy))


def _busy(slices: list[Slice], since: int) -> int:
    """Ticks for which a pipe was held by instructions since then."""
    total = 0
    for one in reversed(slices):
        if one.end <= since:
            break
        total += one.end - max(one.start, since) if one.kind is Kind.INSTRUCTION else 0
    return total


class _Core(Core):
    def _execute(self, board: Board, item: Item, issued: int) -> bool:
        kind: int = item[0]
        pipe: int = item[1]
        start = max(self.head[pipe], self.free[pipe], issued)
        if not super()._execute(board, item, issued):
            return False
        assert isinstance(board, _Recorder)
        row = board.row(self, pipe)
        if kind == INSTRUCTION:
            board.did(row, item[3], self.free[pipe])
        elif kind == SET:
            board.set(row, item[3])
        elif kind in (WAIT, BARRIER):
            board.waited(row, item[3] if kind == WAIT else (), start, self.head[pipe])
        return True


class _Folding(Folding):
    def iteration(self, board: Board, core: Core, frame: Frame) -> None:
        jumps, first, times = len(board.jumps), frame.iteration, [c.time for c in board.cores]
        super().iteration(board, core, frame)
        assert isinstance(board, _Recorder)
        if len(board.jumps) > jumps:
            for other, before in zip(board.cores, times, strict=True):
                if other.time != before:
                    board.jumped(other, (first, frame.iteration - 1))
