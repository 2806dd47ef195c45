"""Operators that move elements and compute nothing: other shapes, orders, windows and joins of the same elements."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure

from ge_compiler.dialects.ge.base import GeOp, ShapeRule
from ge_compiler.dialects.ge.shapes import views as rules
from ge_compiler.dialects.types import tensor_type


@irdl_op_definition
class ReshapeOp(GeOp):
    """The elements of x, row-major, in the shape of the result."""

    name = "ge.Reshape"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.reshape)
    MEANING: ClassVar[str] = "views.reshape"

    x = operand_def(TensorType)
    y = result_def(TensorType)

    traits = traits_def(Pure())


@irdl_op_definition
class TransposeDOp(GeOp):
    """The dimensions of x in another order: dimension i of the result is dimension perm[i] of x."""

    name = "ge.TransposeD"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.transpose)
    MEANING: ClassVar[str] = "views.transpose"

    x = operand_def(TensorType)
    perm = prop_def(DenseArrayBase.constr(i64))
    y = result_def(TensorType)

    traits = traits_def(Pure())


@irdl_op_definition
class StridedSliceDOp(GeOp):
    """The elements begin, begin + stride, ... below end of each dimension of x; 0 <= begin <= end <= size and stride >= 1."""

    name = "ge.StridedSliceD"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.strided_slice)
    MEANING: ClassVar[str] = "views.strided_slice"

    x = operand_def(TensorType)
    begin = prop_def(DenseArrayBase.constr(i64))
    end = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    y = result_def(TensorType)

    traits = traits_def(Pure())


@irdl_op_definition
class StridedSliceAssignDOp(GeOp):
    """var with the elements begin, begin + stride, ... of each dimension replaced by those of updates, whose shape says how many."""

    name = "ge.StridedSliceAssignD"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.strided_slice_assign)
    MEANING: ClassVar[str] = "views.strided_slice_assign"

    var = operand_def(TensorType)
    updates = operand_def(TensorType)
    begin = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    y = result_def(TensorType)

    traits = traits_def(Pure())


@irdl_op_definition
class BroadcastToDOp(GeOp):
    """x repeated to the shape of the result, aligned at the last dimension."""

    name = "ge.BroadcastToD"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.broadcast_to)
    MEANING: ClassVar[str] = "views.broadcast_to"

    x = operand_def(TensorType)
    y = result_def(TensorType)

    traits = traits_def(Pure())


@irdl_op_definition
class ConcatDOp(GeOp):
    """The operands one behind the other along `concat_dim`; at least one."""

    name = "ge.ConcatD"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.concat)
    MEANING: ClassVar[str] = "views.concat"

    x = var_operand_def(TensorType)
    concat_dim = prop_def(IntegerAttr)
    y = result_def(TensorType)

    traits = traits_def(Pure())

    def axis(self) -> int:
        """`concat_dim` counted from the first dimension. Raises `VerifyException` if there is no such dimension."""
        return rules.axis_of("concat_dim", self.concat_dim.value.data, len(tensor_type(self.y).get_shape()))
