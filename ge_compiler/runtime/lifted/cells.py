"""On-chip buffers while a kernel is followed: which values they hold, and in which bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ge_compiler.dialects.memory import Space
from ge_compiler.runtime.lifted.indices import NotLifted
from ge_compiler.runtime.lifted.values import Dtype, Operand


class Rectangle(NamedTuple):
    row: int
    column: int
    rows: int
    columns: int

    def contains(self, other: Rectangle) -> bool:
        return self.meet(other) == other

    def meet(self, other: Rectangle) -> Rectangle:
        """What both cover; of negative extents where there is nothing."""
        row, column = max(self.row, other.row), max(self.column, other.column)
        rows = min(self.row + self.rows, other.row + other.rows) - row
        return Rectangle(row, column, rows, min(self.column + self.columns, other.column + other.columns) - column)

    @property
    def is_empty(self) -> bool:
        return self.rows <= 0 or self.columns <= 0


@dataclass(eq=False)
class Cell:
    """One slot of a buffer: what was written to it, the latest first. Blocks may have it at different addresses."""

    label: str
    dtype: Dtype
    pieces: list[tuple[Rectangle, Operand]] = field(default_factory=list[tuple[Rectangle, Operand]])

    def write(self, where: Rectangle, value: Operand) -> None:
        if not where.is_empty:
            self.pieces = [(where, value), *(p for p in self.pieces if not where.contains(p[0]))]

    def read(self, where: Rectangle, assemble: Callable[[Rectangle, Sequence[tuple[Rectangle, Operand]]], Operand]) -> Operand:
        """The elements of `where`; of several pieces, `assemble` makes one value. Raises `NotLifted` where nothing was written."""
        touched = [(at, value) for at, value in self.pieces if not at.meet(where).is_empty]
        if touched and touched[0][0].contains(where):
            at, value = touched[0]
            return value.part(where.row - at.row, where.column - at.column, where.rows, where.columns)
        self._check_covered(where, touched)
        value = assemble(where, touched[::-1])
        self.write(where, value)
        return value

    def _check_covered(self, where: Rectangle, pieces: Sequence[tuple[Rectangle, Operand]]) -> None:
        covered = np.zeros((where.rows, where.columns), np.bool_)
        for at, _ in pieces:
            row, column, rows, columns = at.meet(where)
            covered[row - where.row : row - where.row + rows, column - where.column : column - where.column + columns] = True
        if not covered.all():
            raise NotLifted(f'reads what nothing in the same block has written to "{self.label}"')


class Slot(NamedTuple):
    """Which slot of a buffer: in every block the same, or one for each."""

    number: int | bytes

    @staticmethod
    def of(value: int | np.ndarray) -> Slot:
        return Slot(value.astype(np.int64).tobytes() if isinstance(value, np.ndarray) else value)


@dataclass
class Buffer:
    """All slots of one name in one memory."""

    label: str
    dtype: Dtype
    ranges: tuple[tuple[int, int], ...]
    """The bytes of each slot."""
    cells: dict[bytes | int, tuple[int | np.ndarray, Cell]] = field(default_factory=dict[bytes | int, "tuple[int | np.ndarray, Cell]"])

    def cell(self, slot: int | np.ndarray) -> Cell:
        """The cell of a slot. Raises `NotLifted` where two numbers name the same slot in some blocks only."""
        key = Slot.of(slot).number
        if key not in self.cells:
            if any(np.any(np.equal(slot, known)) for known, _ in self.cells.values()):
                raise NotLifted(f'blocks use the slots of "{self.label}" in different ways')
            self.cells[key] = slot, Cell(self.label, self.dtype)
        return self.cells[key][1]


@dataclass
class Chip:
    """The on-chip memories of one block: buffers by memory, lane and name."""

    buffers: dict[tuple[Space, int], dict[object, Buffer]] = field(default_factory=dict[tuple[Space, int], "dict[object, Buffer]"])

    def buffer(self, memory: tuple[Space, int], key: object, make: Callable[[], Buffer]) -> Buffer:
        known = self.buffers.setdefault(memory, {})
        if key not in known:
            known[key] = make()
        return known[key]

    def overwritten(self, memory: tuple[Space, int], by: Buffer) -> None:
        """Buffers that share a byte with what is written hold nothing any more."""
        for other in self.buffers[memory].values():
            if other is not by and any(a < d and c < b for a, b in by.ranges for c, d in other.ranges):
                for _, cell in other.cells.values():
                    cell.pieces = []
