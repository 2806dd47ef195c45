"""
Checks a memory plan without the planner: follows the ops as they are executed, and watches who is alive in which bytes.

Changes nothing. Each `buf.at` must be aligned and inside its memory, and two buffers that are alive at the same time must not share a
byte. A buffer (each of its slots for itself) is alive from the op that writes to it after its `buf.at` has run, or a launch that writes it
without reading it, to the last op that touches it before that happens again: in a slot, a tile may wait for a later trip.

    %a = buf.at "a" [0] : memref<32x128xf32, #npu.mem<ub>>
    %b = buf.at "b" [8192] : memref<32x128xf32, #npu.mem<ub>>     // error, if "a" is needed after "b" is written
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import ReinterpretCastOp, SubviewOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ge_compiler.dialects.buf import AllocOp, AtOp
from ge_compiler.dialects.diagnostics import CompileError, Note
from ge_compiler.dialects.fused import LaunchOp
from ge_compiler.dialects.memory import Space, bytes_of, mem_of
from ge_compiler.dialects.npu import InstructionOp
from ge_compiler.dialects.target import NpuTarget, target_of
from ge_compiler.dialects.tile import StoreOp, StoreRowsOp, TileOp
from ge_compiler.dialects.types import buffer_type
from ge_compiler.transforms.verification.indices import Indices


@dataclass(frozen=True)
class VerifyMemoryPass(ModulePass):
    """Checks that buffers are aligned, inside their memory, and never overlap while both are alive; shares no code with the planner."""

    name = "verify-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for function in op.body.block.ops:
            if isinstance(function, FuncOp):
                trace = _Trace(target, _iterations(function))
                for block in function.body.blocks:
                    trace.follow(block)
                _check_overlaps(trace.lives)


def _iterations(function: FuncOp) -> int:
    """How often a body is followed: until what one iteration leaves for the next shows, in the slot that comes round last."""
    slots = [len(op.offsets.get_values()) for op in function.walk() if isinstance(op, AtOp)]
    return 1 + max(slots, default=1)


@dataclass
class _Life:
    """One slot of a buffer, from a first write to the last touch before the next one."""

    op: AtOp
    space: Space
    range: tuple[int, int]
    """The bytes that it occupies, half-open."""
    touches: list[tuple[int, Operation]] = field(default_factory=list[tuple[int, Operation]])
    """When it was touched, and by which op."""


Place = tuple[str, Space, int]
"""A label, a memory and an offset: one slot of a buffer."""


@dataclass(eq=False)
class _Name:
    """What the result of a `buf.at`, or a view of it, stands for."""

    op: AtOp
    space: Space
    size: int
    offsets: tuple[int, ...]
    """The slot that it chooses; all of them, where that cannot be told."""
    fresh: bool = True
    """Not touched yet since the `buf.at` ran."""


class _Trace:
    """What happens to buffers when the ops run, each body several times."""

    def __init__(self, target: NpuTarget, iterations: int) -> None:
        self.target = target
        self.iterations = iterations
        self.time = 0
        self.lives: list[_Life] = []
        self.current: dict[Place, _Life] = {}
        self.names: dict[SSAValue, _Name] = {}
        self.indices = Indices()

    def follow(self, block: Block) -> None:
        for op in block.ops:
            self.time += 1
            match op:
                case AtOp():
                    self.names[op.result] = self._name(op)
                case AllocOp():
                    raise CompileError.at(op, "has no address yet; run plan-memory first")
                case SubviewOp() | ReinterpretCastOp():
                    if op.source in self.names:
                        self.names[op.result] = self.names[op.source]
                case _:
                    self.indices.execute(op)
                    self._touch(op)
            known = self.indices.trips(op)
            for inner in (block for region in op.regions for block in region.blocks):
                for trip in range(self.iterations if known is None else min(known, self.iterations)):
                    self.indices.enter(op, trip)
                    self.follow(inner)

    def _touch(self, op: Operation) -> None:
        touched = [self.names[operand] for operand in op.operands if operand in self.names]
        if touched and any(isinstance(result.type, MemRefType) for result in op.results):
            raise CompileError.at(op, f"gives buffer {touched[0].op.label} another name, under which it cannot be followed")
        written = [id(self.names[value]) for value in _written(op) if value in self.names]
        replaced = self._replaced(op)
        for name in touched:
            for offset in name.offsets:
                place = name.op.label.data, name.space, offset
                if place not in self.current or (name.fresh and id(name) in written) or name in replaced:
                    self.current[place] = _Life(name.op, name.space, (offset, offset + name.size))
                    self.lives.append(self.current[place])
                self.current[place].touches.append((self.time, op))
            name.fresh = False

    def _replaced(self, op: Operation) -> list[_Name]:
        """The buffers that a launch writes without reading them: what they held before is over."""
        if not isinstance(op, LaunchOp):
            return []
        read = [self.names[value] for value in op.inputs if value in self.names]
        return [name for value in op.destinations if (name := self.names.get(value)) is not None and name not in read]

    def _name(self, op: AtOp) -> _Name:
        type_, offsets = buffer_type(op.result), op.offsets.get_values()
        space, size = mem_of(type_).space, bytes_of(type_)
        self._check_address(op, space, size)
        slot = 0 if op.slot is None else self.indices.get(op.slot)
        if slot is None:
            return _Name(op, space, size, tuple(offsets))
        if not 0 <= slot < len(offsets):
            raise CompileError.at(op, f"chooses slot {slot} of {op.label}, which has slots 0 to {len(offsets) - 1}")
        return _Name(op, space, size, (offsets[slot],))

    def _check_address(self, op: AtOp, space: Space, size: int) -> None:
        info = self.target.spaces.get(space)
        if info is None:
            raise CompileError.at(op, f"is in {space.value}, a memory that {self.target.name} does not have")
        ranges = [(offset, offset + size) for offset in op.offsets.get_values()]
        for start, end in ranges:
            if start % info.alignment:
                raise CompileError.at(op, f"offset {start} of {op.label} is no multiple of {info.alignment}, as {space.value} requires")
            if end > info.bytes:
                over = f"exceeds {space.value} ({info.bytes} bytes of {self.target.name}) by {end - info.bytes} bytes"
                raise CompileError.at(op, f"buffer {op.label} at [{start}, {end}) {over}")
        if any(_shared(ranges[i], ranges[j]) is not None for i in range(len(ranges)) for j in range(i)):
            raise CompileError.at(op, f"slots of {op.label} overlap: {size} bytes each at {list(op.offsets.get_values())}")


def _written(op: Operation) -> list[SSAValue]:
    """The memrefs that an op writes; those of an op that does not tell are all that it has."""
    match op:
        case InstructionOp():
            return [op.writes()]
        case TileOp():
            out = op.destination()
            return [] if out is None else [out]
        case StoreOp() | StoreRowsOp():
            return [op.into]
        case _:
            return list(op.operands)


def _check_overlaps(lives: Sequence[_Life]) -> None:
    """Raises `CompileError` for the first op that touches a buffer inside the life of another one in the same bytes."""
    alive: list[_Life] = []
    for life in sorted((life for life in lives if life.touches), key=lambda life: life.touches[0][0]):
        begin = life.touches[0][0]
        alive = [other for other in alive if other.touches[-1][0] >= begin]
        for other in alive:
            if other.space is life.space and (shared := _shared(other.range, life.range)) and not _in_place(other, life):
                raise _overlap(other, life, shared)
        alive.append(life)


def _in_place(older: _Life, younger: _Life) -> bool:
    """Whether the last op that needs `older` writes `younger` exactly over it, and may: its elements are read first."""
    time, op = younger.touches[0]
    same = older.range == younger.range and older.op.result.type == younger.op.result.type
    return same and older.touches[-1][0] == time and isinstance(op, TileOp | InstructionOp) and op.OVERWRITES


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


def _shared(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int] | None:
    """The bytes that two ranges have in common."""
    low, high = max(left[0], right[0]), min(left[1], right[1])
    return (low, high) if low < high else None
