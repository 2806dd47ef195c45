"""
The numpy meaning of the `ge` operators, one file for each theme: f32 accumulation, one rounding to the result's element type.

Here is what the meanings share.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
from xdsl.ir import SSAValue

from ge_compiler.dialects import semantics
from ge_compiler.dialects.semantics import Array
from ge_compiler.dialects.types import tensor_type

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import GeOp


def evaluate(op: GeOp, operands: Sequence[Array]) -> Sequence[Array]:
    """The results of `op` on `operands`, whose dtypes and shapes are those of the op's operand types."""
    file, function = op.MEANING.split(".")
    with np.errstate(all="ignore"):
        return getattr(import_module(f"{__name__}.{file}"), function)(op, operands)


def rounded(value: Array, result: SSAValue) -> Array:
    """`value` in the element type of `result`."""
    return semantics.cast(np.asarray(value), semantics.dtype_of(tensor_type(result).get_element_type()))


def wide(x: Array) -> Array:
    """Floats widen to f32 to be computed with; integers and f64 stay as they are."""
    return x if x.dtype.kind in "iub" or x.dtype == np.float64 else semantics.cast(x, np.dtype(np.float32))
