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

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    ModuleOp,
    TensorType,
    f32,
    i32,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ge_compiler.dialects import fused, tile
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.locations import located
from ge_compiler.dialects.memory import MemAttr, Space
from ge_compiler.dialects.target import NpuTarget, target_of
from ge_compiler.dialects.types import Tensor, tensor_type
from ge_compiler.lowering.tiling.domain import Domain, Operand, domain_of
from ge_compiler.lowering.tiling.emission import Scalar, emit
from ge_compiler.lowering.tiling.shapes import TileShape, tile_shape

Index = SSAValue | int


def on_chip(shape: Sequence[int], element: Attribute, space: Space) -> Tensor:
    """The type of a tile."""
    return TensorType(element, shape, MemAttr.of(space))


@dataclass
class _Writer:
    """Appends ops to a block, all at the location of the op they stem from; index arithmetic on constants is done at once."""

    block: Block
    entry: Block
    """Where constants go, each once."""
    location: LocationAttr = UNKNOWN_LOC
    constants: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])

    def add(self, op: Operation) -> Operation:
        self.block.add_op(located(op, self.location))
        return op

    def value(self, op: Operation, name: str | None = None) -> SSAValue:
        result = self.add(op).results[0]
        result.name_hint = name
        return result

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        outer, self.block = self.block, block
        yield
        self.block = outer

    def index(self, value: Index) -> SSAValue:
        if isinstance(value, SSAValue):
            return value
        if value not in self.constants:
            with self.inside(self.entry):
                self.constants[value] = self.value(arith.ConstantOp(IntegerAttr(value, IndexType())), f"c{value}")
        return self.constants[value]

    def multiply(self, x: Index, factor: int, name: str) -> Index:
        return x * factor if isinstance(x, int) else self.value(arith.MuliOp(x, self.index(factor)), name)

    def clipped(self, size: int, total: Index, offset: Index, name: str) -> Index:
        """min(size, total - offset): the valid extent of a tile at `offset`."""
        if isinstance(total, int) and total % size == 0:
            return size
        if isinstance(total, int) and isinstance(offset, int):
            return min(size, total - offset)
        left = self.value(arith.SubiOp(self.index(total), self.index(offset)))
        return self.value(arith.MinSIOp(self.index(size), left), name)


