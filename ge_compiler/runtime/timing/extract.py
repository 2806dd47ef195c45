"""Reads the programs of a kernel's cores from its IR, once.

The kernel is walked without data, for each core kind, lane and cluster. A block of it that has been walked before with values that are the
same as far as time depends on them (see `demand`) gives the body that it gave then, so long loops and equal blocks of a grid cost little.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import memref, scf
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ge_compiler.dialects import npu, tile
from ge_compiler.dialects.buf import AtOp
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.instruction_costs import Cost, cost_of, overheads_of
from ge_compiler.dialects.memory import Space, mem_of
from ge_compiler.dialects.target import CUBE, VECTOR, NpuTarget
from ge_compiler.runtime.checks.recorder import streams_of
from ge_compiler.runtime.interpreters.control import CONTROL
from ge_compiler.runtime.timing.channels import Channels, joined
from ge_compiler.runtime.timing.demand import EXACT, Demands, extents_of
from ge_compiler.runtime.timing.program import (
    ALL_CORES,
    BARRIER,
    BARRIER_ALL,
    INSTRUCTION,
    SCALAR,
    SET,
    WAIT,
    Body,
    Item,
    KernelProgram,
    Pool,
    Work,
    work_counts,
)
from ge_compiler.runtime.walk import Factory, Frame, Function, Registers, Step


def read_kernel(kernel: FuncOp, target: NpuTarget) -> KernelProgram:
    """
    The programs of all clusters of `target` that run `kernel`, a function of instructions.

    Clusters that do the same work are one, with their number: the first stands for all, in whatever order they meet their whole and their
    ragged blocks. Raises `CompileError` at an op whose time cannot be known without data, and where the target's table lacks a constant.
    """
    demands = Demands(kernel)
    shared = _Shared(target, demands)
    kinds = {stream.kind: _Reader(kernel, shared, stream.kind, stream.units) for stream in streams_of(target)}
    found: dict[Hashable, tuple[tuple[Body, ...], int]] = {}
    counts: Counter[Hashable] = Counter()
    for core in range(target.cores):
        bodies = tuple(kinds[stream.kind].read(core, stream.lane) for stream in streams_of(target))
        alike = tuple(frozenset(work_counts(body, shared.counted).items()) for body in bodies)
        found.setdefault(alike, (bodies, kinds[streams_of(target)[0].kind].blocks))
        counts[alike] += 1
    clusters = [joined(shared.pool, shared.channels, target, *found[alike], count) for alike, count in counts.items()]
    return KernelProgram(
        kernel.sym_name.data,
        tuple(c for c in clusters if c.streams),
        tuple(shared.works),
        tuple(shared.pipes),
        shared.overheads,
        target.cores,
    )


class _Shared:
    """What the readers of all core kinds have in common."""

    def __init__(self, target: NpuTarget, demands: Demands) -> None:
        self.target, self.demands = target, demands
        self.overheads = overheads_of(target)
        self.pool, self.channels = Pool(), Channels()
        self.works: list[Work] = []
        self.pipes: list[int] = []
        self.counted: dict[Body, Counter[int]] = {}
        self._numbers: dict[tuple[Cost, int | None, type[Operation], str], int] = {}

    def work(self, op: npu.InstructionOp, extents: Sequence[Sequence[int]], unit: str, pipe: int) -> int:
        """The number of an instruction with these extents; equal costs share one."""
        cost = cost_of(op, extents, self.target)
        argument = None if cost.traffic is None else _argument(op)
        key = (cost, argument, type(op), unit)
        if key not in self._numbers:
            self._numbers[key] = len(self.works)
            self.works.append(Work(cost, argument, op))
            self.pipes.append(pipe)
        return self._numbers[key]


def _argument(op: npu.InstructionOp) -> int | None:
    """The argument of the kernel whose bytes in global memory an instruction moves."""
    value: SSAValue = next(v for v in (*op.reads(), op.writes()) if mem_of(v.type).space is Space.GM)
    while not isinstance(value, BlockArgument):
        if not isinstance(value.owner, memref.SubviewOp | memref.ReinterpretCastOp | memref.CastOp):
            return None
        value = value.owner.operands[0]
    return value.index


@dataclass
class _Head:
    """Computes the registers that a block's time depends on, each with its modulus."""

    steps: Sequence[Step]
    slots: Sequence[tuple[int, int]]

    def key(self, r: Registers) -> tuple[int, ...]:
        for step in self.steps:
            step(r)
        return tuple([r[slot] % modulus if modulus else r[slot] for slot, modulus in self.slots])


