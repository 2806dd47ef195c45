"""
Which instructions must wait for which, as orders in a block.

Two instructions on different pipes that touch the same bytes, one of them writing, must run one after the other. In the innermost block
that holds both, the first comes before the second in every iteration, and the second before the first of the next: two orders.
An order that another one implies is not kept. What remains refers to ops of the block alone: those that hold the instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.arith import ConstantOp
from xdsl.ir import Block, SSAValue

from ge_compiler.transforms.synchronization.accesses import Access, Instruction
from ge_compiler.transforms.synchronization.structure import Meeting, Structure


@dataclass(frozen=True)
class Slots:
    """A value below `count` that both instructions of a dependence use to choose their slot of a buffer."""

    value: SSAValue
    count: int

    def is_like(self, other: Slots) -> bool:
        return self.count == other.count and same_value(self.value, other.value)


@dataclass(frozen=True)
class Order:
    """What `source`'s pipe has up to position `after` of `block` is complete before what `sink`'s has from position `before` on starts."""

    block: Block
    after: int
    before: int
    carried: bool
    """Whether `before` is meant in the next iteration."""
    source: Instruction
    sink: Instruction
    label: str
    """The buffer for which it is."""
    slots: Slots | None
    """With slots, the next iteration that uses the same slot is meant."""
    length: int
    """How many ops the block has."""

    @property
    def end(self) -> int:
        return self.before + self.length * self.carried

    @property
    def span(self) -> int:
        return self.end - self.after

    @property
    def crosses(self) -> bool:
        """Whether it is between the cube and the vector lanes of a cluster."""
        return self.source.unit.core != self.sink.unit.core

    def implies(self, other: Order) -> bool:
        """Whether a flag for this order is one for `other` too: pipes start in order what they have, so it may stand closer together."""
        if self.carried and self.slots is not None and (other.slots is None or not self.slots.is_like(other.slots)):
            return False
        shifts = (0, self.length) if other.carried else (0,)
        return any(other.after <= self.after + shift and self.end + shift <= other.end for shift in shifts)


Pair = tuple[str, str]
"""The pipes of an order, by name: from, to."""


@dataclass
class Orders:
    """All orders of a kernel, in the order of the text."""

    between: dict[tuple[Block, Pair], list[Order]] = field(default_factory=dict[tuple[Block, Pair], list[Order]])

    def add(self, order: Order) -> None:
        self.between.setdefault((order.block, (order.source.pipe, order.sink.pipe)), []).append(order)

    def needed(self) -> Iterator[Order]:
        """The orders between different pipes of which none implies another."""
        for (_, (source, sink)), orders in self.between.items():
            if source != sink:
                yield from minimal(orders)

    def within_pipes(self) -> Iterator[tuple[Block, Sequence[Order]]]:
        """The orders inside each pipe that is not in order, block by block."""
        for (block, (source, sink)), orders in self.between.items():
            if source == sink:
                yield block, orders


def minimal(orders: Iterable[Order]) -> list[Order]:
    """The orders that no shorter one implies, in the order of the text."""
    kept: list[Order] = []
    for order in sorted(orders, key=lambda order: (order.span, order.slots is not None)):
        if not any(shorter.implies(order) for shorter in kept):
            kept.append(order)
    return sorted(kept, key=lambda order: (order.after, order.end))


def find_orders(structure: Structure, found: Sequence[Instruction]) -> Orders:
    """The orders between every two of the instructions `found`, which stand in the order of the text."""
    orders = Orders()
    for i, second in enumerate(found):
        for first in found[: i + 1]:
            same_pipe = first.unit == second.unit
            if same_pipe and first.unit.in_order:
                continue
            shared = [(a, b) for a in first.accesses for b in second.accesses if a.depends_on(b)]
            if shared:
                for order in _orders(structure, first, second, shared):
                    orders.add(order)
    return orders


def _orders(structure: Structure, first: Instruction, second: Instruction, shared: Sequence[tuple[Access, Access]]) -> Iterator[Order]:
    where = structure.meeting(first.op, second.op)
    slots, length = _slots(structure, where, shared), len(structure.bodies[where.block])
    label = shared[0][0].place.label
    if first is not second:
        yield Order(where.block, where.first, where.second, False, first, second, label, slots, length)
    if structure.repeats(where.block):
        yield Order(where.block, where.second, where.first, True, second, first, label, slots, length)


def _slots(structure: Structure, where: Meeting, shared: Sequence[tuple[Access, Access]]) -> Slots | None:
    """The slots by which all that two instructions share is chosen, if they are the same and known where they meet."""
    chosen: Slots | None = None
    for a, b in shared:
        x, y = a.place.slot, b.place.slot
        if x is None or y is None or not a.place.is_slotted_like(b.place) or not same_value(x, y):
            return None
        seen = next((value for value in (x, y) if structure.sees(where.block, where.first, value)), None)
        if seen is None or (chosen is not None and not chosen.is_like(Slots(seen, len(a.place.ranges)))):
            return None
        chosen = Slots(seen, len(a.place.ranges))
    return chosen


def same_value(x: SSAValue, y: SSAValue) -> bool:
    """Whether two index values are computed in the same way from the same values."""
    if x is y:
        return True
    a, b = x.owner, y.owner
    if isinstance(a, Block) or isinstance(b, Block) or a.name != b.name or a.regions or not a.name.startswith("arith."):
        return False
    if a.properties != b.properties or a.attributes != b.attributes or len(a.operands) != len(b.operands):
        return False
    return isinstance(a, ConstantOp) or all(same_value(p, q) for p, q in zip(a.operands, b.operands, strict=True))
