"""A layer of BERT: self-attention and a feed-forward block, each added to its input and normalised afterwards (post-LN)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttention(nn.Module):
    """Every position of a sequence looks at every other, in `heads` independent ways."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)
        self.output = nn.Linear(hidden, hidden)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = (self.split_heads(project(x)) for project in (self.query, self.key, self.value))
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.output(attended.transpose(1, 2).flatten(2))

    def split_heads(self, x: Tensor) -> Tensor:
        """[batch, length, hidden] -> [batch, heads, length, hidden / heads]."""
        batch, length, hidden = x.shape
        return x.view(batch, length, self.heads, hidden // self.heads).transpose(1, 2)


class FeedForward(nn.Module):
    """Two linear layers with a GELU between them, for each position alone."""

    def __init__(self, hidden: int, intermediate: int) -> None:
        super().__init__()
        self.expand = nn.Linear(hidden, intermediate)
        self.gelu = nn.GELU()
        self.contract = nn.Linear(intermediate, hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.contract(self.gelu(self.expand(x)))


class BertLayer(nn.Module):
    """
    x: [batch, length, hidden] -> the same shape.

    `mask`, if given, says what each query may look at: booleans (true: it may) or numbers that are added to the scores, of a shape that
    broadcasts to [batch, heads, length, length].
    """

    def __init__(self, hidden: int = 768, heads: int = 12, intermediate: int = 3072, epsilon: float = 1e-12, dropout: float = 0.1) -> None:
        super().__init__()
        self.attention = SelfAttention(hidden, heads)
        self.attention_norm = nn.LayerNorm(hidden, eps=epsilon)
        self.feed_forward = FeedForward(hidden, intermediate)
        self.output_norm = nn.LayerNorm(hidden, eps=epsilon)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.attention_norm(x + self.dropout(self.attention(x, mask)))
        return self.output_norm(x + self.dropout(self.feed_forward(x)))


class BertEncoder(nn.Module):
    """`layers` layers of equal sizes, one after the other."""

    def __init__(self, layers: int = 12, hidden: int = 768, heads: int = 12, intermediate: int = 3072) -> None:
        super().__init__()
        self.layers = nn.ModuleList(BertLayer(hidden, heads, intermediate) for _ in range(layers))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        for layer in self.layers:
            x = layer(x, mask)
        return x