class _Kernel:
    """The kernel that is being written."""

    def __init__(self, kernel: FuncOp, target: NpuTarget):
        self.domain: Domain = domain_of(kernel)
        self.old = kernel
        self.target = target
        self.shape: TileShape = tile_shape(self.domain, kernel)
        results = list(kernel.function_type.outputs)
        entry = Block(arg_types=[*kernel.function_type.inputs, *results])
        self.entry = entry
        self.arguments: dict[SSAValue, SSAValue] = dict(zip(kernel.body.block.args, entry.args, strict=False))
        for old, new in self.arguments.items():
            new.name_hint = old.name_hint
        self.outputs: list[SSAValue] = list(entry.args[len(self.arguments) :])
        for i, out in enumerate(self.outputs):
            out.name_hint = "out" if len(self.outputs) == 1 else f"out{i}"
        self.writer = _Writer(entry, entry, kernel.location)
        self.views: dict[tuple[SSAValue, tuple[int, ...]], SSAValue] = {}

    # Where the current tile lies: filled in when the grid is entered.
    offsets: list[Index]
    extents: tuple[Index, Index]

    def convert(self) -> FuncOp:
        """The kernel at `tile`."""
        grid = self.shape.grid(self.domain)
        body = Block(arg_types=[IndexType()] * len(grid))
        for arg, name in zip(body.args, _grid_names(len(grid)), strict=True):
            arg.name_hint = name
        with self.writer.inside(body):
            self._locate(body.args, grid)
            emit(self.domain, self)
        self.writer.location = self.old.location
        self.writer.add(tile.ForallOp(grid, body))
        self.writer.add(ReturnOp())
        type_ = FunctionType.from_lists([a.type for a in self.entry.args], [])
        new = FuncOp(self.old.sym_name.data, type_, Region(self.entry), visibility="private")
        new.attributes |= self.old.attributes
        return located(new, self.old.location)

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

    # The sink of the epilogue: tiles in the unified buffer.

    def at(self, op: Operation) -> None:
        self.writer.location = op.location

    def load(self, argument: BlockArgument, follows: tuple[bool, ...]) -> SSAValue:
        sizes = self.domain.sizes
        source = self.view(self.arguments[argument], [size if f else 1 for size, f in zip(sizes, follows, strict=True)])
        offsets = [offset if f else 0 for offset, f in zip(self.offsets, follows, strict=True)]
        valid = [extent if f else 1 for extent, f in zip(self.extents, follows[-2:], strict=True)]
        shape = [room if f else 1 for room, f in zip(self.shape.matrix, follows[-2:], strict=True)]
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
        if type_.get_shape() != self.shape.matrix:
            whole = on_chip(self.shape.matrix, type_.get_element_type(), Space.UB)
            x = self.writer.value(tile.BroadcastOp(x, self.extents, whole), "repeated")
        self.writer.add(tile.StoreOp(x, self.view(self.outputs[result], self.domain.sizes), self.offsets))

    # The anchor: chunks of k in L1, of k0 in L0.

    def accumulator(self) -> SSAValue:
        anchor = self.domain.anchor
        assert anchor is not None
        element = i32 if isinstance(tensor_type(anchor.result).get_element_type(), IntegerType) else f32
        undefined = self.writer.value(tile.UndefOp(on_chip(self.shape.matrix, element, Space.L0C)), "undef")
        total = self.domain.contraction
        result = self._loop("k", total, self.shape.k, undefined, self._chunk)
        route = self.target.route(Space.L0C, Space.UB)
        if len(route) != 1:
            raise CompileError.at(anchor, f"needs a direct path from l0c to ub, which {self.target.name} does not have")
        moved = tile.MoveOp(result, [0, 0], self.extents, on_chip(self.shape.matrix, element, Space.UB))
        return self.writer.value(moved, "acc")

    def _loop(self, name: str, total: Index, step: int, start: SSAValue, body: Any) -> SSAValue:
        """`for name = 0 to total step step`, with the accumulator as its value; `body(index, accumulator)` gives the next one."""
        bounds = [self.writer.index(v) for v in (0, total, step)]
        block = Block(arg_types=[IndexType(), start.type])
        block.args[0].name_hint, block.args[1].name_hint = name, "c"
        with self.writer.inside(block):
            self.writer.add(scf.YieldOp(body(block.args[0], block.args[1])))
        return self.writer.value(scf.ForOp(*bounds, [start], block), "acc")

    def _chunk(self, k: SSAValue, accumulator: SSAValue) -> SSAValue:
        extent = self.writer.clipped(self.shape.k, self.domain.contraction, k, "kk")
        left, right = self.domain.operands()
        a = self._load_operand(left, self.offsets[-2], self.extents[0], self.shape.rows, k, extent, rows_first=True)
        b = self._load_operand(right, self.offsets[-1], self.extents[1], self.shape.columns, k, extent, rows_first=False)

        def step(q: SSAValue, inner: SSAValue) -> SSAValue:
            return self._mmad(left, right, a, b, k, q, extent, inner)

        return self._loop("q", extent, self.shape.k0, accumulator, step)

    def _load_operand(
        self, side: Operand, offset: Index, extent: Index, room: int, k: SSAValue, k_extent: Index, *, rows_first: bool
    ) -> SSAValue:
        """A chunk of an operand in L1, as it lies in memory: k runs along its columns if it is (rows, k) there, else along its rows."""
        k_last = rows_first != side.transposed
        total = self.domain.sizes[-2 if rows_first else -1]
        sizes = [size if f else 1 for size, f in zip(self.domain.sizes[:-2], side.groups[:-2], strict=True)]
        points = [o if f else 0 for o, f in zip(self.offsets[:-2], side.groups[:-2], strict=True)]
        own: tuple[int, Index, Index, int] = (total, offset, extent, room)
        along: tuple[int, Index, Index, int] = (self.domain.contraction, k, k_extent, self.shape.k)
        first, second = (own, along) if k_last else (along, own)
        source = self.view(self.arguments[side.argument], [*sizes, first[0], second[0]])
        type_ = on_chip([first[3], second[3]], tensor_type(source).get_element_type(), Space.L1)
        load = tile.LoadOp(source, [*points, first[1], second[1]], [first[2], second[2]], type_)
        return self.writer.value(load, "a" if rows_first else "b")

    def _mmad(
        self, left: Operand, right: Operand, a: SSAValue, b: SSAValue, k: SSAValue, q: SSAValue, extent: Index, c: SSAValue
    ) -> SSAValue:
        whole = self.shape.k % self.shape.k0 == 0 and self.domain.contraction % self.shape.k0 == 0
        kq = self.shape.k0 if whole else self.writer.clipped(self.shape.k0, extent, q, "kq")
        element = tensor_type(a).get_element_type()
        a0 = self._move(
            a, left.transposed, [0, q], [self.extents[0], kq], on_chip([self.shape.rows, self.shape.k0], element, Space.L0A), "a0"
        )
        b0 = self._move(
            b, right.transposed, [q, 0], [kq, self.extents[1]], on_chip([self.shape.k0, self.shape.columns], element, Space.L0B), "b0"
        )
        position = self.writer.value(arith.AddiOp(k, q))
        first = self.writer.value(arith.CmpiOp(position, self.writer.index(0), "eq"), "first")
        return self.writer.value(tile.MmadOp(a0, b0, c, first), "c")

    def _move(self, x: SSAValue, transposed: bool, offsets: list[Index], valid: list[Index], type_: Tensor, name: str) -> SSAValue:
        offsets = offsets[::-1] if transposed else offsets
        return self.writer.value(tile.MoveOp(x, offsets, valid, type_, flags=["transpose"] if transposed else []), name)


def _grid_names(rank: int) -> list[str]:
    return [*(f"b{i}" for i in range(rank - 2)), "i", "j"]


@dataclass(frozen=True)
class ConvertFusedToTilePass(ModulePass):
    """Gives every kernel its grid, its loops and its tiles."""

    name = "convert-fused-to-tile"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for kernel in fused.kernels(op):
            new = _Kernel(kernel, target).convert()
            op.body.block.insert_op_before(new, kernel)
            kernel.detach()
            kernel.erase()
