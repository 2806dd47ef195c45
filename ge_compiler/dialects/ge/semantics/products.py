"""The meaning of matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ge_compiler.dialects import semantics
from ge_compiler.dialects.ge.semantics import rounded, wide
from ge_compiler.dialects.semantics import Array

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import MatMulBase


def multiply(a: Array, b: Array) -> Array:
    """The product as the cube adds it up, in f32 or i32; what no cube takes stays in its type."""
    if a.dtype == np.float32 or a.dtype == np.int8:
        return semantics.mmad(a, b, None)
    product: Array = np.matmul(a, b)
    return product


def matmul(op: MatMulBase, operands: Sequence[Array]) -> list[Array]:
    a, b = (wide(x) for x in operands[:2])
    a = a.swapaxes(-1, -2) if op.transpose_x1 is not None else a
    b = b.swapaxes(-1, -2) if op.transpose_x2 is not None else b
    product = multiply(a, b)
    return [rounded(product + wide(operands[2]) if op.bias is not None else product, op.y)]
