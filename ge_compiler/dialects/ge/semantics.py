"""The numpy meaning of the `ge` operators: one function each, f32 accumulation, one rounding to the result's element type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ge_compiler.dialects import semantics
from ge_compiler.dialects.semantics import Array
from ge_compiler.dialects.types import tensor_type

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import CastOp, ConstOp, ElementwiseOp, GeOp, MatMulBase


def evaluate(op: GeOp, operands: Sequence[Array]) -> Sequence[Array]:
    """The results of `op` on `operands`, whose dtypes and shapes are those of the op's operand types."""
    return globals()[op.MEANING](op, operands)


def _round(op: GeOp, value: Array) -> list[Array]:
    return [semantics.cast(value, semantics.dtype_of(tensor_type(op.results[0]).get_element_type()))]


def _wide(x: Array) -> Array:
    """Floats widen to f32 to be computed with; integers stay as they are."""
    return x if x.dtype.kind in "iub" else semantics.cast(x, np.dtype(np.float32))


def elementwise(op: ElementwiseOp, operands: Sequence[Array]) -> list[Array]:
    name, scalar = op.function()
    return _round(op, semantics.apply(name, *map(_wide, operands), scalar=scalar))


def cast(op: CastOp, operands: Sequence[Array]) -> list[Array]:
    return _round(op, operands[0])


def constant(op: ConstOp, operands: Sequence[Array]) -> list[Array]:
    type_ = tensor_type(op.y)
    dtype = semantics.dtype_of(type_.get_element_type())
    # The bytes themselves: NaN keeps its payload. A true boolean is 0xFF there.
    raw = np.frombuffer(op.value.data.data, np.uint8 if dtype == np.bool_ else dtype)
    return [(raw != 0 if dtype == np.bool_ else raw).reshape(type_.get_shape())]


def matmul(op: MatMulBase, operands: Sequence[Array]) -> list[Array]:
    a, b = (_wide(x) for x in operands[:2])
    a = a.swapaxes(-1, -2) if op.transpose_x1 is not None else a
    b = b.swapaxes(-1, -2) if op.transpose_x2 is not None else b
    product = semantics.mmad(a, b, None)
    return _round(op, product + _wide(operands[2]) if op.bias is not None else product)
