"""Attention."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, TensorType, UnitAttr
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ge_compiler.dialects.ge.base import GeOp, ShapeRule
from ge_compiler.dialects.ge.shapes import attention as rules


@irdl_op_definition
class FlashAttentionScoreOp(GeOp):
    """
    softmax(query keyᵀ * scale_value + mask) value, in f32 and rounded once.

    query is (..., H, Sq, D), key (..., Hkv, Sk, D), value (..., Hkv, Sk, Dv), the result (..., H, Sq, Dv); Hkv divides H, and query head h
    takes key head h / (H / Hkv). atten_mask broadcasts to (..., H, Sq, Sk): booleans say which keys to keep, floats are added to the
    scores. With `is_causal`, query i keeps keys up to i. A query that keeps no key gives 0.
    """

    name = "ge.FlashAttentionScore"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.attention)
    MEANING: ClassVar[str] = "attention.attention"

    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value = operand_def(TensorType)
    atten_mask = opt_operand_def(TensorType)
    scale_value = prop_def(FloatAttr)
    is_causal = opt_prop_def(UnitAttr)
    attention_out = result_def(TensorType)

    traits = traits_def(Pure())
