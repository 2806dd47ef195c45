"""Ops on values: operators of `ge`, primitives of `fused`, and tiles. A tile is an array of its valid elements, row-major."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Operation, SSAValue

from ge_compiler.dialects import fused, ge, semantics, tile
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.elementwise import ElementwiseOp, elementwise_operands
from ge_compiler.dialects.ge import semantics as ge_semantics
from ge_compiler.dialects.ge.shapes import show
from ge_compiler.dialects.semantics import Array
from ge_compiler.dialects.types import shaped_type, tensor_type
from ge_compiler.runtime.bounds import check_room, cut, defined
from ge_compiler.runtime.interpreters import across, rows
from ge_compiler.runtime.interpreters.assembling import assemble_values
from ge_compiler.runtime.memory import POISON
from ge_compiler.runtime.walk import Factory, Frame, Registers, Step, Table


def poisoned(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """An array of `shape` whose contents must not be read."""
    array = np.empty(tuple(shape), dtype)
    array.reshape(-1).view(np.uint8)[...] = POISON
    return array


def _dtype(op: Operation) -> np.dtype[Any]:
    return semantics.dtype_of(tensor_type(op.results[0]).get_element_type())


def _pure(op: Operation, frame: Frame, function: Callable[..., Array]) -> Step:
    """The step of an op that makes one value of its operands' values."""
    operands, result = frame.slots(op.operands), frame.slot(op.results[0])
    names = [f"operand #{i}" for i in range(len(operands))]

    def step(r: Registers) -> None:
        r[result] = function(*[defined(op, name, r[x]) for name, x in zip(names, operands, strict=True)])

    return step


# ---- ge ---------------------------------------------------------------------------------------------------------------


def _operator(op: ge.GeOp, frame: Frame) -> Step:
    operands, results = frame.slots(op.operands), frame.slots(op.results)

    def step(r: Registers) -> None:
        for result, value in zip(results, ge_semantics.evaluate(op, [r[x] for x in operands]), strict=True):
            r[result] = value

    return step


# ---- fused ------------------------------------------------------------------------------------------------------------


def _elementwise(op: ElementwiseOp, frame: Frame) -> Step:
    name, scalar = op.FUNCTION, op.scalar
    assert len(op.operands) == len(elementwise_operands(op))
    return _pure(op, frame, lambda *xs: semantics.apply(name, *xs, scalar=scalar))


def _matmul(op: fused.MatmulOp, frame: Frame) -> Step:
    transpose_a, transpose_b = op.transpose_a is not None, op.transpose_b is not None

    def product(a: Array, b: Array) -> Array:
        return semantics.mmad(a.swapaxes(-1, -2) if transpose_a else a, b.swapaxes(-1, -2) if transpose_b else b, None)

    return _pure(op, frame, product)


def casting(dtype: np.dtype[Any]) -> Callable[[Array], Array]:
    """The function that converts to `dtype`."""

    def convert(x: Array) -> Array:
        return semantics.cast(x, dtype)

    return convert


def _cast(op: fused.CastOp | tile.CastOp, frame: Frame) -> Step:
    return _pure(op, frame, casting(_dtype(op)))


def _broadcast(op: fused.BroadcastOp, frame: Frame) -> Step:
    shape, dimensions = tensor_type(op.result).get_shape(), op.dimensions.get_values()

    def repeat(x: Array) -> Array:
        aligned = [1] * len(shape)
        for d, size in zip(dimensions, x.shape, strict=True):
            aligned[d] = size
        return np.broadcast_to(x.reshape(aligned), shape)

    return _pure(op, frame, repeat)


def _full(op: fused.FullOp, frame: Frame) -> None:
    frame.set_constant(op.result, np.full(tensor_type(op.result).get_shape(), op.value.value.data, _dtype(op)))


def _kernel(op: fused.KernelOp, frame: Frame) -> Step:
    inputs, arguments = frame.slots(op.inputs), frame.slots(op.body.block.args)
    code = frame.code(op.body.block)
    yielded, results = frame.slots(op.yielded.values), frame.slots(op.outputs)

    def step(r: Registers) -> None:
        for argument, value in zip(arguments, inputs, strict=True):
            r[argument] = r[value]
        code.run(r)
        for result, value in zip(results, yielded, strict=True):
            r[result] = r[value]

    return step


def _empty(op: EmptyOp, frame: Frame) -> Step:
    type_, result = tensor_type(op.tensor), frame.slot(op.tensor)
    dtype, dynamic = _dtype(op), iter(frame.slots(op.dynamic_sizes))
    shape = [next(dynamic) if size < 0 else frame.slot(size) for size in type_.get_shape()]

    def step(r: Registers) -> None:
        sizes = [r[size] for size in shape]
        if min(sizes, default=0) < 0:
            raise CompileError.at(op, f"a tensor has no negative size, got {show(tuple(sizes))}")
        r[result] = poisoned(sizes, dtype)

    return step


# ---- tile -------------------------------------------------------------------------------------------------------------


def check_matrix(op: Operation, value: SSAValue) -> None:
    """Raises `CompileError` at `op` unless `value`, in global memory, has rows and columns."""
    if len(shaped_type(value).get_shape()) < 2:
        raise CompileError.at(op, f"rows and columns are two dimensions, got {value.type}; give it another shape first")


def load(op: tile.LoadOp, frame: Frame) -> Step:
    check_matrix(op, op.source)
    source, result = frame.slot(op.source), frame.slot(op.results[0])
    offsets, valid = frame.slots(op.mixed_offsets), frame.slots(op.mixed_valid)
    room = op.tile_type().get_shape()
    points = [1] * (len(offsets) - 2)

    def step(r: Registers) -> None:
        extents = [r[v] for v in valid]
        check_room(op, extents, room)
        part = r[source][cut(op, "the source", r[source].shape, [r[o] for o in offsets], points + extents)]
        r[result] = part.reshape(extents).copy()

    return step


