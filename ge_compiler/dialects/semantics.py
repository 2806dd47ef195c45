"""The semantics table: the only place where arithmetic exists. Every interpreter and executor of every level calls these functions.

Arrays hold the *valid* elements of a tile, row-major; leading axes are free. Vector functions work on arrays of f32, i32, i64 or
booleans; rounding happens in `cast` alone. numpy is imported here, so import this module where something is executed and never at the
top of a dialect or a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IndexType, IntegerType
from xdsl.ir import Attribute

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.functions import REDUCTIONS, expand, identity_of

Array = npt.NDArray[Any]

_FLOATS: dict[type[Attribute], npt.DTypeLike] = {
    Float16Type: np.float16,
    BFloat16Type: ml_dtypes.bfloat16,
    Float32Type: np.float32,
    Float64Type: np.float64,
    IndexType: np.int64,
}
_INTEGERS: dict[int, npt.DTypeLike] = {1: np.bool_, 8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


def dtype_of(element: Attribute) -> np.dtype[Any]:
    """The numpy dtype of an element type. Raises `CompileError` for a type without one."""
    dtype = _INTEGERS.get(element.bitwidth) if isinstance(element, IntegerType) else _FLOATS.get(type(element))
    if dtype is None:
        raise CompileError(f"cannot be executed: elements of type {element} have no meaning in numpy")
    return np.dtype(dtype)


def _reciprocal(x: Array, out: Array | None = None) -> Array:
    return np.divide(np.float32(1), x, out=out)


def _select(condition: Array, x: Array, y: Array, out: Array | None = None) -> Array:
    if out is None:
        return np.where(condition, x, y)
    np.copyto(out, y)
    np.copyto(out, x, where=condition)
    return out


def _relu(x: Array, out: Array | None = None) -> Array:
    return np.maximum(x, x.dtype.type(0), out=out)


_NATIVE: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "abs": np.abs,
    "exp": np.exp,
    "ln": np.log,
    "sqrt": np.sqrt,
    "rec": _reciprocal,
    "relu": _relu,
    "rint": np.rint,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "select": _select,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_not": np.logical_not,
}
_WITH_SCALAR: dict[str, Callable[..., Array]] = {"adds": np.add, "muls": np.multiply, "maxs": np.maximum, "mins": np.minimum}
"""With `_NATIVE`, each native function of the table on arrays of one dtype, conditions apart. A scalar is of that dtype too."""


def apply(name: str, *operands: Array, scalar: float | None = None) -> Array:
    """The function `name` of the table on arrays that broadcast against each other; expansions run in native functions."""
    with np.errstate(all="ignore"):
        return np.asarray(expand(_Numpy(), name, operands, scalar))  # numpy makes scalars of arrays of rank 0


def native(name: str, has_scalar: bool = False) -> Callable[..., Array]:
    """The native function `name`, of arrays and then its scalar. It takes `out` too; that of `select` must not be one of its operands."""
    return (_WITH_SCALAR if has_scalar else _NATIVE)[name]


class _Numpy:
    """An emitter that computes at once."""

    def apply(self, name: str, *operands: Array, scalar: float | None = None) -> Array:
        if scalar is None:
            return _NATIVE[name](*operands)
        return _WITH_SCALAR[name](*operands, operands[0].dtype.type(scalar))


def cast(x: Array, dtype: np.dtype[Any]) -> Array:
    """Convert to `dtype`: round to nearest even between floats, truncate from float to integer, compare with zero to boolean."""
    if x.dtype == dtype:
        return x
    with np.errstate(all="ignore"):
        return x.astype(dtype)


def reduce(kind: str, x: Array, axis: int) -> Array:
    """Combine the elements of `x` (f32, i32 or i64) along an axis, which stays with one element.

    The second half is combined with the first, again and again, so that the bits depend on the number of elements alone.
    """
    x = np.moveaxis(x, axis, 0)
    combine = _NATIVE[REDUCTIONS[kind]]
    with np.errstate(all="ignore"):
        if len(x) == 0:
            element = {"f": "f32"}.get(x.dtype.kind, f"i{8 * x.dtype.itemsize}")
            x = np.full((1, *x.shape[1:]), identity_of(kind, element), x.dtype)
        while len(x) > 1:
            half = len(x) // 2
            folded = combine(x[:half], x[half : 2 * half])
            x = np.concatenate([folded, x[2 * half :]]) if len(x) % 2 else folded
    return np.ascontiguousarray(np.moveaxis(x, 0, axis))


def iota(base: int, steps: Sequence[int], shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """Element (i, j, ...) is base + i·steps[0] + j·steps[1] ..., rounded once for floats, modulo the range of integers."""
    value = np.full(tuple(shape), base, np.int64)
    for d, step in enumerate(steps):
        value += (np.arange(shape[d], dtype=np.int64) * step).reshape(-1, *[1] * (len(shape) - d - 1))
    return value.astype(dtype)


def mmad(a: Array, b: Array, accumulator: Array | None) -> Array:
    """One cube instruction: a (…, m, k) times b (…, k, n), row-major, in the accumulator's type; added to `accumulator` if given.

    Floats are widened to f32, 8-bit integers to i32. The bits depend on the shapes, so callers pass valid elements only.
    """
    wide = np.dtype(np.int32) if a.dtype.kind in "iu" else np.dtype(np.float32)
    with np.errstate(all="ignore"):
        product = np.matmul(np.ascontiguousarray(cast(a, wide)), np.ascontiguousarray(cast(b, wide)))
        return product if accumulator is None else np.add(accumulator, product)
