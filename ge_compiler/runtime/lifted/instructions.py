"""What each op of a kernel at `npu` means while the kernel is followed for a class of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from ge_compiler.dialects import buf, npu, semantics
from ge_compiler.dialects.elementwise import elementwise_operands
from ge_compiler.dialects.index_list import join_index_list
from ge_compiler.dialects.memory import Space, bytes_of, mem_of
from ge_compiler.dialects.types import buffer_type
from ge_compiler.runtime.interpreters.control import CONTROL
from ge_compiler.runtime.lanes import lanes_of, per_lane
from ge_compiler.runtime.lifted import arithmetic
from ge_compiler.runtime.lifted.cells import Buffer, Rectangle
from ge_compiler.runtime.lifted.indices import BINARY, COMPARE, Index, NotLifted, affine, collapsed, uniform
from ge_compiler.runtime.lifted.tracing import ChipView, Tracer, View
from ge_compiler.runtime.lifted.values import Dtype, Global, GlobalView, Operand, is_narrow
from ge_compiler.runtime.walk import Factory, Frame, Registers, Step, Table

Current = Callable[[], Tracer]
"""The tracer of the class that is followed now. Raises `NotLifted` outside of grids."""


def _dtype(value: SSAValue) -> Dtype:
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


def _at(current: Current, lanes: int) -> Factory:
    def factory(op: buf.AtOp, frame: Frame) -> Step:
        type_, label = buffer_type(op.result), op.label.data
        space, dtype, offsets = mem_of(type_).space, _dtype(op.result), tuple(op.offsets.get_values())
        slot, result = frame.slot(0 if op.slot is None else op.slot), frame.slot(op.result)
        rows, columns = type_.get_shape()
        ranges = tuple((o, o + bytes_of(type_)) for o in offsets)
        count = lanes if space is Space.UB else 1

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


# ---- instructions -----------------------------------------------------------------------------------------------------


def _unary(current: Current, function: Callable[[Tracer, Any, Operand, View], Operand]) -> Factory:
    """An instruction that makes what it writes from one operand and the destination."""

    def factory(op: Any, frame: Frame) -> Step:
        (x,) = frame.slots(op.reads())
        out = frame.slot(op.writes())

        def step(r: Registers) -> None:
            tracer = current()
            tracer.write(op, r[out], function(tracer, op, tracer.read(op, r[x]), r[out]))

        return step

    return factory


def _move(tracer: Tracer, op: Operation, x: Operand, out: View) -> Operand:
    return x


def _load2d(tracer: Tracer, op: npu.Load2dOp, x: Operand, out: View) -> Operand:
    return x if op.transpose is None else tracer.turned(op, x)


def _transpose(tracer: Tracer, op: npu.VtransposeOp, x: Operand, out: View) -> Operand:
    return tracer.turned(op, x)


def _conversion(tracer: Tracer, op: npu.VconvOp, x: Operand, out: View) -> Operand:
    dtype = _dtype(op.out)
    if dtype == x.dtype:
        return x
    if dtype == np.float32 and is_narrow(x.dtype):
        return tracer.wide(op, x)
    return tracer.emit(op, arithmetic.convert, [tracer.wide(op, x)], x.shape, dtype)


def _repeat(tracer: Tracer, op: npu.VbrcOp, x: Operand, out: View) -> Operand:
    if any(have not in (1, wanted) for have, wanted in zip(x.shape, out.shape, strict=True)):
        raise NotLifted("valid extents cannot be repeated")
    return x.repeated(*out.shape)


def _reduce(tracer: Tracer, op: npu.VreduceOp, x: Operand, out: View) -> Operand:
    shape = [1 if d == op.dimension else n for d, n in enumerate(x.shape)]
    return tracer.emit(op, arithmetic.reduction(op.kind.kind.data, op.dimension), [x], shape, x.dtype)


def _copy(current: Current) -> Factory:
    def factory(op: npu.CopyOp, frame: Frame) -> Step:
        source, out = frame.slot(op.source), frame.slot(op.out)

        def step(r: Registers) -> None:
            for lane in lanes_of(r):
                current().write(op, lane[out], current().read(op, lane[source]))

        return step

    return factory


def _elementwise(current: Current) -> Factory:
    def factory(op: npu.VectorElementwiseOp, frame: Frame) -> Step:
        operands, out = frame.slots(elementwise_operands(op)), frame.slot(op.out)
        dtype = _dtype(op.out)
        function = arithmetic.elementwise(op.FUNCTION, op.scalar, _dtype(op.reads()[0]))
        in_place = op.FUNCTION != "select"

        def step(r: Registers) -> None:
            tracer = current()
            values = [tracer.read(op, r[x]) for x in operands]
            try:
                shape = np.broadcast_shapes(*(v.shape for v in values))
            except ValueError as error:
                raise NotLifted("valid extents do not broadcast") from error
            tracer.write(op, r[out], tracer.emit(op, function, values, shape, dtype, in_place))

        return step

    return factory


def _mmad(current: Current) -> Factory:
    def factory(op: npu.MmadOp, frame: Frame) -> Step:
        a, b, out, init = frame.slots([op.a, op.b, op.out, op.init])
        dtype = _dtype(op.out)

        def step(r: Registers) -> None:
            tracer, anew = current(), uniform(r[init])
            left, right = (_for_product(tracer, op, tracer.read(op, r[x]), dtype) for x in (a, b))
            shape = left.rows, right.columns
            if left.columns != right.rows:
                raise NotLifted("valid extents of a product differ")
            if min(*left.shape, *right.shape) == 1:  # numpy then takes routines for vectors
                left, right = tracer.compact(op, left), tracer.compact(op, right)
            value = tracer.emit(op, arithmetic.product, [left, right], shape, dtype)
            if not anew:
                value = tracer.emit(op, arithmetic.add, [tracer.read(op, r[out]), value], shape, dtype, in_place=True)
            tracer.write(op, r[out], value)

        return step

    return factory


def _for_product(tracer: Tracer, op: Operation, x: Operand, dtype: Dtype) -> Operand:
    x = tracer.wide(op, x)
    if x.dtype != dtype:
        return tracer.emit(op, arithmetic.convert, [x], x.shape, dtype)
    return x if x.is_blas or 1 in x.shape else tracer.compact(op, x)


def _fill(current: Current) -> Factory:
    def factory(op: npu.VdupOp, frame: Frame) -> Step:
        out, dtype = frame.slot(op.out), _dtype(op.out)
        function = arithmetic.fill(np.full((), op.value.value.data, dtype)[()])

        def step(r: Registers) -> None:
            current().write(op, r[out], current().emit(op, function, [], r[out].shape, dtype))

        return step

    return factory


def _iota(current: Current) -> Factory:
    def factory(op: npu.ViotaOp, frame: Frame) -> Step:
        base, out, (down, along), dtype = frame.slot(op.first), frame.slot(op.out), op.steps.get_values(), _dtype(op.out)

        def step(r: Registers) -> None:
            tracer, (rows, columns) = current(), r[out].shape
            if 0 in (rows, columns):
                return
            first, strides = affine(r[base], tracer.rank)
            widest = [s * (w - 1) for s, w in zip(strides, tracer.trace.widths, strict=True)]
            reach = [*widest, down * (rows - 1), along * (columns - 1)]
            low, high = (first + sum(choose(0, way) for way in reach) for choose in (min, max))
            if low not in arithmetic.NUMBERS or high not in arithmetic.NUMBERS:
                raise NotLifted(f"counts from {low} to {high}")
            numbers = Operand(Global(-1), np.dtype(np.int64), rows, columns, down, along, first - arithmetic.NUMBERS.start, strides)
            tracer.write(op, r[out], tracer.emit(op, arithmetic.convert, [numbers], (rows, columns), dtype))

        return step

    return factory


# ---- rows -------------------------------------------------------------------------------------------------------------


def _load_rows(current: Current) -> Factory:
    def factory(op: npu.LoadRowsOp, frame: Frame) -> Step:
        table, indices, out = frame.slots([op.table, op.indices, op.out])

        def step(r: Registers) -> None:
            tracer = current()
            if tracer.is_written(r[table]):
                raise NotLifted("takes rows from a tensor that it changes")
            rows, numbers, shape = tracer.table(r[table]), tracer.read(op, r[indices]), r[out].shape
            if numbers.shape != (shape[0], 1) or rows.columns != shape[1]:
                raise NotLifted("needs one index for each row")
            tracer.write(op, r[out], tracer.emit(op, arithmetic.load_rows(op), [rows, numbers], shape, rows.dtype))

        return step

    return factory


def _store_rows(current: Current) -> Factory:
    def factory(op: npu.StoreRowsOp, frame: Frame) -> Step:
        tile, indices, table = frame.slots([op.tile, op.indices, op.table])

        def step(r: Registers) -> None:
            tracer = current()
            if tracer.is_read(r[table]):
                raise NotLifted("stores rows to a tensor that it reads")
            value, numbers, into = tracer.read(op, r[tile]), tracer.read(op, r[indices]), tracer.table(r[table])
            if numbers.shape != (value.rows, 1) or into.columns != value.columns:
                raise NotLifted("needs one index for each row")
            tracer.trace.scatters = True
            tracer.into(op, arithmetic.store_rows(op), [value, numbers], into)

        return step

    return factory


def _nothing(op: Operation, frame: Frame) -> None:
    """The order of the program is kept."""


def meanings(current: Current, core: Callable[[], Index], lanes: int) -> Table:
    """The meanings of ops in a kernel that is followed: of `lanes` a cluster, on the core that `core` tells."""

    def block_idx(op: npu.BlockIdxOp, frame: Frame) -> Step:
        result = frame.slot(op.result)

        def step(r: Registers) -> None:
            r[result] = core()

        return step

    def sub_block_idx(op: npu.SubBlockIdxOp, frame: Frame) -> None:
        frame.set_constant(op.result, per_lane(range(lanes)))

    views: dict[type[Operation], Factory] = {
        buf.AtOp: _at(current, lanes),
        memref.SubviewOp: _subview,
        memref.ReinterpretCastOp: _reinterpret,
        memref.CastOp: _same,
        memref.DimOp: _dim,
        npu.BlockIdxOp: block_idx,
        npu.SubBlockIdxOp: sub_block_idx,
        arith.SelectOp: _select,
        arith.CmpiOp: _binary,
        scf.ForOp: _for,
        scf.IfOp: _if,
    }
    instructions: dict[type[Operation], Factory] = {
        npu.LoadOp: _unary(current, _move),
        npu.FixpipeOp: _unary(current, _move),
        npu.StoreOp: _unary(current, _move),
        npu.Load2dOp: _unary(current, _load2d),
        npu.VconvOp: _unary(current, _conversion),
        npu.VbrcOp: _unary(current, _repeat),
        npu.VreduceOp: _unary(current, _reduce),
        npu.VtransposeOp: _unary(current, _transpose),
        npu.CopyOp: _copy(current),
        npu.MmadOp: _mmad(current),
        npu.VdupOp: _fill(current),
        npu.ViotaOp: _iota(current),
        npu.LoadRowsOp: _load_rows(current),
        npu.StoreRowsOp: _store_rows(current),
        **{op: _nothing for op in npu.NPU.operations if issubclass(op, npu.SyncOp)},
        **dict.fromkeys(npu.VECTOR.values(), _elementwise(current)),
    }
    plain = {op: CONTROL[op] for op in (arith.ConstantOp, arith.IndexCastOp)}
    return {**plain, **dict.fromkeys(BINARY, _binary), **views, **instructions}


def constant(value: SSAValue) -> int | None:
    """The number that `value` always is, if it is a constant."""
    owner = value.owner
    return owner.value.value.data if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr) else None
