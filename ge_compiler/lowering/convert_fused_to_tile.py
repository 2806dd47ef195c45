"""
Give every kernel its grid, its loops and its tiles, as its schedule says.

    func.func private @Relu(%x: tensor<100xf16>) -> tensor<100xf16> attributes {schedule = #tile.schedule<m = 1, n = 64>} { ... }
    // becomes
    func.func private @Relu(%x: tensor<100xf16>, %out: tensor<100xf16>) attributes {schedule = ...} {
      %x0 = tile.view %x : tensor<100xf16> to tensor<1x100xf16>      // and %out0
      tile.forall (%i, %j) in (1, 2) {
        %t = tile.load %x0[0, %j0] valid [1, %n] ...                  // then cast, relu, cast, tile.store

A kernel is written once, for one lane. A matmul accumulates over chunks of k in L1 and of k0 in L0; everything else happens to its tile
in the unified buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, IndexType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ge_compiler.dialects import fused, npu, tile
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.locations import located
from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.target import NpuTarget, target_of
from ge_compiler.dialects.types import tensor_type
from ge_compiler.lowering.tiling.domain import Domain, domain_of
from ge_compiler.lowering.tiling.emission import Scalar, emit
from ge_compiler.lowering.tiling.matmul import MatmulLoops, Span
from ge_compiler.lowering.tiling.shapes import TileShape, tile_shape
from ge_compiler.lowering.tiling.writer import Index, Writer, on_chip


class _Kernel:
    """The kernel that is being written."""

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
        self.views: dict[tuple[SSAValue, tuple[int, ...]], SSAValue] = {}

    # Where the current tile lies, and the lane's part of it: filled in when a grid is entered.
    offsets: list[Index]
    extents: tuple[Index, Index]
    lane_starts: tuple[Index, Index]
    lane_extents: tuple[Index, Index]
    partials: SSAValue

    def convert(self) -> FuncOp:
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

    def _grid(self, bounds: tuple[int, ...], body: Callable[[Sequence[BlockArgument], tuple[int, ...]], None]) -> None:
        """A grid whose blocks do what `body` writes."""
        block = Block(arg_types=[IndexType()] * len(bounds))
        for arg, name in zip(block.args, _grid_names(len(bounds)), strict=True):
            arg.name_hint = name
        with self.writer.inside(block):
            body(block.args, bounds)
        self.writer.location = self.old.location
        self.writer.add(tile.ForallOp(bounds, block))

    def _whole(self, points: Sequence[BlockArgument], grid: tuple[int, ...]) -> None:
        """A tile from its operands to its results."""
        self._locate(points, grid)
        self._share_out()
        emit(self.domain, self)

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
        sizes = self.domain.sizes
        steps = (*(1,) * (len(sizes) - 2), self.shape.rows, self.shape.columns)
        names = (*(f"b{i}" for i in range(len(sizes) - 2)), "m0", "n0")
        self.offsets = [
            0 if extent == 1 else point if step == 1 else self.writer.multiply(point, step, name)
            for point, extent, step, name in zip(points, grid, steps, names, strict=True)
        ]
        rows, columns = (
            self.writer.clipped(step, size, offset, name)
            for step, size, offset, name in zip(steps[-2:], sizes[-2:], self.offsets[-2:], ("m", "n"), strict=True)
        )
        self.extents = rows, columns

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

    def _lane_offsets(self) -> list[Index]:
        """Where the lane's part of the tile lies in the domain."""
        matrix = [self.writer.plus(o, s) for o, s in zip(self.offsets[-2:], self.lane_starts, strict=True)]
        return [*self.offsets[:-2], *matrix]

    def view(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """A global tensor under another shape, made once before the grid."""
        type_ = tensor_type(value)
        if type_.get_shape() == tuple(shape):
            return value
        key = (value, tuple(shape))
        if key not in self.views:
            with self.writer.inside(self.entry):
                self.views[key] = self.writer.value(tile.ViewOp(value, TensorType(type_.get_element_type(), shape)), value.name_hint)
        return self.views[key]

    def argument(self, argument: SSAValue, shape: Sequence[int]) -> SSAValue:
        """An argument of the kernel under another shape."""
        return self.view(self.arguments[argument], shape)

    # The sink of the epilogue: tiles in the unified buffer.

    def at(self, op: Operation) -> None:
        self.writer.location = op.location

    def load(self, argument: BlockArgument, follows: tuple[bool, ...]) -> SSAValue:
        sizes = self.domain.sizes
        source = self.argument(argument, [size if f else 1 for size, f in zip(sizes, follows, strict=True)])
        offsets = [offset if f else 0 for offset, f in zip(self._lane_offsets(), follows, strict=True)]
        valid = [extent if f else 1 for extent, f in zip(self.lane_extents, follows[-2:], strict=True)]
        shape = [room if f else 1 for room, f in zip(self.shape.part, follows[-2:], strict=True)]
        type_ = on_chip(shape, tensor_type(argument).get_element_type(), Space.UB)
        return self.writer.value(tile.LoadOp(source, offsets, valid, type_), argument.name_hint)

    def function(self, name: str, operands: list[SSAValue], scalar: Scalar | None) -> SSAValue:
        types = [tensor_type(x) for x in operands]
        shape = [max(dims) for dims in zip(*(t.get_shape() for t in types), strict=True)]
        result = on_chip(shape, types[0].get_element_type(), Space.UB)
        properties = {} if scalar is None else {"scalar": scalar}
        return self.writer.value(tile.ELEMENTWISE[name].create(operands=operands, result_types=[result], properties=properties), name)

    def cast(self, x: SSAValue, element: Attribute) -> SSAValue:
        return self.writer.value(
            tile.CastOp(x, on_chip(tensor_type(x).get_shape(), element, Space.UB)), f"{x.name_hint or 'tile'}_{element}"
        )

    def full(self, value: Scalar) -> SSAValue:
        return self.writer.value(tile.FullOp(value, [1, 1], on_chip([1, 1], value.type, Space.UB)), "full")

    def store(self, x: SSAValue, result: int) -> None:
        type_ = tensor_type(x)
        if self.shape.is_repeated(type_.get_shape()):
            whole = on_chip(self.shape.part, type_.get_element_type(), Space.UB)
            x = self.writer.value(tile.BroadcastOp(x, self.lane_extents, whole), "repeated")
        self.writer.add(tile.StoreOp(x, self.view(self.outputs[result], self.domain.sizes), self._lane_offsets()))

    def _loops(self, base: Index, length: Index) -> SSAValue:
        """The product over one part of the contraction, in L0C."""
        spans = [Span(*span) for span in zip(self.domain.sizes[-2:], self.offsets[-2:], self.extents, self.shape.matrix, strict=True)]
        return MatmulLoops(self.writer, self.domain, self.shape, self.offsets[:-2], spans[0], spans[1], base, length, self.argument).write()

    def _sum_of_partials(self) -> SSAValue:
        """The parts' products added up in the order of the parts, whatever order they were computed in."""
        type_ = on_chip(self.shape.part, tensor_type(self.partials).get_element_type(), Space.UB)
        offsets = self._lane_offsets()
        total: SSAValue | None = None
        for part in range(self.shape.splits):
            product = self.writer.value(tile.LoadOp(self.partials, [part, *offsets], self.lane_extents, type_), "partial")
            total = product if total is None else self.function("add", [total, product], None)
        assert total is not None
        return total

    def accumulator(self) -> SSAValue:
        anchor = self.domain.anchor
        assert anchor is not None
        if self.shape.splits > 1:
            return self._sum_of_partials()
        result = self._loops(0, self.domain.contraction)
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


@dataclass(frozen=True)
class ConvertFusedToTilePass(ModulePass):
    """Gives every kernel its grid, its loops and its tiles."""

    name = "convert-fused-to-tile"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for kernel in fused.aicore_kernels(op):
            new = _Kernel(kernel, target).convert()
            op.body.block.insert_op_before(new, kernel)
            kernel.detach()
            kernel.erase()
