"""What loops, index arithmetic and views mean while a kernel is followed for a class of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects import arith, memref, scf
from xdsl.ir import Operation, SSAValue

from ge_compiler.dialects import buf, npu, semantics
from ge_compiler.dialects.index_list import join_index_list
from ge_compiler.dialects.memory import Space, bytes_of, mem_of
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.dialects.types import buffer_type
from ge_compiler.runtime.interpreters.control import CONTROL
from ge_compiler.runtime.lanes import lanes_of, per_lane
from ge_compiler.runtime.lifted.cells import Buffer, Rectangle
from ge_compiler.runtime.lifted.indices import BINARY, COMPARE, Index, NotLifted, collapsed, uniform
from ge_compiler.runtime.lifted.tracing import ChipView, Tracer, View
from ge_compiler.runtime.lifted.values import Dtype, GlobalView
from ge_compiler.runtime.walk import Factory, Frame, Registers, Step, Table

Current = Callable[[], Tracer]
"""The tracer of the class that is followed now. Raises `NotLifted` outside of grids."""


def dtype_of(value: SSAValue) -> Dtype:
    """The elements of a memref."""
    return semantics.dtype_of(buffer_type(value).get_element_type())


# ---- control ----------------------------------------------------------------------------------------------------------


def _binary(op: Operation, frame: Frame) -> Step:
    function = COMPARE[op.predicate.value.data] if isinstance(op, arith.CmpiOp) else BINARY[type(op)]
    x, y, result = frame.slot(op.operands[0]), frame.slot(op.operands[1]), frame.slot(op.results[0])

    def step(r: Registers) -> None:
        r[result] = collapsed(function(r[x], r[y]))

    return step


def _select(op: arith.SelectOp, frame: Frame) -> Step:
    condition, x, y, result = frame.slots([op.cond, op.lhs, op.rhs, op.result])

    def step(r: Registers) -> None:
        values = r[condition], r[x], r[y]
        if all(isinstance(v, int | np.ndarray) for v in values):
            r[result] = collapsed(np.where(*values))
        else:
            r[result] = r[x] if uniform(r[condition]) else r[y]

    return step


def _for(op: scf.ForOp, frame: Frame) -> Step:
    """As the walk of all levels does it, from bounds that are the same for all blocks."""
    plain, bounds = CONTROL[scf.ForOp](op, frame), frame.slots([op.lb, op.ub, op.step])
    assert plain is not None

    def step(r: Registers) -> None:
        for slot in bounds:
            r[slot] = uniform(r[slot])
        plain(r)

    return step


def _if(op: scf.IfOp, frame: Frame) -> Step:
    plain, condition = CONTROL[scf.IfOp](op, frame), frame.slot(op.cond)
    assert plain is not None

    def step(r: Registers) -> None:
        r[condition] = uniform(r[condition])
        plain(r)

    return step


# ---- views ------------------------------------------------------------------------------------------------------------


def _at(current: Current, target: NpuTarget) -> Factory:
    def factory(op: buf.AtOp, frame: Frame) -> Step:
        type_, label = buffer_type(op.result), op.label.data
        space, dtype, offsets = mem_of(type_).space, dtype_of(op.result), tuple(op.offsets.get_values())
        slot, result = frame.slot(0 if op.slot is None else op.slot), frame.slot(op.result)
        rows, columns = type_.get_shape()
        ranges = tuple((o, o + bytes_of(type_)) for o in offsets)
        count = target.vec_per_cube if space is Space.UB else 1
        if max(end for _, end in ranges) > target.capacity(space):
            raise NotLifted(f'"{label}" lies beyond the end of {space}')

        def view(lane: int, number: Any) -> ChipView:
            if np.any(np.less(number, 0)) or np.any(np.greater_equal(number, len(offsets))):
                raise NotLifted(f"{label} has slots 0 to {len(offsets) - 1}")
            buffer = current().chip.buffer((space, lane), (label, type_, offsets), lambda: Buffer(label, dtype, ranges))
            return ChipView((space, lane), buffer, buffer.cell(number), Rectangle(0, 0, rows, columns))

        def step(r: Registers) -> None:
            numbers = [registers[slot] for registers in lanes_of(r)] if count > 1 else [lanes_of(r)[0][slot]]
            r[result] = per_lane([view(lane, number) for lane, number in enumerate(numbers)])

        return step

    return factory


def _subview(op: memref.SubviewOp, frame: Frame) -> Step:
    source, result = frame.slot(op.source), frame.slot(op.result)
    offsets = frame.slots(join_index_list(op.offsets, op.static_offsets))
    sizes = frame.slots(join_index_list(op.sizes, op.static_sizes))
    dropped = len(sizes) - len(buffer_type(op.result).get_shape())
    if set(op.static_strides.get_values()) - {1} or any(op.static_sizes.get_values()[d] != 1 for d in range(dropped)):
        raise NotLifted("a subview has steps, or loses a dimension that is not 1")

    def step(r: Registers) -> None:
        extents = [uniform(r[s]) for s in sizes]
        r[result] = _part(r[source], [r[o] for o in offsets], extents, dropped)

    return step


def _part(view: View, offsets: Sequence[Index], extents: Sequence[int], dropped: int) -> View:
    for offset, extent, size in zip(offsets, extents, view.shape, strict=True):
        if extent < 0 or (0 not in extents and (np.any(np.less(offset, 0)) or np.any(np.greater(offset, size - extent)))):
            raise NotLifted(f"elements [{offset}, +{extent}) are out of bounds, there are {size}")
    if isinstance(view, ChipView):
        row, column = (uniform(o) for o in offsets)
        return replace(view, where=Rectangle(view.where.row + row, view.where.column + column, *extents))
    offset = view.offset
    for start, stride in zip(offsets, view.strides, strict=True):
        offset = offset + start * stride if isinstance(start, np.ndarray) or start else offset
    return replace(view, shape=tuple(extents[dropped:]), strides=view.strides[dropped:], offset=0 if 0 in extents else offset)


def _reinterpret(op: memref.ReinterpretCastOp, frame: Frame) -> Step:
    source, result = frame.slot(op.source), frame.slot(op.result)
    (start,) = frame.slots(join_index_list(op.offsets, op.static_offsets))
    sizes = frame.slots(join_index_list(op.sizes, op.static_sizes))
    steps = frame.slots(join_index_list(op.strides, op.static_strides))

    def step(r: Registers) -> None:
        view = r[source]
        if not isinstance(view, GlobalView):
            raise NotLifted("an on-chip buffer takes another shape")
        shape, strides, offset = tuple(uniform(r[s]) for s in sizes), tuple(uniform(r[s]) for s in steps), uniform(r[start])
        last = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        inside = 0 in shape or (min(strides, default=0) >= 0 and 0 <= offset <= last < np.prod(view.shape, dtype=np.int64))
        if not inside or view.strides != row_major(view.shape):
            raise NotLifted("a window exceeds its tensor")
        r[result] = replace(view, shape=shape, strides=strides, offset=0 if 0 in shape else view.offset + offset)

    return step


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Elements from one index to the next, in each dimension."""
    return tuple(int(np.prod(shape[d + 1 :], dtype=np.int64)) for d in range(len(shape)))


