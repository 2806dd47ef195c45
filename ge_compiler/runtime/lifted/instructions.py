"""What each instruction means while a kernel is followed for a class of blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ge_compiler.dialects import npu
from ge_compiler.dialects.elementwise import elementwise_operands
from ge_compiler.runtime.lanes import lanes_of
from ge_compiler.runtime.lifted import arithmetic
from ge_compiler.runtime.lifted.indices import NotLifted, affine, uniform
from ge_compiler.runtime.lifted.structure import Current, dtype_of
from ge_compiler.runtime.lifted.tracing import Tracer, View
from ge_compiler.runtime.lifted.values import Dtype, Global, Operand, is_narrow
from ge_compiler.runtime.walk import Factory, Frame, Registers, Step, Table

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
    dtype = dtype_of(op.out)
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
        dtype = dtype_of(op.out)
        function = arithmetic.elementwise(op.FUNCTION, op.scalar, dtype_of(op.reads()[0]))
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
        dtype = dtype_of(op.out)

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
        out, dtype = frame.slot(op.out), dtype_of(op.out)
        function = arithmetic.fill(np.full((), op.value.value.data, dtype)[()])

        def step(r: Registers) -> None:
            current().write(op, r[out], current().emit(op, function, [], r[out].shape, dtype))

        return step

    return factory


def _iota(current: Current) -> Factory:
    def factory(op: npu.ViotaOp, frame: Frame) -> Step:
        base, out, (down, along), dtype = frame.slot(op.first), frame.slot(op.out), op.steps.get_values(), dtype_of(op.out)

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


def instructions(current: Current) -> Table:
    """The meanings of instructions."""
    return {
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
