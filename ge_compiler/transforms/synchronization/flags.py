"""
Orders as flags and barriers.

An order becomes an event: set after the source, waited for before the sink. Where the sink is one of the next iteration, the event says
that something is free again: it is armed before the loops, so that the first wait passes, and drained behind them, so that none is left.
Both stand outside all loops, so that no loop ends with an empty pipeline. Waits and sets alternate in one block, from an armed event on:
however often the loops around run, not at all included, each wait has its set and each set its wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.arith import AddiOp, ConstantOp, DivUIOp, MuliOp, RemUIOp, SubiOp
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from ge_compiler.dialects.npu import BlockIdxOp, CrossCoreSetFlagOp, CrossCoreWaitFlagOp, SetFlagOp, SyncOp, WaitFlagOp
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.dialects.tile import GridOp
from ge_compiler.transforms.synchronization.dependences import Order, Slots
from ge_compiler.transforms.synchronization.insertions import Insertions, Rank
from ge_compiler.transforms.synchronization.structure import Structure, blocks_of
from ge_compiler.transforms.synchronization.turns import Turns


class Flags:
    """Makes the events of a kernel."""

    def __init__(self, structure: Structure, insertions: Insertions, target: NpuTarget) -> None:
        self._structure, self._insertions, self._target = structure, insertions, target
        self._names: set[tuple[str, str, str]] = set()

    def add(self, order: Order) -> None:
        """An event for `order`."""
        name, slots = self._name(order), order.slots
        put = self._insertions.add
        put(order.block, order.after + 1, Rank.SET, _set(order, name, slots.source if slots else 0), order.source.op.location)
        put(order.block, order.before, Rank.WAIT, _wait(order, name, slots.sink if slots else 0), order.sink.op.location)
        if order.carried:
            outermost = self._structure.outermost(order.block)
            kernel, position = self._structure.kernel.body.block, self._structure.positions[outermost]
            for number in _first_numbers(slots):
                put(kernel, position, Rank.ARM, _set(order, name, number), order.source.op.location)
            for number in self._last_numbers(slots, position):
                put(kernel, position + 1, Rank.DRAIN, _wait(order, name, number), order.sink.op.location)

    def _last_numbers(self, slots: Slots | None, position: int) -> list[SSAValue | int]:
        """What the next trips would wait for."""
        turns = None if slots is None else slots.turns
        if slots is None or turns is None:
            return [*_first_numbers(slots)]
        fewest, most = turns.trips or 0, turns.trips or 0
        if isinstance(turns.outermost, GridOp):
            fewest, most = (blocks_of(turns.outermost, self._target, core) for core in (self._target.cores - 1, 0))
        ends = [turns.first + turns.step * most + i for i in range(slots.ahead)]
        if fewest == most or turns.step == 0:
            return [end % turns.count for end in ends]
        assert isinstance(turns.outermost, GridOp)
        return self._after_blocks(turns.outermost, turns, slots.ahead, position + 1)

    def _after_blocks(self, grid: GridOp, turns: Turns, ahead: int, gap: int) -> list[SSAValue | int]:
        """The slots of the next trips, on a core that counts how many blocks of `grid` were its own."""
        write = _Arithmetic(self._structure.kernel.body.block, gap, self._insertions, grid)
        core, cores = write(BlockIdxOp()), self._target.cores
        left = write(SubiOp(write.number(prod(grid.grid) + cores - 1), core))
        blocks = write(DivUIOp(left, write.number(cores)))
        turn = write(MuliOp(blocks, write.number(turns.step)))
        slot = [write(AddiOp(turn, write.number(turns.first + i))) for i in range(ahead)]
        return [write(RemUIOp(value, write.number(turns.count))) for value in slot]

    def _name(self, order: Order) -> str:
        """`x_ready` or `x_free`, numbered where the same pipes have an event of that name."""
        base = name = f"{order.label}_{'ready' if order.after < order.before else 'free'}"
        number = 0
        # A cross-core flag does not name both of its pipes: its name must say everything.
        source, sink = ("", "") if order.crosses else (order.source.pipe, order.sink.pipe)
        while (source, sink, name) in self._names:
            number += 1
            name = f"{base}_{number}"
        self._names.add((source, sink, name))
        return name


@dataclass(frozen=True)
class _Arithmetic:
    """Called with an op, it puts it at a gap and gives its result."""

    block: Block
    gap: int
    insertions: Insertions
    origin: Operation

    def __call__(self, op: Operation) -> SSAValue:
        self.insertions.add(self.block, self.gap, Rank.DRAIN, op, self.origin.location)
        return op.results[0]

    def number(self, value: int) -> SSAValue:
        return self(ConstantOp(IntegerAttr.from_index_int_value(value)))


def _first_numbers(slots: Slots | None) -> Sequence[int]:
    """What the first trips wait for."""
    if slots is None:
        return [0]
    if slots.turns is None:
        return range(slots.count)
    return [(slots.turns.first + i) % slots.count for i in range(slots.ahead)]


def _set(order: Order, name: str, number: SSAValue | int) -> SyncOp:
    if order.crosses:
        return CrossCoreSetFlagOp(order.source.pipe, number, name)
    return SetFlagOp(order.source.pipe, order.sink.pipe, number, name)


def _wait(order: Order, name: str, number: SSAValue | int) -> SyncOp:
    if order.crosses:
        return CrossCoreWaitFlagOp(order.sink.pipe, number, name)
    return WaitFlagOp(order.source.pipe, order.sink.pipe, number, name)


def add_barriers(block: Block, orders: Sequence[Order], insertions: Insertions) -> None:
    """Barriers of one pipe in `block`, as few as `orders` allow, each as late as it may be."""
    first, last = len(insertions.bodies[block]) + 1, -1
    for order in sorted(orders, key=lambda order: (order.carried, order.before)):
        # Gaps are chosen in rising order while nothing is carried, and what is carried goes all the way round.
        if last <= order.after and not (order.carried and first <= order.before):
            first, last = min(first, order.before), max(last, order.before)
            insertions.add_barrier(block, order.before, order.sink.pipe, order.sink.op.location)
