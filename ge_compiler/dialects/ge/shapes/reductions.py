"""Shape rules of reductions, softmax and norms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import TensorType, i1
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.ge.shapes import require_float, show, unify
from ge_compiler.dialects.types import Tensor, tensor_type

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import NormOp, ReductionOp, SoftmaxBase


def reduction(op: ReductionOp) -> list[Tensor]:
    x, along = tensor_type(op.x), op.dimensions()
    element = x.get_element_type()
    if op.KIND == "mean":
        require_float("x", x)
    if element == i1 and op.KIND not in ("max", "min"):
        raise VerifyException(f"cannot add up or multiply booleans, got {x}; insert a ge.Cast")
    kept = 1 if op.keep_dims is not None else None
    sizes = [kept if i in along else d for i, d in enumerate(x.get_shape())]
    return [TensorType(element, [d for d in sizes if d is not None])]


def softmax(op: SoftmaxBase) -> list[Tensor]:
    op.dimensions()
    require_float("x", tensor_type(op.x))
    return [tensor_type(op.x)]


def norm(op: NormOp) -> list[Tensor]:
    x, count = tensor_type(op.operands[0]), op.normalized_dims.value.data
    require_float("x", x)
    if not 1 <= count <= len(x.get_shape()):
        raise VerifyException(f"normalized_dims must be from 1 to {len(x.get_shape())} for x of type {x}, got {count}")
    trailing = x.get_shape()[-count:]
    for name, operand in op.parameters():
        type_ = tensor_type(operand)
        require_float(name, type_)
        if unify(type_.get_shape(), trailing) is None:
            raise VerifyException(f"{name} must have the shape of the dimensions that are normalized, {show(trailing)}, got {type_}")
    return [x]
