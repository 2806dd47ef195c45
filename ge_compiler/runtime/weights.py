"""The bytes of weights, outside the IR: arrays that share a model's memory, or views of a memory-mapped safetensors file.

The file format is read and written here because the same bytes also stand inside an `.om`, at an offset, and must be mapped, not copied.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ge_compiler.dialects import ge
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.semantics import dtype_of
from ge_compiler.runtime.files import write_beside, write_chunks
from ge_compiler.runtime.signature import DTYPES, Array, TensorSpec, dtype_name

if TYPE_CHECKING:
    from typing_extensions import Buffer

_FORMAT_NAMES = {"f16": "F16", "bf16": "BF16", "f32": "F32", "i8": "I8", "i16": "I16", "i32": "I32", "i64": "I64", "bool": "BOOL"}
_NAMES = {tag: name for name, tag in _FORMAT_NAMES.items()}
_FOREIGN = ("C64", "F4", "F6_E2M3", "F6_E3M2", "F64", "F8_E4M3", "F8_E5M2", "F8_E8M0", "U16", "U32", "U64", "U8")
"""What a safetensors file may also hold; a program that does not load it is not troubled by it."""
_ALIGNMENT = 64


@dataclass(frozen=True)
class WeightStore(Mapping[str, Array]):
    """Symbol -> array. Iterates in the order in which weights were added."""

    arrays: Mapping[str, Array]
    keys_of: Mapping[str, tuple[str, ...]]
    """Symbol -> the model's own names for it (`fc1.weight`); more than one if tied."""
    foreign: Mapping[str, str]
    """Names in the file it comes from that have an element type which programs do not have -> that type."""

    def __init__(
        self,
        arrays: Mapping[str, Array],
        keys_of: Mapping[str, tuple[str, ...]] | None = None,
        foreign: Mapping[str, str] | None = None,
    ) -> None:
        object.__setattr__(self, "arrays", dict(arrays))
        object.__setattr__(self, "keys_of", dict(keys_of or {}))
        object.__setattr__(self, "foreign", dict(foreign or {}))

    def __getitem__(self, name: str) -> Array:
        return self.arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())

    def check(self, module: ModuleOp, source: str = "the weight store") -> None:
        """Raises `CompileError` at the first weight of `module` that is missing here or has another shape or dtype."""
        for op in ge.weights(module):
            name = op.sym_name.data
            if name in self.foreign:
                raise CompileError.at(op, f"weight @{name} is declared as {op.type}, but {source} has it as {self.foreign[name]}")
            if name not in self.arrays:
                raise CompileError.at(op, f"weight @{name} is not in {source}")
            shape, dtype = tuple(op.type.get_shape()), dtype_name(dtype_of(op.type.get_element_type()))
            array = self.arrays[name]
            if array.shape != shape or dtype_name(array.dtype) != dtype:
                got = TensorSpec(name, array.shape, dtype_name(array.dtype))
                raise CompileError.at(op, f"weight @{name} is declared as {TensorSpec(name, shape, dtype)}, but {source} has {got}")

    def chunks(self) -> Iterator[Buffer]:
        """The safetensors form of the store: the same bytes for the same weights."""
        header: dict[str, Any] = {"__metadata__": {"keys": json.dumps({name: list(keys) for name, keys in self.keys_of.items()})}}
        offset = 0
        for name, array in self.arrays.items():
            tag = _FORMAT_NAMES[dtype_name(array.dtype)]
            header[name] = {"dtype": tag, "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
            offset += array.nbytes
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-(len(text) + 8) % _ALIGNMENT)
        yield len(text).to_bytes(8, "little") + text
        for array in self.arrays.values():
            yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a safetensors file."""
        with write_beside(path) as file:
            write_chunks(file, self.chunks())

    @staticmethod
    def load(path: str | os.PathLike[str], offset: int = 0, size: int | None = None) -> WeightStore:
        """Maps a safetensors file, or the part of a file at `offset`. Raises `CompileError` if it is missing, short or foreign."""
        try:
            total = os.path.getsize(path)
            size = total - offset if size is None else size
            data = np.memmap(path, np.uint8, "r", offset, (size,)) if size > 0 else np.zeros(0, np.uint8)
        except OSError as error:
            raise CompileError(f"cannot read weights: {error.strerror}: {os.fspath(path)}") from None
        return _parse(data, os.fspath(path))


def beside(module_path: str | os.PathLike[str]) -> Path:
    """The weight file of a `.mlir` file: the same name with `.safetensors`."""
    return Path(module_path).with_suffix(".safetensors")


def load_beside(module: ModuleOp, module_path: str | os.PathLike[str]) -> WeightStore:
    """The checked weights of a module that was read from `module_path`; no file is needed if it declares none."""
    if not ge.weights(module):
        return WeightStore({})
    path = beside(module_path)
    if not path.exists():
        first = ge.weights(module)[0]
        wanted = f"there is no file {path}; from Python, program.weights.save('{path}') writes it"
        raise CompileError.at(first, f"the bytes of weight @{first.sym_name.data} are missing: {wanted}")
    store = WeightStore.load(path)
    store.check(module, str(path))
    return store


def _parse(data: Array, source: str) -> WeightStore:
    header, start = _header(data, source)
    keys_of = _keys(header.pop("__metadata__", {}), source)
    arrays: dict[str, Array] = {}
    foreign: dict[str, str] = {}
    for name, entry in header.items():
        try:
            if entry["dtype"] in _FOREIGN:
                foreign[name] = entry["dtype"]
                continue
            dtype, shape = DTYPES[_NAMES[entry["dtype"]]], tuple(map(int, entry["shape"]))
            begin, end = map(int, entry["data_offsets"])
        except (KeyError, TypeError, ValueError):
            raise CompileError(f"weight file {source} is corrupt: the entry of '{name}' is not understood") from None
        if min((0, *shape)) < 0 or begin < 0 or end - begin != math.prod(shape) * dtype.itemsize:
            raise CompileError(f"weight file {source} is corrupt: '{name}' does not have the bytes of its shape")
        if start + end > data.size:
            raise CompileError(f"weight file {source} is short: '{name}' ends at byte {start + end}, the file at {data.size}")
        arrays[name] = data[start + begin : start + end].view(dtype).reshape(shape)
    return WeightStore(arrays, keys_of, foreign)


def _keys(metadata: Any, source: str) -> dict[str, tuple[str, ...]]:
    try:
        return {name: tuple(keys) for name, keys in json.loads(metadata.get("keys", "{}")).items()}
    except (AttributeError, TypeError, ValueError):
        raise CompileError(f"weight file {source} is corrupt: its metadata is not understood") from None


def _header(data: Array, source: str) -> tuple[dict[str, Any], int]:
    length = int.from_bytes(data[:8].tobytes(), "little")
    if data.size < 8 or 8 + length > data.size:
        raise CompileError(f"weight file {source} is not a safetensors file, or it is cut off in its header")
    try:
        header = json.loads(data[8 : 8 + length].tobytes())
    except ValueError:
        header = None
    if not isinstance(header, dict):
        raise CompileError(f"weight file {source} is not a safetensors file")
    return cast("dict[str, Any]", header), 8 + length
