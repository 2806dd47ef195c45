"""Shape rules of operators that move elements."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, TensorType
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.ge.shapes import Shape, axis_of, broadcast, fits, require_same_element, show
from ge_compiler.dialects.types import Tensor, tensor_type

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import BroadcastToDOp, ConcatDOp, ReshapeOp, StridedSliceAssignDOp, StridedSliceDOp, TransposeDOp


def reshape(op: ReshapeOp) -> list[Tensor]:
    x, shape = tensor_type(op.x), list(tensor_type(op.y).get_shape())
    if DYNAMIC_INDEX not in x.get_shape():
        shape = _filled(shape, prod(x.get_shape()))
        if DYNAMIC_INDEX not in shape and prod(shape) != prod(x.get_shape()):
            raise VerifyException(f"x has {prod(x.get_shape())} elements, but {show(tuple(shape))} has {prod(shape)}")
    return [TensorType(x.get_element_type(), shape)]


def _filled(shape: list[int], count: int) -> list[int]:
    """`shape` with its one open size, if `count` elements and the other sizes give it."""
    rest = prod(d for d in shape if d != DYNAMIC_INDEX)
    if shape.count(DYNAMIC_INDEX) != 1 or rest == 0:
        return shape
    if count % rest:
        raise VerifyException(f"x has {count} elements, which is no multiple of {rest} in {show(tuple(shape))}")
    return [count // rest if d == DYNAMIC_INDEX else d for d in shape]


def transpose(op: TransposeDOp) -> list[Tensor]:
    x = tensor_type(op.x)
    perm, rank = list(op.perm.get_values()), len(x.get_shape())
    if sorted(perm) != list(range(rank)):
        raise VerifyException(f"perm must hold each of the {rank} dimensions of x once, got {perm}")
    return [TensorType(x.get_element_type(), [x.get_shape()[d] for d in perm])]


def _of_every_dimension(name: str, values: DenseArrayBase[Any], shape: Shape, least: int) -> list[int]:
    result = list(values.get_values())
    if len(result) != len(shape):
        raise VerifyException(f"{name} needs an entry for each of {len(shape)} dimensions, got {result}")
    if any(v < least for v in result):
        raise VerifyException(f"{name} must be at least {least} in every dimension, got {result}")
    return result


def strided_slice(op: StridedSliceDOp) -> list[Tensor]:
    x = tensor_type(op.x)
    begin, end = (_of_every_dimension(n, v, x.get_shape(), 0) for n, v in (("begin", op.begin), ("end", op.end)))
    strides = _of_every_dimension("strides", op.strides, x.get_shape(), 1)
    for i, (first, last, size) in enumerate(zip(begin, end, x.get_shape(), strict=True)):
        if first > last or (size != DYNAMIC_INDEX and last > size):
            raise VerifyException(f"takes elements {first} to {last} of dimension {i}, which has {show((size,))}")
    return [TensorType(x.get_element_type(), [-((b - e) // s) for b, e, s in zip(begin, end, strides, strict=True)])]


def strided_slice_assign(op: StridedSliceAssignDOp) -> list[Tensor]:
    var, updates = tensor_type(op.var), tensor_type(op.updates)
    require_same_element([("var", var), ("updates", updates)])
    if len(var.get_shape()) != len(updates.get_shape()):
        raise VerifyException(f"var and updates must have one rank, got {var} and {updates}")
    begin = _of_every_dimension("begin", op.begin, var.get_shape(), 0)
    strides = _of_every_dimension("strides", op.strides, var.get_shape(), 1)
    for i, (size, count) in enumerate(zip(var.get_shape(), updates.get_shape(), strict=True)):
        last = begin[i] + (count - 1) * strides[i]
        if DYNAMIC_INDEX not in (size, count) and count and last >= size:
            raise VerifyException(f"replaces elements {begin[i]} to {last} of dimension {i}, which has {size}")
    return [var]


def broadcast_to(op: BroadcastToDOp) -> list[Tensor]:
    x, y = tensor_type(op.x), tensor_type(op.y)
    shape = broadcast([x.get_shape(), y.get_shape()])
    if shape is None or len(shape) != len(y.get_shape()) or not all(map(fits, shape, y.get_shape())):
        raise VerifyException(f"x, {show(x.get_shape())}, cannot be repeated to {show(y.get_shape())}")
    return [TensorType(x.get_element_type(), y.get_shape())]


def concat(op: ConcatDOp) -> list[Tensor]:
    if not op.x:
        raise VerifyException("needs at least one operand")
    types = [tensor_type(x) for x in op.x]
    require_same_element([(f"operand #{i}", t) for i, t in enumerate(types)])
    rank = len(types[0].get_shape())
    axis = axis_of("concat_dim", op.concat_dim.value.data, rank)
    sizes: list[int] = []
    for i in range(rank):
        if any(len(t.get_shape()) != rank for t in types):
            raise VerifyException("operands must have one rank, got " + " and ".join(show(t.get_shape()) for t in types))
        dims = [t.get_shape()[i] for t in types]
        known = set(dims) - {DYNAMIC_INDEX}
        if i != axis and len(known) > 1:
            raise VerifyException(
                f"operands must agree in all dimensions but {axis}, got " + " and ".join(show(t.get_shape()) for t in types)
            )
        joined = DYNAMIC_INDEX if DYNAMIC_INDEX in dims else sum(dims)
        sizes.append(joined if i == axis else known.pop() if known else DYNAMIC_INDEX)
    return [TensorType(types[0].get_element_type(), sizes)]
