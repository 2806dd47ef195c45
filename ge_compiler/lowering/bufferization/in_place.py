"""Which tiles are updated in place: accumulators, through loops. The checks run while values are still tensors."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import Operation, SSAValue

from ge_compiler.dialects.diagnostics import CompileError, Note
from ge_compiler.dialects.tile import MmadOp, UndefOp
from ge_compiler.lowering.bufferization.buffers import Tile


def check_in_place(kernel: FuncOp) -> None:
    """Raises `CompileError` where a tile is used again after an op has updated it in place: its old contents are lost then."""
    for op in kernel.walk():
        for value in updated_in_place(op):
            if isinstance(value.owner, UndefOp) or value.has_one_use():
                continue
            others = [use.operation for use in value.uses if use.operation is not op]
            notes = (Note("used again here", others[0].location),) if others else ()
            raise CompileError.at(op, f"updates {_name(value)} in place, but its old contents are used again; keep a copy", *notes)


def updated_in_place(op: Operation) -> Iterator[SSAValue]:
    """The tiles that `op` takes over: it writes its result where they are."""
    if isinstance(op, MmadOp):
        yield op.accumulator
    elif isinstance(op, ForOp):
        yield from (value for value in op.iter_args if isinstance(value.type, TensorType))


def check_yielded(loop: ForOp, index: int, carried: Tile, yielded: Tile) -> None:
    """Raises `CompileError` if the tile that goes round a loop comes back in another buffer, or with extents of the loop's own."""
    if yielded.buffer is not carried.buffer:
        message = f"carries tile #{index}, but its body yields {_name(yielded.buffer)}, a tile in another buffer"
        raise CompileError.at(loop, f"{message}; only tile.mmad updates the tile it is given, others need slots = 2")
    for extent in yielded.extents:
        if isinstance(extent, SSAValue) and _is_inside(extent, loop):
            message = f"yields tile #{index} with the extent {_name(extent)}, which its own body computes"
            raise CompileError.at(loop, f"{message}; compute the extents of an accumulator before the loop")


def check_rotating(loop: ForOp, index: int) -> None:
    """Raises `CompileError` if a loop whose tiles take turns starts with one from elsewhere, or leaves one behind."""
    if not isinstance(loop.iter_args[index].owner, UndefOp):
        raise CompileError.at(loop, f"carries tile #{index} from slot to slot; it must start as tile.undef, with nothing to read in trip 0")
    if loop.results[index].uses:
        user = next(iter(loop.results[index].uses)).operation
        raise CompileError.at(user, "uses the tile that a loop loaded last; load it after the loop", Note("the loop", loop.location))


def _is_inside(value: SSAValue, loop: ForOp) -> bool:
    at = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    while at is not None and at is not loop:
        at = at.parent_op()
    return at is loop


def _name(value: SSAValue) -> str:
    return f"%{value.name_hint}" if value.name_hint else "a tile"
