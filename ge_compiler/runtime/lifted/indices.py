"""Index values of all blocks of a rectangle at once: an integer where they agree, else an array over the axes of the grid."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import Operation

from ge_compiler.dialects.semantics import Array
from ge_compiler.runtime.lanes import PerLane

Index = int | Array
"""An array has as many axes as the grid, of size 1 where the value does not depend on them."""


class NotLifted(Exception):
    """Why a kernel cannot be lifted; the checked executor runs it."""


class Split(Exception):
    """The blocks of the rectangle differ: cut it along `axis` before each of `cuts`, counted from its start."""

    def __init__(self, axis: int, cuts: Sequence[int]) -> None:
        super().__init__(f"axis {axis} at {list(cuts)}")
        self.axis, self.cuts = axis, cuts


def _floor_divide(x: Any, y: Any) -> Any:
    return np.floor_divide(x, _divisor(y))


def _ceil_divide(x: Any, y: Any) -> Any:
    return -np.floor_divide(np.negative(x), _divisor(y))


def _truncating_divide(x: Any, y: Any) -> Any:
    return np.floor_divide(np.abs(x), np.abs(_divisor(y))) * np.where(np.less(x, 0) == np.less(y, 0), 1, -1)


def _truncating_remainder(x: Any, y: Any) -> Any:
    return x - y * _truncating_divide(x, y)


def _floor_remainder(x: Any, y: Any) -> Any:
    return np.remainder(x, _divisor(y))


def _divisor(y: Any) -> Any:
    if np.any(np.equal(y, 0)):
        raise NotLifted("divides an index by zero")
    return y


BINARY: dict[type[Operation], Callable[[Any, Any], Any]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.AndIOp: lambda x, y: x & y,
    arith.OrIOp: lambda x, y: x | y,
    arith.XOrIOp: lambda x, y: x ^ y,
    arith.MinSIOp: np.minimum,
    arith.MinUIOp: np.minimum,
    arith.MaxSIOp: np.maximum,
    arith.MaxUIOp: np.maximum,
    arith.DivSIOp: _truncating_divide,
    arith.DivUIOp: _floor_divide,
    arith.FloorDivSIOp: _floor_divide,
    arith.CeilDivSIOp: _ceil_divide,
    arith.CeilDivUIOp: _ceil_divide,
    arith.RemSIOp: _truncating_remainder,
    arith.RemUIOp: _floor_remainder,
}
"""What `interpreters.control` computes of integers, of arrays."""

COMPARE: tuple[Callable[[Any, Any], Any], ...] = (
    operator.eq,
    operator.ne,
    *(operator.lt, operator.le, operator.gt, operator.ge) * 2,
)
"""By the number of arith's predicate."""


def collapsed(value: Any) -> Any:
    """A Python number where there is one element only."""
    array: Array = np.asarray(value)
    return array.item() if array.size == 1 else array


def uniform(value: Any) -> Any:
    """The value, the same for all blocks and lanes. Raises `Split` where blocks differ, `NotLifted` where lanes do."""
    if isinstance(value, PerLane):
        values = [uniform(v) for v in value.values]
        if any(v != values[0] for v in values):
            raise NotLifted("lanes take different ways")
        return values[0]
    if not isinstance(value, np.ndarray):
        return value
    array = cast(Array, value)
    if (array == array.flat[0]).all():
        return array.flat[0].item()
    raise _split([(d, np.diff(array, axis=d) != 0) for d in range(array.ndim)])


class Affine(NamedTuple):
    """base + the sum of stride × coordinate, counted from the rectangle's start."""

    base: int
    strides: tuple[int, ...]

    def at(self, corner: Sequence[int]) -> int:
        return self.base + sum(c * s for c, s in zip(corner, self.strides, strict=True))


def affine(value: Index, rank: int) -> Affine:
    """`value` as a function of the coordinates. Raises `Split` where it is none."""
    if not isinstance(value, np.ndarray):
        return Affine(int(value), (0,) * rank)
    steps = [np.diff(value, axis=d) for d in range(rank)]
    strides = tuple(int(s.flat[0]) if s.size else 0 for s in steps)
    breaks = [(d, step != stride) for d, (step, stride) in enumerate(zip(steps, strides, strict=True))]
    if any(b.any() for _, b in breaks):
        raise _split(breaks)
    return Affine(int(value.flat[0]), strides)


def _split(breaks: Sequence[tuple[int, Array]]) -> Split:
    """Along the axis that needs the fewest cuts."""
    cuts: list[tuple[int, list[int]]] = []
    for axis, broken in breaks:
        others = tuple(d for d in range(broken.ndim) if d != axis)
        positions = [int(p) + 1 for p in np.flatnonzero(broken.any(axis=others))]
        if positions:
            cuts.append((axis, positions))
    axis, positions = min(cuts, key=lambda c: len(c[1]))
    return Split(axis, positions)
