"""Follows a kernel for one class of blocks: index arithmetic is done, moves become views, and instructions that compute become steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ge_compiler.dialects.memory import Space
from ge_compiler.runtime.lifted import arithmetic
from ge_compiler.runtime.lifted.cells import Buffer, Cell, Chip, Rectangle
from ge_compiler.runtime.lifted.indices import Index, NotLifted, affine, uniform
from ge_compiler.runtime.lifted.values import WIDE, Access, Dtype, Global, GlobalView, Operand, Scratch, Step, Trace, is_narrow, whole

STEP_LIMIT = 100_000
"""Steps of one class: more take longer to prepare than blocks take to be executed one by one."""


@dataclass(frozen=True)
class ChipView:
    """The value of a memref on chip: a rectangle of a buffer's slot."""

    memory: tuple[Space, int]
    buffer: Buffer
    cell: Cell
    where: Rectangle

    @property
    def shape(self) -> tuple[int, ...]:
        return self.where.rows, self.where.columns


View = GlobalView | ChipView


class Tracer:
    """What is known while a class of blocks of one grid is followed."""

    def __init__(self, trace: Trace, shapes: Sequence[tuple[int, ...]], core: Index, touched: Touched) -> None:
        self.trace = trace
        self.chip = Chip()
        self._shapes = shapes
        self._core = core
        self._touched = touched
        self._own: dict[tuple[int, object], Cell] = {}
        """What the running core keeps in a workspace, by tensor and place."""

    @property
    def rank(self) -> int:
        return len(self.trace.widths)

    # ---- steps

    def emit(
        self,
        op: Operation,
        function: Callable[..., None],
        inputs: Sequence[Operand],
        shape: Sequence[int],
        dtype: Dtype,
        in_place: bool = False,
    ) -> Operand:
        """The value of a step that makes a whole tile."""
        axes = tuple(any(has) for has in zip((False,) * self.rank, *(x.axes for x in inputs), strict=True))
        out = whole(Scratch(shape[0], shape[1], dtype, axes))
        self.into(op, function, inputs, out, in_place)
        return out

    def into(self, op: Operation, function: Callable[..., None], inputs: Sequence[Operand], out: Operand, in_place: bool = False) -> None:
        if 0 in out.shape:
            return
        self.trace.steps.append(Step(function, out, tuple(inputs), op, in_place))
        if len(self.trace.steps) > STEP_LIMIT:
            raise NotLifted(f"a block has more than {STEP_LIMIT} steps")

    # ---- values

    def wide(self, op: Operation, x: Operand) -> Operand:
        """The elements in f32: a shadow of global memory, or a scratch converted once."""
        source = x.source
        if not is_narrow(x.dtype):
            return x
        if isinstance(source, Global):
            return Operand(Global(source.number, True, source.turned), WIDE, *x.shape, x.row_stride, x.column_stride, x.offset, x.strides)
        if is_narrow(source.dtype):
            if source.widened is None:
                source.widened = Scratch(source.rows, source.columns, WIDE, source.axes)
                self.into(op, arithmetic.convert, [whole(source)], whole(source.widened))
            source = source.widened
        return Operand(source, WIDE, *x.shape, x.row_stride, x.column_stride, x.offset, x.strides)

    def turned(self, op: Operation, x: Operand) -> Operand:
        """Rows and columns exchanged, row-major: from a shadow that is turned as a whole, or copied."""
        if isinstance(x.source, Global) and (found := _in_turned_shadow(x, self._shapes[x.source.number], self.trace.widths)) is not None:
            return found
        made = self.emit(op, arithmetic.turn, [self.wide(op, x)], x.shape[::-1], WIDE if is_narrow(x.dtype) else x.dtype)
        return _as(made, x.dtype)

    def compact(self, op: Operation, x: Operand) -> Operand:
        """The same elements, one behind the other."""
        dtype = x.source.dtype if isinstance(x.source, Scratch) else WIDE if x.source.wide else x.dtype
        return _as(self.emit(op, arithmetic.copy, [x], x.shape, dtype), x.dtype)

    # ---- memory

    def read(self, op: Operation, view: View) -> Operand:
        """The elements of a memref. What is read while the kernel also writes there is copied at once."""
        if isinstance(view, ChipView):
            return view.cell.read(view.where, lambda where, pieces: self._assembled(op, where, view.cell.dtype, pieces))
        kept = self._kept(view)
        if kept is not None:
            cell, where = kept
            return cell.read(where, lambda where, pieces: self._assembled(op, where, cell.dtype, pieces))
        x = self._operand(view)
        self._access(view, x, writes=False)
        return self.compact(op, x) if self._touched.written(view.number) else x

    def write(self, op: Operation, view: View, value: Operand) -> None:
        if value.shape != view.shape:
            raise NotLifted(f"valid extents differ: {value.shape} elements into a destination of {view.shape}")
        if 0 in value.shape:
            return
        if isinstance(view, ChipView):
            self.chip.overwritten(view.memory, view.buffer)
            view.cell.write(view.where, value)
            return
        kept = self._kept(view)
        if kept is not None:
            kept[0].write(kept[1], value)
            return
        out = self._operand(view)
        self._access(view, out, writes=True)
        self.into(op, arithmetic.convert, [value], out)

    def table(self, view: View) -> Operand:
        """All of a matrix in global memory, for rows that data names: any may be read, and those not written to stay as they are."""
        if not isinstance(view, GlobalView):
            raise NotLifted("rows are taken from on-chip memory")
        x = self._operand(view)
        self.trace.tables.append(self._access_of(view, x, writes=False))
        return x

    def is_written(self, view: GlobalView) -> bool:
        return self._touched.written(view.number)

    def is_read(self, view: GlobalView) -> bool:
        return self._touched.read(view.number)

    def _operand(self, view: GlobalView) -> Operand:
        if len(view.shape) != 2:
            raise NotLifted(f"a tile has two dimensions, got {view.shape}")
        base, strides = affine(view.offset, self.rank)
        (rows, columns), (down, across) = view.shape, view.strides
        return Operand(Global(view.number), view.dtype, rows, columns, down, across, base, strides)

    def _access(self, view: GlobalView, x: Operand, writes: bool) -> None:
        self.trace.accesses.append(self._access_of(view, x, writes))

    def _access_of(self, view: GlobalView, x: Operand, writes: bool) -> Access:
        return Access(view.number, writes, affine(view.offset, self.rank), x.shape, (x.row_stride, x.column_stride))

    def _kept(self, view: GlobalView) -> tuple[Cell, Rectangle] | None:
        """The rectangle of the running core's own part of a workspace; `None` for other tensors.

        Such a part serves as an on-chip buffer does: no block reads what another left there.
        """
        shape = self._shapes[view.number]
        if not self._touched.is_kept(view.number, shape) or len(view.shape) != 2 or 0 in view.shape:
            return None
        room = shape[1] * shape[2]
        inside: Any = uniform(view.offset - np.multiply(self._core, room))
        row, column = divmod(inside, shape[2])
        where = Rectangle(row, column, *view.shape)
        if view.strides != (shape[2], 1) or not Rectangle(0, 0, shape[1], shape[2]).contains(where):
            raise NotLifted("a workspace is used beyond the part of the running core")
        return self._own.setdefault((view.number, None), Cell(f"argument #{view.number}", view.dtype)), where

    def _assembled(self, op: Operation, where: Rectangle, dtype: Dtype, pieces: Sequence[tuple[Rectangle, Operand]]) -> Operand:
        """One value of several pieces, the latest last."""
        values = [value for _, value in pieces]
        narrow = all(not isinstance(v.source, Scratch) or v.source.dtype == dtype for v in values)
        axes = tuple(any(has) for has in zip((False,) * self.rank, *(v.axes for v in values), strict=True))
        out = whole(Scratch(where.rows, where.columns, dtype if narrow or not is_narrow(dtype) else WIDE, axes))
        for at, value in pieces:
            common = at.meet(where)
            part = value.part(common.row - at.row, common.column - at.column, common.rows, common.columns)
            self.into(op, arithmetic.convert, [part], out.part(common.row - where.row, common.column - where.column, *common[2:]))
        return _as(out, dtype)


