"""What steps read and write: arrays of a rectangle, whose leading axes are the grid's and whose last two are a tile's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ge_compiler.runtime.lifted.indices import Affine, Index

Dtype = np.dtype[Any]
WIDE = np.dtype(np.float32)


def is_narrow(dtype: Dtype) -> bool:
    """Whether elements are floats that the cube and `vconv` widen to f32."""
    return dtype.itemsize == 2 and dtype.kind not in "iu"


@dataclass(eq=False)
class Scratch:
    """An array that one step makes (or several fill, each a part), never changed afterwards."""

    rows: int
    columns: int
    dtype: Dtype
    axes: tuple[bool, ...]
    """Which axes of the grid it has; it has size 1 along the others."""
    widened: Scratch | None = None
    """The same elements in f32, once asked for."""

    def elements(self, widths: Sequence[int]) -> int:
        count = self.rows * self.columns
        for width, has in zip(widths, self.axes, strict=True):
            count *= width if has else 1
        return count


@dataclass(frozen=True)
class Global:
    """A tensor in global memory, or a shadow of it: in f32, its last two dimensions exchanged, or both."""

    number: int
    """The argument of the kernel."""
    wide: bool = False
    turned: bool = False


@dataclass(frozen=True)
class Operand:
    """A rectangle of an array for each block. Strides and offsets count elements; a stride of 0 repeats."""

    source: Scratch | Global
    dtype: Dtype
    """What the elements are; a scratch may hold narrow floats in f32."""
    rows: int
    columns: int
    row_stride: int
    column_stride: int
    offset: int
    """Of the first block's first element."""
    strides: tuple[int, ...]
    """Of global memory along the axes of the grid; a scratch has its own."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.columns

    @property
    def axes(self) -> tuple[bool, ...]:
        return self.source.axes if isinstance(self.source, Scratch) else tuple(s != 0 for s in self.strides)

    def part(self, row: int, column: int, rows: int, columns: int) -> Operand:
        offset = self.offset + row * self.row_stride + column * self.column_stride
        return replace(self, rows=rows, columns=columns, offset=offset)

    def repeated(self, rows: int, columns: int) -> Operand:
        """Rows or columns of extent 1 as often as asked."""
        row = 0 if self.rows == 1 != rows else self.row_stride
        column = 0 if self.columns == 1 != columns else self.column_stride
        return replace(self, rows=rows, columns=columns, row_stride=row, column_stride=column)

    @property
    def is_whole(self) -> bool:
        """Whether it is all of a scratch, element by element."""
        s = self.source
        return isinstance(s, Scratch) and (s.rows, s.columns) == self.shape and self.row_stride == s.columns and self.column_stride == 1

    @property
    def is_blas(self) -> bool:
        """Whether a product may read it where it is: row-major, its rows apart, and no vector (whose bits depend on strides)."""
        return self.column_stride == 1 and self.row_stride >= self.columns and min(self.shape) > 1


def whole(scratch: Scratch, dtype: Dtype | None = None) -> Operand:
    return Operand(scratch, dtype or scratch.dtype, scratch.rows, scratch.columns, scratch.columns, 1, 0, (0,) * len(scratch.axes))


@dataclass(frozen=True)
class GlobalView:
    """The value of a memref in global memory: the same extents in all blocks, at offsets of their own."""

    number: int
    dtype: Dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: Index


@dataclass(frozen=True)
class Step:
    """`function(out, *inputs)` on the arrays of a rectangle."""

    function: Callable[..., None]
    out: Operand
    inputs: tuple[Operand, ...]
    op: Operation
    in_place: bool = False
    """Whether `out` may lie where an input of the same shape lies that is not needed afterwards."""


@dataclass(frozen=True)
class Access:
    """A rectangle of a tensor that each block reads or writes."""

    number: int
    writes: bool
    at: Affine
    shape: tuple[int, int]
    strides: tuple[int, int]


@dataclass
class Trace:
    """The steps of one class of blocks."""

    start: tuple[int, ...]
    """The first block's place in the grid."""
    widths: tuple[int, ...]
    """How many blocks it has along each axis of the grid; offsets are those of its first one."""
    steps: list[Step] = field(default_factory=list[Step])
    accesses: list[Access] = field(default_factory=list[Access])
    tables: list[Access] = field(default_factory=list[Access])
    """Matrices of which data names rows."""
    scatters: bool = False
    """Whether rows are stored where data says: the order of blocks may then matter."""