def _same(op: Operation, frame: Frame) -> Step:
    x, result = frame.slot(op.operands[0]), frame.slot(op.results[0])

    def step(r: Registers) -> None:
        r[result] = r[x]

    return step


def _dim(op: memref.DimOp, frame: Frame) -> Step:
    source, index, result = frame.slot(op.source), frame.slot(op.index), frame.slot(op.result)

    def step(r: Registers) -> None:
        shape, d = r[source].shape, uniform(r[index])
        if not 0 <= d < len(shape):
            raise NotLifted(f"there is no dimension {d}")
        r[result] = shape[d]

    return step


def structure(current: Current, core: Callable[[], Index], target: NpuTarget) -> Table:
    """The meanings of all ops but instructions, on the core of `target` that `core` tells."""

    def block_idx(op: npu.BlockIdxOp, frame: Frame) -> Step:
        result = frame.slot(op.result)

        def step(r: Registers) -> None:
            r[result] = core()

        return step

    def sub_block_idx(op: npu.SubBlockIdxOp, frame: Frame) -> None:
        frame.set_constant(op.result, per_lane(range(target.vec_per_cube)))

    return {
        **{op: CONTROL[op] for op in (arith.ConstantOp, arith.IndexCastOp)},
        **dict.fromkeys(BINARY, _binary),
        arith.SelectOp: _select,
        arith.CmpiOp: _binary,
        scf.ForOp: _for,
        scf.IfOp: _if,
        buf.AtOp: _at(current, target),
        memref.SubviewOp: _subview,
        memref.ReinterpretCastOp: _reinterpret,
        memref.CastOp: _same,
        memref.DimOp: _dim,
        npu.BlockIdxOp: block_idx,
        npu.SubBlockIdxOp: sub_block_idx,
    }