@dataclass
class _Reader:
    """Walks a kernel for one core kind."""

    kernel: FuncOp
    shared: _Shared
    kind: str
    units: Sequence[str]
    core: int = 0
    lane: int = 0
    blocks: int = 0
    depth: int = 0
    items: list[Item] = field(default_factory=list[Item])
    memo: dict[tuple[Any, ...], Body] = field(default_factory=dict[tuple[Any, ...], Body])

    def __post_init__(self) -> None:
        indices = [op.result for op in self.kernel.walk() if isinstance(op, npu.BlockIdxOp)]
        self._by_core = any(self.shared.demands.wants(value) for value in indices)
        self._function = Function(self.kernel, _table(self))

    def read(self, core: int, lane: int) -> Body:
        """The program of one stream."""
        self.core, self.lane, self.blocks, self.items = core, lane, 0, []
        self._function(*(None for _ in self.kernel.body.block.args))
        return self.shared.pool.body(self.items)

    def body(self, op: Operation, head: _Head, r: Registers, run: Step) -> Body:
        """What a block does once, for the values that stand in its registers."""
        key = (op, self.lane, self.core if self._by_core else 0, *head.key(r))
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = self.nested(r, run)
        return found

    def nested(self, r: Registers, run: Step) -> Body:
        """What a block of a loop does once."""
        outside, self.items = self.items, []
        self.depth += 1
        run(r)
        self.depth -= 1
        items, self.items = self.items, outside
        overhead = self.shared.overheads.loop
        return self.shared.pool.body([(SCALAR, overhead), *items] if items and overhead else items)

    def head(self, frame: Frame, block: Block) -> _Head:
        found = self.shared.demands.head(block)
        return _Head(frame.steps(found.ops), [(frame.slot(value), modulus) for value, modulus in found.values])


# ---- loops ------------------------------------------------------------------------------------------------------------


