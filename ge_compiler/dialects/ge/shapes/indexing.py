"""Shape rules of operators with indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import TensorType
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.ge.shapes import fits, require_index, require_same_element, show, unify
from ge_compiler.dialects.types import Tensor, tensor_type

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import GatherElementsOp, GatherV2Op, ScatterElementsOp, ScatterUpdateOp


def gather(op: GatherV2Op) -> list[Tensor]:
    table, indices, axis = tensor_type(op.table), tensor_type(op.indices), op.dimension()
    require_index("indices", indices)
    shape = table.get_shape()
    return [TensorType(table.get_element_type(), (*shape[:axis], *indices.get_shape(), *shape[axis + 1 :]))]


def scatter_update(op: ScatterUpdateOp) -> list[Tensor]:
    var, indices, updates = (tensor_type(x) for x in op.operands)
    axis = op.dimension()
    require_index("indices", indices)
    require_same_element([("var", var), ("updates", updates)])
    if len(indices.get_shape()) != 1:
        raise VerifyException(f"indices must have one dimension, got {indices}")
    wanted = (*var.get_shape()[:axis], indices.get_shape()[0], *var.get_shape()[axis + 1 :])
    if unify(updates.get_shape(), wanted) is None:
        raise VerifyException(f"updates must be {show(wanted)}, var with {show(indices.get_shape())} slices along {axis}, got {updates}")
    return [var]


def gather_elements(op: GatherElementsOp) -> list[Tensor]:
    x, index, dim = tensor_type(op.x), tensor_type(op.index), op.dimension()
    _check_places("index", index, x, dim)
    return [TensorType(x.get_element_type(), index.get_shape())]


def scatter_elements(op: ScatterElementsOp) -> list[Tensor]:
    data, indices, updates = (tensor_type(x) for x in op.operands)
    _check_places("indices", indices, data, op.dimension())
    require_same_element([("data", data), ("updates", updates)])
    if unify(indices.get_shape(), updates.get_shape()) is None:
        raise VerifyException(f"updates must have the shape of indices, {show(indices.get_shape())}, got {updates}")
    if op.reduction is not None and op.reduction.data != "add":
        raise VerifyException(f'reduction must be "add", or left out to replace elements, got {op.reduction}')
    return [data]


def _check_places(name: str, index: Tensor, x: Tensor, dim: int) -> None:
    """Raises `VerifyException` unless `index` lies within `x` in every dimension but `dim`."""
    require_index(name, index)
    if len(index.get_shape()) != len(x.get_shape()):
        raise VerifyException(f"{name} must have the rank of {x}, got {index}")
    for i, (size, limit) in enumerate(zip(index.get_shape(), x.get_shape(), strict=True)):
        if i != dim and not fits(size, limit) and size > limit:
            raise VerifyException(f"{name} has {size} places in dimension {i}, which has {limit}")
