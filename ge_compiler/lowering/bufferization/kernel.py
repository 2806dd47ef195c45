"""Bufferizes one kernel: every on-chip tile gets a buffer, every op writes into one, accumulators stay in place."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import SubviewOp
from xdsl.dialects.scf import ForOp, YieldOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Block, Operation, SSAValue

from ge_compiler.dialects import buf
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.elementwise import elementwise_operands
from ge_compiler.dialects.memory import Space, mem_of
from ge_compiler.dialects.tile import (
    AssembleOp,
    BroadcastOp,
    CastOp,
    FullOp,
    IotaOp,
    LoadOp,
    LoadRowsOp,
    MmadOp,
    MoveOp,
    ReduceOp,
    TileElementwiseOp,
    TileOp,
    TransposeOp,
    UndefOp,
    ViewOp,
)
from ge_compiler.dialects.types import Buffer, buffer_type, tensor_type
from ge_compiler.lowering.bufferization.buffers import (
    Extent,
    Labels,
    Tile,
    bufferize_arguments,
    bufferize_view,
    known_extents,
    memref_of,
    show_extent,
    update_signature,
)
from ge_compiler.lowering.bufferization.in_place import check_in_place, check_rotating, check_yielded, updates_of
from ge_compiler.lowering.bufferization.workspaces import Workspaces
from ge_compiler.transforms.rewriting.inserter import Inserter


def bufferize_kernel(kernel: FuncOp, cores: int) -> None:
    """Rewrites `kernel` from tensors to memrefs in place. Raises `CompileError` where that would need a copy.

    Tiles in global memory become workspaces, one for each of `cores`, which the kernel takes as its last arguments.
    """
    if kernel.function_type.outputs.data:
        raise CompileError.at(kernel, "returns tensors; a kernel with loops writes into destinations: run convert-fused-to-tile first")
    check_in_place(kernel)
    bufferize_arguments(kernel)
    _KernelBufferizer(Workspaces(kernel, cores)).block(kernel.body.block)
    update_signature(kernel)
    for op in list(kernel.walk()):
        if isinstance(op, UndefOp | SubviewOp) and not op.results[0].uses:
            _erase(op)


class _KernelBufferizer:
    """Goes through the ops in order and replaces each tile by a view of its buffer."""

    def __init__(self, workspaces: Workspaces) -> None:
        self.workspaces = workspaces
        self.labels = Labels()
        self.tiles: dict[SSAValue, Tile] = {}
        self.label_of: dict[SSAValue, str] = {}
        """Labels of tiles that a loop refers to before they are made."""
        self.buffer_of: dict[SSAValue, SSAValue] = {}
        """Buffers of tiles that update what a loop carries."""

    def block(self, block: Block) -> None:
        for op in list(block.ops):
            self.operation(op)

    def operation(self, op: Operation) -> None:
        match op:
            case ViewOp():
                bufferize_view(op)
            case UndefOp():
                pass  # whoever takes it over makes the buffer
            case EmptyOp():
                self.workspaces.of_all(op)
            case ForOp():
                self.loop(op)
            case MmadOp() if op.results:
                self.mmad(op)
            case TileOp() if op.results:
                self.tile(op)
            case _:
                self.other(op)

    def other(self, op: Operation) -> None:
        """An op that makes no tile: loops over the grid, stores, arithmetic on indices."""
        if any(isinstance(result.type, TensorType) for result in op.results):
            raise CompileError.at(op, "makes a tensor, which has no buffer in a kernel")
        for operand in op.operands:
            _check_written(op, operand)
        for region in op.regions:
            for block in region.blocks:
                self.block(block)

    def tile(self, op: TileOp) -> None:
        for operand in op.operands:
            _check_written(op, operand)
        buffer = self.buffer_of.get(op.results[0])
        tile = Tile(self.allocate(op, op.results[0]) if buffer is None else buffer, self.extents(op))
        out = self.define(op, tile)
        self.replace(op, _destination_passing(op, out, tile.extents), out)

    def mmad(self, op: MmadOp) -> None:
        rows, columns = self.read(op, op.a).extents[0], self.read(op, op.b).extents[1]
        taken = self.take_over(op, op.accumulator, op.results[0])
        out = self.define(op, Tile(taken.buffer, (rows, columns)))
        self.replace(op, MmadOp(op.a, op.b, out, op.init), out)

    def loop(self, loop: ForOp) -> None:
        """A loop updates the tiles it carries in place, or finds them in the slots of the trip before; it carries only what is left."""
        _, *arguments = loop.body.block.args
        rotating = self.rotate(loop)
        in_place = [i for i, a in enumerate(arguments) if isinstance(a.type, TensorType) and i not in rotating]
        tiles = [self.take_over(loop, loop.iter_args[i], loop.results[i]) for i in in_place]
        for i, tile in zip(in_place, tiles, strict=True):
            for value in updates_of(loop, i):
                self.buffer_of.setdefault(value, tile.buffer)
        for i, tile in zip(in_place, tiles, strict=True):
            arguments[i].replace_all_uses_with(self.define(loop, tile))
        self.block(loop.body.block)
        last = loop.body.block.last_op
        assert isinstance(last, YieldOp)
        yielded = [self.read(last, last.operands[i]) for i in in_place]
        for i, before, after in zip(in_place, tiles, yielded, strict=True):
            check_yielded(loop, i, before, after)
        if not in_place and not rotating:
            return
        rest = _without_carried(loop, last, sorted([*in_place, *rotating]))
        results = iter(rest.results)
        for i, result in enumerate(loop.results):
            if i not in rotating:
                new = self.define(loop, yielded[in_place.index(i)]) if i in in_place else next(results)
                result.replace_all_uses_with(new)
        _erase(loop)

    def rotate(self, loop: ForOp) -> list[int]:
        """The carried tiles, by index, that are made anew in every trip: what the loop carries is the slot of the trip before."""
        last = loop.body.block.last_op
        assert isinstance(last, YieldOp)
        rotating: list[int] = []
        for i, argument in enumerate(loop.body.block.args[1:]):
            made = last.operands[i].owner
            if isinstance(made, TileOp) and made.slot_count > 1:
                check_rotating(loop, i)
                name = made.results[0].name_hint or made.name.partition(".")[2]
                label = self.label_of[made.results[0]] = self.labels.unique(name)
                first = loop.body.block.first_op
                assert first is not None
                type_ = memref_of(tensor_type(argument))
                before = Inserter(first)(buf.AllocOp(label, type_, made.slot_count, age=1), argument.name_hint)
                argument.replace_all_uses_with(self.define(first, Tile(before.result, _whole(type_))))
                rotating.append(i)
        return rotating

    def read(self, op: Operation, value: SSAValue) -> Tile:
        """The tile that an operand of `op` is."""
        _check_written(op, value)
        if value not in self.tiles:
            raise CompileError.at(op, f"reads {value.type}, which no op of this kernel has made")
        return self.tiles[value]

    def take_over(self, op: Operation, value: SSAValue, result: SSAValue) -> Tile:
        """The tile that `op` updates in place; a buffer of its own if nobody has written to it."""
        if isinstance(value.owner, UndefOp):
            buffer = self.allocate(op, result, value.name_hint or "acc")
            return Tile(buffer, _whole(buffer_type(buffer)))
        if value not in self.tiles:
            raise CompileError.at(op, f"updates {value.type} in place, which is no tile in an on-chip memory")
        return self.tiles[value]

    def allocate(self, op: Operation, result: SSAValue, fallback: str | None = None) -> SSAValue:
        type_, slots = tensor_type(result), op.slot_count if isinstance(op, TileOp) else 1
        if mem_of(type_).space is Space.GM:
            if slots > 1:
                raise CompileError.at(op, "has several slots, but a tile in global memory has one")
            return self.workspaces.of_core(op, type_, result.name_hint or "workspace")
        name = result.name_hint or fallback or op.name.partition(".")[2]
        label = self.label_of.get(result) or self.labels.unique(name)
        return Inserter(op)(buf.AllocOp(label, memref_of(type_), slots), name).result

    def define(self, op: Operation, tile: Tile) -> SSAValue:
        """The value that stands for `tile` from here on."""
        view = tile.view(Inserter(op))
        self.tiles[view] = tile
        return view

    def replace(self, op: Operation, new: Operation, out: SSAValue) -> None:
        new.attributes |= {name: value for name, value in op.attributes.items() if name != "slots"}
        Inserter(op)(new)
        op.results[0].replace_all_uses_with(out)
        _erase(op)

    def extents(self, op: TileOp) -> tuple[Extent, Extent]:
        """The valid extents of the tile that `op` makes."""
        match op:
            case LoadOp() | MoveOp() | FullOp() | BroadcastOp() | AssembleOp():
                return known_extents(op.mixed_valid)
            case IotaOp() | LoadRowsOp():
                return known_extents(op.mixed_valid)
            case CastOp():
                return self.read(op, op.x).extents
            case TransposeOp():
                rows, columns = self.read(op, op.x).extents
                return columns, rows
            case ReduceOp():
                rows, columns = self.read(op, op.x).extents
                return (rows, 1) if op.dimension else (1, columns)
            case _:
                assert isinstance(op, TileElementwiseOp), op.name
                return _broadcast(op, [self.read(op, x) for x in elementwise_operands(op)])


def _destination_passing(op: TileOp, out: SSAValue, extents: Sequence[Extent]) -> TileOp:
    """`op` on memrefs, writing into `out`."""
    match op:
        case LoadOp():
            return LoadOp(op.source, op.mixed_offsets, extents, out=out)
        case MoveOp():
            return MoveOp(op.source, op.mixed_offsets, extents, out=out, flags=("transpose",) if op.transpose else ())
        case AssembleOp():
            return AssembleOp(op.source, op.mixed_offsets, extents, out=out)
        case FullOp():
            return FullOp(op.value, extents, out=out)
        case BroadcastOp():
            return BroadcastOp(op.x, extents, out=out)
        case CastOp():
            return CastOp(op.x, out=out)
        case IotaOp():
            return IotaOp(op.first, op.steps.get_values(), extents, out=out)
        case LoadRowsOp():
            return LoadRowsOp(op.source, op.indices, op.mixed_offsets, extents, out=out)
        case _:
            return type(op).create(operands=[*op.operands, out], properties=op.properties)


def _broadcast(op: Operation, tiles: Sequence[Tile]) -> tuple[Extent, Extent]:
    """The extents of an elementwise result: an operand with room for one row (column) follows the others."""
    result: list[Extent] = []
    for axis, name in enumerate(("rows", "columns")):
        # A tile with room for one row may also have none: then its extent is named, and those of a constant row follow it.
        wide = {tile.extents[axis] for tile in tiles if buffer_type(tile.buffer).get_shape()[axis] != 1 or tile.extents[axis] != 1}
        if len(wide) > 1:
            shown = " and ".join(sorted(show_extent(extent) for extent in wide))
            raise CompileError.at(op, f"cannot tell that its operands have equally many valid {name}: {shown}; name one extent for both")
        result.append(wide.pop() if wide else 1)
    rows, columns = result
    return rows, columns


def _without_carried(loop: ForOp, last: YieldOp, carried: Sequence[int]) -> ForOp:
    """`loop` without the tiles it carried, whose uses are gone from its body."""
    _, *arguments = loop.body.block.args
    keep = [i for i in range(len(arguments)) if i not in carried]
    Inserter(last)(YieldOp(*(last.operands[i] for i in keep)))
    _erase(last)
    for i in reversed(carried):
        loop.body.block.erase_arg(arguments[i])
    rest = ForOp(loop.lb, loop.ub, loop.step, [loop.iter_args[i] for i in keep], loop.detach_region(loop.body))
    rest.attributes |= loop.attributes
    return Inserter(loop)(rest)


def _whole(type_: Buffer) -> tuple[Extent, Extent]:
    rows, columns = type_.get_shape()
    return rows, columns


def _check_written(op: Operation, value: SSAValue) -> None:
    if isinstance(value.owner, UndefOp):
        raise CompileError.at(op, f"reads %{value.name_hint or 'undef'}, a tile without contents; fill it with tile.full")


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()
