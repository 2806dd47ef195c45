"""From a PyTorch model to a `ge` module: `torch.export`, then the operator table, node by node.

y = self.fc1(x)      # mlp.py:14
=>
%w = ge.load_weight @fc1_weight : tensor<3072x768xf16>
%b = ge.load_weight @fc1_bias : tensor<3072xf16>
%0 = ge.MatMulV2 %x, %w, %b {transpose_x2} : (...) -> tensor<32x3072xf16>     loc("fc1"("mlp.py":14:9))

A buffer or an input that the model changes is an argument whose new contents are a result: see `runtime.signature.State`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Node
from xdsl.dialects.builtin import ModuleOp

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.garbage import garbage_uncollected
from ge_compiler.dialects.types import Tensor
from ge_compiler.dialects.verifier import verify_module
from ge_compiler.lowering.from_torch.dtypes import name_of, type_of
from ge_compiler.lowering.from_torch.export import cast_floats, check_model, export, forward_parameters, nested_like_results, with_dtype
from ge_compiler.lowering.from_torch.graph import GraphConverter, show_dtype
from ge_compiler.lowering.from_torch.locations import line_of
from ge_compiler.lowering.from_torch.parameters import WeightNames, parameters_of, split_results, value_of
from ge_compiler.runtime.signature import DTYPES, Constant, Signature, State, TensorSpec, flatten, name_arguments, structure_of
from ge_compiler.runtime.weights import WeightStore


@dataclass(frozen=True)
class Imported:
    """A model at `ge`."""

    module: ModuleOp
    weights: WeightStore
    signature: Signature
    exported: ExportedProgram
    model: torch.nn.Module
    """The model whose memory `weights` shares: the caller's, or its copy in another dtype."""
    inputs: tuple[torch.Tensor, ...]
    """The example tensors, in the order of `signature.inputs` and in the dtype that the program runs in."""
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    """The whole call that `inputs` are the tensors of."""


def import_model(
    model: torch.nn.Module, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, *, dtype: str | None = None
) -> Imported:
    """
    Imports `model` for inputs with the shapes and dtypes of the example ones.

    `dtype` (`f16`, `bf16` or `f32`) converts floating parameters and inputs first. Raises `CompileError` with every operator that cannot
    be executed and its Python lines.
    """
    check_model(model)
    model = with_dtype(model, dtype)
    positional, named = cast_floats((tuple(args), dict(kwargs or {})), dtype)
    exported = export(model, positional, named)
    parameters = forward_parameters(model)
    arguments = name_arguments(parameters, positional, named)
    leaves = [leaf for name, value in arguments.items() for leaf in flatten(name, value)]
    tensors = {name: value for name, value in leaves if isinstance(value, torch.Tensor)}
    program = _Program(exported, list(tensors))
    with garbage_uncollected():
        module = program.module()
        verify_module(module)
    signature = Signature(
        inputs=tuple(_input_spec(name, value) for name, value in tensors.items()),
        outputs=program.output_specs(),
        parameters=parameters,
        arguments=tuple(arguments),
        constants={name: value for name, value in leaves if not isinstance(value, torch.Tensor)},
        structure=program.structure(),
        states=tuple(sorted(program.states, key=lambda state: state.result)),
    )
    return Imported(module, program.store(), signature, exported, model, tuple(tensors.values()), positional, named)


