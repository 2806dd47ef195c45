"""Narrowing of xDSL types: a value's type as a tensor, a memref, or either, with `Attribute` elements for the type checker."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import IntegerType, MemRefType, TensorType, f32, i32
from xdsl.ir import Attribute, SSAValue

Tensor = TensorType[Attribute]
Buffer = MemRefType[Attribute]


def tensor_type(value: SSAValue | Attribute) -> Tensor:
    """The tensor type of `value` (or `value` itself); an internal fault if it is something else."""
    type_ = value.type if isinstance(value, SSAValue) else value
    assert isinstance(type_, TensorType), type_
    return cast(Tensor, type_)


def buffer_type(value: SSAValue | Attribute) -> Buffer:
    """The memref type of `value` (or `value` itself); an internal fault if it is something else."""
    type_ = value.type if isinstance(value, SSAValue) else value
    assert isinstance(type_, MemRefType), type_
    return cast(Buffer, type_)


def shaped_type(value: SSAValue | Attribute) -> Tensor | Buffer:
    """The tensor or memref type of `value` (or `value` itself); an internal fault if it is something else."""
    type_ = value.type if isinstance(value, SSAValue) else value
    return buffer_type(type_) if isinstance(type_, MemRefType) else tensor_type(type_)


def is_integer(element: Attribute) -> bool:
    """Whether an element type is an integer or a boolean."""
    return isinstance(element, IntegerType)


def accumulator_of(element: Attribute) -> Attribute:
    """The element type in which the cube adds up products of `element`: i32 for integers, f32 for floats."""
    return i32 if is_integer(element) else f32
