"""
From the functional graph that PyTorch hands a backend to a module at `ge`, by the importer's conversion.

Only what has to be computed becomes part of the module: results that are views of others, or of inputs, are made by PyTorch as the views
that they are, so that they share memory as the model says.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch.fx import GraphModule, Node, map_arg
from xdsl.dialects.builtin import ModuleOp

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.types import Tensor
from ge_compiler.lowering.from_torch.dtypes import type_of
from ge_compiler.lowering.from_torch.graph import GraphConverter, show_dtype
from ge_compiler.lowering.from_torch.locations import location_of
from ge_compiler.lowering.from_torch.parameters import value_of

_VIEWS = frozenset(
    [
        "alias",
        "as_strided",
        "detach",
        "diagonal",
        "expand",
        "expand_as",
        "movedim",
        "narrow",
        "permute",
        "select",
        "slice",
        "split",
        "split_with_sizes",
        "squeeze",
        "t",
        "transpose",
        "unbind",
        "unfold",
        "unsqueeze",
        "view",
        "view_as",
    ]
)
"""aten operators whose results always share the memory of their first argument."""


@dataclass(frozen=True)
class Placeholders:
    """What is known about the inputs of a functional graph, by their numbers."""

    names: tuple[str, ...]
    static: frozenset[int]
    """Parameters and buffers: the same tensors in every call."""
    mutated: tuple[int, ...]
    """Inputs whose new contents are the graph's first results, in this order."""


@dataclass
class FunctionalGraph:
    """A functional graph of aten operators, and which of its nodes a program has to compute."""

    graph: GraphModule
    facts: Placeholders
    placeholders: list[Node] = field(init=False)
    results: Sequence[Any] = field(init=False)
    """Nodes, and values that are no tensors."""
    computed: list[Node] = field(init=False)
    """The nodes that become results of the program: what the graph's results are, or are views of."""
    updates: Mapping[Node, Node] = field(init=False)
    """Placeholders of inputs that change -> the computed nodes that are their new contents, which stand last."""

    def __post_init__(self) -> None:
        self.placeholders = list(self.graph.graph.find_nodes(op="placeholder"))
        _use_sizes(self.placeholders)
        self.results = cast("Sequence[Any]", self.graph.graph.output_node().args[0])
        changed = zip(self.facts.mutated, self.results, strict=False)
        updates = {self.placeholders[i]: result for i, result in changed if isinstance(result, Node) and _base(result) is result}
        of_inputs = {node: placeholder for placeholder, node in updates.items()}
        self.updates = {placeholder: node for node, placeholder in of_inputs.items()}
        bases = dict.fromkeys(base for result in self.results if (base := _base(result)) is not None)
        self.computed = [*(base for base in bases if base not in of_inputs), *of_inputs]

    def values(self, arguments: Sequence[Any], computed: Sequence[torch.Tensor]) -> list[Any]:
        """The graph's results, from its arguments and the program's results."""
        known: dict[Node, Any] = dict(zip(self.computed, computed, strict=True)) | dict(zip(self.placeholders, arguments, strict=True))

        def value(node: Node) -> Any:
            if node.op == "get_attr":
                return getattr(self.graph, str(node.target))
            if node not in known:
                target = cast("Any", node.target)
                known[node] = target(*cast("Any", map_arg(node.args, value)), **map_arg(node.kwargs, value))
            return known[node]

        return [value(result) if isinstance(result, Node) else result for result in self.results]


@dataclass(frozen=True)
class Traced:
    """A functional graph as a module, and where the module's inputs and weights come from."""

    module: ModuleOp
    inputs: tuple[int, ...]
    """The numbers of the graph's arguments that are the module's."""
    weights: Mapping[str, int]
    """Symbol -> the number of the graph's argument that holds its elements."""
    constants: Mapping[str, torch.Tensor]
    """Symbol -> a tensor that the graph itself holds."""


