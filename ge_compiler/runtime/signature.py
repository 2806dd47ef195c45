"""What a program takes and gives: names, shapes and dtypes of tensors, and how arguments and results nest. Needs no torch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(dtype)
    for name, dtype in (
        ("f16", np.float16),
        ("bf16", ml_dtypes.bfloat16),
        ("f32", np.float32),
        ("i8", np.int8),
        ("i16", np.int16),
        ("i32", np.int32),
        ("i64", np.int64),
        ("bool", np.bool_),
    )
}
"""The element types of a program's inputs, outputs and weights."""

FLOATS = ("f16", "bf16", "f32")


def dtype_name(dtype: npt.DTypeLike) -> str:
    """The name of a numpy dtype in `DTYPES`; numpy's own name for any other."""
    wanted = np.dtype(dtype)
    return next((name for name, d in DTYPES.items() if d == wanted), wanted.name)


@dataclass(frozen=True)
class TensorSpec:
    """One tensor at the border of a program."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    """A key of `DTYPES`."""
    strides: tuple[int, ...] | None = None
    """In elements, where they differ from row-major."""

    def __str__(self) -> str:
        return f"{self.name}={self.dtype}[{','.join(map(str, self.shape))}]"

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * DTYPES[self.dtype].itemsize


@dataclass(frozen=True)
class State:
    """A tensor that a call changes: a buffer of the model, which the next call finds changed, or an input."""

    tensor: TensorSpec
    """Named as the model names it."""
    argument: int
    """The number of the argument of `@main` that holds its contents: after the inputs, or among them."""
    result: int
    """The number of the result of `@main` that is its new contents: after the outputs."""
    initial: str | None
    """The name in the weight store under which its first contents are kept; `None` for an input."""


@dataclass(frozen=True)
class Signature:
    """The inputs and outputs of a program in the order of `@main`, and how Python arguments and results map to them."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    parameters: tuple[str, ...]
    """The parameter names of `forward`, in order, that a positional argument may bind to."""
    arguments: tuple[str, ...]
    """The parameters that were given, in the order in which their tensors are `inputs`."""
    constants: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Leaves of the arguments that are no tensors: the program holds for these values only."""
    structure: Any = None
    """How results nest: see `nest`. `None`: a tuple, or the one output itself."""
    states: tuple[State, ...] = ()

    @property
    def buffers(self) -> tuple[State, ...]:
        """The states that are no inputs, in the order of `@main`'s arguments after the inputs."""
        return tuple(state for state in self.states if state.initial is not None)

    @property
    def results(self) -> tuple[TensorSpec, ...]:
        """The results of `@main`: the outputs, then the new contents of the states."""
        return (*self.outputs, *(state.tensor for state in self.states))

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The tensors of a call in the order of `inputs`. Raises `TypeError` for a call that the program is not for."""
        given = name_arguments(self.parameters, args, kwargs)
        for name in given:
            if name not in self.arguments and given[name] is not None:
                raise TypeError(f"unexpected input '{name}'; the program takes {self.describe_inputs()}")
        leaves = dict(leaf for name in self.arguments if name in given for leaf in flatten(name, given[name]))
        for name, value in self.constants.items():
            if name in leaves and leaves[name] != value:
                raise TypeError(f"input '{name}' is {leaves[name]!r}, but the program was compiled for {value!r}")
        missing = [spec.name for spec in self.inputs if spec.name not in leaves]
        if missing:
            raise TypeError(f"missing input '{missing[0]}'; the program takes {self.describe_inputs()}")
        known = {spec.name for spec in self.inputs} | set(self.constants)
        if extra := [name for name in leaves if name not in known]:
            raise TypeError(f"unexpected input '{extra[0]}'; the program takes {self.describe_inputs()}")
        return [leaves[spec.name] for spec in self.inputs]

    def describe_inputs(self) -> str:
        return ", ".join(map(str, self.inputs)) or "no inputs"

    def check(self, inputs: Sequence[Array]) -> None:
        """Raises `TypeError` unless each array has the shape and dtype of its input."""
        for spec, array in zip(self.inputs, inputs, strict=True):
            if array.shape != spec.shape or dtype_name(array.dtype) != spec.dtype:
                got = TensorSpec(spec.name, array.shape, dtype_name(array.dtype))
                raise TypeError(f"input '{spec.name}' must be {spec}, got {got}")

    def to_json(self) -> dict[str, Any]:
        return {
            "inputs": [_spec_to_json(spec) for spec in self.inputs],
            "outputs": [_spec_to_json(spec) for spec in self.outputs],
            "parameters": list(self.parameters),
            "arguments": list(self.arguments),
            "constants": dict(self.constants),
            "structure": self.structure,
            "states": [asdict(state) | {"tensor": _spec_to_json(state.tensor)} for state in self.states],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Signature:
        return Signature(
            inputs=tuple(_spec_of_json(spec) for spec in data["inputs"]),
            outputs=tuple(_spec_of_json(spec) for spec in data["outputs"]),
            parameters=tuple(data["parameters"]),
            arguments=tuple(data["arguments"]),
            constants=data["constants"],
            structure=data["structure"],
            states=tuple(
                State(_spec_of_json(state["tensor"]), state["argument"], state["result"], state["initial"])
                for state in data.get("states", ())
            ),
        )


def _spec_to_json(spec: TensorSpec) -> dict[str, Any]:
    strides = None if spec.strides is None else list(spec.strides)
    return {"name": spec.name, "shape": list(spec.shape), "dtype": spec.dtype, "strides": strides}


def _spec_of_json(data: Mapping[str, Any]) -> TensorSpec:
    strides = data["strides"]
    return TensorSpec(data["name"], tuple(data["shape"]), data["dtype"], None if strides is None else tuple(strides))


def name_arguments(parameters: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """
    The arguments of a call by parameter name, positional ones first; a last parameter `*xs` takes the rest as the tuple `xs`.

    Raises `TypeError` for one too many or given twice.
    """
    if parameters and parameters[-1].startswith("*"):
        *parameters, rest = parameters
        if len(args) > len(parameters):
            kwargs = {rest[1:]: tuple(args[len(parameters) :]), **kwargs}
            args = args[: len(parameters)]
    if len(args) > len(parameters):
        raise TypeError(f"{len(args)} positional inputs given, but there are {len(parameters)} parameters ({', '.join(parameters)})")
    named = dict(zip(parameters, args, strict=False))
    if twice := [name for name in kwargs if name in named]:
        raise TypeError(f"input '{twice[0]}' is given twice")
    return named | dict(kwargs)


def flatten(name: str, value: Any) -> list[tuple[str, Any]]:
    """The leaves of nested tuples, lists and dicts, named `x`, `x.0`, `x.key`."""
    if isinstance(value, Mapping):
        items = [(str(key), item) for key, item in cast("Mapping[Any, Any]", value).items()]
    elif isinstance(value, tuple | list):
        items = [(str(i), item) for i, item in enumerate(cast("Sequence[Any]", value))]
    else:
        return [(name, value)]
    return [leaf for key, item in items for leaf in flatten(f"{name}.{key}", item)]


def structure_of(value: Any) -> Any:
    """A nest of tuples, lists and dicts whose leaves are output numbers or `{"value": constant}`, in JSON's types. See `nest`."""
    if isinstance(value, Mapping):
        return {"dict": {str(key): structure_of(item) for key, item in cast("Mapping[Any, Any]", value).items()}}
    if isinstance(value, tuple | list):
        items = [structure_of(item) for item in cast("Sequence[Any]", value)]
        return {"tuple" if isinstance(value, tuple) else "list": items}
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return {"value": getattr(value, "value", None)}


@dataclass(frozen=True)
class Constant:
    """A leaf of a result that is no tensor."""

    value: Any


def nest(structure: Any, outputs: Sequence[Any]) -> Any:
    """`outputs` in the nest that `structure_of` described."""
    if structure is None:
        return outputs[0] if len(outputs) == 1 else tuple(outputs)
    if isinstance(structure, int):
        return outputs[structure]
    kind, items = next(iter(cast("dict[str, Any]", structure).items()))
    match kind:
        case "dict":
            return {key: nest(item, outputs) for key, item in items.items()}
        case "tuple":
            return tuple(nest(item, outputs) for item in items)
        case "list":
            return [nest(item, outputs) for item in items]
        case _:
            return items
