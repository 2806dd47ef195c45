"""Operators that look elements up by index, or replace them by index."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ge_compiler.dialects.ge.base import GeOp, ShapeRule
from ge_compiler.dialects.ge.shapes import axis_of
from ge_compiler.dialects.ge.shapes import indexing as rules
from ge_compiler.dialects.types import tensor_type


@irdl_op_definition
class GatherV2Op(GeOp):
    """
    The slices of table along `axis` that indices (i32 or i64) name, of shape table[:axis] + indices + table[axis + 1:].

    An index is at least 0 and less than table's size; else the execution is in error.
    """

    name = "ge.GatherV2"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.gather)
    MEANING: ClassVar[str] = "indexing.gather"

    table = operand_def(TensorType)
    indices = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    y = result_def(TensorType)

    traits = traits_def(Pure())

    def dimension(self) -> int:
        """`axis` counted from the first dimension of table. Raises `VerifyException` if there is no such dimension."""
        return axis_of("axis", self.axis.value.data, len(tensor_type(self.table).get_shape()))


@irdl_op_definition
class ScatterUpdateOp(GeOp):
    """
    var with the slices along `axis` that indices (rank 1, i32 or i64) name replaced by the slices of updates.

    Of equal indices the last wins. An index is at least 0 and less than var's size; else the execution is in error.
    """

    name = "ge.ScatterUpdate"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.scatter_update)
    MEANING: ClassVar[str] = "indexing.scatter_update"

    var = operand_def(TensorType)
    indices = operand_def(TensorType)
    updates = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    y = result_def(TensorType)

    traits = traits_def(Pure())

    def dimension(self) -> int:
        """`axis` counted from the first dimension of var. Raises `VerifyException` if there is no such dimension."""
        return axis_of("axis", self.axis.value.data, len(tensor_type(self.var).get_shape()))


@irdl_op_definition
class GatherElementsOp(GeOp):
    """The element of x at each place of index, whose value stands for the coordinate in dimension `dim`."""

    name = "ge.GatherElements"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.gather_elements)
    MEANING: ClassVar[str] = "indexing.gather_elements"

    x = operand_def(TensorType)
    index = operand_def(TensorType)
    dim = prop_def(IntegerAttr)
    y = result_def(TensorType)

    traits = traits_def(Pure())

    def dimension(self) -> int:
        """`dim` counted from the first dimension. Raises `VerifyException` if there is no such dimension."""
        return axis_of("dim", self.dim.value.data, len(tensor_type(self.x).get_shape()))


@irdl_op_definition
class ScatterElementsOp(GeOp):
    """data with updates put at each place of indices, whose value stands for the coordinate in dimension `axis`; `reduction` "add" adds."""

    name = "ge.ScatterElements"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.scatter_elements)
    MEANING: ClassVar[str] = "indexing.scatter_elements"

    data = operand_def(TensorType)
    indices = operand_def(TensorType)
    updates = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    reduction = opt_prop_def(StringAttr)
    y = result_def(TensorType)

    traits = traits_def(Pure())

    def dimension(self) -> int:
        """`axis` counted from the first dimension. Raises `VerifyException` if there is no such dimension."""
        return axis_of("axis", self.axis.value.data, len(tensor_type(self.data).get_shape()))
