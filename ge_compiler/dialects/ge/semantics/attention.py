"""The meaning of attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ge_compiler.dialects.ge.semantics import rounded, wide
from ge_compiler.dialects.ge.semantics.products import multiply
from ge_compiler.dialects.ge.semantics.reductions import largest, total
from ge_compiler.dialects.semantics import Array

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import FlashAttentionScoreOp


def attention(op: FlashAttentionScoreOp, operands: Sequence[Array]) -> list[Array]:
    query, key, value = (wide(x) for x in operands[:3])
    groups = query.shape[-3] // key.shape[-3] if key.shape[-3] else 1
    key, value = np.repeat(key, groups, -3), np.repeat(value, groups, -3)
    scores: Array = multiply(query, key.swapaxes(-1, -2)) * query.dtype.type(op.scale_value.value.data)
    for mask in (*operands[3:], *([_causal(scores)] if op.is_causal is not None else [])):
        scores = np.where(mask, scores, scores.dtype.type(-np.inf)) if mask.dtype == np.bool_ else scores + wide(mask)
    probabilities = np.exp(scores - np.maximum(largest(scores, (scores.ndim - 1,)), np.finfo(scores.dtype).min))
    sums = total(probabilities, (scores.ndim - 1,))
    # A row that keeps no key has the sum 0, and gives 0.
    weighted = multiply(probabilities, value) / np.where(sums == 0, sums.dtype.type(1), sums)
    return [rounded(weighted, op.attention_out)]


def _causal(scores: Array) -> Array:
    rows, keys = scores.shape[-2:]
    return np.tri(rows, keys, dtype=np.bool_)
