"""
Chooses the slot of every buffer that has several: trips of the loop around it take turns.

    tile.grid_loop %t (%i) in (64) {
      %a = buf.alloc "a" slots 2 : memref<32x64xf16, #npu.mem<ub>>
    // becomes
    tile.grid_loop %t (%i) in (64) {
      %slot = arith.remui %t, %c2 : index
      %a = buf.alloc "a" slots 2 slot %slot : memref<32x64xf16, #npu.mem<ub>>

Trips are counted through nested loops where the inner ones have a known length, so that turns are kept from one to the next. The slot is
a value that is made once: addresses and events use the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.arith import AddiOp, DivUIOp, MinSIOp, MuliOp, RemUIOp, SelectOp, SubiOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ge_compiler.dialects.buf import AllocOp
from ge_compiler.dialects.fused import aicore_kernels
from ge_compiler.dialects.tile import GridLoopOp, GridOp
from ge_compiler.dialects.types import buffer_type
from ge_compiler.transforms.rewriting.constants import Constants, known_index
from ge_compiler.transforms.rewriting.inserter import Inserter


@dataclass(frozen=True)
class MultiBufferPass(ModulePass):
    """Gives every buffer with several slots the number of the slot that a trip uses, as a value."""

    name = "multi-buffer"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in aicore_kernels(op):
            slots = _Slots(Constants(kernel))
            for alloc in list(kernel.walk()):
                if isinstance(alloc, AllocOp) and alloc.slot_count > 1 and alloc.slot is None:
                    _choose(alloc, slots.of(alloc))


def _choose(alloc: AllocOp, slot: SSAValue) -> None:
    type_, name = buffer_type(alloc.result), alloc.result.name_hint
    new = Inserter(alloc)(AllocOp(alloc.label.data, type_, alloc.slot_count, alloc.trips_ago, slot), name)
    alloc.result.replace_all_uses_with(new.result)
    alloc.detach()
    alloc.erase()


@dataclass
class _Slots:
    """The slots of a kernel's loops: for each body, number of slots and age, a value."""

    constants: Constants
    made: dict[tuple[Block, int, int], SSAValue] = field(default_factory=dict[tuple[Block, int, int], SSAValue])
    trips: dict[ForOp, SSAValue] = field(default_factory=dict[ForOp, SSAValue])

    def of(self, alloc: AllocOp) -> SSAValue:
        """The slot that `alloc` stands for, computed at the start of its block."""
        block = alloc.parent
        assert block is not None
        key = block, alloc.slot_count, alloc.trips_ago
        if key not in self.made:
            self.made[key] = self._make(*key)
        return self.made[key]

    def _make(self, block: Block, slots: int, age: int) -> SSAValue:
        terms = list(_terms(block, slots))
        trips = {loop: self._trip(loop) for loop, _ in terms}
        insert = Inserter(self._anchor(block))
        total: SSAValue | None = None
        for loop, length in terms:
            term = trips[loop]
            if length != 1:
                term = insert(MuliOp(term, self.constants(length)), "trips").result
            total = term if total is None else insert(AddiOp(total, term), "trips").result
        if total is None:
            return self.constants(-age % slots)
        if age:
            total = insert(AddiOp(total, self.constants(slots - age)), "trips").result
        return insert(RemUIOp(total, self.constants(slots)), "slot_before" if age else "slot").result

    def _trip(self, loop: ForOp | GridLoopOp) -> SSAValue:
        """The number of the current trip of `loop`, computed at the start of its body."""
        if isinstance(loop, GridLoopOp):
            return loop.trip
        if loop not in self.trips:
            first = loop.body.block.first_op
            assert first is not None
            insert, index = Inserter(first), loop.body.block.args[0]
            offset = index if known_index(loop.lb) == 0 else insert(SubiOp(index, loop.lb)).result
            self.trips[loop] = offset if known_index(loop.step) == 1 else insert(DivUIOp(offset, loop.step), "trip").result
        return self.trips[loop]

    def _anchor(self, block: Block) -> Operation:
        """What the slots of a block are computed before: at its start, or behind the number of its trip."""
        loop = block.parent_op()
        trip = self.trips.get(loop) if isinstance(loop, ForOp) else None
        anchor = trip.owner.next_op if trip is not None and isinstance(trip.owner, Operation) else block.first_op
        assert anchor is not None
        return anchor


def _terms(block: Block, slots: int) -> Iterator[tuple[ForOp | GridLoopOp, int]]:
    """The loops around `block`, the innermost first, and how many trips of the innermost one of theirs makes, modulo `slots`."""
    length: int | None = 1
    op = block.parent_op()
    while op is not None and length is not None:
        if isinstance(op, ForOp | GridLoopOp) and length % slots:
            yield op, length % slots
        length = None if isinstance(op, GridOp) else _times(length, op)
        op = op.parent_op()


def _times(length: int, op: Operation) -> int | None:
    if not isinstance(op, ForOp):
        return length
    trips = _length(op)
    return None if trips is None else length * trips


def _length(loop: ForOp) -> int | None:
    """How many trips the loop makes, or makes at most where its end is clipped; `None` where that is not known."""
    lower, upper, step = known_index(loop.lb), _most(loop.ub), known_index(loop.step)
    if lower is None or upper is None or step is None or step < 1:
        return None
    return max(0, -(-(upper - lower) // step))


def _most(value: SSAValue) -> int | None:
    """The largest that an index can be, where that is written down."""
    match value.owner:
        case MinSIOp():
            known = [most for x in value.owner.operands if (most := _most(x)) is not None]
            return min(known, default=None)
        case SelectOp():
            either = _most(value.owner.lhs), _most(value.owner.rhs)
            return None if either[0] is None or either[1] is None else max(either[0], either[1])
        case _:
            return known_index(value)