def _for(reader: _Reader) -> Factory:
    def factory(op: scf.ForOp, frame: Frame) -> Step:
        low, high, stride = frame.slots([op.lb, op.ub, op.step])
        block, moduli = op.body.block, reader.shared.demands.moduli
        induction, *carried = frame.slots(block.args)
        start, results, ends = frame.slots(op.iter_args), frame.slots(op.results), frame.slots(_yielded(block))
        head, run = reader.head(frame, block), frame.code(block).run
        modulus, carries = moduli.get(block.args[0], 1), any(argument in moduli for argument in block.args[1:])

        def step(r: Registers) -> None:
            if r[stride] <= 0:
                raise CompileError.at(op, f"the step of a loop must be positive, got {r[stride]}")
            count = max(0, -(-(r[high] - r[low]) // r[stride]))
            turn = count if modulus == EXACT or carries else min(count, modulus // math.gcd(modulus, r[stride]))
            values, bodies = [r[slot] for slot in start], list[Body]()
            for i in range(turn):
                r[induction] = r[low] + i * r[stride]
                for slot, value in zip(carried, values, strict=True):
                    r[slot] = value
                bodies.append(reader.nested(r, run) if carries else reader.body(op, head, r, run))
                values = [r[slot] for slot in ends] if carries else values
            for slot, value in zip(results, values, strict=True):
                r[slot] = value
            reader.items += _turns(reader, bodies, count)

        return step

    return factory


def _turns(reader: _Reader, bodies: list[Body], count: int) -> list[Item]:
    """The items of `count` iterations that do what `bodies` do, in turns."""
    pool, turn = reader.shared.pool, len(bodies)
    if turn in (0, count):
        return pool.sequence(bodies)
    if all(body is bodies[0] for body in bodies):
        return pool.loop(count, bodies[0])
    whole = pool.body([item for body in bodies for item in body.items])
    return [*pool.loop(count // turn, whole), *pool.sequence(bodies[: count % turn])]


def _grid(reader: _Reader) -> Factory:
    def factory(op: tile.GridOp, frame: Frame) -> Step:
        points, block = frame.slots(op.points), op.body.block
        trip = frame.slot(op.trip) if isinstance(op, tile.GridLoopOp) else None
        head, run, total = reader.head(frame, block), frame.code(block).run, math.prod(op.grid)
        axes = list(zip(reversed(points), reversed(op.grid), strict=True))

        def step(r: Registers) -> None:
            bodies: list[Body] = []
            for number in range(reader.core, total, reader.shared.target.cores):
                if trip is not None:
                    r[trip] = len(bodies)
                for slot, extent in axes:
                    number, r[slot] = divmod(number, extent)
                bodies.append(reader.body(op, head, r, run))
            reader.blocks += len(bodies)
            reader.items += reader.shared.pool.sequence(bodies)

        return step

    return factory


def _yielded(block: Block) -> list[SSAValue]:
    last = block.last_op
    return list(last.operands) if isinstance(last, scf.YieldOp) else []


# ---- instructions -----------------------------------------------------------------------------------------------------


def _instruction(reader: _Reader) -> Factory:
    def factory(op: npu.InstructionOp, frame: Frame) -> Step | None:
        unit = op.unit(reader.shared.target)
        if unit is None:
            raise CompileError.at(op, f"has no pipe on {reader.shared.target.name} that executes it")
        if unit.core != reader.kind:
            return None
        pipe, issue = reader.units.index(str(unit)), reader.shared.overheads.issue
        slots = [frame.slots(extents_of(value)) for value in (*op.reads(), op.writes())]
        every = list(dict.fromkeys(slot for of_one in slots for slot in of_one if frame.initial[slot] is None))
        known: dict[tuple[int, ...], Item] = {}

        def step(r: Registers) -> None:
            key = tuple([r[slot] for slot in every])
            item = known.get(key)
            if item is None:
                extents = [[r[slot] for slot in of_one] for of_one in slots]
                item = known[key] = (INSTRUCTION, pipe, issue, reader.shared.work(op, extents, str(unit), pipe))
            reader.items.append(item)

        return step

    return factory


def _flag(reader: _Reader) -> Factory:
    def factory(op: npu.FlagOp | npu.CrossCoreFlagOp, frame: Frame) -> Step | None:
        sets = isinstance(op, npu.SetFlagOp | npu.CrossCoreSetFlagOp)
        across, overheads = isinstance(op, npu.CrossCoreFlagOp), reader.shared.overheads
        pipe = op.pipe if isinstance(op, npu.CrossCoreFlagOp) else op.source if sets else op.destination
        if reader.shared.target.units[pipe.pipe.data].core != reader.kind:
            return None
        number, unit = frame.slot(op.mixed_number), reader.units.index(pipe.pipe.data)
        event = "" if op.event is None else op.event.data
        latency = overheads.cross_core if across else overheads.event
        receiver = (VECTOR if reader.kind == CUBE else CUBE) if across and sets else reader.kind
        name = receiver if isinstance(op, npu.CrossCoreFlagOp) else f"<{op.source.pipe.data}>, <{op.destination.pipe.data}>"
        known: dict[int, Item] = {}

        def step(r: Registers) -> None:
            item = known.get(r[number])
            if item is None:
                channels = (reader.shared.channels.number(across, receiver, name, event, r[number]),)
                item = (SET, unit, overheads.flag, channels, latency) if sets else (WAIT, unit, overheads.flag, channels)
                known[r[number]] = item
            reader.items.append(item)

        return step

    return factory


def _barrier(reader: _Reader) -> Factory:
    def factory(op: npu.PipeBarrierOp, frame: Frame) -> Step | None:
        name = op.pipe.pipe.data
        core, dot, unit = name.rpartition(".")
        if (core if dot else reader.kind) != reader.kind:
            return None
        item: Item = (BARRIER_ALL,) if unit == npu.ALL_PIPES else (BARRIER, reader.units.index(name), reader.shared.overheads.flag)
        return lambda r: reader.items.append(item)

    return factory


def _all_cores(reader: _Reader) -> Factory:
    def factory(op: npu.SyncAllOp, frame: Frame) -> Step:
        def step(r: Registers) -> None:
            if reader.depth:
                raise CompileError.at(op, "stands in a loop; only a barrier of all cores outside of loops can be timed")
            reader.items.append((ALL_CORES,))

        return step

    return factory


def _dim(reader: _Reader) -> Factory:
    def factory(op: memref.DimOp, frame: Frame) -> Step | None:
        if not reader.shared.demands.wants(op.result):
            return None
        extents, index, result = frame.slots(extents_of(op.source)), frame.slot(op.index), frame.slot(op.result)

        def step(r: Registers) -> None:
            r[result] = r[extents[r[index]]]

        return step

    return factory


def _demanded(reader: _Reader, factory: Factory) -> Factory:
    """Index arithmetic that time depends on; none of the rest."""

    def made(op: Operation, frame: Frame) -> Step | None:
        return factory(op, frame) if reader.shared.demands.wants(op.results[0]) else None

    return made


def _nothing(op: Operation, frame: Frame) -> None:
    return None


def _core_number(reader: _Reader) -> Factory:
    def factory(op: npu.BlockIdxOp | npu.SubBlockIdxOp, frame: Frame) -> Step:
        result, is_lane = frame.slot(op.result), isinstance(op, npu.SubBlockIdxOp)

        def step(r: Registers) -> None:
            r[result] = reader.lane if is_lane else reader.core

        return step

    return factory


def _table(reader: _Reader) -> dict[type[Operation], Factory]:
    """What the ops of a kernel mean to time."""
    instruction, flag, grid = _instruction(reader), _flag(reader), _grid(reader)
    values = {op: _demanded(reader, factory) for op, factory in CONTROL.items() if op.name.startswith("arith.")}
    return {
        **CONTROL,
        **{op: factory for op, factory in values.items() if op.name != "arith.constant"},
        scf.ForOp: _for(reader),
        tile.ForallOp: grid,
        tile.GridLoopOp: grid,
        **dict.fromkeys((AtOp, memref.SubviewOp, memref.ReinterpretCastOp, memref.CastOp), _nothing),
        memref.DimOp: _dim(reader),
        **{op: instruction for op in npu.NPU.operations if issubclass(op, npu.InstructionOp)},
        npu.PipeBarrierOp: _barrier(reader),
        **dict.fromkeys((npu.SetFlagOp, npu.WaitFlagOp, npu.CrossCoreSetFlagOp, npu.CrossCoreWaitFlagOp), flag),
        npu.SyncAllOp: _all_cores(reader),
        **dict.fromkeys((npu.BlockIdxOp, npu.SubBlockIdxOp), _core_number(reader)),
    }
