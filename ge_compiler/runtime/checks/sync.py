"""The check of a kernel: every core's program is traced, ordered, and held against memory."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from ge_compiler.dialects import npu
from ge_compiler.dialects.buf import AtOp
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.fused import launches_of
from ge_compiler.dialects.memory import Space, bytes_of, element_bytes, mem_of
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.dialects.types import buffer_type
from ge_compiler.runtime.checks.cores import GlobalMemory
from ge_compiler.runtime.checks.faults import Coverage, Faults, Report
from ge_compiler.runtime.checks.footprints import ChipView, GlobalObject, GlobalView
from ge_compiler.runtime.checks.lane_varying import check_lane_varying
from ge_compiler.runtime.checks.order import Executed, Order
from ge_compiler.runtime.checks.races import Races
from ge_compiler.runtime.checks.recorder import Entry, Recorder, streams_of
from ge_compiler.runtime.checks.trace import table_of
from ge_compiler.runtime.walk import Factory, Frame, Function, Step

_LONGEST_PERIOD = 16


def check_sync(kernel: FuncOp, target: NpuTarget, *, cores: int | None = None, trips: Sequence[int] = ()) -> Report:
    """
    The faults of a kernel of instructions, and what was covered.

    `cores` stands for the target's number of cores. Each of `trips` is one more run with that many iterations of every loop, in which
    only the order of instructions is judged. Raises `CompileError` at an op that cannot be followed.
    """
    return _Check(kernel, target if cores is None else replace(target, cores=cores)).run(trips)


@dataclass(frozen=True)
class _Program:
    """The order of a cluster's instructions: the same for all clusters that issue the same ones."""

    order: Sequence[Executed] | None
    """`None` where they block each other."""
    instructions: int
    names: Sequence[str]
    in_order: Sequence[bool]


