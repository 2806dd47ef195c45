"""The walk of a kernel without any data: index arithmetic is evaluated, memory is only pointed at."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from xdsl.dialects import memref, scf
from xdsl.ir import Block, Operation, SSAValue

from ge_compiler.dialects import npu, tile
from ge_compiler.dialects.buf import AtOp
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.index_list import join_index_list
from ge_compiler.dialects.memory import Space, bytes_of, element_bytes, mem_of, placement
from ge_compiler.dialects.target import UNIFIED, NpuTarget
from ge_compiler.dialects.types import buffer_type
from ge_compiler.runtime.checks.footprints import ChipView, GlobalView, Owner, View
from ge_compiler.runtime.checks.recorder import ALL, Entry, Recorder
from ge_compiler.runtime.interpreters.control import CONTROL
from ge_compiler.runtime.walk import Factory, Frame, Registers, Step

# ---- loops ------------------------------------------------------------------------------------------------------------


def _yielded(block: Block) -> list[SSAValue]:
    last = block.last_op
    return list(last.operands) if isinstance(last, scf.YieldOp) else []


def _for(recorder: Recorder) -> Factory:
    def factory(op: scf.ForOp, frame: Frame) -> Step:
        low, high, stride = frame.slots([op.lb, op.ub, op.step])
        induction, *carried = frame.slots(op.body.block.args)
        start, results, code = frame.slots(op.iter_args), frame.slots(op.results), frame.code(op.body.block)
        ends = frame.slots(_yielded(op.body.block))

        def step(r: Registers) -> None:
            if r[stride] <= 0:
                raise CompileError.at(op, f"the step of a loop must be positive, got {r[stride]}")
            count = max(0, -(-(r[high] - r[low]) // r[stride])) if recorder.trips is None else recorder.trips
            values = [r[slot] for slot in start]
            # What a loop carries from one iteration to the next needs them all.
            for i in range(count) if carried else recorder.iterations(op, count):
                r[induction] = r[low] + i * r[stride]
                for slot, value in zip(carried, values, strict=True):
                    r[slot] = value
                recorder.iteration.append(r[induction])
                code.run(r)
                recorder.iteration.pop()
                values = [r[slot] for slot in ends]
            for slot, value in zip(results, values, strict=True):
                r[slot] = value

        return step

    return factory


def _grid(recorder: Recorder) -> Factory:
    def factory(op: tile.GridOp, frame: Frame) -> Step:
        points, code = frame.slots(op.points), frame.code(op.body.block)
        trip = frame.slot(op.trip) if isinstance(op, tile.GridLoopOp) else None
        grid = op.grid
        total = math.prod(grid)

        def step(r: Registers) -> None:
            blocks = range(recorder.core, total, recorder.target.cores)
            for count in recorder.iterations(op, len(blocks)):
                number = blocks[count]
                coordinates: list[int] = []
                for extent in reversed(grid):
                    number, coordinate = divmod(number, extent)
                    coordinates.insert(0, coordinate)
                for slot, value in zip(points, coordinates, strict=True):
                    r[slot] = value
                if trip is None:
                    recorder.block += 1
                else:
                    r[trip] = count
                recorder.iteration += coordinates
                code.run(r)
                del recorder.iteration[len(recorder.iteration) - len(coordinates) :]

        return step

    return factory


# ---- views ------------------------------------------------------------------------------------------------------------


def _at(recorder: Recorder) -> Factory:
    def factory(op: AtOp, frame: Frame) -> Step | None:
        type_ = buffer_type(op.result)
        mem, size = mem_of(type_), element_bytes(type_.get_element_type())
        shape, offsets = type_.get_shape(), op.offsets.get_values()
        if mem.space is Space.GM:
            raise CompileError.at(op, "a kernel has its buffers in global memory as arguments")
        rows, columns = shape
        capacity = recorder.target.spaces[mem.space].bytes if mem.space in recorder.target.spaces else 0
        end = max(offsets) + bytes_of(type_)
        if end > capacity:
            recorder.bounds(op, f"{op.label} ends at byte {end} of {mem.space}, which has {capacity}")
        how = placement(rows, columns, size, mem.space, mem.layout)
        views = [ChipView(Owner(mem.space, op.label.data, offset, op), how, size, 0, 0, (rows, columns)) for offset in offsets]
        result = frame.slot(op.result)
        if op.slot is None:
            frame.initial[result] = views[0]
            return None
        slot = frame.slot(op.slot)

        def step(r: Registers) -> None:
            if not 0 <= r[slot] < len(views):
                recorder.bounds(op, f"{op.label} has slots 0 to {len(views) - 1}, got {r[slot]}")
            r[result] = views[r[slot] % len(views)]

        return step

    return factory


def _inside(recorder: Recorder, op: Operation, shape: Sequence[int], offsets: list[int], extents: list[int]) -> list[int]:
    """The extents of a rectangle; none where it leaves `shape`, which is reported."""
    if 0 in extents:
        return extents
    for d, (offset, extent, size) in enumerate(zip(offsets, extents, shape, strict=True)):
        if extent < 0 or offset < 0 or offset + extent > size:
            recorder.bounds(op, f"elements [{offset}, {offset + extent}) of dimension {d} are out of bounds, it has {size}")
            return [0] * len(extents)
    return extents


def _subview(recorder: Recorder) -> Factory:
    def factory(op: memref.SubviewOp, frame: Frame) -> Step:
        source, result = frame.slot(op.source), frame.slot(op.result)
        offsets = frame.slots(join_index_list(op.offsets, op.static_offsets))
        sizes = frame.slots(join_index_list(op.sizes, op.static_sizes))
        if set(op.static_strides.get_values()) - {1}:
            raise CompileError.at(op, f"only strides of 1 can be followed, got {list(op.static_strides.get_values())}")
        dropped = len(sizes) - len(buffer_type(op.result).get_shape())
        if any(size != 1 for size in op.static_sizes.get_values()[:dropped]):
            raise CompileError.at(op, "only leading dimensions of size 1 may vanish")

        def step(r: Registers) -> None:
            view: View = r[source]
            at = [r[o] for o in offsets]
            extents = _inside(recorder, op, view.shape, at, [r[s] for s in sizes])
            r[result] = view.part(at, extents) if isinstance(view, ChipView) else view.part(at, extents, dropped)

        return step

    return factory


def _reinterpret(recorder: Recorder) -> Factory:
    def factory(op: memref.ReinterpretCastOp, frame: Frame) -> Step:
        source, result = frame.slot(op.source), frame.slot(op.result)
        (offset,) = frame.slots(join_index_list(op.offsets, op.static_offsets))
        sizes = frame.slots(join_index_list(op.sizes, op.static_sizes))
        strides = frame.slots(join_index_list(op.strides, op.static_strides))
        if mem_of(op.source.type).space is not Space.GM:
            raise CompileError.at(op, f"only global memory takes another shape, got {op.source.type}")

        def step(r: Registers) -> None:
            view: GlobalView = r[source]
            shape, steps = tuple(r[s] for s in sizes), tuple(r[s] for s in strides)
            end = r[offset] + sum((n - 1) * s for n, s in zip(shape, steps, strict=True)) + 1
            if 0 not in shape and not 0 <= r[offset] < end <= view.object.bytes // view.element_bytes:
                recorder.bounds(op, f"elements up to {end - 1} of {view.object.name} are out of bounds")
                shape = (0,) * len(shape)
            r[result] = GlobalView(view.object, view.element_bytes, r[offset], shape, steps)

        return step

    return factory


def _cast(op: memref.CastOp, frame: Frame) -> Step:
    source, result = frame.slot(op.source), frame.slot(op.dest)

    def step(r: Registers) -> None:
        r[result] = r[source]

    return step


def _dim(op: memref.DimOp, frame: Frame) -> Step:
    source, index, result = frame.slot(op.source), frame.slot(op.index), frame.slot(op.result)

    def step(r: Registers) -> None:
        r[result] = r[source].shape[r[index]]

    return step


# ---- instructions -----------------------------------------------------------------------------------------------------


def _unit(op: npu.InstructionOp, target: NpuTarget) -> str:
    unit = op.unit(target)
    if unit is None:
        raise CompileError.at(op, f"has no pipe on {target.name} that executes it")
    return str(unit)


def _instruction(recorder: Recorder) -> Factory:
    def factory(op: npu.InstructionOp, frame: Frame) -> Step:
        name = _unit(op, recorder.target)
        kind, local = _place(recorder.target, name)
        sources, out = frame.slots(op.reads()), frame.slot(op.writes())
        init = frame.slot(op.init) if isinstance(op, npu.MmadOp) else None

        def step(r: Registers) -> None:
            recorder.position += 1
            stream = recorder.stream
            if stream.kind != kind:
                return
            destination = r[out]
            reads = [r[s] for s in sources]
            if init is not None and not r[init]:
                reads.append(destination)
            entry = Entry(op, recorder.position, stream, stream.first_pipe + local, tuple(recorder.iteration), recorder.block)
            entry.reads, entry.writes = tuple(reads), (destination,)
            recorder.entries.append(entry)

        return step

    return factory


def _place(target: NpuTarget, unit: str) -> tuple[str, int]:
    """The core kind of a pipe, and its number among the pipes of a stream of that kind."""
    core = target.units[unit].core
    return core, [name for name, other in target.units.items() if other.core == core].index(unit)


def _issue(recorder: Recorder, op: Operation, kind: str | None, local: int, number: Callable[[Registers], int]) -> Step:
    def step(r: Registers) -> None:
        recorder.position += 1
        stream = recorder.stream
        if kind is None or stream.kind == kind:
            pipe = ALL if local == ALL else stream.first_pipe + local
            entry = Entry(op, recorder.position, stream, pipe, tuple(recorder.iteration), recorder.block)
            entry.number = number(r)
            recorder.entries.append(entry)

    return step


def _barrier(recorder: Recorder) -> Factory:
    def factory(op: npu.PipeBarrierOp, frame: Frame) -> Step:
        name = op.pipe.pipe.data
        core, dot, unit = name.rpartition(".")
        if unit == npu.ALL_PIPES:
            return _issue(recorder, op, core if dot else UNIFIED, ALL, lambda _: 0)
        return _issue(recorder, op, *_place(recorder.target, name), lambda _: 0)

    return factory


def _flag(recorder: Recorder) -> Factory:
    def factory(op: npu.FlagOp | npu.CrossCoreFlagOp, frame: Frame) -> Step:
        slot = frame.slot(op.mixed_number)
        if isinstance(op, npu.CrossCoreFlagOp):
            pipe, limit = op.pipe, recorder.target.cross_core_ids
        else:
            pipe, limit = op.source if isinstance(op, npu.SetFlagOp) else op.destination, recorder.target.event_ids

        def number(r: Registers) -> int:
            value: int = r[slot]
            named = isinstance(op, npu.FlagOp) and op.event is not None
            if value < 0 or (value >= limit and not named):
                recorder.bounds(op, f"number {value} is beyond the target's {limit} (0 to {limit - 1})")
            return value

        return _issue(recorder, op, *_place(recorder.target, pipe.pipe.data), number)

    return factory


def _sync_all(recorder: Recorder) -> Factory:
    def factory(op: npu.SyncAllOp, frame: Frame) -> Step:
        issue = _issue(recorder, op, None, ALL, lambda _: 0)

        def step(r: Registers) -> None:
            issue(r)
            recorder.epoch += 1

        return step

    return factory


def _index(read: Callable[[], int]) -> Factory:
    def factory(op: npu.BlockIdxOp | npu.SubBlockIdxOp, frame: Frame) -> Step:
        result = frame.slot(op.result)

        def step(r: Registers) -> None:
            r[result] = read()

        return step

    return factory


def table_of(recorder: Recorder) -> dict[type[Operation], Factory]:
    """What the ops of a kernel mean to a trace."""
    instruction, flag, grid = _instruction(recorder), _flag(recorder), _grid(recorder)
    return {
        **CONTROL,
        scf.ForOp: _for(recorder),
        tile.ForallOp: grid,
        tile.GridLoopOp: grid,
        AtOp: _at(recorder),
        memref.SubviewOp: _subview(recorder),
        memref.ReinterpretCastOp: _reinterpret(recorder),
        memref.CastOp: _cast,
        memref.DimOp: _dim,
        **{op: instruction for op in npu.NPU.operations if issubclass(op, npu.InstructionOp)},
        npu.PipeBarrierOp: _barrier(recorder),
        **dict.fromkeys((npu.SetFlagOp, npu.WaitFlagOp, npu.CrossCoreSetFlagOp, npu.CrossCoreWaitFlagOp), flag),
        npu.SyncAllOp: _sync_all(recorder),
        npu.BlockIdxOp: _index(lambda: recorder.core),
        npu.SubBlockIdxOp: _index(lambda: recorder.stream.lane),
    }
