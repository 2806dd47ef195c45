"""
The f64 reference: the exported graph with every float value in f64.

Weights and inputs are those of the run's dtype, so their rounding is part of the question and not of the error. Casts between float types
are identities; integers and booleans stay exact. This is not `model.double()`, which would round nothing but also drop casts of the user.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import GraphModule, Interpreter, Node
from torch.utils import _pytree as pytree  # pyright: ignore[reportPrivateUsage]

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.lowering.from_torch.decisions import Mask, Moving, decisions, tolerances, undecided
from ge_compiler.lowering.from_torch.dtypes import to_numpy
from ge_compiler.lowering.from_torch.parameters import parameters_of, split_results, value_of
from ge_compiler.lowering.from_torch.reductions import RMS_EPSILON
from ge_compiler.runtime.signature import Array

if TYPE_CHECKING:
    from ge_compiler.lowering.from_torch.importer import Imported

_IGNORED = ("aten._assert_tensor_metadata.default",)
_COMPARISONS = tuple(f"aten.{name}.Scalar" for name in ("eq", "ge", "gt", "le", "lt", "ne"))


@dataclass(frozen=True)
class Truth:
    """The tensors that a model gives, then the new contents of its states."""

    tensors: list[Array]
    """Floats in f64."""
    undecided: list[Mask | None]
    """Which elements of each hang on decisions that f64 takes by less than the tolerance."""


def evaluate(imported: Imported) -> Truth:
    """What is right for the inputs that a model was imported with. Raises `CompileError` where PyTorch cannot say, as for a bad index."""
    try:
        return _evaluate(imported)
    except (IndexError, RuntimeError, ValueError) as error:
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise CompileError(f"PyTorch cannot evaluate the model for these inputs: {reason}") from error


def _evaluate(imported: Imported) -> Truth:
    run = functools.partial(_run, imported)
    wide = _Wide(imported.exported.graph_module)
    tensors = run(wide)
    nodes = decisions(imported.exported.graph_module)
    if not nodes:
        return Truth(tensors, [None] * len(tensors))
    own = Interpreter(imported.exported.graph_module, garbage_collect_values=False)
    run(own, widen=False)
    tolerance = tolerances(nodes, own.env, wide.env)
    if not any(tolerance.values()):
        return Truth(tensors, [None] * len(tensors))
    others = [run(_Wide(imported.exported.graph_module, nodes, moving)) for moving in Moving.all(tolerance)]
    return Truth(tensors, list(undecided([tensors, *others])))


def _run(imported: Imported, interpreter: Interpreter, widen: bool = True) -> list[Array]:
    exported = imported.exported
    parameters = parameters_of(exported)
    values = iter(imported.inputs)
    arguments: list[Any] = []
    for node in exported.graph.find_nodes(op="placeholder"):
        if node.name in parameters:
            arguments.append(parameters[node.name].tensor.detach())
        else:
            arguments.append(next(values) if isinstance(node.meta.get("val"), torch.Tensor) else node.meta.get("val"))
    with torch.no_grad(), _default_dtype(torch.float64 if widen else torch.get_default_dtype()):
        results = interpreter.run(*map(_widened, arguments) if widen else arguments)
    own, updates = split_results(exported, results)
    return [to_numpy(result) for result in (*own, *updates.values()) if isinstance(result, torch.Tensor)]


class _Wide(Interpreter):
    """Runs a graph whose float values are all f64; `nodes` decide as `moving` has it."""

    def __init__(self, module: GraphModule, nodes: Sequence[Node] = (), moving: Moving | None = None) -> None:
        super().__init__(module, garbage_collect_values=moving is not None)
        self._nodes = set(nodes)
        self._moving = moving

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args, kwargs = super().fetch_args_kwargs_from_env(n)
        if str(n.target) in _COMPARISONS and (tensor := value_of(n.all_input_nodes[0])) is not None:
            number = torch.tensor(args[1], dtype=torch.result_type(tensor, args[1]))  # what eager compares with
            args = (args[0], number.item(), *args[2:])
        return args, kwargs

    def run_node(self, n: Node) -> Any:
        if n.op == "call_function" and str(n.target) in _IGNORED:
            return None
        value = pytree.tree_map(_widened, super().run_node(n))
        if self._moving is None or n not in self._nodes:
            return value
        return self._moving.decided(n, value, self.env, functools.partial(self._call, n.target))

    def _call(self, target: Any, args: Any, kwargs: Any) -> Any:
        return pytree.tree_map(_widened, self.call_function(target, args, kwargs))

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
