"""The primitives of `fused` that are not elementwise: reductions, views, indexing and attention, on whole tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from ge_compiler.dialects import fused, semantics
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.ge.shapes import show
from ge_compiler.dialects.semantics import Array
from ge_compiler.dialects.types import tensor_type
from ge_compiler.runtime.walk import Frame, Registers, Step, Table


def _pure(op: Operation, frame: Frame, function: Callable[..., Array]) -> Step:
    """The step of an op that makes one value of its operands' values."""
    operands, result = frame.slots(op.operands), frame.slot(op.results[0])

    def step(r: Registers) -> None:
        r[result] = function(*[r[x] for x in operands])

    return step


def _view(op: Operation, frame: Frame, function: Callable[[Array], Array]) -> Step:
    return _pure(op, frame, function)


def _shape(value: SSAValue) -> tuple[int, ...]:
    return tensor_type(value).get_shape()


# ---- reductions -------------------------------------------------------------------------------------------------------


def _least(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).min if dtype.kind == "i" else -np.inf


def _greatest(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).max if dtype.kind == "i" else np.inf


def _reduce(op: fused.ReduceOp, frame: Frame) -> Step:
    kind, reduced, shape = op.kind.kind.data, op.reduced, _shape(op.result)

    def combine(x: Array) -> Array:
        # numpy adds in pairs along the last axis only.
        order = [d for d in range(x.ndim) if d not in reduced] + list(reduced)
        rows = np.ascontiguousarray(x.transpose(order)).reshape(*shape, prod(x.shape[d] for d in reduced))
        match kind:
            case fused.Reduction.SUM:
                return np.asarray(np.sum(rows, axis=-1, dtype=x.dtype))
            case fused.Reduction.MAX:
                return np.asarray(np.max(rows, axis=-1, initial=_least(x.dtype)))
            case _:
                return np.asarray(np.min(rows, axis=-1, initial=_greatest(x.dtype)))

    return _pure(op, frame, combine)


# ---- views ------------------------------------------------------------------------------------------------------------


def _reshape(op: fused.ReshapeOp, frame: Frame) -> Step:
    shape = _shape(op.result)
    return _view(op, frame, lambda x: x.reshape(shape))


def _transpose(op: fused.TransposeOp, frame: Frame) -> Step:
    permutation = op.permutation.get_values()
    return _view(op, frame, lambda x: x.transpose(permutation))


def _window(sizes: Sequence[int], offsets: Sequence[int], strides: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(o, o + s * n, s) for n, o, s in zip(sizes, offsets, strides, strict=True))


def _slice(op: fused.SliceOp, frame: Frame) -> Step:
    window = _window(_shape(op.result), op.offsets.get_values(), op.strides.get_values())
    return _view(op, frame, lambda x: x[window])


def _concat(op: fused.ConcatOp, frame: Frame) -> Step:
    axis = op.dimension.value.data
    return _pure(op, frame, lambda *pieces: np.concatenate(pieces, axis=axis))


def _insert(op: fused.InsertOp, frame: Frame) -> Step:
    window = _window(_shape(op.x), op.offsets.get_values(), op.strides.get_values())

    def replace(x: Array, dest: Array) -> Array:
        result = dest.copy()
        result[window] = x
        return result

    return _pure(op, frame, replace)


def _iota(op: fused.IotaOp, frame: Frame) -> None:
    type_, axis = tensor_type(op.result), op.dimension.value.data
    shape = type_.get_shape()
    numbers = np.arange(shape[axis]).astype(semantics.dtype_of(type_.get_element_type()))
    frame.set_constant(op.result, np.broadcast_to(numbers.reshape([-1 if d == axis else 1 for d in range(len(shape))]), shape))


# ---- indexing ---------------------------------------------------------------------------------------------------------


def _check_indices(op: Operation, indices: Array, name: str | None, what: str, size: int) -> None:
    """Raises `CompileError` at `op` for the first index that names none of `size` entries."""
    wrong = np.argwhere((indices < 0) | (indices >= size))
    if len(wrong):
        place = tuple(int(i) for i in wrong[0])
        where = f"indices{f' (%{name})' if name else ''}[{', '.join(map(str, place))}]"
        raise CompileError.at(op, f"{where} is {indices[place]}, but {what} has {size} entries")


def _gather(op: fused.GatherOp, frame: Frame) -> Step:
    name, size = op.indices.name_hint, _shape(op.table)[0]

    def rows(table: Array, indices: Array) -> Array:
        _check_indices(op, indices, name, f"the table {show(table.shape)}", size)
        return np.asarray(table[indices]) if size else np.empty((*indices.shape, *table.shape[1:]), table.dtype)

    return _pure(op, frame, rows)


def _scatter(op: fused.ScatterOp, frame: Frame) -> Step:
    axis, name = op.dimension.value.data, op.indices.name_hint

    def replace(x: Array, indices: Array, dest: Array) -> Array:
        _check_indices(op, indices, name, f"dimension {axis} of {show(dest.shape)}", dest.shape[axis])
        result = dest.copy()
        for i, entry in enumerate(indices):
            result[(slice(None),) * axis + (entry,)] = x[(slice(None),) * axis + (i,)]
        return result

    return _pure(op, frame, replace)


# ---- attention --------------------------------------------------------------------------------------------------------


def _attention(op: fused.AttentionOp, frame: Frame) -> Step:
    scale, causal = np.float32(op.scale.value.data), op.causal is not None

    def attend(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
        return attention(q, k, v, mask, scale, causal)

    return _pure(op, frame, attend)


def attention(q: Array, k: Array, v: Array, mask: Array | None, scale: np.float32, causal: bool) -> Array:
    """softmax(scale · q kᵀ + mask) v in f32, over arrays as `fused.attention` takes them; queries without keys give 0."""
    with np.errstate(all="ignore"):
        scores = semantics.mmad(q, k.swapaxes(-1, -2), None) * scale
        if mask is not None:
            scores = np.where(mask, scores, np.float32(-np.inf)) if mask.dtype == np.bool_ else scores + mask.astype(np.float32)
        if causal:
            scores = np.where(np.tri(*scores.shape[-2:], dtype=np.bool_), scores, np.float32(-np.inf))
        largest = np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
        weights = np.exp(scores - np.where(largest == -np.inf, np.float32(0), largest))
        total = np.sum(weights, axis=-1, keepdims=True, dtype=np.float32)
        return np.where(total == 0, np.float32(0), semantics.mmad(weights, v, None) / total)


PRIMITIVES: Table = {
    fused.ReduceOp: _reduce,
    fused.ReshapeOp: _reshape,
    fused.TransposeOp: _transpose,
    fused.SliceOp: _slice,
    fused.ConcatOp: _concat,
    fused.InsertOp: _insert,
    fused.IotaOp: _iota,
    fused.GatherOp: _gather,
    fused.ScatterOp: _scatter,
    fused.AttentionOp: _attention,
}
