"""
Slots that take turns: over all trips of a nest of loops, from the start of a kernel to its end, one after the other.

A producer that runs ahead of its consumer uses another slot in the same trip, so many turns before it. If both take turns without a gap,
what either waits for at first, and what is left in the end, follows from the first slot and the number of trips.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.dialects.arith import AddiOp, ConstantOp, MuliOp, RemUIOp, SubiOp
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.scf import ForOp
from xdsl.ir import Block, Operation, SSAValue

from ge_compiler.dialects.tile import GridLoopOp, GridOp
from ge_compiler.transforms.synchronization.accesses import modulus
from ge_compiler.transforms.synchronization.arithmetic import Values, constant, evaluate
from ge_compiler.transforms.synchronization.structure import Structure

_MOST_TRIPS = 4096
"""More trips than that are not looked at one by one."""

Sum = tuple[Mapping[Hashable, int], int]
"""Factors of what is added up, and a constant."""


def same_value(x: SSAValue, y: SSAValue) -> bool:
    """Whether two index values are computed from the same values to the same result."""
    return x is y or _key(x) == _key(y)


def turns_between(x: SSAValue, y: SSAValue) -> int | None:
    """How many turns slot `x` is before slot `y` in every trip: 0 where they are the same, `None` where that is not known."""
    if same_value(x, y):
        return 0
    count = modulus(x)
    if count is None or modulus(y) != count or not isinstance(x.owner, RemUIOp) or not isinstance(y.owner, RemUIOp):
        return None
    (ahead, more), (behind, less) = _sum(x.owner.lhs), _sum(y.owner.lhs)
    return (more - less) % count if ahead == behind else None


def _sum(value: SSAValue) -> Sum:
    op = value.owner
    match op:
        case ConstantOp() if isinstance(op.value, IntegerAttr):
            return {}, op.value.value.data
        case AddiOp():
            return _add(_sum(op.lhs), _sum(op.rhs), 1)
        case SubiOp():
            return _add(_sum(op.lhs), _sum(op.rhs), -1)
        case MuliOp():
            x, y = _sum(op.lhs), _sum(op.rhs)
            for factors, (others, number) in ((x, y), (y, x)):
                if not others:
                    return _add(({}, 0), factors, number)
        case _:
            pass
    return {_key(value): 1}, 0


def _add(x: Sum, y: Sum, times: int) -> Sum:
    factors = dict(x[0])
    for key, factor in y[0].items():
        factors[key] = factors.get(key, 0) + times * factor
    return {key: factor for key, factor in factors.items() if factor}, x[1] + times * y[1]


def _key(value: SSAValue) -> Hashable:
    """Equal for values that are computed in the same way from the same values."""
    op = value.owner
    if isinstance(op, Block) or op.regions or not op.name.startswith("arith."):
        return value
    return (op.name, tuple(sorted(op.properties.items())), tuple(_key(operand) for operand in op.operands))


@dataclass(frozen=True)
class Turns:
    """The slots of all trips, in the order in which they run."""

    count: int
    first: int
    """The slot of the very first trip."""
    outermost: Operation
    step: int
    """How many turns a trip of the outermost loop takes."""
    trips: int | None
    """How often the outermost loop runs; `None` of a grid, which cores run differently often."""


def turns_of(structure: Structure, block: Block, slot: SSAValue) -> Turns | None:
    """How the trips of `block` take turns, if `slot` is the next one in each, whatever loop the trip is the first or last of."""
    nest = _Nest.around(structure, block, slot)
    if nest is None:
        return None
    first, second = nest.slot_at((0, *nest.zeros)), nest.slot_at((1, *nest.zeros))
    if first is None or second is None:
        return None
    some = range(3 if nest.lengths[0] is None else min(nest.lengths[0], 3))
    trips = product(some, *(range(length) for length in nest.lengths[1:] if length is not None))
    if any(nest.slot_at(trip) != (first + turn) % nest.count for turn, trip in enumerate(trips)):
        return None
    return Turns(nest.count, first, nest.loops[0], (second - first) % nest.count, nest.lengths[0])


@dataclass(frozen=True)
class _Nest:
    """Loops, the outermost first, and what computes a slot in them."""

    loops: tuple[GridOp | ForOp, ...]
    lengths: tuple[int | None, ...]
    """How often each loop runs; `None` of a grid."""
    slot: SSAValue
    count: int
    steps: tuple[Operation, ...]

    @classmethod
    def around(cls, structure: Structure, block: Block, slot: SSAValue) -> _Nest | None:
        """The loops around `block`, if only the outermost may be a grid, and the others have known lengths that are not too many."""
        parent, count = block.parent_op(), modulus(slot)
        chain = [] if parent is None else [op for _, op in structure.chain(parent)]
        loops = tuple(op for op in chain if isinstance(op, GridOp | ForOp))
        lengths = tuple(None if isinstance(loop, GridOp) else _length(loop) for loop in loops)
        inner = [length or 0 for length in lengths[1:]]
        known = bool(loops) and (isinstance(loops[0], GridOp) or lengths[0] is not None) and all(inner)
        if count is None or not known or prod(inner) > _MOST_TRIPS:
            return None
        return cls(loops, lengths, slot, count, tuple(_computing(slot)))

    @property
    def zeros(self) -> tuple[int, ...]:
        """The first trip of every loop but the outermost."""
        return (0,) * (len(self.loops) - 1)

    def slot_at(self, trips: Sequence[int]) -> int | None:
        """The slot in one trip of each loop; `None` if it depends on something else."""
        values: Values = {}
        for loop, trip in zip(self.loops, trips, strict=True):
            if isinstance(loop, GridLoopOp):
                values[loop.trip] = trip
            elif isinstance(loop, ForOp) and (lower := constant(loop.lb)) is not None and (step := constant(loop.step)) is not None:
                values[loop.body.block.args[0]] = lower + trip * step
        for op in self.steps:
            evaluate(op, values)
        return values.get(self.slot)


def _length(loop: ForOp) -> int | None:
    lower, upper, step = constant(loop.lb), constant(loop.ub), constant(loop.step)
    return None if lower is None or upper is None or step is None or step < 1 else max(0, -(-(upper - lower) // step))


def _computing(value: SSAValue) -> Iterator[Operation]:
    """The arithmetic that leads to `value`, in an order in which it can be evaluated."""
    op = value.owner
    if isinstance(op, Operation) and op.name.startswith("arith."):
        for operand in op.operands:
            yield from _computing(operand)
        yield op
