"""
What one core does, unrolled: every instruction, flag and barrier that its loops issue, a few trips of each.

An instruction is recorded with what it must wait for: of each pipe, the last instruction that touched the same bytes. A trace is the
queues of all pipes in the order of issue; on a split chip, those of the cube and of one vector lane, which all do the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import groupby, islice, product

from xdsl.dialects.scf import ForOp
from xdsl.ir import Block, Operation, SSAValue

from ge_compiler.dialects.npu import (
    BlockIdxOp,
    CrossCoreFlagOp,
    CrossCoreSetFlagOp,
    FlagOp,
    PipeBarrierOp,
    SetFlagOp,
    SyncAllOp,
    SyncOp,
)
from ge_compiler.dialects.target import CUBE, VECTOR, NpuTarget
from ge_compiler.dialects.tile import GridLoopOp, GridOp
from ge_compiler.transforms.synchronization.accesses import Access, Instruction, Place
from ge_compiler.transforms.synchronization.arithmetic import Values, evaluate
from ge_compiler.transforms.synchronization.cores import different_cores
from ge_compiler.transforms.synchronization.structure import Structure, blocks_of


class Kind(IntEnum):
    """What an item of a trace does."""

    INSTRUCTION = 0
    SET = 1
    WAIT = 2
    BARRIER = 3


Event = tuple[str, str, str | None, int]
"""The pipes, the name if it has one, and the number of an event. A cross-core flag has no second pipe."""


@dataclass(frozen=True)
class Item:
    """One entry of a queue."""

    kind: Kind
    pipe: int
    """The queue; of a barrier of several, the first."""
    position: int
    """How many entries its queue had before it."""
    op: Operation
    needs: tuple[tuple[int, int], ...] = ()
    """Of an instruction: the pipes and positions of those that must be complete before."""
    event: Event = ("", "", None, 0)
    binary: bool = True
    """Of a set: whether the event must have been waited for since it was set last."""
    pipes: Sequence[int] = ()
    """Of a barrier: its queues."""


class Unprovable(Exception):
    """A kernel whose executions cannot be followed."""

    def __init__(self, op: Operation, code: str, message: str) -> None:
        super().__init__(message)
        self.op, self.code = op, code


_MOST_OPEN_LOOPS = 4
"""With more loops of unknown length, too many ways in which they can follow each other."""


@dataclass
class Trace:
    """The items, in the order of issue."""

    items: list[Item]
    pipes: tuple[str, ...]
    matches: list[tuple[Operation, Operation]]
    """Which set each wait takes its token from."""
    open: tuple[Operation, ...]
    """The loops whose bounds are not known."""

    def signature(self) -> Hashable:
        """Equal for traces of which one is enough."""
        return tuple((item.op, item.needs, item.event) for item in self.items)


Found = Mapping[Operation, Instruction]
"""The instructions of a kernel, by op."""


Trips = Mapping[Operation, int]
"""How often loops run of which that is not known before the kernel runs."""


@dataclass(frozen=True)
class Unrolling:
    """How much of a loop is recorded."""

    trips: int
    """At most so many, and fewer than `period` more."""
    period: int
    """What is left out is a multiple of it: after so many trips every buffer is at the same slot."""

    def of(self, count: int) -> int:
        """How many trips to record of `count`."""
        return count if count <= self.trips else self.trips + (count - self.trips) % self.period


def record_all(structure: Structure, target: NpuTarget, found: Found, unrolling: Unrolling) -> list[Trace]:
    """
    Traces that stand for all executions: of cores that do not do the same, and of loops of unknown length that run often, once and never.

    Raises `Unprovable` if they cannot be followed.
    """
    traces: list[Trace] = []
    for core in different_cores(structure, target):
        often = _record(structure, target, found, unrolling, {}, core)
        if len(often.open) > _MOST_OPEN_LOOPS:
            raise Unprovable(often.open[_MOST_OPEN_LOOPS], "unknown-lengths", "is one loop too many of which the length is not known")
        lengths = product((unrolling.trips, 1, 0), repeat=len(often.open))
        rarely = (dict(zip(often.open, trips, strict=True)) for trips in islice(lengths, 1, None))
        traces += [often, *(_record(structure, target, found, unrolling, trips, core) for trips in rarely)]
    return list({trace.signature(): trace for trace in traces}.values())


def _record(structure: Structure, target: NpuTarget, found: Found, unrolling: Unrolling, trips: Trips, core: int) -> Trace:
    """What `core` does, with `trips` of some loops."""
    recorder = _Recorder(structure, target, found, unrolling, trips, core)
    recorder.run(structure.kernel.body.block)
    return Trace(recorder.items, tuple(target.units), recorder.matches, tuple(recorder.open))


@dataclass
class _Touched:
    """The last accesses of some bytes, by pipe."""

    place: Place
    writes: dict[int, int] = field(default_factory=dict[int, int])
    reads: dict[int, int] = field(default_factory=dict[int, int])


class _Recorder:
    def __init__(self, structure: Structure, target: NpuTarget, found: Found, unrolling: Unrolling, trips: Trips, core: int) -> None:
        self._structure, self._target, self._found = structure, target, found
        self._unrolling, self._trips, self._core = unrolling, trips, core
        self._numbers = {name: i for i, name in enumerate(target.units)}
        self._lengths = [0] * len(target.units)
        self._values: Values = {}
        self._touched: dict[Place, _Touched] = {}
        self._meeting: dict[Place, list[_Touched]] = {}
        self._pending: dict[Event, deque[Operation]] = {}
        self.items: list[Item] = []
        self.matches: list[tuple[Operation, Operation]] = []
        self.open: dict[Operation, None] = {}

    def run(self, block: Block) -> None:
        for op in self._structure.bodies[block]:
            if (instruction := self._found.get(op)) is not None:
                self._instruction(instruction)
            elif isinstance(op, SyncOp):
                self._sync(op)
            elif isinstance(op, BlockIdxOp):
                self._values[op.result] = self._core
            elif isinstance(op, GridOp):
                self._grid(op)
            elif isinstance(op, ForOp):
                self._for(op)
            else:
                evaluate(op, self._values)

    # ---- loops ----

    def _for(self, op: ForOp) -> None:
        count, lower, step = self._count(op), self._values.get(op.lb), self._values.get(op.step)
        index, *carried = op.body.block.args

        def enter(trip: int) -> None:
            self._values.pop(index, None)
            if lower is not None and step is not None:
                self._values[index] = lower + trip * step

        if count is None:
            self.open[op] = None
            trips: Iterable[int] = range(self._trips.get(op, self._unrolling.trips))
        else:
            trips = range(self._unrolling.of(count)) if carried else self._standing_for_all(op.body.block, count, enter)
        self._assign(carried, op.iter_args)
        for trip in trips:
            enter(trip)
            self.run(op.body.block)
            if (last := op.body.block.last_op) is not None:
                self._assign(carried, last.operands)
        self._assign(op.results, carried)

    def _count(self, op: ForOp) -> int | None:
        """How often a loop runs, where that is known."""
        lower, upper, step = (self._values.get(bound) for bound in (op.lb, op.ub, op.step))
        return None if lower is None or upper is None or step is None or step < 1 else max(0, -(-(upper - lower) // step))

    def _standing_for_all(self, body: Block, count: int, enter: Callable[[int], None]) -> list[int]:
        """The trips to record of `count`: of neighbours in which the loops of the body run equally often (or often), the first ones."""
        loops = [op for op in self._structure.bodies[body] if isinstance(op, ForOp) and self._may_vary(op, body)]
        if not loops:
            return list(range(self._unrolling.of(count)))

        def lengths(trip: int) -> tuple[int | None, ...]:
            enter(trip)
            for op in self._structure.bodies[body]:
                if op.name.startswith("arith."):
                    evaluate(op, self._values)
            counts = (self._count(loop) for loop in loops)
            return tuple(None if count is None else min(count, self._unrolling.trips) for count in counts)

        runs = [list(run) for _, run in groupby(range(count), lengths)]
        return [trip for run in runs for trip in run[: self._unrolling.of(len(run))]]

    def _may_vary(self, loop: ForOp, body: Block) -> bool:
        """Whether the length of a loop is computed in the body that it stands in."""
        return any(
            (bound.owner if isinstance(bound.owner, Block) else bound.owner.parent) is body for bound in (loop.lb, loop.ub, loop.step)
        )

    def _assign(self, to: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
        """Enters what is known of `values`, all at once."""
        known = [self._values.get(value) for value in values]
        for target, value in zip(to, known, strict=True):
            self._values.pop(target, None)
            if value is not None:
                self._values[target] = value

    def _grid(self, op: GridOp) -> None:
        def enter(trip: int) -> None:
            block, point = self._core + trip * self._target.cores, list[int]()
            for extent in reversed(op.grid):
                point.insert(0, block % extent)
                block //= extent
            if isinstance(op, GridLoopOp):
                self._values[op.trip] = trip
            self._values.update(zip(op.points, point, strict=True))

        for trip in self._standing_for_all(op.body.block, blocks_of(op, self._target, self._core), enter):
            enter(trip)
            self.run(op.body.block)

    # ---- queues ----

    def _next(self, pipe: int) -> int:
        self._lengths[pipe] += 1
        return self._lengths[pipe] - 1

    def _instruction(self, instruction: Instruction) -> None:
        pipe = self._numbers[instruction.pipe]
        places = [(self._at(access), access.writes) for access in instruction.accesses]
        needs: dict[int, int] = {}
        for place, writes in places:
            for other in self._around(place):
                for last in (other.writes, other.reads) if writes else (other.writes,):
                    for source, position in last.items():
                        needs[source] = max(position, needs.get(source, -1))
        if instruction.unit.in_order:
            needs.pop(pipe, None)
        position = self._next(pipe)
        self.items.append(Item(Kind.INSTRUCTION, pipe, position, instruction.op, needs=tuple(needs.items())))
        for place, writes in places:
            touched = self._touched[place]
            (touched.writes if writes else touched.reads)[pipe] = position

    def _at(self, access: Access) -> Place:
        """The place of an access in this trip: of its slot, where that is known."""
        place, slot = access.place, access.place.slot
        number = None if slot is None else self._values.get(slot)
        if number is None or not 0 <= number < len(place.ranges):
            return place
        return Place(place.memory, (place.ranges[number],), None, "", place.dimension)

    def _around(self, place: Place) -> list[_Touched]:
        """What has been recorded for places that share a byte with `place`."""
        if place not in self._touched:
            new = self._touched[place] = _Touched(place)
            meeting = [other for other in self._touched.values() if other.place.overlaps(place)]
            self._meeting[place] = meeting
            for other in meeting:
                if other is not new:
                    self._meeting[other.place].append(new)
        return self._meeting[place]

    def _sync(self, op: SyncOp) -> None:
        if isinstance(op, FlagOp | CrossCoreFlagOp):
            self._flag(op)
        elif isinstance(op, PipeBarrierOp | SyncAllOp):
            pipes = self._joined(op)
            for pipe in pipes[1:]:
                self._next(pipe)
            self.items.append(Item(Kind.BARRIER, pipes[0], self._next(pipes[0]), op, pipes=pipes))

    def _joined(self, op: PipeBarrierOp | SyncAllOp) -> list[int]:
        name = "all" if isinstance(op, SyncAllOp) else op.pipe.pipe.data
        if name in self._numbers:
            return [self._numbers[name]]
        core = name.removesuffix("all").removesuffix(".")
        return [i for i, unit in enumerate(self._target.units.values()) if core in ("", unit.core)]

    def _flag(self, op: FlagOp | CrossCoreFlagOp) -> None:
        number = op.mixed_number if isinstance(op.mixed_number, int) else self._values.get(op.mixed_number)
        if number is None:
            raise Unprovable(op, "unknown-number", "has a number that depends on an argument")
        name = None if op.event is None else op.event.data
        is_set, binary = isinstance(op, SetFlagOp | CrossCoreSetFlagOp), isinstance(op, FlagOp)
        if isinstance(op, FlagOp):
            source, destination = op.source.pipe.data, op.destination.pipe.data
            pipe, event = source if is_set else destination, (source, destination, name, number)
        else:
            pipe = op.pipe.pipe.data
            # Tokens of the cube and of the lanes are counted apart: an event is known by who waits for it.
            cube_waits = (self._target.units[pipe].core == CUBE) != is_set
            event = (CUBE if cube_waits else VECTOR, "", name, number)
        queue = self._numbers[pipe]
        self.items.append(Item(Kind.SET if is_set else Kind.WAIT, queue, self._next(queue), op, event=event, binary=binary))
        pending = self._pending.setdefault(event, deque())
        if is_set:
            pending.append(op)
        elif pending:
            self.matches.append((pending.popleft(), op))
