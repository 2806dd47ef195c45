"""From a PyTorch model to a `ge` module: `torch.export`, then the operator table, node by node.

y = self.fc1(x)      # mlp.py:14
=>
%w = ge.load_weight @fc1_weight : tensor<3072x768xf16>
%b = ge.load_weight @fc1_bias : tensor<3072xf16>
%0 = ge.MatMulV2 %x, %w, %b {transpose_x2} : (...) -> tensor<32x3072xf16>     loc("fc1"("mlp.py":14:9))
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import getitem
from typing import Any, cast

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx import Node
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    IntegerType,
    LocationAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    TensorType,
    UnknownLoc,
    UnrealizedConversionCastOp,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from ge_compiler.dialects import ge
from ge_compiler.dialects.diagnostics import CompileError, Note, location_text
from ge_compiler.dialects.types import tensor_type
from ge_compiler.dialects.verifier import verify_module
from ge_compiler.lowering.from_torch import elementwise, matrix_products
from ge_compiler.lowering.from_torch.conversion import CONVERTERS, Conversion, Declined, Transposed, splat
from ge_compiler.lowering.from_torch.dtypes import element_name, name_of, type_of
from ge_compiler.lowering.from_torch.export import cast_floats, check_model, export, forward_parameters, nested_like_results, with_dtype
from ge_compiler.lowering.from_torch.locations import line_of, location_of
from ge_compiler.lowering.from_torch.locations import name_of as module_of
from ge_compiler.lowering.from_torch.parameters import Parameter, WeightNames, parameters_of, value_of
from ge_compiler.runtime.signature import Constant, Signature, TensorSpec, flatten, name_arguments, structure_of
from ge_compiler.runtime.weights import WeightStore

OPERATOR_FILES = (elementwise, matrix_products)
"""The files that fill the operator table when they are imported."""

_WITHOUT_EFFECT = ("aten._assert_tensor_metadata.default", "aten._assert_scalar.default")


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

    `dtype` (`f16`, `bf16` or `f32`) converts floating parameters and inputs first. Raises `CompileError` with every operator that is not
    supported and its Python lines.
    """
    check_model(model)
    model = with_dtype(model, dtype)
    positional, named = cast_floats((tuple(args), dict(kwargs or {})), dtype)
    exported = export(model, positional, named)
    graph = _Graph(exported)
    graph.convert()
    parameters = forward_parameters(model)
    arguments = name_arguments(parameters, positional, named)
    leaves = [leaf for name, value in arguments.items() for leaf in flatten(name, value)]
    module = graph.module([name for name, value in leaves if isinstance(value, torch.Tensor)])
    verify_module(module)
    signature = Signature(
        inputs=tuple(_input_spec(name, value) for name, value in leaves if isinstance(value, torch.Tensor)),
        outputs=graph.output_specs(),
        parameters=parameters,
        arguments=tuple(arguments),
        constants={name: value for name, value in leaves if not isinstance(value, torch.Tensor)},
        structure=graph.structure(),
    )
    inputs = tuple(value for _, value in leaves if isinstance(value, torch.Tensor))
    return Imported(module, graph.weights.store(), signature, exported, model, inputs, positional, named)


def _input_spec(name: str, tensor: torch.Tensor) -> TensorSpec:
    dtype = name_of(tensor.dtype)
    assert dtype is not None, "the graph's conversion has refused other dtypes"
    return TensorSpec(name, tuple(tensor.shape), dtype)


@dataclass(frozen=True)
class _Problem:
    node: Node
    reason: str


