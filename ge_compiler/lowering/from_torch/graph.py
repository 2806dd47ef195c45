"""One functional aten graph becomes the body of `@main`: the operator table, node by node.

Exported programs and graphs of `torch.compile` are converted by the same code; who calls it says what each placeholder is.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import getitem
from types import ModuleType
from typing import Any, TypeGuard, cast

import torch
from torch._ops import OpOverload
from torch.fx import Node
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    TensorType,
    UnknownLoc,
    UnrealizedConversionCastOp,
    f64,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects import ge
from ge_compiler.dialects.diagnostics import CompileError, Note, location_text
from ge_compiler.dialects.types import Tensor, tensor_type
from ge_compiler.lowering.from_torch import (
    attention,
    comparisons,
    creation,
    elementwise,
    indexing,
    matrix_products,
    ordering,
    reductions,
    views,
)
from ge_compiler.lowering.from_torch.conversion import CONVERTERS, Conversion, Declined, Refused, Values, splat
from ge_compiler.lowering.from_torch.dtypes import element_of, type_of
from ge_compiler.lowering.from_torch.host_operators import host_call
from ge_compiler.lowering.from_torch.locations import line_of, location_of
from ge_compiler.lowering.from_torch.locations import name_of as module_of

OPERATOR_FILES = (attention, comparisons, creation, elementwise, indexing, matrix_products, ordering, reductions, views)
"""The files that fill the operator table when they are imported."""

WITHOUT_EFFECT = (
    "aten._assert_async.msg",
    "aten._assert_scalar.default",
    "aten._assert_tensor_metadata.default",
    "aten.sym_constrain_range_for_size.default",
)


@dataclass(frozen=True)
class _Problem:
    node: Node
    reason: str


@dataclass
class GraphConverter:
    """The state of one conversion: the operators so far, and the value of each node."""

    block: Block = field(default_factory=Block)
    values: dict[Node, Values] = field(default_factory=dict[Node, Values])
    _problems: list[_Problem] = field(default_factory=list[_Problem])

    def argument(self, node: Node, type_: Tensor, name: str) -> None:
        """`node` is the next argument of `@main`."""
        argument = self.block.insert_arg(type_, len(self.block.args))
        argument.name_hint = re.sub(r"[^A-Za-z0-9_]", "_", name)
        self.values[node] = argument

    def weight(self, node: Node, type_: Tensor, symbol: str, key: str) -> None:
        """`node` is the weight `symbol`, which the model calls `key`."""
        self._define(node, ge.LoadWeightOp(symbol, type_), key)

    def constant(self, node: Node, type_: Tensor, value: float, key: str) -> None:
        """`node` is a constant whose elements are all `value`."""
        self._define(node, ge.ConstOp(splat(type_, value)), key)

    def _define(self, node: Node, op: Operation, key: str) -> None:
        op.location = NameLoc(StringAttr(key), UNKNOWN_LOC)
        self.block.add_op(op)
        self.values[node] = op.results[0]

    def operator(self, node: Node) -> None:
        """Adds the operators of a node that calls an aten operator, or takes one of its results."""
        if node.target is getitem:
            self.values[node] = cast("Sequence[SSAValue]", self.values[cast("Node", node.args[0])])[cast("int", node.args[1])]
            return
        if str(node.target) in WITHOUT_EFFECT:
            return
        last = self.block.last_op
        try:
            self.values[node] = self._converted(node)
        except (Declined, Refused) as error:
            self._problems.append(_Problem(node, str(error)))
            # A stand-in, so that what follows is checked too and all problems are told at once.
            self.values[node] = self._stand_in(node)
        for op in self._since(last):
            op.location = location_of(node)

    def _converted(self, node: Node) -> Values:
        types = _result_types(node)
        last = self.block.last_op
        try:
            converter = CONVERTERS.get(str(node.target))
            if converter is None:
                raise Declined("no conversion" + nearest_operator(str(node.target)))
            if any(type_.get_element_type() == f64 for type_ in (*types, *self._operand_types(node))):
                raise Declined("only the host computes in f64")
            values = converter(Conversion(node, types, self.block), *map(self._argument, _bound(node)))
        except (Declined, VerifyException) as error:
            for op in reversed(self._since(last)):
                op.detach()
                op.erase()
            return self._left_to_host(node, types, str(error))
        results = [values] if isinstance(values, SSAValue) else values
        got = [value.type for value in results]
        assert self._problems or got == list(types), f"{node.target} converts to {got}, torch says {types}"
        return values

    def _left_to_host(self, node: Node, types: Sequence[Tensor], reason: str) -> Values:
        """`node` as an operator that PyTorch itself runs. Raises `Declined` where that is not possible."""
        try:
            call = host_call(node)
        except Declined as error:
            raise Declined(f"{reason}; nor can the host run it: {error}") from None
        operands = [cast("SSAValue", self.values[operand]) for operand in call.operands]
        properties = {"overload": StringAttr(call.overload), "arguments": StringAttr(call.arguments), "reason": StringAttr(reason)}
        op = ge.AtenFallbackOp(operands=[operands], properties=properties, result_types=[types])
        self.block.add_op(op)
        return op.results[0] if isinstance(node.meta["val"], torch.Tensor) else tuple(op.results)

    def _operand_types(self, node: Node) -> list[Tensor]:
        return [tensor_type(value) for operand in node.all_input_nodes if isinstance(value := self.values.get(operand), SSAValue)]

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Node):
            return self.values[value]
        if isinstance(value, list | tuple):
            return [self._argument(item) for item in cast("Sequence[Any]", value)]
        return value

    def _stand_in(self, node: Node) -> Values:
        tensors = node.meta.get("val")
        several = cast("Sequence[Any]", tensors if isinstance(tensors, list | tuple) else (tensors,))
        unknown = IntegerType(1)
        types = [TensorType(element_of(t.dtype) or unknown, tuple(t.shape)) if _is_tensor(t) else TensorType(unknown, []) for t in several]
        op = UnrealizedConversionCastOp.get([], types)
        self.block.add_op(op)
        return tuple(op.results) if isinstance(tensors, list | tuple) else op.results[0]

    def _since(self, last: Operation | None) -> list[Operation]:
        """The operators that were added after `last`."""
        ops: list[Operation] = []
        op = self.block.first_op if last is None else last.next_op
        while op is not None:
            ops.append(op)
            op = op.next_op
        return ops

    def check(self) -> None:
        """Raises `CompileError` that lists every operator that cannot be executed, with its Python lines."""
        if self._problems:
            raise _unsupported(self._problems)

    def module(self, results: Sequence[Node], updates: Mapping[int, int] | None = None) -> ModuleOp:
        """
        The module whose `@main` returns the values of `results`.

        `updates` says which result is the new contents of an argument. Operators that nothing uses are dropped.
        """
        self.block.add_op(ReturnOp(*(cast("SSAValue", self.values[node]) for node in results)))
        for op in reversed(list(self.block.ops)):
            if op.has_trait(Pure) and not any(result.uses for result in op.results):
                op.detach()
                op.erase()
        last = self.block.last_op
        assert last is not None
        types = [a.type for a in self.block.args], [value.type for value in last.operands]
        function = FuncOp("main", types, Region(self.block), arg_attrs=_argument_attributes(len(types[0]), updates or {}))
        loads = {op.weight.root_reference.data: op for op in self.block.ops if isinstance(op, ge.LoadWeightOp)}
        return ModuleOp([*(_declaration(name, load) for name, load in loads.items()), function])


def _is_tensor(value: object) -> TypeGuard[torch.Tensor]:
    return isinstance(value, torch.Tensor)


def _argument_attributes(count: int, updates: Mapping[int, int]) -> ArrayAttr[DictionaryAttr] | None:
    if not updates:
        return None
    given = ({"ge.updated_by": IntegerAttr(updates[i], i64)} if i in updates else {} for i in range(count))
    return ArrayAttr([DictionaryAttr(attributes) for attributes in given])


def _declaration(name: str, load: ge.LoadWeightOp) -> ge.WeightOp:
    weight = ge.WeightOp(name, tensor_type(load.y))
    weight.location = load.location
    return weight


def _result_types(node: Node) -> tuple[Tensor, ...]:
    """The types of the tensors that `node` gives. Raises `Refused` for what is no tensor, or of a dtype that the IR does not have."""
    value = node.meta.get("val")
    types: list[Tensor] = []
    for tensor in cast("Sequence[Any]", value if isinstance(value, list | tuple) else (value,)):
        if not isinstance(tensor, torch.Tensor):
            raise Refused("its result is no tensor")
        type_ = type_of(tensor)
        if type_ is None:
            raise Refused(f"its result has dtype {show_dtype(tensor.dtype)}")
        types.append(type_)
    return tuple(types)


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
    line: LocationAttr = line_of(node)
    return f"'{module_of(node)}'" if isinstance(line, UnknownLoc) else location_text(line)


def operators_of(file: ModuleType) -> list[str]:
    """The overloads of the operator table that one of its files converts, in alphabetical order."""
    return sorted(overload for overload, converter in CONVERTERS.items() if converter.__module__ == file.__name__)


def nearest_operator(overload: str) -> str:
    """Names the supported operator whose name is most alike, if one is."""
    by_name = {known.split(".")[1]: known for known in CONVERTERS}
    near = difflib.get_close_matches(overload.split(".")[1] if "." in overload else overload, by_name, 1, 0.75)
    return f"; the nearest supported operator is {by_name[near[0]]}" if near else ""


def show_dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
