"""The meaning of operators along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ge_compiler.dialects.ge.semantics import rounded, wide
from ge_compiler.dialects.semantics import Array
from ge_compiler.dialects.types import tensor_type

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import ArgOp, PadDOp, RangeOp, ReverseDOp, ScanOp, SortDOp, TopKDOp, TriangleOp


def sequence(op: RangeOp, operands: Sequence[Array]) -> list[Array]:
    (count,) = tensor_type(op.y).get_shape()
    start, delta = op.start.value.data, op.delta.value.data
    kind = np.int64 if isinstance(start, int) else np.float64
    return [rounded(np.arange(count).astype(kind) * kind(delta) + kind(start), op.y)]


def pad(op: PadDOp, operands: Sequence[Array]) -> list[Array]:
    x, paddings = operands[0], op.paddings.get_values()
    value = rounded(np.asarray(op.value.value.data), op.y)
    return [np.pad(x, list(zip(paddings[::2], paddings[1::2], strict=True)), constant_values=value)]


def reverse(op: ReverseDOp, operands: Sequence[Array]) -> list[Array]:
    return [np.flip(operands[0], op.dimensions())]


def triangle(op: TriangleOp, operands: Sequence[Array]) -> list[Array]:
    cut = np.tril if op.name == "ge.Tril" else np.triu
    return [cut(operands[0], op.diagonal.value.data)]


def scan(op: ScanOp, operands: Sequence[Array]) -> list[Array]:
    x = operands[0]
    accumulate = np.add.accumulate if op.name == "ge.CumsumD" else np.multiply.accumulate
    return [rounded(accumulate(x.astype(x.dtype if x.dtype.kind == "i" else np.float64), op.dimension()), op.y)]


def argument(op: ArgOp, operands: Sequence[Array]) -> list[Array]:
    find = np.argmax if op.name == "ge.ArgMaxD" else np.argmin
    return [rounded(find(wide(operands[0]), op.dimension(), keepdims=op.keep_dims is not None), op.y)]


def sort(op: SortDOp, operands: Sequence[Array]) -> list[Array]:
    places = _order(operands[0], op.dimension(), op.descending is not None)
    return [np.take_along_axis(operands[0], places, op.dimension()), rounded(places, op.indices)]


def top_k(op: TopKDOp, operands: Sequence[Array]) -> list[Array]:
    axis = op.dimension()
    places = _order(operands[0], axis, op.smallest is None)
    places = np.take(places, np.arange(op.k.value.data), axis)
    return [np.take_along_axis(operands[0], places, axis), rounded(places, op.indices)]


def _order(x: Array, axis: int, descending: bool) -> Array:
    """The places of `x` along `axis` in order; NaN counts as the largest, equal elements keep theirs."""
    keys = wide(x)
    if not descending:
        return np.argsort(keys, axis, kind="stable")
    # Stable and descending: sort what is turned round in ascending order, and turn that round again.
    turned = np.argsort(np.flip(keys, axis), axis, kind="stable")
    return keys.shape[axis] - 1 - np.flip(turned, axis)
