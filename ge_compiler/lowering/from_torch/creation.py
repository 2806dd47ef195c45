"""Operators that make tensors: ranges, constants, triangles."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ge_compiler.lowering.from_torch.conversion import Conversion, converts


@converts("aten.arange.default")
def arange(c: Conversion, *_: Any) -> SSAValue:
    return c.range(c.element, c.shape[0], 0, 1)


@converts("aten.arange.start")
def arange_from(c: Conversion, start: float, *_: Any) -> SSAValue:
    return c.range(c.element, c.shape[0], start, 1)


@converts("aten.arange.start_step")
def arange_step(c: Conversion, start: float, _: float, step: float, *__: Any) -> SSAValue:
    return c.range(c.element, c.shape[0], start, step)


@converts(
    "aten.empty.memory_format",
    "aten.empty_like.default",
    "aten.empty_permuted.default",
    "aten.empty_strided.default",
    "aten.new_empty.default",
    "aten.new_empty_strided.default",
    "aten.zero.default",
    "aten.new_zeros.default",
    "aten.zeros.default",
    "aten.zeros_like.default",
)
def zeros(c: Conversion, *_: Any) -> SSAValue:
    """What torch leaves uninitialised is zero."""
    return c.constant(0, c.element, c.shape)


@converts("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default")
def ones(c: Conversion, *_: Any) -> SSAValue:
    return c.constant(1, c.element, c.shape)


@converts("aten.scalar_tensor.default")
def scalar_tensor(c: Conversion, value: float, *_: Any) -> SSAValue:
    return c.constant(value, c.element)


@converts("aten.full.default", "aten.full_like.default", "aten.fill.Scalar", "aten.fill.Tensor")
def full(c: Conversion, _: Any, value: SSAValue | float, *__: Any) -> SSAValue:
    if isinstance(value, SSAValue):
        return c.broadcast(c.promoted(value), c.shape)
    return c.constant(value, c.element, c.shape)


@converts("aten.new_full.default")
def new_full(c: Conversion, _: SSAValue, __: Any, value: float, *___: Any) -> SSAValue:
    return c.constant(value, c.element, c.shape)


@converts("aten.eye.default", "aten.eye.m")
def eye(c: Conversion, *_: Any) -> SSAValue:
    rows, columns = _numbers(c)
    return c.promoted(c.op("Equal", rows, columns))


@converts("aten.tril.default")
def tril(c: Conversion, x: SSAValue, diagonal: int) -> SSAValue:
    rows, columns = _numbers(c)
    return _kept(c, x, c.op("LessEqual", columns, c.scalar("Adds", rows, diagonal)))


@converts("aten.triu.default")
def triu(c: Conversion, x: SSAValue, diagonal: int) -> SSAValue:
    rows, columns = _numbers(c)
    return _kept(c, x, c.op("GreaterEqual", columns, c.scalar("Adds", rows, diagonal)))


def _numbers(c: Conversion) -> tuple[SSAValue, SSAValue]:
    """The number of its row and that of its column, for each element of the last two dimensions."""
    rows, columns = c.shape[-2:]
    return c.reshape(c.range(i64, rows, 0, 1), (rows, 1)), c.range(i64, columns, 0, 1)


def _kept(c: Conversion, x: SSAValue, kept: SSAValue) -> SSAValue:
    return c.op("SelectV2", kept, x, c.constant(0, c.element))
