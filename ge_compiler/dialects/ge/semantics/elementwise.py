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
    compute = _integer_power if op.FUNCTION == "power" and operands[0].dtype.kind == "i" else getattr(np, op.FUNCTION)
    return [rounded(compute(*map(wide, operands)), op.results[0])]


def _integer_power(base: Array, exponent: Array) -> Array:
    """Powers that wrap around; a negative exponent gives the reciprocal without its fraction, 0 where there is none."""
    reciprocal = np.where(np.abs(base) == 1, base, 0)
    return np.power(np.where(exponent < 0, reciprocal, base), np.abs(exponent))
