"""The meaning of reductions, softmax and norms."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ge_compiler.dialects.ge.semantics import rounded, wide
from ge_compiler.dialects.semantics import Array

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import LayerNormV4Op, LogSoftmaxV2Op, ReductionOp, RmsNormOp, SoftmaxV2Op


def reduce(op: ReductionOp, operands: Sequence[Array]) -> list[Array]:
    return [rounded(_REDUCE[op.KIND](wide(operands[0]), op.dimensions(), op.keep_dims is not None), op.y)]


def total(x: Array, axes: tuple[int, ...], keep_dims: bool = True) -> Array:
    """The sum in the type of `x`. Floats add up in f64: numpy takes one after the other, which would cost digits of f32."""
    wider = np.dtype(np.float64) if x.dtype.kind == "f" else x.dtype
    return np.asarray(np.add.reduce(x, axes, dtype=wider, keepdims=keep_dims)).astype(x.dtype)


def mean(x: Array, axes: tuple[int, ...], keep_dims: bool = True) -> Array:
    """The mean of floats; NaN where there are none."""
    return total(x, axes, keep_dims) * np.divide(x.dtype.type(1), _count(x, axes), dtype=x.dtype)


def largest(x: Array, axes: tuple[int, ...], keep_dims: bool = True) -> Array:
    return np.maximum.reduce(x, axes, keepdims=keep_dims, initial=_lowest(x.dtype))


def smallest(x: Array, axes: tuple[int, ...], keep_dims: bool = True) -> Array:
    return np.minimum.reduce(x, axes, keepdims=keep_dims, initial=_highest(x.dtype))


def product(x: Array, axes: tuple[int, ...], keep_dims: bool = True) -> Array:
    return np.multiply.reduce(x, axes, dtype=x.dtype, keepdims=keep_dims)


_REDUCE = {"sum": total, "mean": mean, "max": largest, "min": smallest, "prod": product}


def _count(x: Array, axes: tuple[int, ...]) -> int:
    return prod(x.shape[i] for i in axes)


def _lowest(dtype: np.dtype[Any]) -> Any:
    return False if dtype.kind == "b" else np.iinfo(dtype).min if dtype.kind == "i" else -np.inf


def _highest(dtype: np.dtype[Any]) -> Any:
    return True if dtype.kind == "b" else np.iinfo(dtype).max if dtype.kind == "i" else np.inf


def softmax(op: SoftmaxV2Op, operands: Sequence[Array]) -> list[Array]:
    x, axes = wide(operands[0]), op.dimensions()
    exponentials = np.exp(x - largest(x, axes))
    return [rounded(exponentials / total(exponentials, axes), op.y)]


def log_softmax(op: LogSoftmaxV2Op, operands: Sequence[Array]) -> list[Array]:
    x, axes = wide(operands[0]), op.dimensions()
    shifted = x - largest(x, axes)
    return [rounded(shifted - np.log(total(np.exp(shifted), axes)), op.y)]


def layer_norm(op: LayerNormV4Op, operands: Sequence[Array]) -> list[Array]:
    x, axes = wide(operands[0]), op.dimensions()
    centred = x - mean(x, axes)
    # The mean is rounded, which would be all that is left of a row of equal elements: the mean of what is left takes it away.
    centred = centred - mean(centred, axes)
    value = centred * _reciprocal_root(mean(centred * centred, axes), op.epsilon.value.data)
    for parameter, apply in zip(operands[1:], (np.multiply, np.add), strict=False):
        value = apply(value, wide(parameter))
    return [rounded(value, op.y)]


def rms_norm(op: RmsNormOp, operands: Sequence[Array]) -> list[Array]:
    x = wide(operands[0])
    value = x * _reciprocal_root(mean(x * x, op.dimensions()), op.epsilon.value.data)
    return [rounded(value * wide(operands[1]) if op.gamma is not None else value, op.y)]


def _reciprocal_root(variance: Array, epsilon: float) -> Array:
    one = variance.dtype.type(1)
    return one / np.sqrt(variance + variance.dtype.type(epsilon))
