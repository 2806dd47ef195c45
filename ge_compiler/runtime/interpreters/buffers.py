"""Ops on memory: `buf`, `memref`, tiles in destination-passing form, and the instructions of `npu`.

Each reads its operands' valid elements, calls the same function as the op of `tile` on the same shapes, and writes the result: so the bits
are those of `tile`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ge_compiler.dialects import buf, npu, semantics, tile
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.elementwise import ElementwiseOp, elementwise_operands
from ge_compiler.dialects.index_list import join_index_list
from ge_compiler.dialects.memory import Space, bytes_of, mem_of
from ge_compiler.dialects.semantics import Array
from ge_compiler.dialects.types import buffer_type
from ge_compiler.runtime.bounds import check_room
from ge_compiler.runtime.interpreters import across, rows
from ge_compiler.runtime.interpreters.assembling import assemble_buffers, copy
from ge_compiler.runtime.interpreters.tensors import casting, check_contraction, check_matrix, repeated
from ge_compiler.runtime.lanes import per_lane
from ge_compiler.runtime.machine import Machine
from ge_compiler.runtime.memory import Memory, Reference, Region
from ge_compiler.runtime.walk import Factory, Frame, Registers, Step, Table


def _dtype(value: SSAValue) -> np.dtype[np.generic]:
    return semantics.dtype_of(buffer_type(value).get_element_type())


# ---- addresses --------------------------------------------------------------------------------------------------------


def _at(machine: Machine) -> Factory:
    def factory(op: buf.AtOp, frame: Frame) -> Step | None:
        label = op.label.data
        type_ = buffer_type(op.result)
        lanes = range(machine.lanes_of(type_))
        slots = [per_lane([machine.at(op, label, type_, offset, lane) for lane in lanes]) for offset in op.offsets.get_values()]
        if op.slot is None:
            frame.set_constant(op.result, slots[0])
            return None
        slot, result = frame.slot(op.slot), frame.slot(op.result)

        def step(r: Registers) -> None:
            r[result] = _chosen(op, slots, r[slot])

        return step

    return factory


def _chosen(op: buf.AtOp | buf.AllocOp, slots: Sequence[Any], number: int) -> Any:
    if not 0 <= number < len(slots):
        raise CompileError.at(op, f"{op.label} has slots 0 to {len(slots) - 1}, got slot {number}")
    return slots[number]


def _alloc(machine: Machine) -> Factory:
    buffers: dict[tuple[Operation | None, str], list[list[tuple[Reference, Memory]]]] = {}

    def slots_of(op: buf.AllocOp) -> list[list[tuple[Reference, Memory]]]:
        """Slots and lanes of a buffer, the same for all allocs of its label in a function."""
        function = op.parent_op()
        while function is not None and not isinstance(function, FuncOp):
            function = function.parent_op()
        key = function, op.label.data
        if key not in buffers:
            type_, label = buffer_type(op.result), op.label.data
            lanes = range(machine.lanes_of(type_))
            buffers[key] = [[machine.private(label, type_) for _ in lanes] for _ in range(op.slot_count)]
        return buffers[key]

    def factory(op: buf.AllocOp, frame: Frame) -> Step:
        if op.slot is None and op.slot_count > 1:
            raise CompileError.at(op, f"has {op.slot_count} slots, of which none is chosen; run multi-buffer first")
        slots, is_new = slots_of(op), op.trips_ago == 0
        slot, result = frame.slot(0 if op.slot is None else op.slot), frame.slot(op.result)

        def step(r: Registers) -> None:
            lanes = _chosen(op, slots, r[slot])
            for _, memory in lanes if is_new else ():
                memory.forget()
            r[result] = per_lane([reference for reference, _ in lanes])

        return step

    return factory


def _subview(op: memref.SubviewOp, frame: Frame) -> Step:
    source, result = frame.slot(op.source), frame.slot(op.result)
    offsets = frame.slots(join_index_list(op.offsets, op.static_offsets))
    sizes = frame.slots(join_index_list(op.sizes, op.static_sizes))
    if set(op.static_strides.get_values()) - {1}:
        raise CompileError.at(op, f"only strides of 1 can be executed, got {list(op.static_strides.get_values())}")
    dropped = len(sizes) - len(buffer_type(op.result).get_shape())
    if dropped and mem_of(op.source.type).space is not Space.GM:
        raise CompileError.at(op, "only dimensions of global memory may vanish")
    if any(op.static_sizes.get_values()[d] != 1 for d in range(dropped)):
        raise CompileError.at(op, "only leading dimensions of size 1 may vanish")

    def step(r: Registers) -> None:
        r[result] = r[source].part(op, "the subview", [r[o] for o in offsets], [r[s] for s in sizes], dropped)

    return step


def _reinterpret(op: memref.ReinterpretCastOp, frame: Frame) -> Step:
    source, result = frame.slot(op.source), frame.slot(op.result)
    (offset,) = frame.slots(join_index_list(op.offsets, op.static_offsets))
    sizes = frame.slots(join_index_list(op.sizes, op.static_sizes))
    strides = frame.slots(join_index_list(op.strides, op.static_strides))
    if mem_of(op.source.type).space is not Space.GM:
        raise CompileError.at(op, f"only global memory takes another shape, got {op.source.type}")

    def step(r: Registers) -> None:
        region: Region = r[source]
        r[result] = region.reshaped(op, r[offset], [r[s] for s in sizes], [r[s] for s in strides])

    return step


def _cast(op: memref.CastOp, frame: Frame) -> Step:
    source, result = frame.slot(op.source), frame.slot(op.dest)

    def step(r: Registers) -> None:
        r[result] = r[source]

    return step


def _dim(op: memref.DimOp, frame: Frame) -> Step:
    source, index, result = frame.slot(op.source), frame.slot(op.index), frame.slot(op.result)

    def step(r: Registers) -> None:
        shape = r[source].shape
        if not 0 <= r[index] < len(shape):
            raise CompileError.at(op, f"there is no dimension {r[index]} of {op.source.type}")
        r[result] = shape[r[index]]

    return step


# ---- moves and arithmetic ---------------------------------------------------------------------------------------------


def _write(op: Operation, frame: Frame, sources: Sequence[SSAValue], out: SSAValue, function: Callable[..., Array]) -> Step:
    """The step that reads `sources`, applies `function` to their elements and writes `out`."""
    slots, destination = frame.slots(sources), frame.slot(out)
    names = ["the source"] if len(sources) == 1 else [f"operand #{i}" for i in range(len(sources))]
    if len(slots) == 1:
        (x,) = slots

        def one(r: Registers) -> None:
            r[destination].write(op, function(r[x].read(op, "the source")))

        return one

    def many(r: Registers) -> None:
        r[destination].write(op, function(*[r[x].read(op, name) for x, name in zip(slots, names, strict=True)]))

    return many


def _same(x: Array) -> Array:
    return x


def _transposed(x: Array) -> Array:
    return x.T


def _tile_load(op: tile.LoadOp, frame: Frame) -> Step:
    assert op.out is not None
    return _slicing(op, frame, op.out, transposed=False)


def _tile_move(op: tile.MoveOp, frame: Frame) -> Step:
    assert op.out is not None
    return _slicing(op, frame, op.out, transposed=op.transpose is not None)


def _slicing(op: tile.LoadOp | tile.MoveOp, frame: Frame, out: SSAValue, transposed: bool) -> Step:
    check_matrix(op, op.source)
    source, destination = frame.slot(op.source), frame.slot(out)
    offsets, valid = frame.slots(op.mixed_offsets), frame.slots(op.mixed_valid)
    dropped = len(offsets) - 2
    points = [1] * dropped

    def step(r: Registers) -> None:
        extents = [r[v] for v in (valid[::-1] if transposed else valid)]
        part: Reference = r[source].part(op, "the source", [r[o] for o in offsets], points + extents, dropped)
        value = part.read(op, "the source")
        r[destination].write(op, value.T if transposed else value)

    return step


def _tile_store(op: tile.StoreOp, frame: Frame) -> Step:
    check_matrix(op, op.into)
    source, destination, offsets = frame.slot(op.tile), frame.slot(op.into), frame.slots(op.mixed_offsets)
    dropped = len(offsets) - 2
    points = [1] * dropped

    def step(r: Registers) -> None:
        value = r[source].read(op, "the tile")
        part: Reference = r[destination].part(op, "the destination", [r[o] for o in offsets], [*points, *value.shape], dropped)
        part.write(op, value)

    return step


def _tile_full(op: tile.FullOp, frame: Frame) -> Step:
    assert op.out is not None
    valid, out = frame.slots(op.mixed_valid), frame.slot(op.out)
    value, dtype = op.value.value.data, _dtype(op.out)

    def step(r: Registers) -> None:
        extents = [r[v] for v in valid]
        check_room(op, extents, r[out].shape)
        r[out].write(op, np.full(extents, value, dtype))

    return step


def _tile_broadcast(op: tile.BroadcastOp, frame: Frame) -> Step:
    assert op.out is not None
    return _broadcast(op, frame, op.out)


def _broadcast(op: tile.BroadcastOp | npu.VbrcOp, frame: Frame, out: SSAValue) -> Step:
    source, destination = frame.slots([op.x, out])

    def step(r: Registers) -> None:
        r[destination].write(op, repeated(op, r[source].read(op, "x"), r[destination].shape))

    return step


def _tile_cast(op: tile.CastOp, frame: Frame) -> Step:
    assert op.out is not None
    return _write(op, frame, [op.x], op.out, casting(_dtype(op.out)))


def _tile_elementwise(op: tile.TileElementwiseOp, frame: Frame) -> Step:
    assert op.out is not None
    return _elementwise(op, frame, op.out)


def _elementwise(op: ElementwiseOp, frame: Frame, out: SSAValue) -> Step:
    name, scalar = op.FUNCTION, op.scalar
    return _write(op, frame, elementwise_operands(op), out, lambda *xs: semantics.apply(name, *xs, scalar=scalar))


def _tile_mmad(op: tile.MmadOp, frame: Frame) -> Step:
    return _mmad(op, frame, op.accumulator)


def _mmad(op: tile.MmadOp | npu.MmadOp, frame: Frame, accumulator: SSAValue) -> Step:
    a, b, c, init = frame.slots([op.a, op.b, accumulator, op.init])

    def step(r: Registers) -> None:
        left, right, out = r[a], r[b], r[c]
        check_contraction(op, left.shape, right.shape, out.shape)
        before = None if r[init] else out.read(op, "the accumulator")
        out.write(op, semantics.mmad(left.read(op, "a"), right.read(op, "b"), before))

    return step


# ---- instructions -----------------------------------------------------------------------------------------------------


def _move(op: npu.LoadOp | npu.FixpipeOp | npu.StoreOp, frame: Frame) -> Step:
    return _write(op, frame, [op.source], op.out, _same)


def _load2d(op: npu.Load2dOp, frame: Frame) -> Step:
    return _write(op, frame, [op.source], op.out, _same if op.transpose is None else _transposed)


def _vector(op: npu.VectorElementwiseOp, frame: Frame) -> Step:
    return _elementwise(op, frame, op.out)


def _vconv(op: npu.VconvOp, frame: Frame) -> Step:
    return _write(op, frame, [op.x], op.out, casting(_dtype(op.out)))


def _vdup(op: npu.VdupOp, frame: Frame) -> Step:
    out, value, dtype = frame.slot(op.out), op.value.value.data, _dtype(op.out)

    def step(r: Registers) -> None:
        r[out].write(op, np.full(r[out].shape, value, dtype))

    return step


def _vbrc(op: npu.VbrcOp, frame: Frame) -> Step:
    return _broadcast(op, frame, op.out)


def _npu_mmad(op: npu.MmadOp, frame: Frame) -> Step:
    return _mmad(op, frame, op.out)


def _sync(op: npu.SyncOp, frame: Frame) -> None:
    """Program order is already the strictest order."""


def _block_idx(machine: Machine) -> Factory:
    def factory(op: npu.BlockIdxOp, frame: Frame) -> Step:
        result = frame.slot(op.result)

        def step(r: Registers) -> None:
            r[result] = machine.core

        return step

    return factory


def _sub_block_idx(machine: Machine) -> Factory:
    def factory(op: npu.SubBlockIdxOp, frame: Frame) -> None:
        frame.set_constant(op.result, per_lane(range(machine.target.vec_per_cube)))

    return factory


TILE_BUFFERS: dict[type[Operation], Factory] = {
    tile.LoadOp: _tile_load,
    tile.MoveOp: _tile_move,
    tile.MmadOp: _tile_mmad,
    tile.CastOp: _tile_cast,
    tile.FullOp: _tile_full,
    tile.BroadcastOp: _tile_broadcast,
    tile.StoreOp: _tile_store,
    tile.ReduceOp: across.reduce_buffers,
    tile.IotaOp: across.iota_buffers,
    tile.TransposeOp: across.transpose_buffers,
    tile.LoadRowsOp: rows.load_buffers,
    tile.StoreRowsOp: rows.store_buffers,
    tile.AssembleOp: assemble_buffers,
    **dict.fromkeys(tile.ELEMENTWISE.values(), _tile_elementwise),
}
"""The ops of `tile` in destination-passing form."""

INSTRUCTIONS: dict[type[Operation], Factory] = {
    npu.LoadOp: _move,
    npu.FixpipeOp: _move,
    npu.StoreOp: _move,
    npu.CopyOp: copy,
    npu.Load2dOp: _load2d,
    npu.MmadOp: _npu_mmad,
    npu.VconvOp: _vconv,
    npu.VdupOp: _vdup,
    npu.VbrcOp: _vbrc,
    npu.VreduceOp: across.reduce_buffers,
    npu.ViotaOp: across.iota_buffers,
    npu.VtransposeOp: across.transpose_buffers,
    npu.LoadRowsOp: rows.load_instruction,
    npu.StoreRowsOp: rows.store_instruction,
    **{op: _sync for op in npu.NPU.operations if issubclass(op, npu.SyncOp)},
    **dict.fromkeys(npu.VECTOR.values(), _vector),
}


def buffer_table(machine: Machine) -> Table:
    """The meanings of ops on memory, for programs that run on `machine`."""
    return {
        buf.AtOp: _at(machine),
        buf.AllocOp: _alloc(machine),
        memref.SubviewOp: _subview,
        memref.ReinterpretCastOp: _reinterpret,
        memref.CastOp: _cast,
        memref.DimOp: _dim,
        npu.BlockIdxOp: _block_idx(machine),
        npu.SubBlockIdxOp: _sub_block_idx(machine),
        **INSTRUCTIONS,
    }


def arena_bytes(main: Operation) -> int:
    """The size of the arena that `@main` places buffers in: up to the end of the last one."""
    placed = [op for op in main.walk() if isinstance(op, buf.AtOp) and mem_of(op.result.type).space is Space.GM]
    ends = [offset + bytes_of(buffer_type(op.result)) for op in placed for offset in op.offsets.get_values()]
    return max(ends, default=0)
