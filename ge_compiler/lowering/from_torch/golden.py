"""What PyTorch itself gives: eager execution, and its distance from the f64 reference."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree  # pyright: ignore[reportPrivateUsage]

from ge_compiler.lowering.from_torch import reference
from ge_compiler.lowering.from_torch.decisions import Mask
from ge_compiler.lowering.from_torch.dtypes import to_numpy
from ge_compiler.lowering.from_torch.export import evaluating
from ge_compiler.lowering.from_torch.importer import Imported, import_model
from ge_compiler.lowering.from_torch.parameters import held_tensor
from ge_compiler.runtime.signature import Array, State, flatten, name_arguments


@dataclass(frozen=True)
class Golden:
    """The tensors of a model's results, in order; then the new contents of its states."""

    eager: list[Array]
    """In the model's own dtypes."""
    reference: list[Array]
    """Floats in f64."""
    undecided: list[Mask | None]
    """Elements to leave out of a comparison, as `reference.Truth` has them."""


def golden(model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None, dtype: str | None = None) -> Golden:
    """Both results of `model` for these inputs, in `dtype` if given. Raises `CompileError` as `import_model` does."""
    return golden_of(import_model(model, args, kwargs, dtype=dtype))


def golden_of(imported: Imported) -> Golden:
    """Both results of an imported model for the inputs that it was imported with."""
    truth = reference.evaluate(imported)
    return Golden(eager(imported), truth.tensors, truth.undecided)


def eager(imported: Imported) -> list[Array]:
    """The tensors that the model gives in eval mode, then what its states hold. Neither the model nor the inputs change."""
    model, args, kwargs = imported.model, imported.args, imported.kwargs
    states = imported.signature.states
    if states:
        model = copy.deepcopy(model)
        args, kwargs = pytree.tree_map(_cloned, (args, dict(kwargs)))
    with evaluating(model):
        leaves = pytree.tree_leaves(model(*args, **kwargs))
    outputs = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    named = name_arguments(imported.signature.parameters, args, kwargs)
    inputs = dict(leaf for name, value in named.items() for leaf in flatten(name, value))
    return [to_numpy(tensor) for tensor in (*outputs, *(_contents(state, model, inputs) for state in states))]


def _cloned(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def _contents(state: State, model: torch.nn.Module, inputs: Mapping[str, Any]) -> torch.Tensor:
    tensor = inputs[state.tensor.name] if state.initial is None else held_tensor(model, state.tensor.name)
    assert isinstance(tensor, torch.Tensor)
    return tensor
