"""
Orders as flags and barriers.

An order becomes an event: set after the source, waited for before the sink. Where the sink is one of the next iteration, the event says
that something is free again: it is armed before the loops, so that the first wait passes, and drained behind them, so that none is left.
Both stand outside all loops, so that no loop ends with an empty pipeline. Waits and sets alternate in one block, from an armed event on:
however often the loops around run, not at all included, each wait has its set and each set its wait.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue

from ge_compiler.dialects.npu import CrossCoreSetFlagOp, CrossCoreWaitFlagOp, SetFlagOp, SyncOp, WaitFlagOp
from ge_compiler.transforms.synchronization.dependences import Order
from ge_compiler.transforms.synchronization.insertions import Insertions, Rank
from ge_compiler.transforms.synchronization.structure import Structure


class Flags:
    """Makes the events of a kernel."""

    def __init__(self, structure: Structure, insertions: Insertions) -> None:
        self._structure, self._insertions = structure, insertions
        self._names: set[tuple[str, str, str]] = set()

    def add(self, order: Order) -> None:
        """An event for `order`."""
        name, slot = self._name(order), 0 if order.slots is None else order.slots.value
        source, sink = order.source.op.location, order.sink.op.location
        put = self._insertions.add
        put(order.block, order.after + 1, Rank.SET, _set(order, name, slot), source)
        put(order.block, order.before, Rank.WAIT, _wait(order, name, slot), sink)
        if order.carried:
            outermost = self._structure.outermost(order.block)
            kernel, position = self._structure.kernel.body.block, self._structure.positions[outermost]
            for number in range(1 if order.slots is None else order.slots.count):
                put(kernel, position, Rank.ARM, _set(order, name, number), source)
                put(kernel, position + 1, Rank.DRAIN, _wait(order, name, number), sink)

    def _name(self, order: Order) -> str:
        """`x_ready` or `x_free`, numbered where the same pipes have an event of that name."""
        base = name = f"{order.label}_{'free' if order.carried else 'ready'}"
        number = 0
        # A cross-core flag does not name both of its pipes: its name must say everything.
        source, sink = ("", "") if order.crosses else (order.source.pipe, order.sink.pipe)
        while (source, sink, name) in self._names:
            number += 1
            name = f"{base}_{number}"
        self._names.add((source, sink, name))
        return name


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
    chosen: list[int] = []
    for order in sorted(orders, key=lambda order: (order.carried, order.before)):
        if not any(_divides(gap, order) for gap in chosen):
            chosen.append(order.before)
            insertions.add_barrier(block, order.before, order.sink.pipe, order.sink.op.location)


def _divides(gap: int, order: Order) -> bool:
    """Whether what stands at a gap stands between the source and the sink of an order."""
    if order.carried:
        return gap > order.after or gap <= order.before
    return order.after < gap <= order.before
