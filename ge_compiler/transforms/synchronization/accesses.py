"""What an instruction touches: byte ranges of an on-chip memory, or an argument of the kernel in global memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.arith import RemSIOp, RemUIOp
from xdsl.dialects.memref import CastOp, ReinterpretCastOp, SubviewOp
from xdsl.ir import Block, Operation, SSAValue

from ge_compiler.dialects.buf import AtOp
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.index_list import join_index_list
from ge_compiler.dialects.memory import Space, bytes_of, mem_of
from ge_compiler.dialects.npu import InstructionOp
from ge_compiler.dialects.target import NpuTarget, Unit
from ge_compiler.dialects.types import buffer_type
from ge_compiler.transforms.synchronization.arithmetic import constant

Range = tuple[int, int]
"""Half-open."""
WHOLE: Range = (0, 1 << 62)


@dataclass(frozen=True)
class Place:
    """The bytes that a memref may stand for, or more."""

    memory: Space | SSAValue | None
    """An on-chip memory, or the kernel's argument; `None` where the memref cannot be followed: it may be anything."""
    ranges: tuple[Range, ...]
    """One for each slot: bytes on chip; in global memory, rows of the dimension `dimension`, or all."""
    slot: SSAValue | None
    """Chooses the range where there are several."""
    label: str
    dimension: int | None = None

    def overlaps(self, other: Place) -> bool:
        """Whether both may stand for the same byte, whatever their slots."""
        if self.memory is None or other.memory is None:
            return True
        if self.memory != other.memory:
            return False
        return self.dimension != other.dimension or any(meet(a, b) for a in self.ranges for b in other.ranges)

    def is_slotted_like(self, other: Place) -> bool:
        """Whether both are one buffer with slots that share no byte, so that different slots never meet."""
        same = self.memory == other.memory and self.ranges == other.ranges and self.dimension == other.dimension
        apart = not any(meet(a, b) for i, a in enumerate(self.ranges) for b in self.ranges[:i])
        return same and self.slot is not None and other.slot is not None and apart


@dataclass(frozen=True)
class Access:
    """One operand of an instruction."""

    place: Place
    writes: bool

    def depends_on(self, other: Access) -> bool:
        """Whether one of two accesses must wait for the other."""
        return (self.writes or other.writes) and self.place.overlaps(other.place)


@dataclass(frozen=True, eq=False)
class Instruction:
    """An instruction, the pipe that executes it, and what it touches."""

    op: InstructionOp
    unit: Unit
    pipe: str
    accesses: tuple[Access, ...]


def meet(a: Range, b: Range) -> bool:
    """Whether two ranges have something in common."""
    return a[0] < b[1] and b[0] < a[1]


def instructions(kernel: Operation, target: NpuTarget) -> Iterator[Instruction]:
    """Every instruction of a kernel, in the order of the text. Raises `CompileError` for one that no pipe of `target` executes."""
    for op in kernel.walk():
        if isinstance(op, InstructionOp):
            unit = op.unit(target)
            if unit is None:
                raise CompileError.at(op, f"runs on no pipe of {target.name}; its paths and pipes do not have this move")
            reads = (Access(place_of(value), writes=False) for value in op.reads())
            yield Instruction(op, unit, str(unit), (*reads, Access(place_of(op.writes()), writes=True)))


def place_of(value: SSAValue) -> Place:
    """Where a memref lies. Views on chip stand for the whole buffer."""
    slot: tuple[int, SSAValue, int] | None = None
    while isinstance(op := value.owner, SubviewOp | ReinterpretCastOp | CastOp):
        value = op.source
        if isinstance(op, SubviewOp) and isinstance(value.owner, Block):
            slot = _slot_of_view(op)
    if isinstance(op, AtOp):
        size = bytes_of(buffer_type(op.result))
        ranges = tuple((offset, offset + size) for offset in op.offsets.get_values())
        return Place(mem_of(op.result.type).space, ranges, op.slot, op.label.data)
    if not isinstance(op, Block):
        return Place(None, (WHOLE,), None, "unknown")
    label = value.name_hint or "gm"
    if not _is_kernel_argument(value) or mem_of(value.type).space is not Space.GM:
        return Place(None, (WHOLE,), None, label)
    if slot is None:
        return Place(value, (WHOLE,), None, label)
    dimension, chosen, count = slot
    return Place(value, tuple((i, i + 1) for i in range(count)), chosen, label, dimension)


def _is_kernel_argument(value: SSAValue) -> bool:
    block = value.owner
    return isinstance(block, Block) and (parent := block.parent_op()) is not None and parent.name == "func.func"


def _slot_of_view(view: SubviewOp) -> tuple[int, SSAValue, int] | None:
    """The dimension of which a view takes one row, chosen modulo a constant: a buffer in global memory with slots."""
    offsets, sizes = join_index_list(view.offsets, view.static_offsets), view.static_sizes.get_values()
    for dimension, (offset, size) in enumerate(zip(offsets, sizes, strict=True)):
        if size == 1 and isinstance(offset, SSAValue) and (count := modulus(offset)) is not None:
            return dimension, offset, count
    return None


def modulus(value: SSAValue) -> int | None:
    """n, where a value is a remainder of a division by the constant n."""
    match value.owner:
        case RemUIOp() | RemSIOp() as op:
            return constant(op.rhs)
        case _:
            return None
