"""Shape rules of operators along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.ge.shapes import Shape, require_index, show
from ge_compiler.dialects.types import Tensor, is_integer, tensor_type

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import ArgOp, PadDOp, RangeOp, ReverseDOp, ScanOp, SortDOp, TopKDOp, TriangleOp


def sequence(op: RangeOp) -> list[Tensor]:
    written = tensor_type(op.y)
    if len(written.get_shape()) != 1 or DYNAMIC_INDEX in written.get_shape():
        raise VerifyException(f"result must have one dimension of known size, got {written}")
    for name, value in (("start", op.start), ("delta", op.delta)):
        if is_integer(written.get_element_type()) != is_integer(value.type):
            kind = "a whole number such as 0 : i64" if is_integer(written.get_element_type()) else "a float such as 0.0 : f32"
            raise VerifyException(f"{name} must be {kind} for elements of type {written.get_element_type()}, got {value}")
    return [written]


def pad(op: PadDOp) -> list[Tensor]:
    x, paddings = tensor_type(op.x), list(op.paddings.get_values())
    if len(paddings) != 2 * len(x.get_shape()) or any(p < 0 for p in paddings):
        raise VerifyException(f"paddings needs two numbers, none negative, for each of {len(x.get_shape())} dimensions, got {paddings}")
    pairs = zip(x.get_shape(), paddings[::2], paddings[1::2], strict=True)
    return [TensorType(x.get_element_type(), [d if d == DYNAMIC_INDEX else d + before + behind for d, before, behind in pairs])]


def reverse(op: ReverseDOp) -> list[Tensor]:
    op.dimensions()
    return [tensor_type(op.x)]


def triangle(op: TriangleOp) -> list[Tensor]:
    x = tensor_type(op.x)
    if len(x.get_shape()) < 2:
        raise VerifyException(f"x must have at least two dimensions, got {x}")
    return [x]


def scan(op: ScanOp) -> list[Tensor]:
    op.dimension()
    return [tensor_type(op.x)]


def argument(op: ArgOp) -> list[Tensor]:
    x, axis, places = tensor_type(op.x), op.dimension(), tensor_type(op.y)
    require_index("result", places)
    if x.get_shape()[axis] == 0:
        raise VerifyException(f"axis {axis} of x, {show(x.get_shape())}, has no element to choose")
    kept = (1,) if op.keep_dims is not None else ()
    return [TensorType(places.get_element_type(), (*x.get_shape()[:axis], *kept, *x.get_shape()[axis + 1 :]))]


def _ordered(x: Tensor, indices: Tensor, shape: Shape) -> list[Tensor]:
    require_index("result #1", indices)
    return [TensorType(x.get_element_type(), shape), TensorType(indices.get_element_type(), shape)]


def sort(op: SortDOp) -> list[Tensor]:
    op.dimension()
    return _ordered(tensor_type(op.x), tensor_type(op.indices), tensor_type(op.x).get_shape())


def top_k(op: TopKDOp) -> list[Tensor]:
    x, axis, k = tensor_type(op.x), op.dimension(), op.k.value.data
    size = x.get_shape()[axis]
    if k < 0 or (size != DYNAMIC_INDEX and k > size):
        raise VerifyException(f"k must be from 0 to the {show((size,))} elements of dimension {axis}, got {k}")
    return _ordered(x, tensor_type(op.indices), (*x.get_shape()[:axis], k, *x.get_shape()[axis + 1 :]))
