"""
One element type in three worlds: torch, numpy and the IR. Tensors become arrays and back without a copy.

f64 is an element type of values inside a program only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerType, TensorType
from xdsl.ir import Attribute

from ge_compiler.runtime.signature import DTYPES, Array

_TORCH: dict[str, torch.dtype] = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "bool": torch.bool,
}
_ELEMENTS: dict[str, Attribute] = {
    "f16": Float16Type(),
    "bf16": BFloat16Type(),
    "f32": Float32Type(),
    "f64": Float64Type(),
    "i8": IntegerType(8),
    "i16": IntegerType(16),
    "i32": IntegerType(32),
    "i64": IntegerType(64),
    "bool": IntegerType(1),
}
_NAMES = {dtype: name for name, dtype in _TORCH.items()}
_NAMES_OF_ELEMENTS = {element: name for name, element in _ELEMENTS.items()}


def torch_dtype(name: str) -> torch.dtype:
    """The torch dtype of a name such as `f16`."""
    return _TORCH[name]


def element_name(element: Attribute) -> str:
    """The name of an IR element type such as `f16`. Raises `KeyError` for one that programs do not take or give."""
    return _NAMES_OF_ELEMENTS[element]


def name_of(dtype: torch.dtype) -> str | None:
    """The name of a torch dtype such as `f16`; `None` for one that the compiler does not have."""
    return _NAMES.get(dtype)


def element_of(dtype: torch.dtype) -> Attribute | None:
    """The IR's element type, or `None` for a dtype that the compiler does not have."""
    name = name_of(dtype)
    return None if name is None else _ELEMENTS[name]


def type_of(tensor: torch.Tensor) -> TensorType[Attribute] | None:
    """The IR's type of a (fake) tensor, or `None` for a dtype that the compiler does not have."""
    element = element_of(tensor.dtype)
    return None if element is None else TensorType(element, tuple(tensor.shape))


def to_numpy(tensor: torch.Tensor) -> Array:
    """An array that shares the memory, shape and strides of a CPU tensor."""
    tensor = tensor.detach()
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.uint16).numpy().view(DTYPES["bf16"])
    return tensor.numpy()


def to_torch(array: Array) -> torch.Tensor:
    """A tensor that shares the memory of an array (which is copied first if it is read-only)."""
    array = array if array.flags.writeable else array.copy()
    is_bf16 = array.dtype == DTYPES["bf16"]
    tensor = torch.from_numpy(array.view(np.uint16) if is_bf16 else array)  # pyright: ignore[reportUnknownMemberType]
    return tensor.view(torch.bfloat16) if is_bf16 else tensor


def with_strides(tensor: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """`tensor` with the strides of PyTorch's result: models look at them, and take views by them."""
    if tensor.stride() == tuple(strides):
        return tensor
    # Along a stride of 0 all elements are one.
    shown = tensor[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in strides)]
    return torch.empty_strided(shown.shape, strides, dtype=tensor.dtype).copy_(shown).expand(tensor.shape)
