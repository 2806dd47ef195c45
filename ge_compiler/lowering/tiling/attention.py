"""The loop of an attention tile: queries in L1, blocks of keys and values one after the other, what is carried in the unified buffer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, f32, i1, i32
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from ge_compiler.dialects import tile
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.functions import FUNCTIONS
from ge_compiler.dialects.fused import AttentionOp
from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.dialects.types import tensor_type
from ge_compiler.lowering.tiling.attention_block import Facts, emit_block, emit_result, emit_start
from ge_compiler.lowering.tiling.attention_shape import AttentionShape, is_turned_matrix, matrix_strides
from ge_compiler.lowering.tiling.turned import turned
from ge_compiler.lowering.tiling.writer import Index, Writer, on_chip
from ge_compiler.transforms.iteration.domain import Domain

View = Callable[[BlockArgument, int, Sequence[tuple[int, int]]], SSAValue]
"""A window of a kernel's argument: its offset, and the size and stride of each dimension."""


@dataclass(frozen=True)
class Matrices:
    """A stack of matrices in global memory, and the point of it that a tile needs; a mask may repeat one row or one column."""

    source: SSAValue
    points: tuple[Index, ...]
    turned: bool = False
    """Whether rows, and not columns, lie one behind the other: then the source has them as columns."""

    @property
    def element(self) -> Attribute:
        return tensor_type(self.source).get_element_type()


@dataclass(frozen=True)
class Queries:
    """The rows of a tile: where they start, how many there are, and which of them are the lane's."""

    offset: Index
    extent: Index
    lane_start: Index
    lane_extent: Index
    number: Index
    """The number of the first one among all queries, by which a causal mask counts."""
    step: int = 1
    """How much that number grows from row to row."""


@dataclass(frozen=True)
class Operands:
    """What an attention reads."""

    q: Matrices
    k: Matrices
    v: Matrices
    mask: Matrices | None

    @staticmethod
    def of(domain: Domain, offsets: Sequence[Index], view: View) -> Operands:
        """The operands of a kernel's anchor at a point of its domain, an offset for each group."""
        assert isinstance(domain.anchor, AttentionOp)
        found: list[Matrices] = []
        for number in range(len(domain.anchor.operands)):
            argument, window = domain.operand(number)
            strides = (*window.strides[:-2], *(matrix_strides(window)[number]))
            dims = [(n, s) if s else (1, 1) for n, s in zip(_sizes(domain, number), strides, strict=True)]
            if 0 in tensor_type(argument).get_shape():
                # Without elements there are no strides to tell what is repeated, and nothing is read.
                dims = [*dims[:-2], *((n, 1) for n in _sizes(domain, number)[-2:])]
            points = tuple(o if s else 0 for o, s in zip(offsets[:-2], strides, strict=False))
            is_turned = number < 3 and is_turned_matrix(domain, number)
            found.append(Matrices(view(argument, window.offset, turned(dims) if is_turned else dims), points, is_turned))
        q, k, v, *mask = found
        return Operands(q, k, v, mask[0] if mask else None)


def _sizes(domain: Domain, number: int) -> list[int]:
    """How many points, rows and columns operand `number` has where it follows them."""
    d, keys = (group.size for group in domain.inner)
    rows, columns = domain.sizes[-2:]
    return [*domain.sizes[:-2], *((rows, d), (keys, d), (keys, columns), (rows, keys))[number]]


@dataclass(frozen=True)
class Side:
    """An operand of a product in L1, and whether it lies there the other way round."""

    tile: SSAValue
    transposed: bool


