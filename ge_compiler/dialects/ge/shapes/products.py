"""Shape rules of matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, i8, i32
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.ge.shapes import Shape, broadcast, is_compatible, show
from ge_compiler.dialects.types import Tensor, tensor_type

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import MatMulBase


def matmul(op: MatMulBase) -> list[Tensor]:
    for name, x in (("x1", op.x1), ("x2", op.x2)):
        if len(tensor_type(x).get_shape()) != 2:
            raise VerifyException(f"{name} must be a matrix, got {x.type}; use ge.BatchMatMulV2 for stacks of matrices")
    return batch_matmul(op)


def batch_matmul(op: MatMulBase) -> list[Tensor]:
    a, b = tensor_type(op.x1), tensor_type(op.x2)
    for name, t in (("x1", a), ("x2", b)):
        if len(t.get_shape()) < 2:
            raise VerifyException(f"{name} must have at least two dimensions, got {t}")
    if a.get_element_type() != b.get_element_type():
        raise VerifyException(f"x1 is {a.get_element_type()} but x2 is {b.get_element_type()}; insert a ge.Cast")
    *batch_a, m, k_a = _transposed(a.get_shape(), op.transpose_x1 is not None)
    *batch_b, k_b, n = _transposed(b.get_shape(), op.transpose_x2 is not None)
    if DYNAMIC_INDEX not in (k_a, k_b) and k_a != k_b:
        sides = f"{_side('x1', a, op.transpose_x1)} gives K={k_a}, {_side('x2', b, op.transpose_x2)} gives K={k_b}"
        raise VerifyException(f"contracting dimensions differ: {sides}")
    batch = broadcast([tuple(batch_a), tuple(batch_b)])
    if batch is None:
        raise VerifyException(f"batch dimensions do not broadcast: x1 has {show(tuple(batch_a))}, x2 has {show(tuple(batch_b))}")
    _check_bias(op, n)
    return [TensorType(_accumulated(a.get_element_type()), (*batch, m, n))]


def _accumulated(element: Attribute) -> Attribute:
    """The element type of a product: 8-bit integers add up in 32 bits."""
    return i32 if element == i8 else element


def _transposed(shape: Shape, swap: bool) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if swap else shape


def _side(name: str, type_: Tensor, transposed: object) -> str:
    return f"{name} {show(type_.get_shape())}" + (f" (transpose_{name})" if transposed is not None else "")


def _check_bias(op: MatMulBase, n: int) -> None:
    if op.bias is None:
        return
    bias, element = tensor_type(op.bias), _accumulated(tensor_type(op.x1).get_element_type())
    if not is_compatible(bias, TensorType(element, (n,))):
        raise VerifyException(f"bias must have one element per column ({n}) of type {element}, got {bias}")
