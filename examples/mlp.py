"""The feed-forward block of a transformer layer: two linear layers with a GELU between them."""

from __future__ import annotations

from torch import Tensor, nn


class SimpleMLP(nn.Module):
    def __init__(self, width: int = 768, hidden: int = 3072) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.gelu = nn.GELU()
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        x = self.fc1(x)
        x = self.gelu(x)
        return self.fc2(x)
