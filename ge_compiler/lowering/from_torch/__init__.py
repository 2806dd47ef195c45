"""The first lowering: a PyTorch model becomes a `ge` module and a weight store."""

from __future__ import annotations
