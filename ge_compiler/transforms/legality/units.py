"""What the units of a target can do: element types of the cube and the vector unit, moves, addresses."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Attribute, Operation, SSAValue

from ge_compiler.dialects import fused, ge, npu, tile
from ge_compiler.dialects.buf import AtOp
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.memory import Space, mem_of
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.dialects.types import buffer_type, is_shaped, shaped_type
from ge_compiler.transforms.legality.moves import require_path


def check_units(op: Operation, target: NpuTarget) -> None:
    """Raises `CompileError` if `target` cannot execute `op`: its element types, its path, its address."""
    match op:
        case ge.MatMulBase():
            _check_cube(op, op.x1, target)
        case fused.MatmulOp():
            _check_cube(op, op.a, target)
        case tile.MmadOp() | npu.MmadOp():
            accumulator = op.accumulator if isinstance(op, tile.MmadOp) else op.out
            _check_cube(op, op.a, target)
            _check_cube(op, op.b, target)
            _check_accumulator(op, op.a, accumulator, target)
        case tile.LoadOp() | tile.MoveOp():
            require_path(op, op.source.type, op.tile_type(), target)
        case tile.StoreOp():
            require_path(op, op.tile.type, op.into.type, target)
        case npu.LoadOp() | npu.Load2dOp() | npu.FixpipeOp() | npu.StoreOp():
            require_path(op, op.source.type, op.out.type, target)
        case AtOp():
            _check_address(op, target)
        case _:
            pass
    _check_vector(op, target)


def _element(value: SSAValue) -> str:
    return str(shaped_type(value).get_element_type())


def _check_cube(op: Operation, value: SSAValue, target: NpuTarget) -> None:
    if _element(value) not in target.cube_dtypes:
        raise CompileError.at(op, f"{_element(value)} is not a cube dtype of {target.name} ({', '.join(target.cube_dtypes)})")


def _check_accumulator(op: Operation, operand: SSAValue, accumulator: SSAValue, target: NpuTarget) -> None:
    wanted = target.cube_dtypes[_element(operand)]
    if _element(accumulator) != wanted:
        raise CompileError.at(op, f"{target.name} accumulates {_element(operand)} in {wanted}, got {_element(accumulator)}")


def _check_vector(op: Operation, target: NpuTarget) -> None:
    for type_ in _in_unified_buffer(op):
        element = str(type_)
        if element not in target.vector_dtypes:
            raise CompileError.at(op, f"{element} is not a vector dtype of {target.name} ({', '.join(target.vector_dtypes)})")


def _in_unified_buffer(op: Operation) -> Iterable[Attribute]:
    """Element types that the vector unit computes with: in the unified buffer, and in a kernel before it has tiles. Moves take any."""
    before = isinstance(op, fused.FusedElementwiseOp | fused.CastOp | fused.BroadcastOp | fused.FullOp)
    if not (before or isinstance(op, npu.VectorOp | tile.TileElementwiseOp | tile.CastOp | tile.BroadcastOp | tile.FullOp)):
        return
    for value in (*op.operands, *op.results):
        if is_shaped(value.type) and (before or mem_of(value.type).space is Space.UB):
            yield value.type.get_element_type()


def _check_address(op: AtOp, target: NpuTarget) -> None:
    space = mem_of(buffer_type(op.result)).space
    if space not in target.spaces:
        raise CompileError.at(op, f"is in {space}, a memory that {target.name} does not have")
    alignment = target.spaces[space].alignment
    for offset in op.offsets.get_values():
        if offset % alignment:
            raise CompileError.at(op, f"offset {offset} is no multiple of {alignment}, as {space} of {target.name} requires")
