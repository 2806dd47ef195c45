"""Parameters, buffers and lifted constants of an exported program: which tensor each placeholder is, and the weight it becomes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Node

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.lowering.from_torch.dtypes import to_numpy
from ge_compiler.runtime.signature import Array
from ge_compiler.runtime.weights import WeightStore

T = TypeVar("T")

_MUTATIONS = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION, OutputKind.USER_INPUT_MUTATION)


@dataclass(frozen=True)
class Parameter:
    """A tensor that the program holds."""

    key: str
    """The model's name for it: `fc1.weight`."""
    tensor: torch.Tensor


def parameters_of(exported: ExportedProgram) -> dict[str, Parameter]:
    """Placeholder name -> the tensor it stands for. Raises `CompileError` for a sparse one."""
    found: dict[str, Parameter] = {}
    for spec in exported.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT or spec.target is None:
            continue
        held = exported.constants if spec.kind is InputKind.CONSTANT_TENSOR or spec.persistent is False else exported.state_dict
        tensor = held[spec.target]
        assert isinstance(tensor, torch.Tensor)
        if tensor.layout is not torch.strided:
            raise CompileError(f"parameter '{spec.target}' is sparse; make it dense with to_dense() first")
        found[spec.arg.name] = Parameter(spec.target, tensor)
    return found


class WeightNames:
    """Gives each distinct tensor that is used one symbol; tensors that are the same memory seen the same way share it."""

    def __init__(self, parameters: Iterable[Parameter]) -> None:
        self.arrays: dict[str, Array] = {}
        self.keys: dict[str, tuple[str, ...]] = {}
        self._keys_of_memory: dict[object, list[str]] = {}
        self._symbols: dict[object, str] = {}
        for parameter in parameters:
            self._keys_of_memory.setdefault(_memory(parameter), []).append(parameter.key)

    def symbol(self, parameter: Parameter) -> str:
        """The symbol of `parameter`, named after the first of those that share its memory. The array shares it too."""
        if parameter.tensor.device.type != "cpu":
            raise CompileError(f"parameter '{parameter.key}' is on device '{parameter.tensor.device}'; move the model to the CPU first")
        memory = _memory(parameter)
        if memory not in self._symbols:
            keys = self._keys_of_memory[memory]
            name = self._symbols[memory] = self._fresh(re.sub(r"\W", "_", keys[0]))
            self.arrays[name] = to_numpy(parameter.tensor)
            self.keys[name] = tuple(keys)
        return self._symbols[memory]

    def initial(self, parameter: Parameter) -> str:
        """The symbol under which the present contents of `parameter`, which the program will change, are kept: a copy."""
        symbol = self.symbol(parameter)
        self.arrays[symbol] = self.arrays[symbol].copy()
        return symbol

    def store(self) -> WeightStore:
        return WeightStore(self.arrays, self.keys)

    def _fresh(self, name: str) -> str:
        name = f"_{name}" if name[:1].isdigit() else name
        number = 1
        fresh = name
        while fresh in self.arrays:
            number += 1
            fresh = f"{name}_{number}"
        return fresh


def split_results(exported: ExportedProgram, results: Sequence[T]) -> tuple[list[T], dict[str, T]]:
    """
    Of what the graph returns: the model's own results, and the new contents of the placeholders that it changes, by their names.

    `results` are the nodes that the graph returns, or their values.
    """
    names = {spec.target: spec.arg.name for spec in exported.graph_signature.input_specs if spec.target is not None}
    nodes: Any = exported.graph.output_node().args[0]
    own: list[T] = []
    updates: dict[str, T] = {}
    for spec, node, result in zip(exported.graph_signature.output_specs, nodes, results, strict=True):
        if spec.kind not in _MUTATIONS:
            own.append(result)
            continue
        assert spec.target is not None
        name = spec.target if spec.kind is OutputKind.USER_INPUT_MUTATION else names[spec.target]
        if node.name != name:  # else it gets what it has
            updates[name] = result
    return own, updates


def held_tensor(model: torch.nn.Module, key: str) -> torch.Tensor | None:
    """The parameter, buffer or tensor attribute `key`; `None` for a constant that torch lifted out of the code."""
    path, _, name = key.rpartition(".")
    try:
        value = getattr(model.get_submodule(path), name, None)
    except AttributeError:
        return None
    return value if isinstance(value, torch.Tensor) else None


def _memory(parameter: Parameter) -> object:
    """Equal for tensors that are the same bytes seen the same way; tensors without bytes are all their own."""
    tensor = parameter.tensor
    if not tensor.numel():
        return parameter.key
    return tensor.untyped_storage().data_ptr(), tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype


def value_of(node: Node) -> torch.Tensor | None:
    """The fake tensor that torch computed for `node`, if its value is one tensor."""
    value = node.meta.get("val")
    return value if isinstance(value, torch.Tensor) else None