@dataclass
class _Graph:
    """The state of one conversion."""

    exported: ExportedProgram
    weights: WeightNames = field(init=False)
    block: Block = field(default_factory=Block)
    values: dict[Node, SSAValue | Transposed] = field(default_factory=dict[Node, "SSAValue | Transposed"])
    problems: list[_Problem] = field(default_factory=list[_Problem])
    results: list[Node | Constant] = field(default_factory=list["Node | Constant"])

    def convert(self) -> None:
        parameters = parameters_of(self.exported)
        self.weights = WeightNames(parameters.values())
        user_inputs = set(self.exported.graph_signature.user_inputs)
        for node in self.exported.graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node, parameters.get(node.name), node.name in user_inputs)
            elif node.op == "output":
                self.results = [arg if isinstance(arg, Node) else Constant(arg) for arg in node.args[0]]
            elif str(node.target) not in _WITHOUT_EFFECT:
                self._operator(node)
        if self.problems:
            raise _unsupported(self.problems)
        if not self._output_nodes():
            raise CompileError("the model returns no tensor, so there is nothing to compile")
        self._return()

    def _placeholder(self, node: Node, parameter: Parameter | None, is_input: bool) -> None:
        tensor = value_of(node)
        if tensor is None or (not is_input and not node.users):
            return
        type_ = type_of(tensor)
        if type_ is None:
            what = f"parameter '{parameter.key}'" if parameter is not None else f"input '{node.name}'"
            raise CompileError(f"{what} has dtype {_show_dtype(tensor.dtype)}, which is not supported; convert it, or all with --dtype")
        if parameter is None:
            self.values[node] = self.block.insert_arg(type_, len(self.block.args))
        elif parameter.tensor.numel() == 1 and not parameter.tensor.shape:
            self._emit_constant(node, type_, parameter)
        else:
            load = ge.LoadWeightOp(self.weights.symbol(parameter), type_)
            load.location = _named(parameter.key)
            self.block.add_op(load)
            self.values[node] = load.y

    def _emit_constant(self, node: Node, type_: TensorType[Attribute], parameter: Parameter) -> None:
        constant = ge.ConstOp(splat(type_, parameter.tensor.item()))
        constant.location = _named(parameter.key)
        self.block.add_op(constant)
        self.values[node] = constant.y

    def _operator(self, node: Node) -> None:
        tensor = value_of(node)
        type_ = None if tensor is None else type_of(tensor)
        last = self.block.last_op
        try:
            if node.target is not getitem:  # one of the results of an operator that was declined
                self.values[node] = self._converted(node, tensor, type_)
        except Declined as error:
            self.problems.append(_Problem(node, str(error)))
        op = self.block.first_op if last is None else last.next_op
        while op is not None:
            op.location = location_of(node)
            op = op.next_op
        if node not in self.values:
            # A stand-in, so that what follows is checked too and all problems are told at once.
            stand_in = UnrealizedConversionCastOp.get([], [type_ or TensorType(IntegerType(1), [])])
            self.block.add_op(stand_in)
            self.values[node] = stand_in.results[0]

    def _converted(self, node: Node, tensor: torch.Tensor | None, type_: TensorType[Attribute] | None) -> SSAValue | Transposed:
        converter = CONVERTERS.get(str(node.target))
        if converter is None:
            raise Declined("no conversion" + _nearest(str(node.target)))
        if tensor is None:
            raise Declined("its result is not one tensor")
        if type_ is None:
            raise Declined(f"its result has dtype {_show_dtype(tensor.dtype)}")
        takes_transposed = converter.__module__ == matrix_products.__name__ or converter is elementwise.identity
        arguments = [self._argument(value, takes_transposed) for value in _bound(node)]
        value = converter(Conversion(node, type_, self.block), *arguments)
        plain = value.value if isinstance(value, Transposed) else value
        assert isinstance(value, Transposed) or plain.type == type_, f"{node.target} converts to {plain.type}, torch says {type_}"
        return value

    def _argument(self, value: Any, takes_transposed: bool) -> Any:
        if isinstance(value, Node):
            converted = self.values[value]
            if isinstance(converted, Transposed) and not takes_transposed:
                raise Declined("it uses a transposed tensor; only matrix products can yet")
            return converted
        if isinstance(value, list | tuple):
            return [self._argument(item, takes_transposed) for item in cast("Sequence[Any]", value)]
        return value

    def _return(self) -> None:
        values: list[SSAValue] = []
        for node in self._output_nodes():
            value = self.values[node]
            if isinstance(value, Transposed):
                raise _unsupported([_Problem(node, "a result of the model cannot be a transposed tensor yet")])
            values.append(value)
        self.block.add_op(ReturnOp(*values))

    def _output_nodes(self) -> list[Node]:
        return [result for result in self.results if isinstance(result, Node)]

    def output_specs(self) -> tuple[TensorSpec, ...]:
        nodes = self._output_nodes()
        names = ["y"] if len(nodes) == 1 else [f"y{i}" for i in range(len(nodes))]
        return tuple(_output_spec(name, node) for name, node in zip(names, nodes, strict=True))

    def structure(self) -> Any:
        numbers = iter(range(len(self.results)))
        leaves = [next(numbers) if isinstance(result, Node) else result for result in self.results]
        return structure_of(nested_like_results(self.exported, leaves))

    def module(self, input_names: Sequence[str]) -> ModuleOp:
        for argument, name in zip(self.block.args, input_names, strict=True):
            argument.name_hint = re.sub(r"[^A-Za-z0-9_]", "_", name)
        function = FuncOp("main", ([a.type for a in self.block.args], _result_types(self.block)), Region(self.block))
        loads = {op.weight.root_reference.data: op for op in self.block.ops if isinstance(op, ge.LoadWeightOp)}
        return ModuleOp([*(_declaration(name, load) for name, load in loads.items()), function])


