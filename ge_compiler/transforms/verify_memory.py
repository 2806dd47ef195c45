"""
Checks a memory plan without the planner: follows the ops as they are executed, and watches who is alive in which bytes.

Changes nothing. Each `buf.at` must be aligned and inside its memory, and two buffers that are alive at the same time must not share a
byte. A buffer is alive from the first to the last op that touches it, each run of its `buf.at` beginning a new life.

    %a = buf.at "a" [0] : memref<32x128xf32, #npu.mem<ub>>
    %b = buf.at "b" [8192] : memref<32x128xf32, #npu.mem<ub>>     // error, if "a" is needed after "b" is written
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import ReinterpretCastOp, SubviewOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ge_compiler.dialects.buf import AllocOp, AtOp
from ge_compiler.dialects.diagnostics import CompileError, Note
from ge_compiler.dialects.memory import Space, bytes_of, mem_of
from ge_compiler.dialects.target import NpuTarget, target_of
from ge_compiler.dialects.types import buffer_type

_ITERATIONS = 2
"""How often a body is followed: what one iteration leaves for the next shows in the second."""


@dataclass(frozen=True)
class VerifyMemoryPass(ModulePass):
    """Checks that buffers are aligned, inside their memory, and never overlap while both are alive; shares no code with the planner."""

    name = "verify-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for function in op.body.block.ops:
            if isinstance(function, FuncOp):
                trace = _Trace(target)
                for block in function.body.blocks:
                    trace.follow(block)
                _check_overlaps(trace.lives)


@dataclass
class _Life:
    """A buffer from one run of its `buf.at` on."""

    op: AtOp
    space: Space
    ranges: tuple[tuple[int, int], ...]
    """Bytes that it occupies, as half-open ranges: one for each slot."""
    touches: list[tuple[int, Operation]] = field(default_factory=list[tuple[int, Operation]])
    """When it was touched, and by which op."""


class _Trace:
    """What happens to buffers when the ops run, each body twice."""

    def __init__(self, target: NpuTarget) -> None:
        self.target = target
        self.time = 0
        self.lives: list[_Life] = []
        self.current: dict[SSAValue, _Life] = {}

    def follow(self, block: Block) -> None:
        for op in block.ops:
            self.time += 1
            match op:
                case AtOp():
                    self.current[op.result] = self._born(op)
                    self.lives.append(self.current[op.result])
                case AllocOp():
                    raise CompileError.at(op, "has no address yet; run plan-memory first")
                case SubviewOp() | ReinterpretCastOp():
                    if op.source in self.current:
                        self.current[op.result] = self.current[op.source]
                case _:
                    self._touch(op)
            for _ in range(_ITERATIONS):
                for region in op.regions:
                    for inner in region.blocks:
                        self.follow(inner)

    def _touch(self, op: Operation) -> None:
        touched = [self.current[operand] for operand in op.operands if operand in self.current]
        if touched and any(isinstance(result.type, MemRefType) for result in op.results):
            raise CompileError.at(op, f"gives buffer {touched[0].op.label} another name, under which it cannot be followed")
        for life in touched:
            life.touches.append((self.time, op))

    def _born(self, op: AtOp) -> _Life:
        type_ = buffer_type(op.result)
        space, size = mem_of(type_).space, bytes_of(type_)
        info = self.target.spaces.get(space)
        if info is None:
            raise CompileError.at(op, f"is in {space.value}, a memory that {self.target.name} does not have")
        ranges = tuple((offset, offset + size) for offset in op.offsets.get_values())
        for start, end in ranges:
            if start % info.alignment:
                raise CompileError.at(op, f"offset {start} of {op.label} is no multiple of {info.alignment}, as {space.value} requires")
            if end > info.bytes:
                over = f"exceeds {space.value} ({info.bytes} bytes of {self.target.name}) by {end - info.bytes} bytes"
                raise CompileError.at(op, f"buffer {op.label} at [{start}, {end}) {over}")
        if _first_overlap(ranges, ranges, same=True) is not None:
            raise CompileError.at(op, f"slots of {op.label} overlap: {size} bytes each at {list(op.offsets.get_values())}")
        return _Life(op, space, ranges)


def _check_overlaps(lives: Sequence[_Life]) -> None:
    """Raises `CompileError` for the first op that touches a buffer inside the life of another one in the same bytes."""
    alive: list[_Life] = []
    for life in sorted((life for life in lives if life.touches), key=lambda life: life.touches[0][0]):
        begin = life.touches[0][0]
        alive = [other for other in alive if other.touches[-1][0] >= begin]
        for other in alive:
            if other.space is life.space and (shared := _first_overlap(other.ranges, life.ranges)) is not None:
                raise _overlap(other, life, shared)
        alive.append(life)


def _overlap(older: _Life, younger: _Life, shared: tuple[int, int]) -> CompileError:
    begin, first = younger.touches[0]
    _, needed = next((time, op) for time, op in reversed(older.touches) if time >= begin)
    where = f"bytes [{shared[0]}, {shared[1]}) of {younger.space.value}"
    return CompileError.at(
        younger.op,
        f"buffer {younger.op.label} shares {where} with {older.op.label}, which is still needed",
        Note(f"{older.op.label} is here", older.op.location),
        Note(f"{younger.op.label} is first used here", first.location),
        Note(f"{older.op.label} is needed until here", needed.location),
    )


def _first_overlap(left: Iterable[tuple[int, int]], right: Iterable[tuple[int, int]], *, same: bool = False) -> tuple[int, int] | None:
    """The bytes that a range of `left` has in common with one of `right`; with `same`, a range is not held against itself."""
    for i, (start, end) in enumerate(left):
        for j, (other_start, other_end) in enumerate(right):
            low, high = max(start, other_start), min(end, other_end)
            if low < high and not (same and i == j):
                return low, high
    return None
