"""The meaning of elementwise operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ge_compiler.dialects import semantics
from ge_compiler.dialects.ge.semantics import rounded, wide
from ge_compiler.dialects.semantics import Array

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import CastOp, ElementwiseOp, NumpyOp, SelectV2Op


def function(op: ElementwiseOp, operands: Sequence[Array]) -> list[Array]:
    name, scalar = op.function()
    return [rounded(semantics.apply(name, *map(wide, operands), scalar=scalar), op.results[0])]


def select(op: SelectV2Op, operands: Sequence[Array]) -> list[Array]:
    return [np.where(*operands)]


def cast(op: CastOp, operands: Sequence[Array]) -> list[Array]:
    return [rounded(operands[0], op.y)]


def numpy_function(op: NumpyOp, operands: Sequence[Array]) -> list[Array]:
    compute = _OWN.get(op.FUNCTION) or getattr(np, op.FUNCTION)
    # Floats in f64: numpy's f32 cosh, for one, is off by several units in the last place.
    return [rounded(compute(*(x if x.dtype.kind in "iub" else x.astype(np.float64) for x in operands)), op.results[0])]


def _sign(x: Array) -> Array:
    return np.subtract(x > 0, x < 0, dtype=np.int8)


def _power(base: Array, exponent: Array) -> Array:
    """Integers wrap around; a negative exponent gives the reciprocal without its fraction, 0 where there is none."""
    if base.dtype.kind == "f":
        return np.power(base, exponent)
    reciprocal = np.where(np.abs(base) == 1, base, 0)
    return np.power(np.where(exponent < 0, reciprocal, base), np.abs(exponent))


_OWN = {"sign": _sign, "power": _power}
"""Functions in which numpy and PyTorch differ: numpy has no sign of NaN and no negative powers of integers."""
