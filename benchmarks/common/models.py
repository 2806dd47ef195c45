"""The example models at the sizes of benchmarks, with weights that have shapes but no bytes where only shapes matter."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import nn

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(file: str, name: str) -> Any:
    """A class of a file in `examples`."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    return getattr(import_module(file), name)


def hollow(build: Callable[[], nn.Module], dtype: torch.dtype = torch.float16) -> nn.Module:
    """
    The model that `build` makes, each weight and buffer of it one element seen as its whole shape.

    It is imported and compiled like any other; weights of any size take no memory, and their values mean nothing.
    """
    with torch.device("meta"):
        model = build().to(dtype).eval()
    for module in model.modules():
        for name, weight in module.named_parameters(recurse=False):
            module.register_parameter(name, nn.Parameter(shape_alone(weight.shape, weight.dtype), requires_grad=False))
        for name, buffer in module.named_buffers(recurse=False):
            setattr(module, name, shape_alone(buffer.shape, buffer.dtype))
    return model


def shape_alone(shape: torch.Size | tuple[int, ...], dtype: torch.dtype = torch.float16) -> torch.Tensor:
    """A tensor of zeros that takes the memory of one element."""
    return torch.zeros((), dtype=dtype).expand(shape)


def bert(layers: int, hidden: int = 768, heads: int = 12, intermediate: int = 3072) -> Callable[[], nn.Module]:
    return lambda: example("bert_layer", "BertEncoder")(layers, hidden, heads, intermediate)


def llama(layers: int, hidden: int = 1024, heads: int = 16, kv_heads: int = 4, intermediate: int = 2816) -> Callable[[], nn.Module]:
    return lambda: example("llama_layer", "LlamaDecoder")(layers, hidden, heads, kv_heads, intermediate)


def mlp() -> nn.Module:
    return example("mlp", "SimpleMLP")()
