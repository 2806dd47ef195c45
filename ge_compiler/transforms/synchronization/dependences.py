"""
Which instructions must wait for which, as orders in a block.

Two instructions on different pipes that touch the same bytes, one of them writing, must run one after the other. In the innermost block
that holds both, the first comes before the second in every iteration, and the second before the first of the next: two orders.
An order that another one implies is not kept. What remains refers to ops of the block alone: those that hold the instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, SSAValue

from ge_compiler.transforms.synchronization.accesses import Access, Instruction, Place
from ge_compiler.transforms.synchronization.structure import Meeting, Structure
from ge_compiler.transforms.synchronization.turns import Turns, same_value, turns_between, turns_of


@dataclass(frozen=True)
class Slots:
    """Values below `count` by which the instructions of a dependence choose their slots of a buffer, and their event."""

    source: SSAValue
    sink: SSAValue
    count: int
    turns: Turns | None = None
    """How the sink's slots follow each other, where they are not the source's."""
    ahead: int = 0
    """How many turns the sink's slot is ahead of the one that the source has used last before."""

    def is_like(self, other: Slots) -> bool:
        same = same_value(self.source, other.source) and same_value(self.sink, other.sink)
        return same and self.count == other.count and self.ahead == other.ahead


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
    orders, sharing = Orders(), _Sharing()
    for i, second in enumerate(found):
        for first in found[: i + 1]:
            if first.unit is second.unit and first.unit.in_order:
                continue
            shared = sharing.between(first, second)
            if shared:
                for order in _orders(structure, first, second, shared):
                    orders.add(order)
    return orders


class _Sharing:
    """Which accesses of two instructions depend on each other; places are compared once, however often they are touched."""

    def __init__(self) -> None:
        self._numbers: dict[Place, int] = {}
        self._places: list[Place] = []
        self._meeting: list[list[bool]] = []
        self._known: dict[Instruction, tuple[tuple[Access, int], ...]] = {}

    def between(self, first: Instruction, second: Instruction) -> list[tuple[Access, Access]]:
        return [
            (a, b)
            for a, place in self._numbered(first)
            for b, other in self._numbered(second)
            if (a.writes or b.writes) and self._meeting[place][other]
        ]

    def _numbered(self, instruction: Instruction) -> tuple[tuple[Access, int], ...]:
        known = self._known.get(instruction)
        if known is None:
            known = self._known[instruction] = tuple((access, self._number(access.place)) for access in instruction.accesses)
        return known

    def _number(self, place: Place) -> int:
        if place not in self._numbers:
            self._numbers[place] = len(self._places)
            self._places.append(place)
            for row, other in zip(self._meeting, self._places, strict=False):
                row.append(other.overlaps(place))
            self._meeting.append([place.overlaps(other) for other in self._places])
        return self._numbers[place]


def _orders(structure: Structure, first: Instruction, second: Instruction, shared: Sequence[tuple[Access, Access]]) -> Iterator[Order]:
    where = structure.meeting(first.op, second.op)
    length, label = len(structure.bodies[where.block]), shared[0][0].place.label
    forward, back = _slots(structure, where, shared)
    if first is not second:
        carried = forward is not None and forward.turns is not None
        yield Order(where.block, where.first, where.second, carried, first, second, label, forward, length)
    if structure.repeats(where.block):
        yield Order(where.block, where.second, where.first, True, second, first, label, back, length)


def _slots(structure: Structure, where: Meeting, shared: Sequence[tuple[Access, Access]]) -> tuple[Slots | None, Slots | None]:
    """The slots by which all that two instructions share is chosen, on the way to the second and back to the first; nothing if unknown."""
    slots = [(a.place.slot, b.place.slot) for a, b in shared if a.place.is_slotted_like(b.place)]
    first, second = slots[0] if slots else (None, None)
    if len(slots) < len(shared) or first is None or second is None:
        return None, None
    count, behind = len(shared[0][0].place.ranges), turns_between(first, second)
    alike = all(
        x is not None and y is not None and same_value(x, first) and same_value(y, second) and len(a.place.ranges) == count
        for (x, y), (a, _) in zip(slots, shared, strict=True)
    )
    if behind is None or not alike:
        return None, None
    if behind == 0:
        seen = next((value for value in (first, second) if structure.sees(where.block, where.first, value)), None)
        return (None, None) if seen is None else (Slots(seen, seen, count), Slots(seen, seen, count))
    return _skewed(structure, where, first, second, count, behind)


def _skewed(
    structure: Structure, where: Meeting, first: SSAValue, second: SSAValue, count: int, behind: int
) -> tuple[Slots | None, Slots | None]:
    """The second uses what the first had `behind` turns before: in every trip they use different slots."""
    seen = structure.sees(where.block, where.first, first) and structure.sees(where.block, where.second, second)
    to_second, to_first = (turns_of(structure, where.block, slot) if seen else None for slot in (second, first))
    if to_second is None or to_first is None or to_second.count != count:
        return None, None
    return Slots(first, second, count, to_second, behind), Slots(second, first, count, to_first, count - behind)
