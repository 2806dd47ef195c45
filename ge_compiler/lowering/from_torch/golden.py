"""What PyTorch itself gives: eager execution, and its distance from the f64 reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree  # pyright: ignore[reportPrivateUsage]

from ge_compiler.lowering.from_torch import reference
from ge_compiler.lowering.from_torch.dtypes import to_numpy
from ge_compiler.lowering.from_torch.export import evaluating
from ge_compiler.lowering.from_torch.importer import Imported, import_model
from ge_compiler.runtime.signature import Array


@dataclass(frozen=True)
class Golden:
    """The tensors of a model's results, in order."""

    eager: list[Array]
    """In the model's own dtypes."""
    reference: list[Array]
    """Floats in f64."""


def golden(model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None, dtype: str | None = None) -> Golden:
    """Both results of `model` for these inputs, in `dtype` if given. Raises `CompileError` as `import_model` does."""
    return golden_of(import_model(model, args, kwargs, dtype=dtype))


def golden_of(imported: Imported) -> Golden:
    """Both results of an imported model for the inputs that it was imported with."""
    return Golden(eager(imported.model, imported.args, imported.kwargs), reference.evaluate(imported.exported, imported.inputs))


def eager(model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Array]:
    """The tensors of `model(*args, **kwargs)` in eval mode."""
    with evaluating(model):
        leaves = pytree.tree_leaves(model(*args, **kwargs))
    return [to_numpy(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor)]
