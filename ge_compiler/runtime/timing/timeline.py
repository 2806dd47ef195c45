"""When every pipe of a kernel does what: the run of the recurrence again, read off what its boards took up.

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
from ge_compiler.runtime.timing.program import INSTRUCTION, SET, WAIT, Cluster, KernelProgram, Stream
from ge_compiler.runtime.timing.scoreboard import Board, Costs, Event, Jump

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
        return Board(cluster, costs, depth, None if full else Folding(), events=[])

    return [_Reader(board, names).read() for board in time.record(make)]


def _names(program: KernelProgram, kernel: FuncOp) -> list[str]:
    """For each work, its instruction and the argument whose bytes it moves."""
    arguments = [value.name_hint or str(i) for i, value in enumerate(kernel.body.block.args)]
    return [w.op.name.removeprefix("npu.") + ("" if w.argument is None else f" %{arguments[w.argument]}") for w in program.works]


class _Sent(NamedTuple):
    """Where a flag was set, and how many loops had been jumped over."""

    row: int
    slice: int
    jumps: int


class _Reader:
    """Makes slices and arrows of what a board's pipes took up."""

    def __init__(self, board: Board, names: list[str]) -> None:
        self._board, self._names = board, names
        streams = [core.stream for core in board.cores]
        self._rows = [Row(stream, pipe) for stream in streams for pipe in stream.pipes]
        self._first = [sum(len(stream.pipes) for stream in streams[:number]) for number in range(len(streams))]
        self._arrows: list[Arrow] = []
        self._jumps = 0
        self._sent: list[deque[_Sent | None]] = [deque() for _ in board.cluster.channels]
        self._arriving: list[list[tuple[int, _Sent]]] = [[] for _ in self._rows]

    def read(self) -> Timeline:
        jumps = deque(self._board.jumps)
        for number, event in enumerate(self._board.events or ()):
            while jumps and jumps[0].events <= number:
                self._jumped(jumps.popleft())
            self._took(event)
        for jump in jumps:
            self._jumped(jump)
        return Timeline(self._board.cluster, self._rows, self._arrows, int(self._board.end))

    def _took(self, event: Event) -> None:
        kind, pipe = event.item[:2]
        row = self._first[event.core] + pipe
        if kind == INSTRUCTION:
            self._did(row, event.item[3], event.start, event.end)
        elif kind == SET:
            self._set(row, event.item[3])
        else:
            self._waited(row, event.item[3] if kind == WAIT else (), event.start, event.end)

    def _did(self, row: int, work: int, start: int, end: int) -> None:
        """A pipe was held by an instruction."""
        if start == end:
            return
        slices = self._rows[row].slices
        slices.append(Slice(start, end, Kind.INSTRUCTION, self._names[work], work))
        for channel, sent in self._arriving[row]:
            if sent.jumps == self._jumps:
                flag = self._board.cluster.channels[channel].name
                self._arrows.append(Arrow(flag, End(sent.row, sent.slice), End(row, len(slices) - 1)))
        self._arriving[row].clear()

    def _set(self, row: int, channels: tuple[int, ...]) -> None:
        """A pipe gave tokens."""
        slices = self._rows[row].slices
        last = next((i for i in range(len(slices) - 1, -1, -1) if slices[i].kind is Kind.INSTRUCTION), None)
        for channel in channels:
            self._sent[channel].append(None if last is None else _Sent(row, last, self._jumps))

    def _waited(self, row: int, channels: tuple[int, ...], start: int, end: int) -> None:
        """A pipe took tokens, or stood at a barrier."""
        if end > start:
            what = " and ".join(self._board.cluster.channels[channel].name for channel in channels)
            self._rows[row].slices.append(Slice(start, end, Kind.WAIT, f"wait: {what}" if what else "barrier"))
        for channel in channels:
            sent = self._sent[channel].popleft()
            if sent is not None:
                self._arriving[row].append((channel, sent))

    def _jumped(self, jump: Jump) -> None:
        """All pipes of some cores went on by whole periods of a loop."""
        self._jumps += 1
        first, last = jump.first, jump.first + jump.iterations * jump.periods - 1
        for core in (self._board.cores[number] for number in jump.moved):
            for pipe in range(len(core.stream.pipes)):
                slices = self._rows[self._first[core.number] + pipe].slices
                # A pipe that takes part was held, or waited, within the last period.
                if slices and slices[-1].end > jump.start - jump.period:
                    start = slices[-1].end
                    busy, name = _busy(slices, start - jump.period), f"trips {first + 1} to {last + 1}"
                    end = start + jump.period * jump.periods
                    slices.append(Slice(start, end, Kind.STEADY, name, trips=(first, last), period=jump.period, busy=busy))


def _busy(slices: list[Slice], since: int) -> int:
    """Ticks for which a pipe was held by instructions since then."""
    total = 0
    for one in reversed(slices):
        if one.end <= since:
            break
        total += one.end - max(one.start, since) if one.kind is Kind.INSTRUCTION else 0
    return total
