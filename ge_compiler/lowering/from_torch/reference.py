"""
The f64 reference: the exported graph with every float value in f64.

Weights and inputs are those of the run's dtype, so their rounding is part of the question and not of the error. Casts between float types
are identities; integers and booleans stay exact. This is not `model.double()`, which would round nothing but also drop casts of the user.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import Interpreter, Node
from torch.utils import _pytree as pytree  # pyright: ignore[reportPrivateUsage]

from ge_compiler.lowering.from_torch.parameters import parameters_of, split_results
from ge_compiler.lowering.from_torch.reductions import RMS_EPSILON
from ge_compiler.runtime.signature import Array

if TYPE_CHECKING:
    from ge_compiler.lowering.from_torch.importer import Imported

_IGNORED = ("aten._assert_tensor_metadata.default",)


def evaluate(imported: Imported) -> list[Array]:
    """The tensors that an imported model gives for its inputs, then the new contents of its states; floats in f64."""
    exported = imported.exported
    parameters = parameters_of(exported)
    values = iter(imported.inputs)
    arguments: list[Any] = []
    for node in exported.graph.find_nodes(op="placeholder"):
        if node.name in parameters:
            arguments.append(_widened(parameters[node.name].tensor.detach()))
        else:
            arguments.append(_widened(next(values)) if isinstance(node.meta.get("val"), torch.Tensor) else node.meta.get("val"))
    with torch.no_grad(), _default_dtype(torch.float64):
        results = _Wide(exported.graph_module).run(*arguments)
    own, updates = split_results(exported, results)
    return [result.numpy() for result in (*own, *updates.values()) if isinstance(result, torch.Tensor)]


class _Wide(Interpreter):
    """Runs a graph whose float values are all f64."""

    def run_node(self, n: Node) -> Any:
        if n.op == "call_function" and str(n.target) in _IGNORED:
            return None
        return pytree.tree_map(_widened, super().run_node(n))

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args, kwargs = pytree.tree_map(_wide_dtype, (args, kwargs))
        if str(target) == "aten.rms_norm.default" and len(args) < 4 and kwargs.get("eps") is None:
            kwargs = {**kwargs, "eps": RMS_EPSILON}  # which torch would take from the dtype
        return super().call_function(target, args, kwargs)


@contextlib.contextmanager
def _default_dtype(dtype: torch.dtype) -> Generator[None, None, None]:
    """The dtype that torch gives to the quotient of two integers, among others."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _widened(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def _wide_dtype(value: Any) -> Any:
    return torch.float64 if isinstance(value, torch.dtype) and value.is_floating_point else value
