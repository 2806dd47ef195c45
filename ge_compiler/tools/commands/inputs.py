"""
The values of inputs on the command line.

    x=f16[32,768]             a shape and a dtype; the elements are those of rand:0
    x=f16[32,768]=rand:7      standard normal numbers of numpy's default_rng(7), rounded; for integers, 0 to 9; booleans
    x=@x.npy                  an array from a file
    x=i64[1]=@x.npy           the same, of that dtype and shape

Nested arguments are named x.0, x.key; `forward(*xs)` takes xs.0, xs.1, ...
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from ge_compiler.dialects.diagnostics import CompileError, did_you_mean
from ge_compiler.runtime.signature import DTYPES, FLOATS, Array, TensorSpec, dtype_name
from ge_compiler.tools.opt.registry import UsageError

_SPEC = re.compile(r"(?P<dtype>\w+)\[(?P<shape>[\d,\s]*)\](?:=rand:(?P<seed>\d+)|=@(?P<file>.+))?")
_MOST_DIMENSIONS = 64
_MOST_ELEMENTS = 1 << 40
_MOST_DIGITS = 20
"""Python refuses to read numbers of thousands of digits."""
_FORMS = "NAME=DTYPE[SIZES] (x=f16[32,768]), NAME=DTYPE[SIZES]=rand:SEED, NAME=@FILE.npy or NAME=DTYPE[SIZES]=@FILE.npy"


@dataclass(frozen=True)
class Input:
    """One `--input`."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    seed: int = 0
    file: Path | None = None

    @property
    def parameter(self) -> str:
        """The parameter of `forward` that it belongs to."""
        return self.name.split(".")[0]

    @property
    def spec(self) -> TensorSpec:
        return TensorSpec(self.name, self.shape, self.dtype)

    def array(self) -> Array:
        """The elements, always the same."""
        return random_array(self.spec, self.seed) if self.file is None else fit(_load(self.file), self.spec)


def parse_inputs(texts: Sequence[str]) -> list[Input]:
    """The inputs of a command line. Raises `UsageError` for a malformed one, `CompileError` for a file that cannot be read."""
    inputs = [_parse(text) for text in texts]
    names = [i.name for i in inputs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"--input {twice[0]} is given twice")
    return inputs


def _parse(text: str) -> Input:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"--input '{text}' is not understood; write {_FORMS}")
    if value.startswith("@"):
        array = _load(Path(value[1:]))
        return Input(name, dtype_name(array.dtype), array.shape, file=Path(value[1:]))
    match = _SPEC.fullmatch(value.strip())
    if match is None:
        raise UsageError(f"--input '{text}' is not understood; write {_FORMS}")
    dtype = match["dtype"]
    if dtype not in DTYPES:
        raise UsageError(f"--input '{text}': unknown dtype '{dtype}'{did_you_mean(dtype, DTYPES)}; dtypes: {', '.join(DTYPES)}")
    sizes = [size.strip() for size in match["shape"].split(",")] if match["shape"].strip() else []
    if "" in sizes:
        raise UsageError(f"--input '{text}': a size is missing between the commas")
    if not all(map(str.isdecimal, sizes)):
        raise UsageError(f"--input '{text}' is not understood; write {_FORMS}")
    if len(match["seed"] or "") > _MOST_DIGITS:
        raise UsageError(f"--input '{text}': a seed has at most {_MOST_DIGITS} digits")
    shape = tuple(int(size) if len(size) <= _MOST_DIGITS else _MOST_ELEMENTS + 1 for size in sizes)
    if len(shape) > _MOST_DIMENSIONS or math.prod(shape) > _MOST_ELEMENTS:
        raise UsageError(f"--input '{text}' is too large: at most {_MOST_DIMENSIONS} dimensions and 2^40 elements")
    file = None if match["file"] is None else Path(match["file"])
    given = Input(name.strip(), dtype, shape, int(match["seed"] or 0), file)
    if file is not None:
        array = given.array()
        held = TensorSpec(given.name, array.shape, dtype_name(array.dtype))
        if held != given.spec:
            raise UsageError(f"--input '{text}': {file} holds {held}")
    return given


