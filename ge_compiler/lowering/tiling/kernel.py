"""Writes a kernel at `tile`: its grid, the lane's part of each tile, and the tiles in the unified buffer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import FloatAttr, FunctionType, IndexType, IntegerAttr, TensorType, f32, i1
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from ge_compiler.dialects import fused, npu, tile
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.functions import FUNCTIONS, identity_of
from ge_compiler.dialects.locations import located
from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.dialects.tile.window import row_major
from ge_compiler.dialects.types import tensor_type
from ge_compiler.lowering.tiling.attention import AttentionLoops, Operands, Queries
from ge_compiler.lowering.tiling.attention_block import Facts
from ge_compiler.lowering.tiling.attention_shape import AttentionShape
from ge_compiler.lowering.tiling.emission import emit
from ge_compiler.lowering.tiling.matmul import MatmulLoops, Span
from ge_compiler.lowering.tiling.shapes import TileShape, tile_shape
from ge_compiler.lowering.tiling.sink import Follows, Scalar
from ge_compiler.lowering.tiling.turned import is_turned, turned
from ge_compiler.lowering.tiling.writer import Index, Writer, on_chip
from ge_compiler.transforms.iteration.domain import Domain, Window, domain_of

Dims = Sequence[tuple[int, int]]
"""Size and stride of each dimension of a view."""


class KernelWriter:
    """The kernel that is being written; the sink of its emission."""

    def __init__(self, kernel: FuncOp, target: NpuTarget):
        self.domain: Domain = domain_of(kernel)
        self.old = kernel
        self.target = target
        self.shape: TileShape = tile_shape(self.domain, kernel, target)
        results = list(kernel.function_type.outputs)
        entry = Block(arg_types=[*kernel.function_type.inputs, *results])
        self.entry = entry
        self.arguments: dict[SSAValue, SSAValue] = dict(zip(kernel.body.block.args, entry.args, strict=False))
        for old, new in self.arguments.items():
            new.name_hint = old.name_hint
        self.outputs: list[SSAValue] = list(entry.args[len(self.arguments) :])
        for i, out in enumerate(self.outputs):
            out.name_hint = "out" if len(self.outputs) == 1 else f"out{i}"
        self.writer = Writer(entry, entry, kernel.location)
        self.views: dict[tuple[SSAValue, int, tuple[tuple[int, int], ...]], SSAValue] = {}

    # Where the current tile lies, and the lane's part of it: filled in when a grid is entered, changed by loops over chunks.
    offsets: list[Index]
    """For each group of the domain."""
    extents: tuple[Index, Index]
    lane_starts: tuple[Index, Index]
    lane_extents: tuple[Index, Index]
    known_offsets: list[Index] | None = None
    """Where the lane's part lies, once somebody has asked in this block."""
    partials: SSAValue

    def write(self) -> FuncOp:
        """The kernel at `tile`."""
        grid, splits = self.shape.grid(self.domain), self.shape.splits
        if splits > 1:
            self.partials = self._partials()
            self._grid((splits, *grid), self._partial)
        self._grid(grid, self._whole)
        self.writer.add(ReturnOp())
        type_ = FunctionType.from_lists([a.type for a in self.entry.args], [])
        new = FuncOp(self.old.sym_name.data, type_, Region(self.entry), visibility="private")
        new.attributes |= self.old.attributes
        return located(new, self.old.location)

    # ---- the grid

    def _grid(self, bounds: tuple[int, ...], body: Callable[[Sequence[BlockArgument], tuple[int, ...]], None]) -> None:
        """A grid whose blocks do what `body` writes, which takes the coordinates in the order of `bounds`."""
        block = Block(arg_types=[IndexType()] * len(bounds))
        order, names = self._order(len(bounds)), _grid_names(len(bounds))
        for arg, d in zip(block.args, order, strict=True):
            arg.name_hint = names[d]
        with self.writer.inside(block):
            body([block.args[order.index(d)] for d in range(len(bounds))], bounds)
        self.writer.location = self.old.location
        self.writer.add(tile.ForallOp([bounds[d] for d in order], block))

    def _order(self, rank: int) -> list[int]:
        """The dimensions of a grid, the slowest first.

        Queries that do not look ahead see the more keys the later they are: blocks of the same queries are shared out among the cores.
        """
        anchor = self.domain.anchor
        if isinstance(anchor, fused.AttentionOp) and anchor.causal is not None:
            return [rank - 2, *range(rank - 2), rank - 1]
        return list(range(rank))

    def _whole(self, points: Sequence[BlockArgument], grid: tuple[int, ...]) -> None:
        """A tile from its operands to its results."""
        self._locate(points, grid)
        self._share_out()
        emit(self.domain, self.shape, self)

    def _partial(self, points: Sequence[BlockArgument], grid: tuple[int, ...]) -> None:
        """A tile of one part of the contraction, to where the second grid reads it."""
        assert self.domain.anchor is not None
        self.writer.location = self.domain.anchor.location
        self._locate(points[1:], grid[1:])
        base = self.writer.multiply(points[0], self.shape.k_part, "base")
        value = self._loops(base, self.writer.clipped(self.shape.k_part, self.domain.contraction, base, "length"))
        for path in self.target.route(Space.L0C, Space.GM)[:-1]:
            type_ = on_chip(self.shape.matrix, tensor_type(value).get_element_type(), path.destination)
            value = self.writer.value(tile.MoveOp(value, [0, 0], self.extents, type_), "acc")
        self.writer.add(tile.StoreOp(value, self.partials, [points[0], *self.offsets]))

    def _partials(self) -> SSAValue:
        """A tensor with room for every part's product."""
        assert self.domain.anchor is not None
        element = tensor_type(self.domain.anchor.result).get_element_type()
        return self.writer.value(EmptyOp([], TensorType(element, [self.shape.splits, *self.domain.sizes])), "partials")

    def _locate(self, points: Sequence[BlockArgument], grid: tuple[int, ...]) -> None:
        domain = self.domain
        self.offsets = [0] * len(domain.groups)
        for group, point, extent in zip(domain.points, points, grid, strict=False):
            self.offsets[group] = 0 if extent == 1 else point
        extents: list[Index] = []
        sides = zip((-2, -1), points[-2:], grid[-2:], self.shape.matrix, ("m", "n"), strict=True)
        for axis, point, tiles, step, name in sides:
            if tiles != 1:
                self.offsets[axis] = self.writer.multiply(point, step, f"{name}0") if step != 1 else point
            extents.append(self.writer.clipped(step, domain.sizes[axis], self.offsets[axis], name))
        self.extents = extents[0], extents[1]

    def _share_out(self) -> None:
        """Give each lane its part of the tile: an equal share of rows or columns, of which the last lanes may have less, or none."""
        starts: list[Index] = [0, 0]
        extents: list[Index] = list(self.extents)
        axis, share = self.shape.lane_axis, self.shape.part[self.shape.lane_axis]
        if self.shape.lanes > 1:
            lane = self.writer.value(npu.SubBlockIdxOp(), "lane")
            starts[axis] = self.writer.multiply(lane, share, "start")
            extents[axis] = self.writer.share(share, self.shape.lanes, self.extents[axis], starts[axis], "part")
        self.lane_starts, self.lane_extents = (starts[0], starts[1]), (extents[0], extents[1])
        self.known_offsets = None

    def lane_offsets(self) -> list[Index]:
        """Where the lane's part of the tile lies in the domain: an offset for each group."""
        if self.known_offsets is None:
            self.known_offsets = self._lane_offsets()
        return self.known_offsets

    def _lane_offsets(self) -> list[Index]:
        matrix = [self.writer.plus(o, s) for o, s in zip(self.offsets[-2:], self.lane_starts, strict=True)]
        return [*self.offsets[:-2], *matrix]

    # ---- views of global memory

    def view(self, value: SSAValue, offset: int, dims: Dims) -> SSAValue:
        """A window of a global tensor, made once before the grid; the tensor itself, or another shape of it, where that is the same."""
        type_ = tensor_type(value)
        shape, strides = tuple(size for size, _ in dims), [stride for _, stride in dims]
        in_order = all(size == 1 or stride == own for (size, stride), own in zip(dims, row_major(shape), strict=True))
        whole = offset == 0 and prod(shape) == prod(type_.get_shape()) and (in_order or not prod(shape))
        if whole and type_.get_shape() == shape:
            return value
        key = (value, offset, tuple(dims))
        if key not in self.views:
            window = (None, None) if whole else (offset, strides)
            with self.writer.inside(self.entry):
                view = tile.ViewOp(value, TensorType(type_.get_element_type(), shape), *window)
                self.views[key] = self.writer.value(view, value.name_hint)
        return self.views[key]

    def dims(self, window: Window) -> list[tuple[int, int]]:
        """Size and stride along each group of the domain: 1 and 1 along those that the window does not follow."""
        return [(size, stride) if stride else (1, 1) for size, stride in zip(self.domain.sizes, window.strides, strict=True)]

    # ---- tiles in the unified buffer

    def at(self, op: Operation) -> None:
        self.writer.location = op.location

    def load(self, argument: BlockArgument, window: Window, follows: Follows) -> SSAValue:
        dims, offsets = self.dims(window), self._places(window)
        valid, shape = self._valid(follows), self._room(follows)
        if is_turned(window):
            dims, offsets, valid, shape = turned(dims), turned(offsets), turned(valid), turned(shape)
        type_ = on_chip(shape, tensor_type(argument).get_element_type(), Space.UB)
        source = self.view(self.arguments[argument], window.offset, dims)
        loaded = self.writer.value(tile.LoadOp(source, offsets, valid, type_), argument.name_hint)
        return self.writer.value(tile.TransposeOp(loaded), argument.name_hint) if is_turned(window) else loaded

    def load_rows(self, argument: BlockArgument, window: Window, indices: SSAValue, follows: Follows) -> SSAValue:
        source, offsets = self._table(self.arguments[argument], window)
        type_ = on_chip(self._room(follows), tensor_type(argument).get_element_type(), Space.UB)
        return self.writer.value(tile.LoadRowsOp(source, indices, offsets, self._valid(follows), type_), argument.name_hint)

    def _places(self, window: Window) -> list[Index]:
        """Where the lane's part begins along each group that a window follows."""
        return [o if stride else 0 for o, stride in zip(self.lane_offsets(), window.strides, strict=True)]

    def _table(self, value: SSAValue, window: Window) -> tuple[SSAValue, list[Index]]:
        """A window whose entries data choose, as a table of them, and where the lane's part begins along its other dimensions."""
        assert window.entries is not None
        (stride, count), (*points, _, columns), (*places, _, column) = window.entries, self.dims(window), self._places(window)
        return self.view(value, window.offset, [*points, (count, stride), columns]), [*places, column]

    def iota(self, element: Attribute, offset: int, strides: tuple[int, ...], follows: Follows) -> SSAValue:
        base = self.number(offset, strides, self.lane_offsets())
        type_ = on_chip(self._room(follows), element, Space.UB)
        return self.writer.value(tile.IotaOp(base, strides[-2:], self._valid(follows), type_), "iota")

    def number(self, offset: int, strides: tuple[int, ...], places: Sequence[Index]) -> Index:
        """A number that grows along each group of the domain, at a place in each."""
        total: Index = offset
        for place, stride in zip(places, strides, strict=True):
            if stride:
                total = self.writer.plus(total, self.writer.multiply(place, stride, "number") if stride != 1 else place)
        return total

    def function(self, name: str, operands: list[SSAValue], scalar: Scalar | None) -> SSAValue:
        types = [tensor_type(x) for x in operands]
        shape = [max(dims) for dims in zip(*(t.get_shape() for t in types), strict=True)]
        element = i1 if FUNCTIONS[name].is_predicate else types[-1].get_element_type()
        properties = {} if scalar is None else {"scalar": scalar}
        op = tile.ELEMENTWISE[name].create(operands=operands, result_types=[on_chip(shape, element, Space.UB)], properties=properties)
        return self.writer.value(op, name)

    def cast(self, x: SSAValue, element: Attribute) -> SSAValue:
        cast = tile.CastOp(x, on_chip(tensor_type(x).get_shape(), element, Space.UB))
        return self.writer.value(cast, f"{x.name_hint or 'tile'}_{element}")

    def full(self, value: Scalar) -> SSAValue:
        return self.writer.value(tile.FullOp(value, [1, 1], on_chip([1, 1], value.type, Space.UB)), "full")

    def broadcast(self, x: SSAValue, follows: Follows) -> SSAValue:
        wide = on_chip(self._room(follows), tensor_type(x).get_element_type(), Space.UB)
        return self.writer.value(tile.BroadcastOp(x, self._valid(follows), wide), "repeated")

    def initial(self, kind: str, element: Attribute, follows: Follows) -> SSAValue:
        number = identity_of(kind, str(element))
        value = FloatAttr(number, element) if isinstance(number, float) else IntegerAttr(number, element)  # pyright: ignore
        full = tile.FullOp(value, self._valid(follows), on_chip(self._room(follows), element, Space.UB))
        return self.writer.value(full, kind)

    def reduce(self, kind: str, x: SSAValue, axis: int) -> SSAValue:
        return self.writer.value(tile.ReduceOp(x, kind, axis), kind)

    def loops(self, groups: Sequence[int], carried: list[SSAValue], body: Callable[[list[SSAValue]], list[SSAValue]]) -> list[SSAValue]:
        if not groups:
            return body(carried)
        group, *rest = groups
        axis = group - len(self.domain.groups)
        size, step = self.domain.sizes[group], self.shape.matrix[axis] if axis >= -2 else 1
        block = Block(arg_types=[IndexType(), *(x.type for x in carried)])
        block.args[0].name_hint = {-2: "m0", -1: "n0"}.get(axis, f"r{group}")
        for inner, outer in zip(block.args[1:], carried, strict=True):
            inner.name_hint = outer.name_hint
        before = list(self.offsets), self.extents, self.lane_extents, self.known_offsets
        lower, upper, by = (self.writer.index(v) for v in (0, size, step))
        with self.writer.inside(block):
            self._enter(axis, size, step, block.args[0])
            self.writer.add(scf.YieldOp(*self.loops(rest, list(block.args[1:]), body)))
        self.offsets, self.extents, self.lane_extents, self.known_offsets = before
        results = self.writer.add(scf.ForOp(lower, upper, by, carried, block)).results
        for result, outer in zip(results, carried, strict=True):
            result.name_hint = outer.name_hint
        return list(results)

    def _enter(self, axis: int, size: int, step: int, index: SSAValue) -> None:
        """Go on to the chunk at `index` along one group."""
        self.offsets[axis], self.known_offsets = index, None
        if axis >= -2:
            extent = self.writer.clipped(step, size, index, "mm" if axis == -2 else "nn")
            self.extents = (extent, self.extents[1]) if axis == -2 else (self.extents[0], extent)
            lane = self.lane_extents
            self.lane_extents = (extent, lane[1]) if axis == -2 else (lane[0], extent)

    def store(self, x: SSAValue, result: int, window: Window) -> None:
        dims, offsets = self.dims(window), self._places(window)
        if is_turned(window):
            x, dims, offsets = self.writer.value(tile.TransposeOp(x), "turned"), turned(dims), turned(offsets)
        self.writer.add(tile.StoreOp(x, self.view(self.outputs[result], window.offset, dims), offsets))

    def store_rows(self, x: SSAValue, indices: SSAValue, result: int, window: Window) -> None:
        into, offsets = self._table(self.outputs[result], window)
        self.writer.add(tile.StoreRowsOp(x, indices, into, offsets))

    def _room(self, follows: Sequence[bool]) -> list[int]:
        return [room if f else 1 for room, f in zip(self.shape.part, follows, strict=True)]

    def _valid(self, follows: Sequence[bool]) -> list[Index]:
        return [extent if f else 1 for extent, f in zip(self.lane_extents, follows, strict=True)]

    # ---- the anchor

    def accumulator(self) -> SSAValue:
        anchor = self.domain.anchor
        assert anchor is not None
        if isinstance(anchor, fused.AttentionOp):
            return self._attention(anchor)
        return self.to_lanes(self._loops(0, self.domain.contraction), anchor)

    def _attention(self, anchor: fused.AttentionOp) -> SSAValue:
        if 0 in self.domain.sizes:
            return self.initial("sum", f32, (True, True))  # in a block that never runs
        index = self.domain.needed(anchor.result)[0][-2]
        strides = self.domain.strides(index)
        number = self.number(index.offset, strides, self.offsets)
        rows = Queries(self.offsets[-2], self.extents[0], self.lane_starts[0], self.lane_extents[0], number, strides[-2] or 1)
        operands = Operands.of(self.domain, self.offsets, self.operand_view)
        shape = AttentionShape.of(self.domain, self.shape)
        return AttentionLoops(self.writer, self.target, shape, Facts.of(anchor), rows, operands).write()

    def _loops(self, base: Index, length: Index) -> SSAValue:
        """The product over one part of the contraction, in L0C."""
        spans = [Span(*span) for span in zip(self.domain.sizes[-2:], self.offsets[-2:], self.extents, self.shape.matrix, strict=True)]
        return MatmulLoops(
            self.writer, self.domain, self.shape, self.offsets[:-2], spans[0], spans[1], base, length, self.operand_view
        ).write()

    def operand_view(self, argument: BlockArgument, offset: int, dims: Dims) -> SSAValue:
        """A window of an argument of the kernel."""
        return self.view(self.arguments[argument], offset, dims)

    def partial(self, part: int) -> SSAValue:
        type_ = on_chip(self.shape.part, tensor_type(self.partials).get_element_type(), Space.UB)
        return self.writer.value(tile.LoadOp(self.partials, [part, *self.lane_offsets()], self.lane_extents, type_), "partial")

    def to_lanes(self, result: SSAValue, anchor: Operation) -> SSAValue:
        """The lanes' parts of an accumulator in L0C, in the unified buffer."""
        route = self.target.route(Space.L0C, Space.UB)
        if not route:
            raise CompileError.at(anchor, f"needs a way from l0c to ub, which {self.target.name} does not have")
        element = tensor_type(result).get_element_type()
        for path in route[:-1]:
            moved = tile.MoveOp(result, [0, 0], self.extents, on_chip(self.shape.matrix, element, path.destination))
            result = self.writer.value(moved, "workspace")
        last = tile.LoadOp if route[-1].source is Space.GM else tile.MoveOp
        return self.writer.value(last(result, self.lane_starts, self.lane_extents, on_chip(self.shape.part, element, Space.UB)), "acc")


def _grid_names(rank: int) -> list[str]:
    return [*(f"b{i}" for i in range(rank - 2)), "i", "j"]
