"""Narrowing of xDSL types (a value's type as a tensor, a memref, or either), and the element types that values may have."""

from __future__ import annotations

from typing import TypeGuard, cast

from xdsl.dialects.builtin import IntegerType, MemRefType, TensorType, bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

Tensor = TensorType[Attribute]
Buffer = MemRefType[Attribute]

ELEMENTS: tuple[Attribute, ...] = (f16, bf16, f32, f64, i1, i8, i16, i32, i64)
"""Every element type that has bytes and a numpy meaning; what a chip computes in is a matter of its target."""


def is_shaped(type_: Attribute) -> TypeGuard[Tensor | Buffer]:
    """Whether a type is a tensor or a memref."""
    return isinstance(type_, TensorType | MemRefType)


def verify_element_type(type_: Tensor | Buffer) -> None:
    """Raises `VerifyException` if the elements of `type_` are none that values may have."""
    if type_.get_element_type() not in ELEMENTS:
        raise VerifyException(f"{type_} has elements of type {type_.get_element_type()}; known are {', '.join(map(str, ELEMENTS))}")


def verify_element_types(op: Operation) -> None:
    """The same for every tensor and memref that `op` takes or gives."""
    for value in (*op.operands, *op.results):
        if is_shaped(value.type):
            verify_element_type(value.type)


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
    return cast(Buffer, type_) if isinstance(type_, MemRefType) else tensor_type(type_)


def is_integer(element: Attribute) -> bool:
    """Whether an element type is an integer or a boolean."""
    return isinstance(element, IntegerType)


def integer_bits(element: Attribute) -> int:
    """How many bits an integer type has; 0 for other types."""
    return cast(IntegerType, element).width.data if is_integer(element) else 0


def accumulator_of(element: Attribute) -> Attribute:
    """The element type in which the cube adds up products of `element`: i32 for integers, f32 for floats."""
    return i32 if is_integer(element) else f32


def verify_product_elements(a: Attribute, b: Attribute, result: Attribute) -> None:
    """Raises `VerifyException` if a product of elements `a` and `b` is not accumulated in `result`."""
    if a != b:
        raise VerifyException(f"a is {a} but b is {b}; both must have one element type")
    if result != accumulator_of(a):
        raise VerifyException(f"accumulates {a} in {accumulator_of(a)}, got {result}; cast it afterwards")