def move(op: tile.MoveOp, frame: Frame) -> Step:
    source, result = frame.slot(op.source), frame.slot(op.results[0])
    offsets, valid = frame.slots(op.mixed_offsets), frame.slots(op.mixed_valid)
    room, transposed = op.tile_type().get_shape(), op.transpose is not None

    def step(r: Registers) -> None:
        extents = [r[v] for v in valid]
        check_room(op, extents, room)
        x = defined(op, "the source", r[source])
        part = x[cut(op, "the valid elements of the source", x.shape, [r[o] for o in offsets], extents[::-1] if transposed else extents)]
        r[result] = (part.T if transposed else part).copy()

    return step


def _undef(op: tile.UndefOp, frame: Frame) -> None:
    frame.set_constant(op.result, None)


def mmad(op: tile.MmadOp, frame: Frame) -> Step:
    a, b, c, init, result = frame.slots([op.a, op.b, op.accumulator, op.init, op.results[0]])

    def step(r: Registers) -> None:
        accumulator = None if r[init] else defined(op, "the accumulator", r[c])
        check_contraction(op, r[a].shape, r[b].shape, None if accumulator is None else accumulator.shape)
        r[result] = semantics.mmad(r[a], r[b], accumulator)

    return step


def check_contraction(op: Operation, a: tuple[int, ...], b: tuple[int, ...], accumulator: tuple[int, ...] | None) -> None:
    """Raises `CompileError` at `op` unless the extents are those of one product of matrices."""
    if a[1] != b[0] or accumulator not in (None, (a[0], b[1])):
        with_accumulator = "" if accumulator is None else f", accumulator {accumulator[0]}x{accumulator[1]}"
        raise CompileError.at(op, f"valid extents differ: a {a[0]}x{a[1]}, b {b[0]}x{b[1]}{with_accumulator}")


def full(op: tile.FullOp, frame: Frame) -> Step:
    valid, result, value, dtype = frame.slots(op.mixed_valid), frame.slot(op.results[0]), op.value.value.data, _dtype(op)
    room = op.tile_type().get_shape()

    def step(r: Registers) -> None:
        extents = [r[v] for v in valid]
        check_room(op, extents, room)
        r[result] = np.full(extents, value, dtype)

    return step


def broadcast(op: tile.BroadcastOp, frame: Frame) -> Step:
    x, valid, result, room = frame.slot(op.x), frame.slots(op.mixed_valid), frame.slot(op.results[0]), op.tile_type().get_shape()

    def step(r: Registers) -> None:
        extents = [r[v] for v in valid]
        check_room(op, extents, room)
        r[result] = repeated(op, defined(op, "x", r[x]), extents)

    return step


def repeated(op: Operation, x: Array, extents: Sequence[int]) -> Array:
    """`x` repeated to `extents`, in memory of its own. Raises `CompileError` at `op` where it does not fit."""
    if any(have not in (1, wanted) for have, wanted in zip(x.shape, extents, strict=True)):
        raise CompileError.at(op, f"x has valid extents {x.shape[0]}x{x.shape[1]}, which cannot be repeated to {extents[0]}x{extents[1]}")
    return np.broadcast_to(x, extents).copy()


def _view(op: tile.ViewOp, frame: Frame) -> Step:
    window, size = op.window(), tensor_type(op.source).element_count()

    def show_window(x: Array) -> Array:
        # A view of a destination must write through; everything in global memory is contiguous, so that no reshape copies.
        flat = x.reshape(-1)
        if window.is_contiguous:
            return flat[window.offset : window.last + 1].reshape(window.shape)
        assert flat.size == size, "a view is verified against its source"
        return np.lib.stride_tricks.as_strided(flat[window.offset :], window.shape, [s * x.itemsize for s in window.strides])

    return _pure(op, frame, show_window)


def store(op: tile.StoreOp, frame: Frame) -> Step:
    check_matrix(op, op.into)
    source, destination, offsets = frame.slot(op.tile), frame.slot(op.into), frame.slots(op.mixed_offsets)
    points = [1] * (len(offsets) - 2)

    def step(r: Registers) -> None:
        value, into = defined(op, "the tile", r[source]), r[destination]
        extents = (*points, *value.shape)
        where = cut(op, "the destination", into.shape, [r[o] for o in offsets], extents)
        if value.size:
            into[where] = value.reshape(extents)

    return step


TILE_VALUES: dict[type[Operation], Factory] = {
    tile.LoadOp: load,
    tile.MoveOp: move,
    tile.MmadOp: mmad,
    tile.CastOp: _cast,
    tile.FullOp: full,
    tile.BroadcastOp: broadcast,
    tile.StoreOp: store,
    tile.ReduceOp: across.reduce_values,
    tile.IotaOp: across.iota_values,
    tile.TransposeOp: across.transpose_values,
    tile.LoadRowsOp: rows.load_values,
    tile.StoreRowsOp: rows.store_values,
    tile.AssembleOp: assemble_values,
    **dict.fromkeys(tile.ELEMENTWISE.values(), _elementwise),
}
"""The ops of `tile` that also have a form on buffers."""

TENSORS: Table = {
    **{op: _operator for op in ge.GE.operations if issubclass(op, ge.GeOp)},
    **dict.fromkeys(fused.ELEMENTWISE.values(), _elementwise),
    fused.MatmulOp: _matmul,
    fused.CastOp: _cast,
    fused.BroadcastOp: _broadcast,
    fused.FullOp: _full,
    fused.KernelOp: _kernel,
    EmptyOp: _empty,
    tile.UndefOp: _undef,
    tile.ViewOp: _view,
}
