"""The loops of a matmul's tile: chunks of k in L1, steps of k0 in L0, one accumulator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue

from ge_compiler.dialects import tile
from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.types import tensor_type
from ge_compiler.lowering.tiling.domain import Domain, Operand
from ge_compiler.lowering.tiling.shapes import TileShape
from ge_compiler.lowering.tiling.writer import Index, Writer, on_chip


@dataclass(frozen=True)
class Span:
    """One dimension of an operand: its size, where the tile starts in it, and the tile's valid extent and room."""

    size: int
    offset: Index
    extent: Index
    room: int


@dataclass(frozen=True)
class MatmulLoops:
    """Writes the loops for one tile of the domain."""

    writer: Writer
    domain: Domain
    shape: TileShape
    points: list[Index]
    """The tile's coordinates in the leading groups."""
    rows: Span
    columns: Span
    base: Index
    """Where the part of the contraction begins that is summed here."""
    length: Index
    """How many elements that part has."""
    view: Callable[[SSAValue, list[int]], SSAValue]
    """The kernel's argument as a tensor of a given shape."""

    def write(self) -> SSAValue:
        """The finished accumulator, in L0C."""
        anchor = self.domain.anchor
        assert anchor is not None
        element = tensor_type(anchor.result).get_element_type()
        undefined = self.writer.value(tile.UndefOp(on_chip(self.shape.matrix, element, Space.L0C)), "undef")
        return self._loop("k", self.length, self.shape.k, undefined, self._chunk)

    def _loop(self, name: str, total: Index, step: int, start: SSAValue, body: Callable[[SSAValue, SSAValue], SSAValue]) -> SSAValue:
        """`for name = 0 to total step step`; `body(index, accumulator)` gives the accumulator of the next trip."""
        lower, upper, by = (self.writer.index(v) for v in (0, total, step))
        block = Block(arg_types=[IndexType(), start.type])
        block.args[0].name_hint, block.args[1].name_hint = name, "c"
        with self.writer.inside(block):
            self.writer.add(scf.YieldOp(body(block.args[0], block.args[1])))
        return self.writer.value(scf.ForOp(lower, upper, by, [start], block), "acc")

    def _chunk(self, k: SSAValue, accumulator: SSAValue) -> SSAValue:
        extent = self.writer.clipped(self.shape.k, self.length, k, "kk")
        along = Span(self.domain.contraction, self.writer.plus(self.base, k), extent, self.shape.k)
        left, right = self.domain.operands
        a = self._load(left, *((along, self.rows) if left.transposed else (self.rows, along)), "a")
        b = self._load(right, *((self.columns, along) if right.transposed else (along, self.columns)), "b")
        return self._loop("q", extent, self.shape.k0, accumulator, lambda q, c: self._mmad(a, b, k, q, extent, c))

    def _load(self, side: Operand, first: Span, second: Span, name: str) -> SSAValue:
        """A chunk of an operand in L1, its dimensions in the order in which they lie in memory."""
        follows = side.groups[:-2]
        sizes = [size if f else 1 for size, f in zip(self.domain.sizes[:-2], follows, strict=True)]
        points = [point if f else 0 for point, f in zip(self.points, follows, strict=True)]
        source = self.view(side.argument, [*sizes, first.size, second.size])
        type_ = on_chip([first.room, second.room], tensor_type(source).get_element_type(), Space.L1)
        load = tile.LoadOp(source, [*points, first.offset, second.offset], [first.extent, second.extent], type_)
        return self.writer.value(load, name)

    def _mmad(self, a: SSAValue, b: SSAValue, k: SSAValue, q: SSAValue, extent: Index, accumulator: SSAValue) -> SSAValue:
        step = self.shape.k0
        even = self.shape.k % step == 0 and isinstance(self.length, int) and self.length % step == 0
        valid = step if even else self.writer.clipped(step, extent, q, "kq")
        left, right = self.domain.operands
        a0 = self._move(a, left.transposed, [0, q], [self.rows.extent, valid], [self.shape.rows, step], Space.L0A)
        b0 = self._move(b, right.transposed, [q, 0], [valid, self.columns.extent], [step, self.shape.columns], Space.L0B)
        position = self.writer.value(arith.AddiOp(k, q))
        first = self.writer.value(arith.CmpiOp(position, self.writer.index(0), "eq"), "first")
        return self.writer.value(tile.MmadOp(a0, b0, accumulator, first), "c")

    def _move(self, x: SSAValue, transposed: bool, offsets: list[Index], valid: list[Index], room: list[int], space: Space) -> SSAValue:
        type_ = on_chip(room, tensor_type(x).get_element_type(), space)
        flags = ["transpose"] if transposed else []
        return self.writer.value(tile.MoveOp(x, offsets[::-1] if transposed else offsets, valid, type_, flags=flags), space.value[-1] + "0")
