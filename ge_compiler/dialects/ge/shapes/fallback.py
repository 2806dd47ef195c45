"""Shape rules of operators that are run elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ge_compiler.dialects.types import Tensor, tensor_type

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import AtenFallbackOp


def as_written(op: AtenFallbackOp) -> list[Tensor]:
    return [tensor_type(result) for result in op.outputs]
