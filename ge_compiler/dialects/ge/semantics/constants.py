"""The meaning of constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ge_compiler.dialects import semantics
from ge_compiler.dialects.semantics import Array
from ge_compiler.dialects.types import tensor_type

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import ConstOp


def constant(op: ConstOp, operands: Sequence[Array]) -> list[Array]:
    type_ = tensor_type(op.value.get_type())  # the result may be a memref
    dtype = semantics.dtype_of(type_.get_element_type())
    # The bytes themselves: NaN keeps its payload. A true boolean is 0xFF there.
    raw = np.frombuffer(op.value.data.data, np.uint8 if dtype == np.bool_ else dtype)
    return [(raw != 0 if dtype == np.bool_ else raw).reshape(type_.get_shape())]