def call_of(parameters: Sequence[str], leaves: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """
    The arguments of a call, positional ones and by name, from leaves that are named `x`, `x.0`, `x.key`.

    The last of `parameters` may be `*xs`, which takes `xs.0`, `xs.1`, ...; those before it are positional then. Raises `UsageError` where
    leaves do not nest, or one of those is missing.
    """
    tree: dict[str, Any] = {}
    for name, value in leaves.items():
        _plant(tree, name, name.split("."), value)
    named = {name: _sequences(value) for name, value in tree.items()}
    if not parameters or not parameters[-1].startswith("*"):
        return (), named
    *before, rest = parameters
    if missing := [name for name in before if name not in named]:
        raise UsageError(f"input '{missing[0]}' is missing; it stands before {rest}")
    several = named.pop(rest[1:], ())
    if not isinstance(several, tuple):
        raise UsageError(f"forward takes {rest}; name them {rest[1:]}.0, {rest[1:]}.1, ...")
    return (*(named.pop(name) for name in before), *cast("tuple[Any, ...]", several)), named


def _plant(tree: dict[str, Any], name: str, path: Sequence[str], value: Any) -> None:
    first, rest = path[0], path[1:]
    branch = tree.setdefault(first, {}) if rest else None
    if first in tree and not (rest and isinstance(branch, dict)):
        raise UsageError(f"--input {name}: the same input is given as a whole and in parts")
    if rest:
        _plant(cast("dict[str, Any]", branch), name, rest, value)
    else:
        tree[first] = value


def _sequences(value: Any) -> Any:
    """Nested dictionaries, where those with the keys 0, 1, ... are tuples."""
    if not isinstance(value, dict):
        return value
    items = {key: _sequences(item) for key, item in cast("dict[str, Any]", value).items()}
    numbers = [str(i) for i in range(len(items))]
    return tuple(items[number] for number in numbers) if set(items) == set(numbers) else items


def float_dtype(inputs: Sequence[Input]) -> str | None:
    """The dtype of the floating inputs, which the model's floats take too. Raises `UsageError` if they have several."""
    dtypes = sorted({i.dtype for i in inputs if i.dtype in FLOATS})
    if len(dtypes) > 1:
        raise UsageError(f"inputs have several floating dtypes ({', '.join(dtypes)}); choose the model's with --dtype")
    return dtypes[0] if dtypes else None


def random_array(spec: TensorSpec, seed: int) -> Array:
    """Elements that depend on shape, dtype and seed alone."""
    generator = np.random.default_rng(seed)
    if spec.dtype in FLOATS:
        return generator.standard_normal(spec.shape, np.float32).astype(DTYPES[spec.dtype])
    return generator.integers(0, 2 if spec.dtype == "bool" else 10, spec.shape).astype(DTYPES[spec.dtype])


def fit(array: Array, spec: TensorSpec) -> Array:
    """The array of a file for an input: a `bf16` one may be kept as f32, as .npy files have no bf16."""
    return array.astype(DTYPES["bf16"]) if spec.dtype == "bf16" and array.dtype == np.float32 else array


def _load(path: Path) -> Array:
    try:
        loaded: Any = np.load(path, allow_pickle=False)
    except OSError as error:
        raise CompileError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, EOFError) as error:
        raise CompileError(f"{path} is not an array file (.npy): {error}") from None
    if not isinstance(loaded, np.ndarray):
        raise CompileError(f"{path} holds several arrays; give one in a .npy file")
    array = cast("Array", loaded)
    if dtype_name(array.dtype) not in DTYPES:
        raise CompileError(f"{path} holds {array.dtype}, which is not supported; dtypes: {', '.join(DTYPES)}")
    return array
