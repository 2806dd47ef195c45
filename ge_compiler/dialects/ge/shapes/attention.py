"""Shape rules of attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, i1
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.ge.shapes import Shape, broadcast, fits, require_float, require_same_element, show
from ge_compiler.dialects.types import Tensor, is_integer, tensor_type

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import FlashAttentionScoreOp


def attention(op: FlashAttentionScoreOp) -> list[Tensor]:
    query, key, value = (tensor_type(x) for x in (op.query, op.key, op.value))
    require_float("query", query)
    require_same_element([("query", query), ("key", key), ("value", value)])
    for name, type_ in (("query", query), ("key", key), ("value", value)):
        if len(type_.get_shape()) < 3:
            raise VerifyException(f"{name} must have at least three dimensions: heads, rows and the head size, got {type_}")
    *batch_q, heads, rows, size = query.get_shape()
    *batch_k, heads_k, keys, size_k = key.get_shape()
    *batch_v, heads_v, keys_v, size_v = value.get_shape()
    if not fits(size, size_k):
        raise VerifyException(f"query has head size {size}, but key has {size_k}")
    if not fits(keys, keys_v) or not fits(heads_k, heads_v):
        raise VerifyException(f"key and value must agree in heads and rows, got {show(key.get_shape())} and {show(value.get_shape())}")
    if DYNAMIC_INDEX not in (heads, heads_k) and (heads % heads_k if heads_k else heads):
        raise VerifyException(f"the {heads_k} heads of key must divide the {heads} heads of query")
    batch = broadcast([tuple(batch_q), tuple(batch_k), tuple(batch_v)])
    if batch is None:
        raise VerifyException(f"batch dimensions do not broadcast: {' and '.join(show(tuple(b)) for b in (batch_q, batch_k, batch_v))}")
    _check_mask(op, (*batch, heads, rows, keys))
    return [TensorType(query.get_element_type(), (*batch, heads, rows, size_v))]


def _check_mask(op: FlashAttentionScoreOp, scores: Shape) -> None:
    if op.atten_mask is None:
        return
    mask = tensor_type(op.atten_mask)
    if is_integer(mask.get_element_type()) and mask.get_element_type() != i1:
        raise VerifyException(f"atten_mask must have elements of type i1 or of a float type, got {mask}")
    shape = broadcast([mask.get_shape(), scores])
    if shape is None or len(shape) != len(scores) or not all(map(fits, shape, scores)):
        raise VerifyException(f"atten_mask must broadcast to the scores, {show(scores)}, got {mask}")
