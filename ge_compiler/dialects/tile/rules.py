"""What several ops on tiles ask of their operands."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.ge.shapes import show
from ge_compiler.dialects.index_list import DYNAMIC, show_list
from ge_compiler.dialects.memory import Space, mem_of
from ge_compiler.dialects.types import Buffer, Tensor, is_shaped, shaped_type, verify_element_type

ON_CHIP = tuple(space for space in Space if space is not Space.GM)


def verify_one_kind(values: Sequence[SSAValue]) -> None:
    kinds = [x.type for x in values if is_shaped(x.type)]
    if len({type(kind) for kind in kinds}) > 1:
        raise VerifyException(f"mixes tensors and memrefs: {', '.join(map(str, kinds))}")


def verify_space(value: SSAValue | Attribute, name: str, *spaces: Space) -> None:
    type_ = shaped_type(value)
    verify_element_type(type_)
    if mem_of(type_).space not in spaces:
        raise VerifyException(f"{name} must be in {' or '.join(spaces)}, got {type_}")


def verify_tile(value: SSAValue | Attribute, name: str, *spaces: Space) -> None:
    """A matrix in on-chip memory, of static shape as long as it is a value; a memref's sizes are its valid extents."""
    verify_space(value, name, *spaces)
    type_ = shaped_type(value)
    if len(type_.get_shape()) != 2:
        raise VerifyException(f"{name} must have rank 2, got {type_}")
    if isinstance(type_, TensorType) and DYNAMIC in type_.get_shape():
        raise VerifyException(f"{name} must have a static shape, got {type_}; 'valid' names the extents of ragged tiles")


def verify_same_element(x: SSAValue | Attribute, y: SSAValue | Attribute) -> None:
    a, b = shaped_type(x), shaped_type(y)
    if a.get_element_type() != b.get_element_type():
        raise VerifyException(f"moves elements unchanged, but goes from {a} to {b}; insert a tile.cast")


def verify_room(name: str, static_valid: DenseArrayBase[IntegerType], type_: Tensor | Buffer) -> None:
    """The known extents must lie inside the tile."""
    extents = static_valid.get_values()
    for extent, room in zip(extents, type_.get_shape(), strict=True):
        if room != DYNAMIC and extent > room:
            raise VerifyException(f"valid extents {show_list(extents)} exceed the {name} {show(type_.get_shape())}")


def verify_inside(name: str, type_: Tensor | Buffer, offsets: Sequence[int], extents: Sequence[int]) -> None:
    """Known offsets and extents of the two last dimensions must lie inside a tensor."""
    reach = [(o, 1) for o in offsets[: -len(extents)]] + list(zip(offsets[-len(extents) :], extents, strict=True))
    for d, (size, (offset, extent)) in enumerate(zip(type_.get_shape(), reach, strict=True)):
        if DYNAMIC not in (size, offset) and offset + max(extent, 0) > size:
            raise VerifyException(f"reaches from {offset} to {offset + max(extent, 0)} in dimension {d} of {name} {type_}")


def verify_global(value: SSAValue, name: str) -> None:
    """A stack of matrices in global memory: its two last dimensions are rows and columns."""
    verify_space(value, name, Space.GM)
    if len(shaped_type(value).get_shape()) < 2:
        raise VerifyException(f"{name} must have rows and columns, got {value.type}; give it another shape with tile.view")