@dataclass
class AttentionLoops:
    """Writes the loop for one tile of queries."""

    writer: Writer
    target: NpuTarget
    shape: AttentionShape
    facts: Facts
    rows: Queries
    operands: Operands
    _index: SSAValue = field(init=False)
    """The first key of the block."""
    _keys: Index = field(init=False)
    """How many keys the block has."""
    _queries: SSAValue = field(init=False)

    def write(self) -> SSAValue:
        """The finished rows of the lane, in the unified buffer, in f32."""
        rows, d = self.shape.rows, self.shape.d
        self._queries = self._load(self.operands.q, self.rows.offset, [self.rows.extent, d], [rows, d], "q")
        carried = emit_start(self)
        block = Block(arg_types=[IndexType(), *(x.type for x in carried)])
        for argument, name in zip(block.args, ("j", "m", "l", "o"), strict=True):
            argument.name_hint = name
        lower, upper, step = (self.writer.index(i) for i in (0, self._end(), self.shape.keys))
        with self.writer.inside(block):
            self._index, *before = block.args
            self._keys = self.writer.clipped(self.shape.keys, self.shape.sk, self._index, "keys")
            self.writer.add(scf.YieldOp(*emit_block(self.facts, self, *before)))
        loop = self.writer.add(scf.ForOp(lower, upper, step, carried, block))
        for result, name in zip(loop.results, ("m", "l", "o"), strict=True):
            result.name_hint = name
        _, total, weighted = loop.results
        return emit_result(self, total, weighted)

    def _end(self) -> Index:
        """Behind the last key that a query of the tile sees."""
        keys = self.shape.sk
        if not self.facts.causal:
            return keys
        behind = self.writer.plus(self._number(self.rows.extent), 1 - self.rows.step)
        if isinstance(behind, int):
            return min(keys, behind)
        return self.writer.value(arith.MinSIOp(self.writer.index(keys), behind), "end")

    def _number(self, row: Index) -> Index:
        """The number of a row of the tile among all queries."""
        return self.writer.plus(self.rows.number, row if self.rows.step == 1 else self.writer.multiply(row, self.rows.step, "number"))

    # ---- the sink of the arithmetic -----------------------------------------------------------------------------------

    def start(self, value: float, name: str) -> SSAValue:
        columns = self.shape.dv if name == "o" else 1
        type_ = on_chip([self.shape.part, columns], f32, Space.UB)
        return self.writer.value(tile.FullOp(FloatAttr(value, f32), [self.rows.lane_extent, columns], type_), name)

    def scores(self) -> SSAValue:
        d = self.shape.d
        keys = self._load(self.operands.k, self._index, [self._keys, d], [self.shape.keys, d], "k")
        sides = Side(self._queries, self.operands.q.turned), Side(keys, not self.operands.k.turned)
        return self._to_lanes(self._multiply(*sides, (d, d), (self._keys, self.shape.keys), "s"), self._keys, "s")

    def mask(self) -> SSAValue:
        mask = self.operands.mask
        assert mask is not None
        rows, columns = (size != 1 for size in tensor_type(mask.source).get_shape()[-2:])
        start = self.writer.plus(self.rows.offset, self.rows.lane_start)
        offsets = [*mask.points, start if rows else 0, self._index if columns else 0]
        type_ = on_chip([self.shape.part if rows else 1, self.shape.keys if columns else 1], mask.element, Space.UB)
        valid = [self.rows.lane_extent if rows else 1, self._keys if columns else 1]
        return self.writer.value(tile.LoadOp(mask.source, offsets, valid, type_), "mask")

    def ahead(self) -> SSAValue:
        first = self.writer.index(self._number(self.rows.lane_start))
        base = self.writer.value(arith.SubiOp(self._index, first), "ahead")
        type_ = on_chip([self.shape.part, self.shape.keys], i32, Space.UB)
        return self.writer.value(tile.IotaOp(base, (-self.rows.step, 1), [self.rows.lane_extent, self._keys], type_), "ahead")

    def constant(self, value: float, element: Attribute) -> SSAValue:
        attribute = FloatAttr(value, f32) if element == f32 else IntegerAttr(int(value), i32)
        return self.writer.value(tile.FullOp(attribute, [1, 1], on_chip([1, 1], element, Space.UB)), "constant")

    def function(self, name: str, operands: list[SSAValue], scalar: float | None = None) -> SSAValue:
        types = [tensor_type(x) for x in operands]
        shape = [max(sizes) for sizes in zip(*(t.get_shape() for t in types), strict=True)]
        result = on_chip(shape, i1 if FUNCTIONS[name].is_predicate else types[-1].get_element_type(), Space.UB)
        properties = {} if scalar is None else {"scalar": FloatAttr(scalar, f32)}
        return self.writer.value(tile.ELEMENTWISE[name].create(operands=operands, result_types=[result], properties=properties), name)

    def reduce(self, kind: str, x: SSAValue) -> SSAValue:
        return self.writer.value(tile.ReduceOp(x, kind, 1), kind)

    def cast(self, x: SSAValue, element: Attribute) -> SSAValue:
        type_ = tensor_type(x)
        if type_.get_element_type() == element:
            return x
        return self.writer.value(tile.CastOp(x, on_chip(type_.get_shape(), element, Space.UB)), f"{x.name_hint}_{element}")

    def product(self, weights: SSAValue) -> SSAValue:
        keys, dv = (self._keys, self.shape.keys), self.shape.dv
        values = self._load(self.operands.v, self._index, [self._keys, dv], [self.shape.keys, dv], "v")
        sides = Side(self._assemble(weights), transposed=False), Side(values, self.operands.v.turned)
        return self._to_lanes(self._multiply(*sides, keys, (dv, dv), "pv"), dv, "pv")

    # ---- between the cube and the lanes -------------------------------------------------------------------------------

    def _load(self, matrices: Matrices, row: Index, valid: Sequence[Index], room: Sequence[int], name: str) -> SSAValue:
        """Rows of matrices in L1, as they lie in memory."""
        place: Sequence[Index] = [row, 0]
        if matrices.turned:
            place, valid, room = turned(place), turned(valid), turned(room)
        load = tile.LoadOp(matrices.source, [*matrices.points, *place], valid, on_chip(room, matrices.element, Space.L1))
        return self.writer.value(load, name)

    def _assemble(self, weights: SSAValue) -> SSAValue:
        """All lanes' weights in L1."""
        room, valid = [self.shape.rows, self.shape.keys], [self.rows.extent, self._keys]
        value = weights
        for path in self._route(Space.UB, Space.L1):
            type_ = on_chip(room, self.facts.element, path.destination)
            start = [self.rows.lane_start, 0]
            op = tile.AssembleOp(value, start, valid, type_) if path.source is Space.UB else tile.LoadOp(value, [0, 0], valid, type_)
            value = self.writer.value(op, "p")
        return value

    def _to_lanes(self, accumulator: SSAValue, extent: Index, name: str) -> SSAValue:
        """Every lane's rows of an accumulator with `extent` valid columns."""
        (_, columns), value = tensor_type(accumulator).get_shape(), accumulator
        *before, last = self._route(Space.L0C, Space.UB)
        for path in before:
            type_ = on_chip([self.shape.rows, columns], f32, path.destination)
            value = self.writer.value(tile.MoveOp(value, [0, 0], [self.rows.extent, extent], type_), name)
        bring = tile.LoadOp if last.source is Space.GM else tile.MoveOp
        part = on_chip([self.shape.part, columns], f32, Space.UB)
        return self.writer.value(bring(value, [self.rows.lane_start, 0], [self.rows.lane_extent, extent], part), name)

    def _route(self, source: Space, destination: Space) -> Sequence[Any]:
        route = self.target.route(source, destination)
        if not route:
            message = f"attention needs a way from {source} to {destination}, which {self.target.name} does not have"
            raise CompileError(message, self.writer.location)
        return route

    # ---- the cube -----------------------------------------------------------------------------------------------------

    def _multiply(self, a: Side, b: Side, inner: tuple[Index, int], columns: tuple[Index, int], name: str) -> SSAValue:
        """a·b, summed in steps of k0; `inner` and `columns` are valid extents and the room for them."""
        (length, room), (extent, width) = inner, columns
        step = self.shape.step(room)

        def product(at: Index, valid: Index, accumulator: SSAValue, first: SSAValue) -> SSAValue:
            a0 = self._move(a, [0, at], [self.rows.extent, valid], [self.shape.rows, step], Space.L0A)
            b0 = self._move(b, [at, 0], [valid, extent], [step, width], Space.L0B)
            return self.writer.value(tile.MmadOp(a0, b0, accumulator, first), name)

        empty = self.writer.value(tile.UndefOp(on_chip([self.shape.rows, width], f32, Space.L0C)), "undef")
        if step == room:
            true = self.writer.value(arith.ConstantOp(IntegerAttr.from_bool(True)), "true")
            return product(0, length, empty, true)
        return self._steps(length, step, empty, product)

    def _steps(
        self, length: Index, step: int, start: SSAValue, product: Callable[[Index, Index, SSAValue, SSAValue], SSAValue]
    ) -> SSAValue:
        lower, upper, by = (self.writer.index(i) for i in (0, length, step))
        block = Block(arg_types=[IndexType(), start.type])
        block.args[0].name_hint, block.args[1].name_hint = "q", "c"
        with self.writer.inside(block):
            index, accumulator = block.args
            first = self.writer.value(arith.CmpiOp(index, lower, "eq"), "first")
            valid = self.writer.clipped(step, length, index, "kq")
            self.writer.add(scf.YieldOp(product(index, valid, accumulator, first)))
        return self.writer.value(scf.ForOp(lower, upper, by, [start], block), "acc")

    def _move(self, side: Side, offsets: list[Index], valid: list[Index], room: list[int], space: Space) -> SSAValue:
        type_ = on_chip(room, tensor_type(side.tile).get_element_type(), space)
        place, flags = (turned(offsets), ["transpose"]) if side.transposed else (offsets, [])
        return self.writer.value(tile.MoveOp(side.tile, place, valid, type_, flags=flags), space.value[-1] + "0")