def _declaration(name: str, load: ge.LoadWeightOp) -> ge.WeightOp:
    weight = ge.WeightOp(name, tensor_type(load.y))
    weight.location = load.location
    return weight


def _named(name: str) -> LocationAttr:
    return NameLoc(StringAttr(name), UNKNOWN_LOC)


def _result_types(block: Block) -> list[Attribute]:
    assert block.last_op is not None
    return [value.type for value in block.last_op.operands]


def _output_spec(name: str, node: Node) -> TensorSpec:
    tensor = value_of(node)
    type_ = None if tensor is None else type_of(tensor)
    assert tensor is not None
    assert type_ is not None
    strides = None if tensor.is_contiguous() else tuple(tensor.stride())
    return TensorSpec(name, type_.get_shape(), element_name(type_.get_element_type()), strides)


def _bound(node: Node) -> list[Any]:
    """The arguments of `node` in the order of its schema, defaults filled in."""
    schema: Any = cast("OpOverload", node.target)._schema  # pyright: ignore[reportPrivateUsage]
    bound: list[Any] = []
    for i, argument in enumerate(schema.arguments):
        if i < len(node.args) and not argument.kwarg_only:
            bound.append(node.args[i])
        else:
            bound.append(node.kwargs.get(argument.name, argument.default_value if argument.has_default_value() else None))
    return bound


def _unsupported(problems: Sequence[_Problem]) -> CompileError:
    """One error that lists each operator once a reason, with its count and lines."""
    grouped: dict[tuple[str, str], list[Node]] = defaultdict(list)
    for problem in problems:
        grouped[str(problem.node.target), problem.reason].append(problem.node)
    notes: list[Note] = []
    for (operator, reason), nodes in grouped.items():
        places = list(dict.fromkeys(_place(node) for node in nodes))
        shown = ", ".join(places[:6]) + (f" and {len(places) - 6} more" if len(places) > 6 else "")
        notes.append(Note(f"UnsupportedOp {operator} ×{len(nodes)} at {shown}: {reason}", line_of(nodes[0])))
    count = len({operator for operator, _ in grouped})
    verb = "operator is" if count == 1 else "operators are"
    return CompileError(f"{count} {verb} not supported", line_of(problems[0].node), tuple(notes))


def _place(node: Node) -> str:
    """The line of `node`, or the module whose work it is where no line of the user's is involved, as in a bare `nn.Sequential`."""
    line = line_of(node)
    return f"'{module_of(node)}'" if isinstance(line, UnknownLoc) else location_text(line)


def _nearest(overload: str) -> str:
    """Names the supported operator whose name is most alike, if one is."""
    by_name = {known.split(".")[1]: known for known in CONVERTERS}
    near = difflib.get_close_matches(overload.split(".")[1], by_name, 1, 0.75)
    return f"; the nearest supported operator is {by_name[near[0]]}" if near else ""


def _show_dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
