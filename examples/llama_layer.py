"""A layer of Llama: RMS norms, rotary positions, grouped queries over a cache of keys and values, and a gated feed-forward block."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RMSNorm(nn.Module):
    """Scales each vector to a root mean square of 1, in f32 whatever the dtype of `x`."""

    def __init__(self, hidden: int, epsilon: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        dtype = x.dtype
        x = x.to(torch.float32)
        variance = x.pow(2).mean(-1, keepdim=True)
        x = x * torch.rsqrt(variance + self.epsilon)
        return self.weight * x.to(dtype)


class RotaryEmbedding(nn.Module):
    """Turns pairs of features by angles that grow with the position, so that products of queries and keys depend on distances alone."""

    def __init__(self, head_size: int, positions: int, base: float = 10000.0) -> None:
        super().__init__()
        frequencies = base ** (-torch.arange(0, head_size, 2) / head_size)
        angles = torch.outer(torch.arange(positions), frequencies).repeat(1, 2)
        self.cos: Tensor
        self.sin: Tensor
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """x: [batch, heads, length, head size]; positions: [length]."""
        return x * self.cos[positions] + rotate_half(x) * self.sin[positions]


def rotate_half(x: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


class CachedAttention(nn.Module):
    """Causal self-attention in which several query heads share a key head; keys and values of earlier calls are in its buffers."""

    def __init__(self, hidden: int, heads: int, kv_heads: int, positions: int, batch: int) -> None:
        super().__init__()
        self.head_size = hidden // heads
        self.q_proj = nn.Linear(hidden, heads * self.head_size, bias=False)
        self.k_proj = nn.Linear(hidden, kv_heads * self.head_size, bias=False)
        self.v_proj = nn.Linear(hidden, kv_heads * self.head_size, bias=False)
        self.o_proj = nn.Linear(heads * self.head_size, hidden, bias=False)
        self.rotary = RotaryEmbedding(self.head_size, positions)
        self.key_cache: Tensor
        self.value_cache: Tensor
        self.register_buffer("key_cache", torch.zeros(batch, kv_heads, positions, self.head_size))
        self.register_buffer("value_cache", torch.zeros(batch, kv_heads, positions, self.head_size))

    def forward(self, x: Tensor, position: Tensor) -> Tensor:
        positions = position + torch.arange(x.shape[1])
        q, k, v = (self.split_heads(project(x)) for project in (self.q_proj, self.k_proj, self.v_proj))
        self.key_cache.index_copy_(2, positions, self.rotary(k, positions))
        self.value_cache.index_copy_(2, positions, v)
        seen = torch.arange(self.key_cache.shape[2]) <= positions[:, None]
        q = self.rotary(q, positions)
        attended = F.scaled_dot_product_attention(q, self.key_cache, self.value_cache, attn_mask=seen, enable_gqa=True)
        return self.o_proj(attended.transpose(1, 2).flatten(2))

    def split_heads(self, x: Tensor) -> Tensor:
        """[batch, length, heads * head size] -> [batch, heads, length, head size]."""
        batch, length, _ = x.shape
        return x.view(batch, length, -1, self.head_size).transpose(1, 2)


class SwiGLU(nn.Module):
    """A feed-forward block whose hidden features are gated by others."""

    def __init__(self, hidden: int, intermediate: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(hidden, intermediate, bias=False)
        self.up_proj = nn.Linear(hidden, intermediate, bias=False)
        self.down_proj = nn.Linear(intermediate, hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class LlamaLayer(nn.Module):
    """
    x: [batch, length, hidden] -> the same shape; position, an integer of shape [1], is that of the first of `x`'s `length` positions.

    Keys and values of these positions go to the cache, which has `positions` of them: a prefill of a prompt starts at position 0, each
    decoding step then has length 1.
    """

    def __init__(
        self, hidden: int = 1024, heads: int = 16, kv_heads: int = 4, intermediate: int = 2816, positions: int = 512, batch: int = 1
    ) -> None:
        super().__init__()
        self.input_norm = RMSNorm(hidden)
        self.attention = CachedAttention(hidden, heads, kv_heads, positions, batch)
        self.output_norm = RMSNorm(hidden)
        self.feed_forward = SwiGLU(hidden, intermediate)

    def forward(self, x: Tensor, position: Tensor) -> Tensor:
        x = x + self.attention(self.input_norm(x), position)
        return x + self.feed_forward(self.output_norm(x))


class LlamaDecoder(nn.Module):
    """`layers` layers of equal sizes, one after the other; each has a cache of its own."""

    def __init__(self, layers: int = 12, hidden: int = 1024, heads: int = 16, kv_heads: int = 4, intermediate: int = 2816) -> None:
        super().__init__()
        self.layers = nn.ModuleList(LlamaLayer(hidden, heads, kv_heads, intermediate) for _ in range(layers))

    def forward(self, x: Tensor, position: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, position)
        return x