class _Check:
    def __init__(self, kernel: FuncOp, target: NpuTarget) -> None:
        self.kernel, self.target = kernel, target
        self.faults = Faults()
        self.coverage = Coverage(kernel.sym_name.data, target.cores)
        self.streams = streams_of(target)
        self.recorder = Recorder(target, self.faults, _period(kernel))
        same = _aliases(kernel)
        self.arguments = [_argument(kernel, i, same.get(i, i)) for i in range(len(kernel.body.block.args))]
        self.unwritten = _unwritten(kernel)
        self.tracked = {same.get(i, i) for i in written_arguments(kernel) | self.unwritten}

    def run(self, trips: Sequence[int]) -> Report:
        check_lane_varying(self.kernel, self.target, self.faults)
        if not self.faults.found:
            self._check_cores()
            for count in trips:
                self._check_clusters(count)
            self._check_clusters(None)
        self.coverage.shortened = self.recorder.shortened
        self.coverage.trips = tuple(trips)
        return Report(self.faults.sorted(), self.coverage)

    def _check_clusters(self, trips: int | None) -> None:
        """Orders and races inside each cluster; clusters that issue the same instructions are ordered once."""
        function = Function(self.kernel, table_of(self.recorder))
        programs: dict[Hashable, _Program] = {}
        for core in range(self.target.cores):
            self.faults.context = f" (on core {core})" if core else ""
            entries = self._trace(function, core, trips)
            signature = tuple(map(_signature, entries))
            twin = programs.get(signature)
            program = twin or self._program(entries)
            programs[signature] = program
            self.coverage.instructions += program.instructions
            self.coverage.synchronisations += len(entries) - program.instructions
            if program.order is not None and (twin is None or self.tracked):
                order = program.order if twin is None else _in_global_memory(entries, program.order)
                races = Races(self.target, program.names, program.in_order, self.tracked, self.faults)
                races.check(entries, order, on_chip=twin is None, with_values=trips is None)
        self.faults.context = ""
        self.coverage.streams += len(programs)

    def _trace(self, function: Function, core: int, trips: int | None) -> list[Entry]:
        entries: list[Entry] = []
        for stream in self.streams:
            self.recorder.start(core, stream, trips)
            function(*self.arguments)
            entries += self.recorder.entries
        entries.sort(key=lambda entry: entry.position)
        return entries

    def _program(self, entries: Sequence[Entry]) -> _Program:
        order = Order(self.target, self.faults)
        instructions = sum(isinstance(entry.op, npu.InstructionOp) for entry in entries)
        return _Program(order.order if order.run(entries) else None, instructions, order.names, order.in_order)

    def _check_cores(self) -> None:
        """Global memory of all cores: every block and iteration, of those instructions only that touch what is written."""
        memory = GlobalMemory(self.faults)
        recorder = Recorder(self.target, self.faults, 1, whole=True)
        if not self.tracked and not any(isinstance(op, npu.SyncAllOp) for op in self.kernel.walk()):
            return
        function = Function(self.kernel, _sliced(table_of(recorder), self.tracked_values()))
        epochs: dict[int, int] = {}
        for core in range(self.target.cores):
            for stream in self.streams:
                recorder.start(core, stream)
                function(*self.arguments)
                epochs[core] = recorder.epoch
                self._add(memory, core, recorder.entries)
        self._check_epochs(epochs)
        memory.check(self.unwritten)

    def _add(self, memory: GlobalMemory, core: int, entries: Sequence[Entry]) -> None:
        epoch, since = 0, 0
        for i, entry in enumerate(entries):
            if isinstance(entry.op, npu.SyncAllOp):
                memory.add(core, epoch, entries[since:i], self.tracked)
                epoch, since = epoch + 1, i + 1
        memory.add(core, epoch, entries[since:], self.tracked)

    def _check_epochs(self, epochs: dict[int, int]) -> None:
        first = epochs[0]
        other = next((core for core, count in epochs.items() if count != first), None)
        if other is not None:
            op = next(op for op in self.kernel.walk() if isinstance(op, npu.SyncAllOp))
            message = f"deadlock: core 0 reaches npu.sync_all {first} times, core {other} {epochs[other]} times; all cores must reach it"
            self.faults.add("deadlock", op, message)

    def tracked_values(self) -> set[SSAValue]:
        """Everything that may be a view of a tensor whose bytes are compared."""
        arguments = zip(self.kernel.body.block.args, self.arguments, strict=True)
        values: set[SSAValue] = {argument for argument, view in arguments if view.object.number in self.tracked}
        for op in self.kernel.walk():
            if any(operand in values for operand in op.operands):
                values.update(result for result in op.results if isinstance(result.type, MemRefType))
        return values


def _in_global_memory(entries: Sequence[Entry], order: Sequence[Executed]) -> Iterable[Executed]:
    """What to check of the twin of another cluster."""
    return (e for e in order if any(isinstance(v, GlobalView) for v in (*entries[e.place].reads, *entries[e.place].writes)))


def _signature(entry: Entry) -> Hashable:
    if not entry.writes:  # it orders pipes
        return (id(entry.op), entry.pipe, entry.number, entry.block)
    views = tuple([id(v) if isinstance(v, ChipView) else 0 in v.shape for v in (*entry.reads, *entry.writes)])
    return (id(entry.op), entry.pipe, entry.number, entry.block, views)


def _argument(kernel: FuncOp, position: int, number: int) -> GlobalView:
    """The view of all of an argument; `number` is that of the first argument that is the same tensor."""
    argument = kernel.body.block.args[position]
    name = f"%{argument.name_hint}" if argument.name_hint else f"argument #{position}"
    type_ = argument.type
    if not isinstance(type_, MemRefType) or mem_of(argument.type).space is not Space.GM:
        raise CompileError.at(
            kernel, f"{name} is {argument.type}; only kernels whose arguments are tensors in global memory can be checked"
        )
    buffer = buffer_type(argument)
    shape, strides, size = buffer.get_shape(), buffer.get_strides(), element_bytes(buffer.get_element_type())
    if DYNAMIC_INDEX in shape or strides is None or None in strides:
        raise CompileError.at(kernel, f"{name} is {argument.type}; only static shapes and strides can be checked")
    steps = tuple(s for s in strides if s is not None)
    extent = bytes_of(buffer) if 0 in shape else (1 + sum((n - 1) * s for n, s in zip(shape, steps, strict=True))) * size
    return GlobalView(GlobalObject(name, number, extent), size, 0, tuple(shape), steps)


