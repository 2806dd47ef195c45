"""Comparing a program's outputs with PyTorch: what `gec run --golden torch` and `gec compare` share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.lowering.from_torch.dtypes import to_torch
from ge_compiler.lowering.from_torch.export import with_dtype
from ge_compiler.lowering.from_torch.golden import Golden, golden_of
from ge_compiler.lowering.from_torch.importer import import_model
from ge_compiler.lowering.from_torch.locations import line_of_traceback
from ge_compiler.lowering.from_torch.parameters import held_tensor
from ge_compiler.runtime.accuracy import Metrics, measure
from ge_compiler.runtime.signature import Array, TensorSpec
from ge_compiler.tools.commands.factory import model_output
from ge_compiler.tools.commands.inputs import call_of
from ge_compiler.tools.compilation import PRECISION_MODES

if TYPE_CHECKING:
    from ge_compiler.lowering.from_torch.importer import Imported
    from ge_compiler.runtime.weights import WeightStore
    from ge_compiler.tools.api import Program


def narrowed_dtype(program: Program) -> str | None:
    """`f16` where the program may compute f32 products in f16: its tolerance is that of f16."""
    return "f16" if program.options.precision_mode != PRECISION_MODES[0] and program.dtype in (None, "f32") else None


def golden_of_program(program: Program, model: torch.nn.Module, inputs: Sequence[Array]) -> Golden:
    """What PyTorch gives for `inputs`, in the dtype in which the program computes."""
    leaves = {spec.name: to_torch(array) for spec, array in zip(program.signature.inputs, inputs, strict=True)}
    args, kwargs = call_of(program.signature.parameters, leaves)
    with model_output():
        return _evaluated(import_model(model, args, kwargs, dtype=narrowed_dtype(program) or program.dtype))


def golden_in(dtype: str | None, imported: Imported) -> Golden:
    """What PyTorch gives for the inputs that a model was imported with, in another dtype if given."""
    return _evaluated(imported if dtype is None else import_model(imported.model, imported.args, imported.kwargs, dtype=dtype))


def _evaluated(imported: Imported) -> Golden:
    """Both results. Raises `CompileError` with the model's line where PyTorch has none: it lacks some functions in f16, for instance."""
    try:
        return golden_of(imported)
    except (IndexError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise CompileError(f"PyTorch cannot evaluate the model: {reason}", line_of_traceback(error.__traceback__)) from error


def compare(program: Program, outputs: Sequence[Array], truth: Golden) -> list[Metrics]:
    """The metrics of each output, then of the new contents of each state."""
    rows = zip(program.signature.results, outputs, truth.reference, truth.eager, truth.undecided, strict=True)
    return [measure(actual, reference, eager, _rule(program, spec), left_out) for spec, actual, reference, eager, left_out in rows]


def _rule(program: Program, spec: TensorSpec) -> str | None:
    return narrowed_dtype(program) if spec.dtype == "f32" else None


def with_weights(model: torch.nn.Module, weights: WeightStore, dtype: str | None, source: str) -> torch.nn.Module:
    """`model` in `dtype`, with the weights of a program. Raises `CompileError` for one that the model does not have."""
    model = with_dtype(model, dtype)
    with torch.no_grad():
        for name, keys in weights.keys_of.items():
            for key in keys:
                held = held_tensor(model, key)
                if held is None:
                    continue
                if tuple(held.shape) != weights[name].shape:
                    raise CompileError(f"{source} has weight {key} of shape {weights[name].shape}, the model one of {tuple(held.shape)}")
                held.copy_(to_torch(weights[name]))
    return model