class Touched:
    """Which arguments the instructions of one grid read and write. Arguments that share memory are one."""

    def __init__(self, reads: set[int], writes: set[int], core_parts: set[int], groups: Sequence[int]) -> None:
        self._groups = groups
        self._reads, self._writes = {groups[i] for i in reads}, {groups[i] for i in writes}
        self._core_parts = core_parts

    def written(self, number: int) -> bool:
        return self._groups[number] in self._writes

    def read(self, number: int) -> bool:
        return self._groups[number] in self._reads

    def is_kept(self, number: int, shape: tuple[int, ...]) -> bool:
        """Whether each core writes and reads only a part of its own."""
        return number in self._core_parts and len(shape) == 3 and self.written(number) and self.read(number)


def _as(x: Operand, dtype: Dtype) -> Operand:
    return Operand(x.source, dtype, *x.shape, x.row_stride, x.column_stride, x.offset, x.strides)


def _in_turned_shadow(x: Operand, shape: tuple[int, ...], widths: Sequence[int]) -> Operand | None:
    """`x` with rows and columns exchanged, in a shadow of the tensor's matrix (its leading dimensions are rows) that is turned as a whole.

    `None` where it is no rectangle of that matrix in every block.
    """
    assert isinstance(x.source, Global)
    columns = shape[-1]
    rows = int(np.prod(shape[:-1]))
    if columns == 0 or x.column_stride != 1 or x.row_stride % columns or 0 in x.shape:
        return None
    row, column = divmod(x.offset, columns)
    moves = [divmod(s, columns) for s in x.strides]
    end = column + x.columns + sum(c * (w - 1) for (_, c), w in zip(moves, widths, strict=True))
    last = row + (x.rows - 1) * (x.row_stride // columns) + sum(r * (w - 1) for (r, _), w in zip(moves, widths, strict=True))
    if end > columns or not 0 <= last < rows or any(s < 0 for s in x.strides):
        return None
    strides = tuple(r + c * rows for r, c in moves)
    source = Global(x.source.number, x.source.wide, True)
    return Operand(source, x.dtype, x.columns, x.rows, rows, x.row_stride // columns, column * rows + row, strides)
