"""Scaled dot-product attention."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from ge_compiler.lowering.from_torch.conversion import Conversion, converts, shape_of


@converts("aten.scaled_dot_product_attention.default")
def attention(
    c: Conversion,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    mask: SSAValue | None,
    dropout: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> SSAValue:
    if dropout:
        c.decline("it draws random numbers")
    query, key, value = _batched(c, query, key, value, enable_gqa)
    if scale is None:
        scale = 1 / math.sqrt(shape_of(query)[-1]) if shape_of(query)[-1] else 1.0
    result = c.op("FlashAttentionScore", query, key, value, mask, scale_value=float(scale), is_causal=is_causal)
    return c.reshape(result, c.shape)


def _batched(c: Conversion, query: SSAValue, key: SSAValue, value: SSAValue, grouped: bool) -> tuple[SSAValue, SSAValue, SSAValue]:
    """The operands with a dimension of heads and the same batches; several query heads may share a key head."""
    rank = max(3, *(len(shape_of(x)) for x in (query, key, value)))
    operands = [c.reshape(x, (1,) * (rank - len(shape_of(x))) + shape_of(x)) for x in (query, key, value)]
    shared = 3 if grouped else 2
    batch = [1] * (rank - shared)
    for x in operands:
        batch = [max(size, extent) if 0 not in (size, extent) else 0 for size, extent in zip(batch, shape_of(x), strict=False)]
    query, key, value = (c.broadcast(x, (*batch, *shape_of(x)[rank - shared :])) for x in operands)
    return query, key, value
