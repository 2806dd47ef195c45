"""Lifetimes of buffers: when each is first and last touched, in steps of a function's text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.memref import ReinterpretCastOp, SubviewOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import Block, Operation, SSAValue

from ge_compiler.dialects.buf import AllocOp
from ge_compiler.dialects.diagnostics import CompileError, Note, source_location
from ge_compiler.dialects.fused import lives
from ge_compiler.dialects.memory import Space, bytes_of, mem_of
from ge_compiler.dialects.npu import InstructionOp
from ge_compiler.dialects.tile import GridOp, TileOp
from ge_compiler.dialects.types import buffer_type
from ge_compiler.transforms.planning.planner import Request


@dataclass(frozen=True)
class Held:
    """A buffer without an address yet, and when it is held."""

    ops: tuple[AllocOp, ...]
    """All that stand for it: those of its label, then of the buffers that take its bytes over in place."""
    space: Space
    request: Request
    """Room for one slot."""
    touches: tuple[Operation, ...]
    """The ops that read or write it, in order."""

    @property
    def op(self) -> AllocOp:
        """The first op that stands for the buffer."""
        return self.ops[0]

    @property
    def slots(self) -> int:
        return self.op.slot_count

    @property
    def lines(self) -> str:
        """The lines of the source from the first to the last touch, `?` where they are not known."""
        places = [source_location(op.location) for op in (self.touches[:1] + self.touches[-1:] or (self.op,))]
        numbers = [str(place.line.data) if place is not None else "?" for place in places]
        return numbers[0] if numbers[0] == numbers[-1] else f"{numbers[0]}-{numbers[-1]}"


def lifetimes(function: Operation) -> list[Held]:
    """Every buffer of `function` without an address, in the order of the text."""
    steps = _Steps()
    for region in function.regions:
        for block in region.blocks:
            steps.number(block)
    named: dict[str, list[AllocOp]] = {}
    for op in function.walk():
        if isinstance(op, AllocOp):
            same = named.setdefault(op.label.data, [])
            if same and (op.result.type, op.slots) != (same[0].result.type, same[0].slots):
                message = f"has the label of another buffer, {op.label}, but not its type and slots"
                raise CompileError.at(op, message, Note("the other one", same[0].location))
            same.append(op)
    return [_held(ops, steps) for ops in named.values()]


@dataclass
class _Steps:
    """Numbers ops in the order of the text; an op with a body spans the steps of what is inside."""

    first: dict[Operation, int] = field(default_factory=dict[Operation, int])
    end: dict[Operation, int] = field(default_factory=dict[Operation, int])
    count: int = 0

    def number(self, block: Block) -> None:
        for op in block.ops:
            self.first[op] = self.count
            self.count += 1
            for region in op.regions:
                for inner in region.blocks:
                    self.number(inner)
            self.end[op] = self.count


def share_in_place(held: Sequence[Held]) -> list[Held]:
    """The buffers in which results take over the bytes of an operand that is not needed any more, where its op may write over it."""
    kept = {op: buffer for buffer in held for op in buffer.ops}
    for result in held:
        maker = result.touches[0] if result.touches else None
        if maker is None or not _overwrites(maker, result):
            continue
        for value in maker.operands:
            buffer = _allocated(value)
            operand = None if buffer is None else kept.get(buffer)
            if operand is not None and operand.ops[0] not in result.ops and _gives_way(operand, result, maker):
                request = Request(operand.request.size, operand.request.first, max(operand.request.end, result.request.end))
                merged = Held((*operand.ops, *result.ops), operand.space, request, (*operand.touches, *result.touches))
                kept |= dict.fromkeys(merged.ops, merged)
                break
    return list({id(buffer): buffer for buffer in kept.values()}.values())


def _overwrites(op: Operation, result: Held) -> bool:
    return isinstance(op, TileOp | InstructionOp) and op.OVERWRITES and result.slots == 1 and op.parent is result.op.parent


def _gives_way(operand: Held, result: Held, maker: Operation) -> bool:
    """Whether `maker` is the last that needs `operand`, and the first that needs `result`, which has the same type."""
    same = operand.op.result.type == result.op.result.type and operand.slots == 1 and operand.op.parent is maker.parent
    return same and operand.touches[-1] is maker and operand.request.end == result.request.first + 1


def _allocated(value: SSAValue) -> AllocOp | None:
    """The buffer that a value is a view of."""
    while isinstance(value.owner, SubviewOp):
        value = value.owner.source
    return value.owner if isinstance(value.owner, AllocOp) else None


def _held(ops: Sequence[AllocOp], steps: _Steps) -> Held:
    touches = sorted({touch for op in ops for touch in _touches(op.result)}, key=lambda touch: steps.first[touch])
    spans = [span for op in ops for span in _spans(op)]
    request = Request(
        size=bytes_of(buffer_type(ops[0].result)),
        first=min(steps.first[span] for span in spans),
        end=max(steps.end[span] for span in spans),
        gaps=_gaps(ops, touches, steps),
    )
    return Held(tuple(ops), mem_of(ops[0].result.type).space, request, tuple(touches))


def _gaps(ops: Sequence[AllocOp], touches: Sequence[Operation], steps: _Steps) -> tuple[tuple[int, int], ...]:
    """The steps at which nobody needs what a buffer of `@main` holds, since a launch gives it new contents then."""
    if len(ops) > 1:
        return ()
    needed = [(steps.first[life[0]], steps.end[life[-1]]) for life in lives(ops[0].result, touches)]
    return tuple((before[1], after[0]) for before, after in pairwise(needed) if before[1] < after[0])


def _spans(op: AllocOp) -> list[Operation]:
    """Ops through all of which the buffer is held."""
    loop = op.parent_op()
    if op.slot_count > 1 and isinstance(loop, ForOp | GridOp):
        return [loop]  # while one slot is used in a trip, the others are for its neighbours
    # A loop around a touch but not around the buffer comes round again: the buffer is held through all of it.
    return [_ancestor_beside(op, touch) for touch in _touches(op.result)] or [op]


def _touches(value: SSAValue) -> Iterator[Operation]:
    """The ops that read or write the memory of `value`, through views of it too."""
    for use in value.uses:
        if isinstance(use.operation, SubviewOp | ReinterpretCastOp):
            yield from _touches(use.operation.result)
        elif any(isinstance(result.type, MemRefType) for result in use.operation.results):
            raise CompileError.at(use.operation, "gives a buffer another name, which hides how long it is held; only views may")
        else:
            yield use.operation


def _ancestor_beside(op: Operation, touch: Operation) -> Operation:
    """The op in the block of `op` that is `touch` or holds it."""
    block = op.parent
    assert block is not None
    beside = block.find_ancestor_op_in_block(touch)
    assert beside is not None, "a buffer is used outside the region that it belongs to"
    return beside
