"""
`torch.compile(model, backend="npu")`: graphs of PyTorch run as programs of the NPU.

    with torch.no_grad():
        fast = torch.compile(model, backend="npu", options={"target": "Ascend910A"})
        fast(x)

Options: `target`, `precision_mode`, `tiling` and `fallback` as for `ge.compile`; `level`, at which the program is executed (`npu`);
`check`, whether its execution is checked (`False`). PyTorch keeps composite operators whole for the import, so that, as with
`ge.compile`, one call of the model's is one operator.

Where gradients are wanted the graph runs in PyTorch, with a warning: programs have no backward.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch._functorch.aot_autograd import aot_module_simplified
from torch._guards import TracingContext, tracing
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.export import exported_program
from torch.fx import GraphModule

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.tools.backend.compiled import CompiledGraph
from ge_compiler.tools.backend.options import BackendOptions
from ge_compiler.tools.backend.tracing import Placeholders, name_of_source

Compiled = Callable[..., Any]


def npu(graph: GraphModule, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None, **modes: Any) -> Compiled:
    """
    The backend that PyTorch calls with a graph and its inputs; the result is called in the graph's place.

    Raises `CompileError` for options that there are not, and for what cannot be compiled with the model's lines.
    """
    chosen = BackendOptions.of(options)
    if modes.get("mode") is not None:
        raise CompileError(f"torch.compile(backend='npu') has no mode {modes['mode']!r}; use options")
    if _wants_gradients(graph, example_inputs):
        warnings.warn("gradients are wanted, so this graph runs in PyTorch: call the model under torch.no_grad()", stacklevel=2)
        return graph.forward
    if any(map(_is_symbolic, example_inputs)):
        return _Specialised(graph, chosen)
    return _compile(graph, example_inputs, chosen)


def _wants_gradients(graph: GraphModule, example_inputs: Sequence[Any]) -> bool:
    """Whether a result may need a gradient; the model may also ask for them itself."""
    enabled = torch.is_grad_enabled() or any(
        node.target is torch._C._set_grad_enabled and node.args[:1] == (True,)  # pyright: ignore[reportPrivateUsage]
        for node in graph.graph.nodes
    )
    return enabled and any(isinstance(value, torch.Tensor) and value.requires_grad for value in example_inputs)


def _is_symbolic(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return any(isinstance(size, torch.SymInt) for size in (*value.shape, *value.stride()))
    return isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool)


def _compile(graph: GraphModule, example_inputs: Sequence[Any], options: BackendOptions) -> Compiled:
    names = [name_of_source(node) for node in graph.graph.nodes if node.op == "placeholder"]

    def compile_functional(functional: GraphModule, _: Sequence[Any]) -> Compiled:
        with unset_fake_temporarily():
            compiled = CompiledGraph.of(functional, _placeholders(functional, names), options)

        def boxed(arguments: list[Any]) -> Sequence[Any]:
            given = tuple(arguments)
            arguments.clear()
            return compiled(given)

        boxed._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess]
        return boxed

    with _composite_operators_kept():
        return aot_module_simplified(
            graph,
            list(example_inputs),
            fw_compiler=_refuse_training,  # pyright: ignore[reportArgumentType]
            inference_compiler=compile_functional,  # pyright: ignore[reportArgumentType]
            decompositions={},
        )


def _refuse_training(graph: GraphModule, _: Sequence[Any]) -> Compiled:
    raise CompileError("gradients are wanted inside of the graph; call the model under torch.no_grad()")


def _placeholders(functional: GraphModule, names: Sequence[str]) -> Placeholders:
    """What PyTorch says about the inputs of the functional graph; where it has merged some, their names are not known."""
    context = TracingContext.try_get()
    facts = None if context is None else context.fw_metadata
    count = sum(node.op == "placeholder" for node in functional.graph.nodes)
    return Placeholders(
        names=tuple(names) if len(names) == count else tuple(f"arg{i}" for i in range(count)),
        static=frozenset() if facts is None else frozenset(facts.static_input_indices or ()),
        mutated=() if facts is None else tuple(facts.mutated_inp_runtime_indices),
    )


_INTERNAL: Any = exported_program
"""PyTorch offers no public way to keep composite operators while a backend's graph is traced; its version is pinned."""


@functools.cache
def _composites() -> Mapping[Any, Any]:
    """The composite operators that can be kept, with what keeps each."""
    return _INTERNAL._split_decomp_table_to_cia_and_python_decomp({})[0]


def _composite_operators_kept() -> AbstractContextManager[None]:
    """While a graph is traced, `linear`, `layer_norm` and their like stay what they are."""
    return _INTERNAL._override_composite_implicit_decomp(dict(_composites()))


class _Specialised:
    """A graph of symbolic sizes: compiled once for each combination of sizes that it is called with."""

    def __init__(self, graph: GraphModule, options: BackendOptions) -> None:
        self._graph, self._options = graph, options
        self._compiled: dict[object, Compiled] = {}

    def __call__(self, *arguments: Any) -> Any:
        key = tuple((x.shape, x.stride(), x.dtype) if isinstance(x, torch.Tensor) else x for x in arguments)
        if key not in self._compiled:
            with tracing(TracingContext(FakeTensorMode())):
                self._compiled[key] = _compile(self._graph, arguments, self._options)
        return self._compiled[key](*arguments)