class _Program:
    """The conversion of one exported program."""

    def __init__(self, exported: ExportedProgram, input_names: Sequence[str]) -> None:
        self.exported = exported
        self.input_names = input_names
        self.graph = GraphConverter()
        self.parameters = parameters_of(exported)
        self.weights = WeightNames(self.parameters.values())
        self.states: list[State] = []
        returned: Any = exported.graph.output_node().args[0]
        self.results, self.updates = split_results(exported, returned)

    def module(self) -> ModuleOp:
        placeholders = {node.name: node for node in self.exported.graph.find_nodes(op="placeholder")}
        for node in self._inputs(placeholders):
            self._argument(node)
        for name in self.updates:
            if name in self.parameters:
                self._argument(placeholders[name])
        for node in self.exported.graph.nodes:
            if node.op == "placeholder":
                self._parameter(node)
            elif node.op != "output":
                self.graph.operator(node)
        self.graph.check()
        nodes = self._output_nodes()
        if not nodes:
            raise CompileError("the model returns no tensor, so there is nothing to compile")
        updates = {state.argument: state.result for state in self.states}
        return self.graph.module([*nodes, *self.updates.values()], updates)

    def _inputs(self, placeholders: Mapping[str, Node]) -> list[Node]:
        specs = self.exported.graph_signature.input_specs
        nodes = [placeholders[spec.arg.name] for spec in specs if spec.kind is InputKind.USER_INPUT]
        return [node for node in nodes if value_of(node) is not None]

    def _argument(self, node: Node) -> None:
        """The next argument, which is a state if the model changes it."""
        parameter = self.parameters.get(node.name)
        number = len(self.graph.block.args)
        name = self.input_names[number] if parameter is None else parameter.key
        type_ = self._type(node, f"input '{node.name}'" if parameter is None else f"parameter '{parameter.key}'")
        self.graph.argument(node, type_, name)
        if node.name in self.updates:
            result = len(self._output_nodes()) + list(self.updates).index(node.name)
            initial = None if parameter is None else self.weights.initial(parameter)
            self.states.append(State(_spec(name, node), number, result, initial))

    def _parameter(self, node: Node) -> None:
        """A placeholder that is no argument: a weight, or a constant if it has one element."""
        if node in self.graph.values or node.name not in self.parameters or not node.users:
            return
        parameter = self.parameters[node.name]
        type_ = self._type(node, f"parameter '{parameter.key}'")
        if not parameter.tensor.shape:
            self.graph.constant(node, type_, parameter.tensor.item(), parameter.key)
        else:
            self.graph.weight(node, type_, self.weights.symbol(parameter), parameter.key)

    def _type(self, node: Node, what: str) -> Tensor:
        tensor = value_of(node)
        assert tensor is not None
        type_ = type_of(tensor)
        if type_ is None or name_of(tensor.dtype) not in DTYPES:
            raise CompileError(f"{what} has dtype {show_dtype(tensor.dtype)}, which is not supported; convert it, or all with --dtype")
        return type_

    def _output_nodes(self) -> list[Node]:
        return [result for result in self.results if isinstance(result, Node)]

    def output_specs(self) -> tuple[TensorSpec, ...]:
        nodes = self._output_nodes()
        names = ["y"] if len(nodes) == 1 else [f"y{i}" for i in range(len(nodes))]
        return tuple(_spec(name, node) for name, node in zip(names, nodes, strict=True))

    def structure(self) -> Any:
        numbers = iter(range(len(self.results)))
        leaves = [next(numbers) if isinstance(result, Node) else Constant(result) for result in self.results]
        return structure_of(nested_like_results(self.exported, leaves))

    def store(self) -> WeightStore:
        return self.weights.store()


def _input_spec(name: str, tensor: torch.Tensor) -> TensorSpec:
    return TensorSpec(name, tuple(tensor.shape), name_of(tensor.dtype) or "")


def _spec(name: str, node: Node) -> TensorSpec:
    """The tensor of an output or a state. Raises `CompileError` for a dtype that programs do not give."""
    tensor = value_of(node)
    assert tensor is not None
    dtype = name_of(tensor.dtype)
    if dtype not in DTYPES:
        raise CompileError(f"output '{name}' has dtype {show_dtype(tensor.dtype)}, which is not supported; convert it", line_of(node))
    return TensorSpec(name, tuple(tensor.shape), dtype, None if tensor.is_contiguous() else tuple(tensor.stride()))
