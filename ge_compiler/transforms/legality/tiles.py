"""What the units of a target can do with tiles and buffers: element types, moves, addresses."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ge_compiler.dialects import npu, tile
from ge_compiler.dialects.buf import AtOp
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.memory import Space, mem_of
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.dialects.types import buffer_type, is_shaped
from ge_compiler.transforms.legality.elements import element_of, require_cube, require_vector
from ge_compiler.transforms.legality.moves import require_path


def check_units(op: Operation, target: NpuTarget) -> None:
    """Raises `CompileError` if `target` cannot execute `op`: its element types, its path, its address."""
    match op:
        case tile.MmadOp() | npu.MmadOp():
            accumulator = op.accumulator if isinstance(op, tile.MmadOp) else op.out
            require_cube(op, op.a, target)
            require_cube(op, op.b, target)
            _check_accumulator(op, op.a, accumulator, target)
        case tile.LoadOp() | tile.MoveOp():
            require_path(op, op.source.type, op.tile_type(), target)
        case tile.AssembleOp():
            require_path(op, op.source.type, op.tile_type(), target)
        case tile.StoreOp() | tile.StoreRowsOp():
            require_path(op, op.tile.type, op.into.type, target)
        case tile.LoadRowsOp():
            require_path(op, op.source.type, op.tile_type(), target)
        case npu.LoadRowsOp():
            require_path(op, op.table.type, op.out.type, target)
        case npu.StoreRowsOp():
            require_path(op, op.tile.type, op.table.type, target)
        case npu.LoadOp() | npu.Load2dOp() | npu.FixpipeOp() | npu.StoreOp() | npu.CopyOp():
            require_path(op, op.source.type, op.out.type, target)
        case AtOp():
            _check_address(op, target)
        case npu.VectorOp() | tile.TileOp():
            values = (*op.operands, *op.results)
            require_vector(op, [v for v in values if is_shaped(v.type) and mem_of(v.type).space is Space.UB], target)
        case _:
            pass


def _check_accumulator(op: Operation, operand: SSAValue, accumulator: SSAValue, target: NpuTarget) -> None:
    wanted = target.cube_dtypes[element_of(operand)]
    if element_of(accumulator) != wanted:
        raise CompileError.at(op, f"{target.name} accumulates {element_of(operand)} in {wanted}, got {element_of(accumulator)}")


def _check_address(op: AtOp, target: NpuTarget) -> None:
    space = mem_of(buffer_type(op.result)).space
    if space not in target.spaces:
        raise CompileError.at(op, f"is in {space}, a memory that {target.name} does not have")
    alignment = target.spaces[space].alignment
    for offset in op.offsets.get_values():
        if offset % alignment:
            raise CompileError.at(op, f"offset {offset} is no multiple of {alignment}, as {space} of {target.name} requires")
