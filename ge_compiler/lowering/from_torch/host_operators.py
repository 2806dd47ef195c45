"""Operators that no `ge` operator expresses: what `ge.AtenFallback` keeps of one, and how PyTorch runs that again.

    torch.topk(x, 2)
    =>
    ge.AtenFallback %x {overload = "aten.topk.default", arguments = "{'self': '%0', 'k': 2}"} : (tensor<8xf32>) -> (tensor<2xf32>, ...)

`arguments` is a Python literal: the arguments that are given, by their names in the schema. `%0` is the first operand, `torch.float16` an
attribute of torch, `float.inf` a number that has no literal, `device.cpu` a device; the text of any other string follows a `=`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch._ops import OpOverload
from torch.fx import Node

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.lowering.from_torch.conversion import Declined
from ge_compiler.lowering.from_torch.dtypes import to_numpy, to_torch
from ge_compiler.lowering.from_torch.parameters import value_of
from ge_compiler.runtime.signature import Array


@dataclass(frozen=True)
class HostCall:
    """One call of an aten operator, without its tensors' values."""

    overload: str
    arguments: str
    operands: tuple[Node, ...]
    """The nodes whose tensors `%0`, `%1`, ... stand for."""


def host_call(node: Node) -> HostCall:
    """What is kept of `node`. Raises `Declined` for one that cannot be kept as text, or that looks at more than its operands' elements."""
    overload = node.target
    if not isinstance(overload, OpOverload):
        raise Declined("it is not an operator of torch")
    schema = overload._schema  # pyright: ignore[reportPrivateUsage]
    if schema.is_mutable:
        raise Declined("it changes its operand in place")
    names = [argument.name for argument in schema.arguments]
    given = dict(zip(names, node.args, strict=False)) | dict(node.kwargs)
    if str(node.target).startswith("aten.as_strided") and not all(map(_fills_its_memory, node.all_input_nodes)):
        raise Declined("it looks at the memory of a tensor that is not contiguous")
    operands: dict[Node, int] = {}
    arguments = {name: _encode(value, operands) for name, value in given.items()}
    return HostCall(str(node.target), repr(arguments), tuple(operands))


def _fills_its_memory(node: Node) -> bool:
    """Whether a tensor is all of its memory in the order of its elements, as operands of a host operator are."""
    tensor = value_of(node)
    return tensor is not None and tensor.is_contiguous() and tensor.untyped_storage().nbytes() == tensor.nbytes


def _encode(value: Any, operands: dict[Node, int]) -> Any:
    """`value` as a literal; nodes are numbered in `operands`."""
    match value:
        case Node():
            return f"%{operands.setdefault(value, len(operands))}"
        case list() | tuple():
            return [_encode(item, operands) for item in cast("Sequence[Any]", value)]
        case torch.dtype() | torch.memory_format() | torch.layout():
            return str(value)
        case torch.device():
            return f"device.{value}"
        case float() if not math.isfinite(value):
            return f"float.{value}"
        case str():
            return f"={value}"
        case None | bool() | int() | float():
            return value
        case _:
            raise Declined(f"it takes a {type(value).__name__}")


def run_on_host(overload: str, arguments: str, operands: Sequence[Array]) -> list[Array]:
    """
    The results of an aten operator on `operands`, contiguous; `overload` and `arguments` are those of a `ge.AtenFallback`.

    Raises `CompileError` for an operator that this PyTorch does not have, or that it fails to run.
    """
    operator = _operator(overload)
    tensors = [to_torch(operand) for operand in operands]
    try:
        literal = ast.literal_eval(arguments)
        values = {name: _decode(value, tensors) for name, value in literal.items()}
    except (AttributeError, IndexError, SyntaxError, ValueError) as error:
        raise CompileError(f"arguments of {overload} are not understood: {arguments}") from error
    try:
        with torch.no_grad():
            results: Any = operator(**values)
    except Exception as error:
        raise CompileError(f"PyTorch could not run {overload}: {' '.join(str(error).split())}") from error
    several = cast("Sequence[torch.Tensor]", results if isinstance(results, tuple | list) else (results,))
    return [to_numpy(result.contiguous()) for result in several]


def _operator(overload: str) -> OpOverload[..., Any]:
    found: Any = torch.ops
    try:
        for name in overload.split("."):
            found = getattr(found, name)
    except AttributeError:
        found = None
    if not isinstance(found, OpOverload):
        raise CompileError(f"PyTorch {torch.__version__} has no operator {overload}")
    return cast("OpOverload[..., Any]", found)


def _decode(value: Any, operands: Sequence[torch.Tensor]) -> Any:
    if isinstance(value, list):
        return [_decode(item, operands) for item in cast("list[Any]", value)]
    if not isinstance(value, str):
        return value
    kind, rest = value[:1], value[1:]
    if kind == "%":
        return operands[int(rest)]
    if kind == "=":
        return rest
    namespace, _, name = value.partition(".")
    match namespace:
        case "device":
            return torch.device(name)
        case "float":
            return float(name)
        case "torch":
            return getattr(torch, name)
        case _:
            raise ValueError(value)