def _root(value: SSAValue) -> SSAValue:
    """What a view is a view of."""
    while isinstance(value.owner, memref.SubviewOp | memref.ReinterpretCastOp | memref.CastOp):
        value = value.owner.operands[0]
    return value


def written_arguments(kernel: FuncOp) -> set[int]:
    """The arguments that the kernel writes to, by number; all of them where that is open."""
    arguments: list[SSAValue] = list(kernel.body.block.args)
    written: set[int] = set()
    for op in kernel.walk():
        if isinstance(op, npu.InstructionOp) and mem_of(op.writes().type).space is Space.GM:
            root = _root(op.writes())
            if root not in arguments:
                return set(range(len(arguments)))
            written.add(arguments.index(root))
    return written


def _aliases(kernel: FuncOp) -> dict[int, int]:
    """Arguments for which a launch gives the same tensor twice, to the first of them: it is written in place."""
    same: dict[int, int] = {}
    for op in launches_of(kernel):
        first: dict[SSAValue, int] = {}
        for i, value in enumerate([*op.inputs, *op.destinations]):
            if first.setdefault(value, i) != i:
                same[i] = first[value]
    return same


def _unwritten(kernel: FuncOp) -> set[int]:
    """The arguments that hold nothing when the kernel starts: what launches pass as destinations, and workspaces behind them."""
    launches = launches_of(kernel)
    if not launches:
        return set()
    fresh = set(range(min(len(op.inputs) for op in launches), len(kernel.body.block.args)))
    for op in launches:
        given = [*op.inputs, *op.destinations]
        # What is read and written in place is an input too.
        fresh -= {i for i in fresh if i < len(given) and given[i] in op.inputs}
    return fresh


def _period(kernel: FuncOp) -> int:
    """After how many iterations slots come round: the least common multiple of all buffers' slots and of all remainders taken."""
    periods = [len(op.offsets) for op in kernel.walk() if isinstance(op, AtOp)]
    for op in kernel.walk():
        if isinstance(op, arith.RemUIOp | arith.RemSIOp) and isinstance(op.rhs.owner, arith.ConstantOp):
            value = op.rhs.owner.value
            if isinstance(value, IntegerAttr):
                periods.append(value.value.data)
    return math.lcm(*(p for p in periods if 0 < p <= _LONGEST_PERIOD))


def _sliced(table: dict[type[Operation], Factory], tracked: Collection[SSAValue]) -> dict[type[Operation], Factory]:
    """The same meanings, without whatever has no part in `tracked` tensors and `npu.sync_all`."""

    def matters(op: Operation) -> bool:
        if isinstance(op, npu.InstructionOp):
            return any(operand in tracked for operand in op.operands)
        if isinstance(op, npu.SyncOp):
            return isinstance(op, npu.SyncAllOp | npu.BlockIdxOp | npu.SubBlockIdxOp)
        if isinstance(op, AtOp):
            return False
        if isinstance(op, memref.SubviewOp | memref.ReinterpretCastOp | memref.CastOp):
            return op.operands[0] in tracked
        return not op.regions or bool(op.results) or any(matters(inner) for region in op.regions for inner in _effects(region.blocks))

    def sliced(factory: Factory) -> Factory:
        def make(op: Operation, frame: Frame) -> Step | None:
            return factory(op, frame) if matters(op) else None

        return make

    return {op: sliced(factory) for op, factory in table.items()}


def _effects(blocks: Iterable[Block]) -> Iterable[Operation]:
    """The ops of blocks that do something, at any depth."""
    for block in blocks:
        for op in block.walk():
            if isinstance(op, npu.InstructionOp | npu.SyncAllOp):
                yield op
