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
    return [rounded(getattr(np, op.FUNCTION)(*map(wide, operands)), op.results[0])]
