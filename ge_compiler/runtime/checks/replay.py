"""
Runs a kernel with data in a random order that its flags allow: evidence that does not come from the checker.

Every core puts its instructions into the queues of its pipes; then one that is ready is chosen at random, again and again. Memory is
poisoned. A kernel without races gives the same bytes in every order; one with a race gives others in some, reads poison, or gets stuck.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from ge_compiler.dialects import npu, tile
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.memory import Space, bytes_of
from ge_compiler.dialects.semantics import Array, dtype_of
from ge_compiler.dialects.target import CUBE, VECTOR, NpuTarget
from ge_compiler.dialects.types import buffer_type
from ge_compiler.runtime.checks.recorder import Stream, streams_of
from ge_compiler.runtime.interpreters.buffers import buffer_table
from ge_compiler.runtime.interpreters.control import CONTROL
from ge_compiler.runtime.machine import Machine
from ge_compiler.runtime.memory import POISON, Memory, Region
from ge_compiler.runtime.walk import Factory, Frame, Function, Registers, Step

Flag = tuple[str | int, ...]


@dataclass
class _Item:
    """What stands in a queue: an instruction with the registers that it was issued with, or one that orders pipes."""

    op: Operation
    run: Callable[[], None] | None = None
    number: int = 0


@dataclass
class _Core:
    """One stream of one cluster: its memories and its queues."""

    cluster: int
    stream: Stream
    machine: Machine
    queues: dict[str, list[_Item]] = field(default_factory=dict[str, list[_Item]])


@dataclass(frozen=True)
class Outcome:
    """What one order led to: the bytes of the written arguments, or why there are none."""

    written: tuple[bytes, ...] | None
    problem: str = ""


class Replay:
    """
    A kernel whose instructions have been issued on `clusters`, to be executed in one order after the other.

    `arguments` are arrays; `None` stands for one that the kernel writes, which is poisoned at the start of every order.
    """

    def __init__(self, kernel: FuncOp, target: NpuTarget, arguments: Sequence[Array | None], clusters: Sequence[int]) -> None:
        self._target = target
        self._written = {i: Memory(Space.GM, _bytes(kernel, i), checked=True) for i, array in enumerate(arguments) if array is None}
        one_lane = replace(target, vec_per_cube=1)
        self._cores = [_Core(c, s, Machine(one_lane, 0, checked=True)) for c in clusters for s in streams_of(target)]
        self._problem = ""
        regions = [_region(kernel, i, array, self._written) for i, array in enumerate(arguments)]
        try:
            for core in self._cores:
                Function(kernel, _table(core, target))(*regions)
        except CompileError as error:
            self._problem = error.message

    def run(self, seed: int | None) -> Outcome:
        """Executes everything in the order of the program, or in the random one of `seed`."""
        if self._problem:
            return Outcome(None, self._problem)
        for core in self._cores:
            core.machine.start(core.cluster)
        for memory in self._written.values():
            memory.forget()
            memory.bytes.fill(POISON)
        try:
            problem = _Scheduler(self._cores, self._target, seed).run()
        except CompileError as error:
            problem = error.message
        return Outcome(None, problem) if problem else Outcome(tuple(memory.bytes.tobytes() for memory in self._written.values()))


def _bytes(kernel: FuncOp, number: int) -> int:
    return bytes_of(buffer_type(kernel.body.block.args[number]))


def _region(kernel: FuncOp, number: int, array: Array | None, memory_of: Mapping[int, Memory]) -> Region:
    name = f"argument #{number}"
    if array is not None:
        return Region(array, name)
    type_ = buffer_type(kernel.body.block.args[number])
    return Region.allocate(memory_of[number], name, type_.get_shape(), dtype_of(type_.get_element_type()))


# ---- issue ------------------------------------------------------------------------------------------------------------


def _table(core: _Core, target: NpuTarget) -> dict[type[Operation], Factory]:
    """The meanings of ops on the memories of `core`; instructions are put into queues instead of being executed."""
    core.queues = {unit: [] for unit in core.stream.units}
    meanings: dict[type[Operation], Factory] = {**CONTROL, **buffer_table(core.machine)}
    instructions = {op: _deferred(core, target, factory) for op, factory in meanings.items() if issubclass(op, npu.InstructionOp)}
    sync = dict.fromkeys((op for op in npu.NPU.operations if issubclass(op, npu.SyncOp)), _ordering(core))
    grid = _grid(core, target)
    return {**meanings, **sync, **instructions, npu.BlockIdxOp: _constant(core.cluster), npu.SubBlockIdxOp: _constant(core.stream.lane)} | {
        tile.ForallOp: grid,
        tile.GridLoopOp: grid,
    }


def _constant(value: int) -> Factory:
    def factory(op: Operation, frame: Frame) -> None:
        frame.set_constant(op.results[0], value)

    return factory


def _deferred(core: _Core, target: NpuTarget, factory: Factory) -> Factory:
    def make(op: npu.InstructionOp, frame: Frame) -> Step | None:
        queue = core.queues.get(str(op.unit(target)))
        step = factory(op, frame)
        if queue is None or step is None:
            return None

        def issue(r: Registers) -> None:
            registers = r.copy()
            queue.append(_Item(op, lambda: step(registers)))

        return issue

    return make


def _ordering(core: _Core) -> Factory:
    def make(op: npu.SyncOp, frame: Frame) -> Step | None:
        numbered = isinstance(op, npu.FlagOp | npu.CrossCoreFlagOp)
        queues = [core.queues[unit] for unit in _pipes(op, core.stream)]
        slot = frame.slot(op.mixed_number) if numbered else frame.constant(0)

        def issue(r: Registers) -> None:
            item = _Item(op, None, r[slot])
            for queue in queues:
                queue.append(item)

        return issue if queues else None

    return make


def _pipes(op: npu.SyncOp, stream: Stream) -> Sequence[str]:
    """The pipes of `stream` in whose queues an op that orders them stands."""
    match op:
        case npu.SetFlagOp():
            name = op.source.pipe.data
        case npu.WaitFlagOp():
            name = op.destination.pipe.data
        case npu.CrossCoreFlagOp() | npu.PipeBarrierOp():
            name = op.pipe.pipe.data
        case _:
            return stream.units
    if name in ("all", f"{stream.kind}.all"):
        return stream.units
    return [unit for unit in stream.units if unit == name]


def _grid(core: _Core, target: NpuTarget) -> Factory:
    import numpy as np

    def factory(op: tile.GridOp, frame: Frame) -> Step:
        slots, code = frame.slots(op.points), frame.code(op.body.block)
        trip = frame.slot(op.trip) if isinstance(op, tile.GridLoopOp) else None

        def step(r: Registers) -> None:
            points = list(np.ndindex(*op.grid))[core.cluster :: target.cores]
            for count, point in enumerate(points):
                for slot, value in zip(slots, point, strict=True):
                    r[slot] = value
                if trip is not None:
                    r[trip] = count
                code.run(r)

        return step

    return factory


# ---- execution --------------------------------------------------------------------------------------------------------


class _Scheduler:
    """Chooses what runs next. Events are binary: setting one that is set is lost; cross-core flags count."""

    def __init__(self, cores: Sequence[_Core], target: NpuTarget, seed: int | None) -> None:
        self.random = None if seed is None else random.Random(seed)
        self.queues = {id(core): {unit: list(queue) for unit, queue in core.queues.items()} for core in cores}
        self.pipes = [(core, unit, queue) for core in cores for unit, queue in self.queues[id(core)].items()]
        self.cores = cores
        self.in_order = {name: unit.in_order for name, unit in target.units.items()}
        self.events: set[Flag] = set()
        self.tokens: dict[Flag, int] = {}

    def run(self) -> str:
        """Runs all queues until they are empty; what is wrong if they cannot be."""
        while any(queue for *_, queue in self.pipes):
            order = list(self.pipes)
            if self.random is not None:
                self.random.shuffle(order)
            if not any(self._burst(*pipe) for pipe in order):
                stuck = next(queue[0].op for *_, queue in self.pipes if queue)
                return f"deadlock at {stuck.name}"
        return ""

    def _burst(self, core: _Core, unit: str, queue: list[_Item]) -> bool:
        """Runs a pipe for a while, the whole way more often than not, so that pipes get far ahead of each other; whether it moved."""
        limit = 1 if self.random is None else self.random.choice((1, 3, 1000))
        moved = False
        while queue and limit and self._step(core, unit, queue):
            moved, limit = True, limit - 1
        return moved

    def _step(self, core: _Core, unit: str, queue: list[_Item]) -> bool:
        item = queue[0]
        if item.run is not None:
            chosen = queue.pop(self._choose(unit, queue))
            assert chosen.run is not None
            chosen.run()
            return True
        return self._order(core, item, queue)

    def _choose(self, unit: str, queue: list[_Item]) -> int:
        """Which instruction: the first, or on a pipe that is not in order any before the next barrier or flag."""
        if self.random is None or self.in_order[unit]:
            return 0
        until = next((i for i, item in enumerate(queue) if item.run is None), len(queue))
        return self.random.randrange(until)

    def _order(self, core: _Core, item: _Item, queue: list[_Item]) -> bool:
        """Executes the head of a queue if it orders pipes and may pass."""
        match item.op:
            case npu.FlagOp():
                return self._flag(core, item, item.op, queue)
            case npu.CrossCoreFlagOp():
                return self._cross_core_flag(core, item, queue)
            case npu.SyncAllOp():
                # One op, but an item of its own in every core.
                return self._meet(item.op, [queue for *_, queue in self.pipes])
            case _:
                return self._meet(item.op, [q for q in self.queues[id(core)].values() if q is queue or any(i is item for i in q)])

    def _flag(self, core: _Core, item: _Item, op: npu.FlagOp, queue: list[_Item]) -> bool:
        event = (
            core.cluster,
            core.stream.kind,
            core.stream.lane,
            op.source.pipe.data,
            op.destination.pipe.data,
            str(op.event),
            item.number,
        )
        if isinstance(op, npu.SetFlagOp):
            self.events.add(event)
        elif event in self.events:
            self.events.remove(event)
        else:
            return False
        queue.pop(0)
        return True

    def _cross_core_flag(self, core: _Core, item: _Item, queue: list[_Item]) -> bool:
        """A token lies between the cube and a lane: (cluster, who takes it, lane, number)."""
        is_set, is_cube = isinstance(item.op, npu.CrossCoreSetFlagOp), core.stream.kind == CUBE
        taker = VECTOR if is_set == is_cube else CUBE
        all_lanes = [c.stream.lane for c in self.cores if c.cluster == core.cluster and c.stream.kind == VECTOR]
        lanes = all_lanes if is_cube else [core.stream.lane]
        flags = [(core.cluster, taker, lane, item.number) for lane in lanes]
        if not is_set and not all(self.tokens.get(flag, 0) for flag in flags):
            return False
        for flag in flags:
            self.tokens[flag] = self.tokens.get(flag, 0) + (1 if is_set else -1)
        queue.pop(0)
        return True

    def _meet(self, op: Operation, queues: Sequence[list[_Item]]) -> bool:
        """A barrier passes when it is the head of every queue that it stands in."""
        if not all(queue and queue[0].op is op for queue in queues):
            return False
        for queue in queues:
            queue.pop(0)
        return True
