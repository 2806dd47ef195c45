"""
Which tiles are updated in place: accumulators, and what loops carry. The checks run while values are still tensors.

A loop carries a tile of the unified buffer in one buffer: the op that makes the tile of the next trip writes it there.

    %sum = scf.for ... iter_args(%s = %zero) {        // %zero, %s, %t, %u and %sum are one buffer
      ... uses of %s ...
      %t = tile.mul %s, %a                            // the last use of %s, and of %t below: both may be written over
      %u = tile.add %t, %b
      scf.yield %u

Where the last use of the carried tile comes later, another op may write the buffer behind it; `tile.broadcast` to the same shape copies.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import Block, Operation, SSAValue

from ge_compiler.dialects.diagnostics import CompileError, Note
from ge_compiler.dialects.elementwise import elementwise_operands
from ge_compiler.dialects.memory import Space, mem_of
from ge_compiler.dialects.tile import MmadOp, TileElementwiseOp, TileOp, UndefOp
from ge_compiler.lowering.bufferization.buffers import Tile, show_extent


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


def updates_of(loop: ForOp, index: int) -> list[SSAValue]:
    """
    The tiles that a trip writes where the tile of the unified buffer is that `loop` carries at `index`, the last one for the next trip.

    Raises `CompileError` where the carried tile is used again behind the op that makes the next one. None where that one is not made here.
    """
    carried, last = loop.body.block.args[1 + index], loop.body.block.last_op
    assert last is not None
    if mem_of(carried.type).space is not Space.UB:
        return []
    path = _path(last.operands[index], carried, loop.body.block)
    if path is not None:
        return path
    made = _first_made(last.operands[index])
    if not isinstance(made.owner, TileOp) or made.owner.parent is not loop.body.block or made.owner.slot_count > 1:
        return []
    later = [use.operation for value in _handed_on(carried) for use in value.uses if not _is_before(use.operation, made.owner)]
    if later:
        message = f"makes {_name(made)}, which a loop carries on as {_name(carried)}, but its old contents are used again"
        note = Note("used again here" if later[0] is not made.owner else "it is no elementwise function", later[0].location)
        raise CompileError.at(made.owner, f"{message}; copy the new tile with tile.broadcast behind their last use, and yield that", note)
    return [made]


def _path(value: SSAValue, carried: SSAValue, body: Block) -> list[SSAValue] | None:
    """The tiles from `carried` to `value`, each made of the one before by an op that may write over it; `None` if there is no such way."""
    if value is carried:
        return []
    op = value.owner
    if not isinstance(op, Operation) or op.parent is not body:
        return None
    if isinstance(op, ForOp):
        start = _start(op, value)
        return _path(start, carried, body) if _is_last_use(op, start) else None
    if not isinstance(op, TileElementwiseOp) or op.slot_count > 1:
        return None
    for operand in dict.fromkeys(elementwise_operands(op)):
        if operand.type == value.type and _is_last_use(op, operand):
            path = _path(operand, carried, body)
            if path is not None:
                return [*path, value]
    return None


def _first_made(value: SSAValue) -> SSAValue:
    """What the loops that hand a tile on in place have started with."""
    while isinstance(value.owner, ForOp):
        value = _start(value.owner, value)
    return value


def _handed_on(value: SSAValue) -> Iterator[SSAValue]:
    """`value`, and what loops that take it over in place make of it."""
    yield value
    for use in value.uses:
        if isinstance(use.operation, ForOp) and value in use.operation.iter_args:
            yield from _handed_on(use.operation.results[list(use.operation.iter_args).index(value)])


def _start(loop: ForOp, result: SSAValue) -> SSAValue:
    """What `loop` carries before its first trip in the place of `result`."""
    return next(start for start, made in zip(loop.iter_args, loop.results, strict=True) if made is result)


def _is_last_use(op: Operation, value: SSAValue) -> bool:
    return all(use.operation is op or _is_before(use.operation, op) for use in value.uses)


def _is_before(first: Operation, second: Operation) -> bool:
    """Whether `first`, or what holds it, stands before `second` in its block."""
    assert second.parent is not None
    beside = second.parent.find_ancestor_op_in_block(first)
    return beside is not None and beside is not second and beside.is_before_in_block(second)


def check_yielded(loop: ForOp, index: int, carried: Tile, yielded: Tile) -> None:
    """Raises `CompileError` if the tile that goes round a loop comes back in another buffer, or with other extents."""
    in_ub = mem_of(carried.buffer.type).space is Space.UB
    if yielded.buffer is not carried.buffer:
        message = f"carries tile #{index}, but its body yields {_name(yielded.buffer)}, a tile in another buffer"
        fix = "yield one that the body makes, for this tile only" if in_ub else "only tile.mmad updates the tile it is given"
        raise CompileError.at(loop, f"{message}; {fix}, others need slots = 2")
    if in_ub and yielded.extents != carried.extents:
        shown = " and ".join("x".join(map(show_extent, tile.extents)) for tile in (carried, yielded))
        raise CompileError.at(loop, f"cannot tell that tile #{index} has the same valid extents before and after a trip: {shown}")
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
