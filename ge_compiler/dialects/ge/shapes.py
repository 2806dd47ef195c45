"""Shape rules of the `ge` operators: the result types that operands and attributes give, or the rule they break."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, i8, i32
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.types import Tensor, shaped_type, tensor_type

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import CastOp, ConstOp, GeOp, MatMulBase

Shape = tuple[int, ...]


def show(shape: Shape) -> str:
    """A shape as MLIR writes it: `32x768`, `scalar` for rank 0."""
    return "x".join("?" if d == DYNAMIC_INDEX else str(d) for d in shape) or "scalar"


def shape_and_element(type_: Attribute) -> tuple[Shape, Attribute]:
    shaped = shaped_type(type_)
    return shaped.get_shape(), shaped.get_element_type()


def is_compatible(written: Attribute, expected: Tensor) -> bool:
    """Whether a written type equals the inferred one, where the written one is known."""
    shape, element = shape_and_element(written)
    return (
        element == expected.get_element_type()
        and len(shape) == len(expected.get_shape())
        and all(DYNAMIC_INDEX in (w, e) or w == e for w, e in zip(shape, expected.get_shape(), strict=True))
    )


def broadcast(shapes: Sequence[Shape]) -> Shape | None:
    """The shape that `shapes` broadcast to, aligned at the last dimension; `None` if they do not fit."""
    rank = max((len(s) for s in shapes), default=0)
    result: list[int] = []
    for dims in zip(*((1,) * (rank - len(s)) + tuple(s) for s in shapes), strict=True):
        wide = {d for d in dims if d != 1}
        known = wide - {DYNAMIC_INDEX}
        if len(known) > 1:
            return None
        result.append(known.pop() if known else DYNAMIC_INDEX if wide else 1)
    return tuple(result)


def elementwise(op: GeOp) -> list[Tensor]:
    types = [tensor_type(x) for x in op.operands]
    element = types[0].get_element_type()
    for i, t in enumerate(types):
        if t.get_element_type() != element:
            raise VerifyException(f"operands differ in element type: #0 is {element}, #{i} is {t.get_element_type()}; insert a ge.Cast")
    shape = broadcast([t.get_shape() for t in types])
    if shape is None:
        raise VerifyException("operand shapes do not broadcast: " + " and ".join(show(t.get_shape()) for t in types))
    return [TensorType(element, shape)]


def cast(op: CastOp) -> list[Tensor]:
    return [TensorType(tensor_type(op.y).get_element_type(), tensor_type(op.x).get_shape())]


def constant(op: ConstOp) -> list[Tensor]:
    if not isinstance(op.value.get_type(), TensorType):
        raise VerifyException(f"value must be a tensor constant such as dense<1.0> : tensor<4xf16>, got one of type {op.value.get_type()}")
    return [tensor_type(op.value.get_type())]


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


def infer(op: GeOp) -> Sequence[Tensor]:
    """The result types of `op` by its own rule."""
    return op.infer_types()
