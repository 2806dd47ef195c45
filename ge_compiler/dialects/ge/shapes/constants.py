"""Shape rules of constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import TensorType
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.types import Tensor, tensor_type

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import ConstOp


def constant(op: ConstOp) -> list[Tensor]:
    if not isinstance(op.value.get_type(), TensorType):
        raise VerifyException(f"value must be a tensor constant such as dense<1.0> : tensor<4xf16>, got one of type {op.value.get_type()}")
    return [tensor_type(op.value.get_type())]
