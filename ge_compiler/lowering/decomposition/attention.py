"""Attention: query heads that share a key head become a batch dimension of their own, which is 1 in keys and values."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_compiler.dialects import fused, ge
from ge_compiler.dialects.types import tensor_type
from ge_compiler.lowering.decomposition.region import NoLowering, Region


def attention(op: ge.FlashAttentionScoreOp, region: Region) -> SSAValue:
    heads, keys_heads, size = (tensor_type(x).get_shape()[d] for x, d in ((op.query, -3), (op.key, -3), (op.query, -1)))
    if size == 0:
        raise NoLowering("heads of size 0 have no product to sum up")
    query, key, value = (region.argument(x) for x in (op.query, op.key, op.value))
    mask = None if op.atten_mask is None else region.argument(op.atten_mask)
    if heads != keys_heads:
        query = _grouped(query, keys_heads, region)
        key, value = (_grouped(x, keys_heads, region) for x in (key, value))
        mask = None if mask is None else _grouped_mask(mask, keys_heads, region)
    made = fused.AttentionOp(query, key, value, mask, op.scale_value.value.data, op.is_causal is not None)
    return region.reshape(region.add(made), tensor_type(op.attention_out).get_shape())


def _grouped(x: SSAValue, groups: int, region: Region) -> SSAValue:
    *batch, heads, rows, columns = tensor_type(x).get_shape()
    return region.reshape(x, [*batch, groups, heads // groups, rows, columns])


def _grouped_mask(mask: SSAValue, groups: int, region: Region) -> SSAValue:
    shape = tensor_type(mask).get_shape()
    if len(shape) < 3:
        return mask
    return region.reshape(mask, [*shape[:-3], 1, 1, *shape[-2:]]) if shape[-3] == 1 else _grouped(mask, groups, region)