def trace(graph: FunctionalGraph) -> Traced:
    """`graph` at `ge`. Raises `CompileError` with every operator that cannot be executed and its Python lines."""
    facts, converter = graph.facts, GraphConverter()
    inputs: list[int] = []
    weights: dict[str, int] = {}
    constants: dict[str, torch.Tensor] = {}
    for number, (node, name) in enumerate(zip(graph.placeholders, facts.names, strict=True)):
        tensor = value_of(node)
        if tensor is None or not node.users:
            continue
        type_ = _type(tensor, name)
        # One of rank 0 is an argument even if it is a parameter: a constant in the text would not follow its changes.
        if number in facts.static and number not in facts.mutated and tensor.dim():
            symbol = _symbol(name, weights)
            weights[symbol] = number
            converter.weight(node, type_, symbol, name)
        else:
            inputs.append(number)
            converter.argument(node, type_, name)
    for node in graph.graph.graph.find_nodes(op="get_attr"):
        name = str(node.target)
        tensor = getattr(graph.graph, name)
        symbol = _symbol(name, {**weights, **constants})
        constants[symbol] = tensor
        converter.weight(node, _type(tensor, name), symbol, name)
    for node in _needed(graph):
        _check_sizes(node)
        node.meta["nn_module_stack"] = _module_paths(node)
        converter.operator(node)
    converter.check()
    of_arguments = {graph.placeholders[number]: i for i, number in enumerate(inputs)}
    updates = {of_arguments[node]: graph.computed.index(new) for node, new in graph.updates.items() if node in of_arguments}
    return Traced(converter.module(graph.computed, updates), tuple(inputs), weights, constants)


def name_of_source(node: Node) -> str:
    """The Python name of what a placeholder of dynamo's graph stands for: `fc1.weight`, `x`."""
    source: Any = getattr(node, "_dynamo_source", None)
    if source is None:
        return node.name
    text = source.name() if callable(source.name) else source.name
    text = re.sub(r"\._(?:parameters|buffers|modules)\b", "", str(text))
    return re.sub(r"^L\.(?:self\.)?", "", _dotted(text))


def _dotted(path: str) -> str:
    """`L['self'].blk` as `L.self.blk`."""
    return re.sub(r"\['?(\w+)'?\]", r".\1", path)


def _module_paths(node: Node) -> dict[str, Any]:
    """The modules that `node` is the work of, by their paths in the model: dynamo puts the name of the root before each."""
    stack: Mapping[str, tuple[str, Any]] = node.meta.get("nn_module_stack") or {}
    return {key: (re.sub(r"^L\.\w+\.?", "", _dotted(path)), kind) for key, (path, kind) in stack.items()}


def _type(tensor: torch.Tensor, name: str) -> Tensor:
    type_ = type_of(tensor)
    if type_ is None:
        raise CompileError(f"'{name}' has dtype {show_dtype(tensor.dtype)}, which is not supported; convert it first")
    return type_


def _check_sizes(node: Node) -> None:
    value = node.meta.get("val")
    sizes = [value, *(value.shape if isinstance(value, torch.Tensor) else ())]
    if any(isinstance(size, torch.SymInt | torch.SymFloat | torch.SymBool) for size in sizes):
        raise CompileError("a shape depends on the data, which is not supported yet; use fixed sizes", location_of(node))


def _symbol(name: str, taken: Mapping[str, Any]) -> str:
    base = re.sub(r"\W", "_", name)
    base = f"_{base}" if base[:1].isdigit() else base
    number = 1
    symbol = base
    while symbol in taken:
        number += 1
        symbol = f"{base}_{number}"
    return symbol


def _use_sizes(placeholders: Sequence[Node]) -> None:
    """Numbers that are inputs of a graph, whose sizes are fixed by now, stand in their users themselves."""
    for node in placeholders:
        value = node.meta.get("val")
        if isinstance(value, int | float | bool):
            for user in list(node.users):
                user.args = map_arg(user.args, lambda n, node=node, value=value: value if n is node else n)
                user.kwargs = map_arg(user.kwargs, lambda n, node=node, value=value: value if n is node else n)


def _base(result: Any) -> Node | None:
    """The node that must be computed for `result`; `None` if nothing must be."""
    while isinstance(result, Node) and _is_view(result):
        result = result.args[0]
    return result if isinstance(result, Node) and result.op == "call_function" else None


def _is_view(node: Node) -> bool:
    if node.target is operator.getitem:
        return isinstance(node.args[0], Node) and _is_view(node.args[0])
    name = str(node.target).split(".")
    return node.op == "call_function" and name[0] == "aten" and name[1] in _VIEWS


def _needed(graph: FunctionalGraph) -> list[Node]:
    """The operators that the computed nodes depend on, in the order of the graph."""
    needed, pending = set(graph.computed), list(graph.computed)
    while pending:
        new = [node for node in pending.pop().all_input_nodes if node not in needed]
        needed.update(new)
        pending += new
    return [node for node in graph.graph.graph.nodes if node in needed and node.op == "call_function"]
