"""From a module and example inputs to a functional graph of aten operators, composite ones kept; refusals in the user's terms."""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import logging
import sys
import warnings
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree  # pyright: ignore[reportPrivateUsage]

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.lowering.from_torch.dtypes import torch_dtype
from ge_compiler.lowering.from_torch.locations import line_of_traceback, location_of


@contextlib.contextmanager
def evaluating(model: torch.nn.Module) -> Generator[None, None, None]:
    """Every submodule in eval mode, no gradients; the modes are restored."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training


def with_dtype(model: torch.nn.Module, dtype: str | None) -> torch.nn.Module:
    """`model` itself if its floating tensors have `dtype` already, else a converted copy: the caller's model is not touched."""
    if dtype is None:
        return model
    tensors = [t for t in (*model.parameters(), *model.buffers()) if t.is_floating_point()]
    if all(t.dtype is torch_dtype(dtype) for t in tensors):
        return model
    try:
        return copy.deepcopy(model).to(torch_dtype(dtype))
    except Exception as error:
        reason = " ".join(str(error).split())
        raise CompileError(f"{type(model).__name__} cannot be copied to convert it to {dtype}: {reason}; convert it first") from error


def cast_floats(value: Any, dtype: str | None) -> Any:
    """`value` with every floating tensor in it converted to `dtype`."""
    if dtype is None:
        return value

    def convert(leaf: Any) -> Any:
        return leaf.to(torch_dtype(dtype)) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf

    return pytree.tree_map(convert, value)


def check_model(model: torch.nn.Module) -> None:
    """Raises `CompileError` for what torch.export does not take as a model."""
    if not isinstance(model, torch.nn.Module):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CompileError(f"a model is a torch.nn.Module, got {type(model).__name__}")
    if isinstance(model, torch.jit.ScriptModule):
        raise CompileError("the model is a ScriptModule, which cannot be traced; compile the module that it was made from")


def forward_parameters(model: torch.nn.Module) -> tuple[str, ...]:
    """The parameter names of `forward` that positional arguments bind to; one that takes the rest has its star."""
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(model.forward).parameters.values()
    rest = inspect.Parameter.VAR_POSITIONAL
    return tuple(f"*{p.name}" if p.kind is rest else p.name for p in parameters if p.kind in (*named, rest))


def export(model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> ExportedProgram:
    """The functional aten graph of `model` on these inputs. Raises `CompileError` where torch cannot trace it, or we cannot take it."""
    _check_call(model, args, kwargs)
    with evaluating(model), _quiet():
        try:
            traced = torch.export.export(model, tuple(args), dict(kwargs), strict=False)
            exported = traced.run_decompositions({})  # pyright: ignore[reportUnknownMemberType]
        except (Exception, SystemExit) as error:
            text = str(error) if isinstance(error, Exception) else f"{type(error).__name__}: {error}"
            reason = _explained(model, text) or type(error).__name__
            message = f"torch.export could not trace {type(model).__name__}: {reason}"
            raise CompileError(message, line_of_traceback(error.__traceback__)) from error
    _check_supported(exported)
    return exported


def _explained(model: torch.nn.Module, text: str) -> str:
    """The first line of what torch says, or what it does not say."""
    if "expected compiled_fn to be GraphModule" in text:
        names: dict[int, str] = {}
        for name, buffer in model.named_buffers(remove_duplicate=False):
            first = names.setdefault(buffer.untyped_storage().data_ptr(), name)
            if first != name:
                return f"it changes buffers in place that share their memory ('{first}', '{name}'); give each a tensor of its own"
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


@contextlib.contextmanager
def _quiet() -> Generator[None, None, None]:
    """Without torch's warnings about its internals, and without the tracebacks and graphs that it writes about what it also raises."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    written = io.StringIO()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(written):
            warnings.simplefilter("ignore")
            yield
        sys.stderr.write(written.getvalue())  # the model's own
    finally:
        logging.disable(before)


def _check_call(model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    signature = inspect.signature(model.forward)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        names = ", ".join(signature.parameters)
        raise CompileError(f"the inputs do not fit {type(model).__name__}.forward({names}): {error}") from None


def _check_supported(exported: ExportedProgram) -> None:
    for node in exported.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt) or (isinstance(value, torch.Tensor) and any(isinstance(n, torch.SymInt) for n in value.shape)):
            raise CompileError("a shape depends on the data, which is not supported yet; use fixed sizes", location_of(node))


def nested_like_results(exported: ExportedProgram, leaves: Sequence[Any]) -> Any:
    """`leaves` in the nest of the model's results."""
    spec = exported.call_spec.out_spec
    assert spec is not None
    return pytree.tree_unflatten(leaves, spec)
