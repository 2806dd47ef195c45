"""The loops of a matmul's tile: chunks of k in L1, steps of k0 in L0, one accumulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, BlockArgument, SSAValue

from ge_compiler.dialects import fused, tile
from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.types import tensor_type
from ge_compiler.lowering.tiling.shapes import TileShape
from ge_compiler.lowering.tiling.writer import Index, Writer, on_chip
from ge_compiler.transforms.iteration.domain import Domain, Window


@dataclass(frozen=True)
class Span:
    """One dimension of an operand: its size, where the tile starts in it, and the tile's valid extent and room."""

    size: int
    offset: Index
    extent: Index
    room: int


@dataclass(frozen=True)
class Side:
    """A matrix operand of a matmul: the argument that it is a window of."""

    argument: BlockArgument
    window: Window
    k_is_inner: bool
    """Whether the elements of the contraction lie one behind the other, and not rows of the left or columns of the right operand."""

    @staticmethod
    def of(domain: Domain, number: int) -> Side:
        """The left (0) or the right (1) operand."""
        anchor = domain.anchor
        assert isinstance(anchor, fused.MatmulOp)
        argument, window = domain.operand(number)
        written = (anchor.transpose_a is None) if number == 0 else (anchor.transpose_b is not None)
        innermost = {True: window.inner[0], False: window.strides[number - 2]}
        # A dimension of one element has no stride, and may be either.
        return Side(argument, window, next((k for k in (written, not written) if innermost[k] in (0, 1)), written))


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
    view: Callable[[BlockArgument, int, Sequence[tuple[int, int]]], SSAValue]
    """A window of a kernel's argument: its offset, and the size and stride of each dimension."""

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
        a = self._load(self.left, self.rows, along, -2, "a")
        b = self._load(self.right, self.columns, along, -1, "b")
        return self._loop("q", extent, self.shape.k0, accumulator, lambda q, c: self._mmad(a, b, k, q, extent, c))

    @property
    def left(self) -> Side:
        return Side.of(self.domain, 0)

    @property
    def right(self) -> Side:
        return Side.of(self.domain, 1)

    def _load(self, side: Side, outer: Span, along: Span, axis: int, name: str) -> SSAValue:
        """A chunk of an operand in L1, its dimensions in the order in which they lie in memory."""
        window = side.window
        follows = [stride != 0 for stride in window.strides[:-2]]
        dims = [(size, stride) if stride else (1, 1) for size, stride in zip(self.domain.sizes[:-2], window.strides, strict=False)]
        points = [point if f else 0 for point, f in zip(self.points, follows, strict=True)]
        spans = [(outer, window.strides[axis] or 1), (along, window.inner[0] or 1)]
        (first, _), (second, _) = spans = spans if side.k_is_inner else spans[::-1]
        source = self.view(side.argument, window.offset, [*dims, *((span.size, stride) for span, stride in spans)])
        type_ = on_chip([first.room, second.room], tensor_type(source).get_element_type(), Space.L1)
        load = tile.LoadOp(source, [*points, first.offset, second.offset], [first.extent, second.extent], type_)
        return self.writer.value(load, name)

    def _mmad(self, a: SSAValue, b: SSAValue, k: SSAValue, q: SSAValue, extent: Index, accumulator: SSAValue) -> SSAValue:
        step = self.shape.k0
        even = self.shape.k % step == 0 and isinstance(self.length, int) and self.length % step == 0
        valid = step if even else self.writer.clipped(step, extent, q, "kq")
        a0 = self._move(a, not self.left.k_is_inner, [0, q], [self.rows.extent, valid], [self.shape.rows, step], Space.L0A)
        b0 = self._move(b, self.right.k_is_inner, [q, 0], [valid, self.columns.extent], [step, self.shape.columns], Space.L0B)
        position = self.writer.value(arith.AddiOp(k, q))
        first = self.writer.value(arith.CmpiOp(position, self.writer.index(0), "eq"), "first")
        return self.writer.value(tile.MmadOp(a0, b0, accumulator, first), "c")

    def _move(self, x: SSAValue, transposed: bool, offsets: list[Index], valid: list[Index], room: list[int], space: Space) -> SSAValue:
        type_ = on_chip(room, tensor_type(x).get_element_type(), space)
        flags = ["transpose"] if transposed else []
        return self.writer.value(tile.MoveOp(x, offsets[::-1] if transposed else offsets, valid, type_, flags=flags), space.value[-1] + "0")
