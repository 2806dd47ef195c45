"""The meaning of operators that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ge_compiler.dialects.semantics import Array
from ge_compiler.dialects.types import tensor_type

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import BroadcastToDOp, ConcatDOp, ReshapeOp, StridedSliceAssignDOp, StridedSliceDOp, TransposeDOp


def reshape(op: ReshapeOp, operands: Sequence[Array]) -> list[Array]:
    return [operands[0].reshape(tensor_type(op.y).get_shape())]


def transpose(op: TransposeDOp, operands: Sequence[Array]) -> list[Array]:
    return [operands[0].transpose(op.perm.get_values())]


def strided_slice(op: StridedSliceDOp, operands: Sequence[Array]) -> list[Array]:
    cuts = zip(op.begin.get_values(), op.end.get_values(), op.strides.get_values(), strict=True)
    return [operands[0][tuple(slice(*cut) for cut in cuts)]]


def strided_slice_assign(op: StridedSliceAssignDOp, operands: Sequence[Array]) -> list[Array]:
    var, updates = operands
    result = var.copy()
    cuts = zip(op.begin.get_values(), op.strides.get_values(), updates.shape, strict=True)
    result[tuple(slice(begin, begin + stride * count, stride) for begin, stride, count in cuts)] = updates
    return [result]


def broadcast_to(op: BroadcastToDOp, operands: Sequence[Array]) -> list[Array]:
    return [np.broadcast_to(operands[0], tensor_type(op.y).get_shape())]


def concat(op: ConcatDOp, operands: Sequence[Array]) -> list[Array]:
    return [np.concatenate(operands, op.axis())]
