"""
Selects an instruction for every op on tiles. What is read or written in global memory, or of a larger tile, becomes a memref.subview.

    tile.load %x[%b, %i] valid [%m, 64] into %v : memref<50x64xf32> into memref<?x64xf32, strided<[64, 1]>, #npu.mem<ub>>

becomes

    %s = memref.subview %x[%b, %i] [%m, 64] [1, 1] : memref<50x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
    npu.load <nd> ins(%s : ...) outs(%v : ...)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp, StridedLayoutAttr, UnitAttr
from xdsl.dialects.memref import SubviewOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from ge_compiler.dialects import npu, tile
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.elementwise import elementwise_operands
from ge_compiler.dialects.fused import aicore_kernels
from ge_compiler.dialects.index_list import join_index_list
from ge_compiler.dialects.memory import Space, mem_of
from ge_compiler.dialects.target import NpuTarget, target_of
from ge_compiler.dialects.types import buffer_type
from ge_compiler.transforms.legality.moves import require_path
from ge_compiler.transforms.rewriting.inserter import Inserter

Index = SSAValue | int


@dataclass(frozen=True)
class ConvertBufToNpuPass(ModulePass):
    """Turns every op on buffers into the instruction that does it."""

    name = "convert-buf-to-npu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for kernel in aicore_kernels(op):
            for found in list(kernel.walk()):
                if isinstance(found, tile.TileOp | tile.StoreOp | tile.StoreRowsOp | tile.UndefOp | tile.ViewOp):
                    _convert(found, target)


def _convert(op: Operation, target: NpuTarget) -> None:
    if op.results:
        raise CompileError.at(op, "makes a tensor; run bufferize-tile before convert-buf-to-npu")
    insert = Inserter(op)
    new = insert(_instruction(op, insert, target))
    new.attributes |= op.attributes
    op.detach()
    op.erase()


def _instruction(op: Operation, insert: Inserter, target: NpuTarget) -> npu.InstructionOp:
    match op:
        case tile.LoadOp():
            out = _destination(op)
            require_path(op, op.source.type, out.type, target)
            return npu.LoadOp(_matrix(op.source, op.mixed_offsets, op.mixed_valid, insert), out)
        case tile.MoveOp():
            return _move(op, insert, target)
        case tile.StoreOp():
            require_path(op, op.tile.type, op.into.type, target)
            instruction = npu.FixpipeOp if mem_of(op.tile.type).space is Space.L0C else npu.StoreOp
            return instruction(op.tile, _matrix(op.into, op.mixed_offsets, _extents_of(op, op.tile), insert))
        case tile.AssembleOp():
            return _assemble(op, insert, target)
        case tile.MmadOp():
            return npu.MmadOp(op.a, op.b, op.accumulator, op.init)
        case tile.CastOp():
            return npu.VconvOp(op.x, _destination(op))
        case tile.BroadcastOp():
            return npu.VbrcOp(op.x, _destination(op))
        case tile.FullOp():
            return npu.VdupOp(op.value, _destination(op))
        case tile.TileElementwiseOp():
            return _vector(op)
        case tile.LoadRowsOp() | tile.StoreRowsOp():
            return _rows(op, insert, target)
        case _:
            return _across(op)


def _across(op: Operation) -> npu.InstructionOp:
    match op:
        case tile.ReduceOp():
            return npu.VreduceOp(op.x, op.kind.kind.data, op.dimension, _destination(op))
        case tile.IotaOp():
            return npu.ViotaOp(op.first, op.steps.get_values(), _destination(op))
        case tile.TransposeOp():
            return npu.VtransposeOp(op.x, _destination(op))
        case _:
            raise CompileError.at(op, "has no instruction")


def _destination(op: tile.TileOp) -> SSAValue:
    out = op.destination()
    assert out is not None, op.name
    return out


def _vector(op: tile.TileElementwiseOp) -> npu.InstructionOp:
    if op.FUNCTION not in npu.VECTOR:
        raise CompileError.at(op, "has no vector instruction; run expand-math before bufferize-tile")
    return npu.VECTOR[op.FUNCTION].create(operands=[*elementwise_operands(op), _destination(op)], properties=op.properties)


def _move(op: tile.MoveOp, insert: Inserter, target: NpuTarget) -> npu.InstructionOp:
    out = _destination(op)
    require_path(op, op.source.type, out.type, target)
    # Valid extents are those of the result: a transposing move reads them the other way round.
    sizes = op.mixed_valid[::-1] if op.transpose else op.mixed_valid
    source = _matrix(op.source, op.mixed_offsets, sizes, insert)
    if mem_of(out.type).space in (Space.L0A, Space.L0B):
        return npu.Load2dOp(source, out, {"transpose": UnitAttr()} if op.transpose else None)
    if op.transpose:
        raise CompileError.at(op, f"transposes on the way from {mem_of(op.source.type).space}; only moves to l0a and l0b can")
    return npu.FixpipeOp(source, out)


def _assemble(op: tile.AssembleOp, insert: Inserter, target: NpuTarget) -> npu.InstructionOp:
    out = _destination(op)
    require_path(op, op.source.type, out.type, target)
    where = _matrix(out, op.mixed_offsets, _extents_of(op, op.source), insert)
    return npu.CopyOp(op.source, where) if mem_of(out.type).space is Space.L1 else npu.StoreOp(op.source, where)


def _rows(op: tile.LoadRowsOp | tile.StoreRowsOp, insert: Inserter, target: NpuTarget) -> npu.InstructionOp:
    """The table is all rows of one matrix, in the columns that are moved."""
    *points, column = op.mixed_offsets
    table, columns = (op.source, op.mixed_valid[1]) if isinstance(op, tile.LoadRowsOp) else (op.into, _extents_of(op, op.tile)[1])
    part = _matrix(table, [*points, 0, column], [buffer_type(table).get_shape()[-2], columns], insert)
    if isinstance(op, tile.LoadRowsOp):
        require_path(op, table.type, op.tile_type(), target)
        return npu.LoadRowsOp(part, op.indices, _destination(op))
    require_path(op, op.tile.type, table.type, target)
    return npu.StoreRowsOp(op.tile, op.indices, part)


def _matrix(source: SSAValue, offsets: Sequence[Index], extents: Sequence[Index], insert: Inserter) -> SSAValue:
    """The part of `source` at `offsets` with `extents` rows and columns; leading dimensions are points and disappear."""
    type_ = buffer_type(source)
    if all(offset == 0 for offset in offsets) and list(extents) == _extents(source):
        return source
    ones = [1] * len(offsets)
    sizes = [*ones[2:], *extents]
    whole = SubviewOp.infer_result_type(type_, offsets, sizes, ones)
    layout = StridedLayoutAttr([*(whole.get_strides() or ())][-2:], whole.get_offset())
    shape = [extent if isinstance(extent, int) else DYNAMIC_INDEX for extent in extents]
    result = MemRefType[Attribute](type_.get_element_type(), shape, layout, type_.memory_space)
    return insert(SubviewOp.get(source, offsets, sizes, ones, result), source.name_hint).result


def _extents_of(op: Operation, value: SSAValue) -> list[Index]:
    extents = _extents(value)
    if extents is None:
        raise CompileError.at(op, f"cannot tell the extents of {value.type}; cut it to size with memref.subview")
    return extents


def _extents(value: SSAValue) -> list[Index] | None:
    """Rows and columns of a buffer; where its type leaves them open, as the view that cut it to size names them."""
    shape = buffer_type(value).get_shape()
    if DYNAMIC_INDEX not in shape:
        return list(shape)
    view = value.owner
    if isinstance(view, SubviewOp) and len(view.static_sizes) == len(shape):
        return join_index_list(view.sizes, view.static_sizes)
    return None
