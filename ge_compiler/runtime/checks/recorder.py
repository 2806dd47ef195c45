"""What a walk of a kernel records: the instructions that one core issues, in the order of its program.

A kernel is walked once for every *stream*: the core of a unified chip; the cube and each vector lane of a cluster of a split one. Loops
and index arithmetic are replicated, so a stream keeps the instructions of its own core kind, and a position in the walk means the same
in every stream of a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from ge_compiler.dialects import tile
from ge_compiler.dialects.diagnostics import source_location
from ge_compiler.dialects.target import CUBE, UNIFIED, VECTOR, NpuTarget
from ge_compiler.runtime.checks.faults import Faults
from ge_compiler.runtime.checks.footprints import View

ALL = -1
"""As the pipe of an entry: all pipes of its stream."""


@dataclass(frozen=True)
class Stream:
    """One program of a cluster: the core kind and, on a split chip, which vector lane."""

    kind: str
    lane: int
    first_pipe: int
    units: tuple[str, ...]

    @property
    def pipes(self) -> range:
        """Its pipes, in the numbering of the cluster."""
        return range(self.first_pipe, self.first_pipe + len(self.units))


def streams_of(target: NpuTarget) -> list[Stream]:
    """The streams of a cluster of `target`, and the numbers of their pipes."""
    if not target.is_split:
        return [Stream(UNIFIED, 0, 0, tuple(target.units))]
    cube, vector = (tuple(name for name, unit in target.units.items() if unit.core == kind) for kind in (CUBE, VECTOR))
    lanes = [Stream(VECTOR, lane, len(cube) + lane * len(vector), vector) for lane in range(target.vec_per_cube)]
    return [Stream(CUBE, 0, 0, cube), *lanes]


@dataclass(slots=True, eq=False)
class Entry:
    """One instruction as it is issued."""

    op: Operation
    position: int
    """In the walk of the kernel, the same in all streams of a cluster."""
    stream: Stream
    pipe: int
    """In the numbering of the cluster, or `ALL`."""
    iteration: tuple[int, ...]
    """Values of the grid's coordinates and induction variables around it, outermost first."""
    block: int
    """Which block of a `tile.forall` it belongs to."""
    reads: tuple[View, ...] = ()
    writes: tuple[View, ...] = ()
    number: int = 0
    """Of a flag."""


@dataclass
class Recorder:
    """What the current walk of a kernel is about, and what it has issued."""

    target: NpuTarget
    faults: Faults
    period: int
    """Loops repeat after this many iterations: the slots of all buffers."""
    core: int = 0
    stream: Stream = field(default_factory=lambda: Stream(UNIFIED, 0, 0, ()))
    trips: int | None = None
    """How often every loop runs, instead of its own count."""
    whole: bool = False
    """Whether loops are run whole."""
    position: int = 0
    block: int = 0
    epoch: int = 0
    """How many `npu.sync_all` have been passed."""
    entries: list[Entry] = field(default_factory=list[Entry])
    iteration: list[int] = field(default_factory=list[int])
    shortened: dict[Operation, str] = field(default_factory=dict[Operation, str])

    def start(self, core: int, stream: Stream, trips: int | None = None) -> None:
        """A new walk begins."""
        self.core, self.stream, self.trips = core, stream, trips
        self.position = self.block = self.epoch = 0
        self.entries, self.iteration = [], []

    def bounds(self, op: Operation, message: str) -> None:
        # With counts that are not its own, a loop may leave its tensors.
        if self.trips is None:
            self.faults.add("bounds", op, f"{message}{where(op, tuple(self.iteration))}")

    def iterations(self, op: Operation, count: int) -> Sequence[int]:
        """Which iterations of a loop to run: all, or the first and the last few, a whole number of periods apart."""
        head, period = max(3, self.period + 1), self.period
        if self.whole or count <= head + period:
            return range(count)
        tail = count - 1 - (count - 1 - head) % period
        last = f"{tail}" if tail == count - 1 else f"{tail} to {count - 1}"
        self.shortened[op] = f"'{op.name}' at line {_line(op)} (0 to {head - 1} and {last} of {count})"
        return (*range(head), *range(tail, count))


def _line(op: Operation) -> str:
    place = source_location(op.location)
    return "?" if place is None else str(place.line.data)


def where(op: Operation, iteration: tuple[int, ...]) -> str:
    """` at %i = 0, %k = 2`: the loops around an op, outermost first."""
    names: list[SSAValue] = []
    parent = op.parent_op()
    while parent is not None:
        match parent:
            case scf.ForOp():
                names.insert(0, parent.body.block.args[0])
            case tile.GridOp():
                names[:0] = parent.points
            case _:
                pass
        parent = parent.parent_op()
    shown = [f"%{name.name_hint or '?'} = {value}" for name, value in zip(names, iteration, strict=False)]
    return f" at {', '.join(shown)}" if shown else ""
