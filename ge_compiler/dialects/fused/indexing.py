"""Primitives whose accesses depend on data: rows that an index tensor chooses."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, TensorType, i32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.ge.shapes import show
from ge_compiler.dialects.types import tensor_type, verify_element_types


def _verify_indices(indices: SSAValue) -> None:
    if tensor_type(indices).get_element_type() not in (i32, i64):
        raise VerifyException(f"indices must be i32 or i64, got {indices.type}")


@irdl_op_definition
class GatherOp(IRDLOperation):
    """The entries of `table` along its first dimension that `indices` name; each must be within the table."""

    name = "fused.gather"

    table = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$table `,` $indices attr-dict `:` type($table) `,` type($indices) `to` type($result)"

    def __init__(self, table: SSAValue, indices: SSAValue):
        type_ = tensor_type(table)
        shape = (*tensor_type(indices).get_shape(), *type_.get_shape()[1:])
        super().__init__(operands=[table, indices], result_types=[TensorType(type_.get_element_type(), shape)])

    def verify_(self) -> None:
        verify_element_types(self)
        _verify_indices(self.indices)
        table = tensor_type(self.table)
        if not table.get_shape():
            raise VerifyException(f"table must have at least one dimension, got {table}")
        expected = TensorType(table.get_element_type(), (*tensor_type(self.indices).get_shape(), *table.get_shape()[1:]))
        if self.result.type != expected:
            raise VerifyException(f"result is {self.result.type}, but the operands give {expected}")


@irdl_op_definition
class ScatterOp(IRDLOperation):
    """`dest` with entries `indices[i]` of one dimension replaced by entries i of `x`; each index must be within that dimension.

    Of several updates of one entry the last one stays.
    """

    name = "fused.scatter"

    x = operand_def(TensorType)
    indices = operand_def(TensorType)
    dest = operand_def(TensorType)
    dimension = prop_def(IntegerAttr.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = (
        "$x `at` $indices `into` $dest `along` $dimension attr-dict `:` type($x) `,` type($indices) `into` type($dest) `to` type($result)"
    )

    def __init__(self, x: SSAValue, indices: SSAValue, dest: SSAValue, dimension: int):
        super().__init__(operands=[x, indices, dest], properties={"dimension": IntegerAttr(dimension, i64)}, result_types=[dest.type])

    def verify_(self) -> None:
        verify_element_types(self)
        _verify_indices(self.indices)
        x, dest, d = tensor_type(self.x), tensor_type(self.dest), self.dimension.value.data
        if self.result.type != dest or x.get_element_type() != dest.get_element_type():
            raise VerifyException(f"updates {dest} with {x}, but the result is {self.result.type}")
        if not 0 <= d < len(dest.get_shape()):
            raise VerifyException(f"has no dimension {d} to update in {dest}")
        shape, count = dest.get_shape(), tensor_type(self.indices).get_shape()
        if len(count) != 1 or x.get_shape() != (*shape[:d], count[0], *shape[d + 1 :]):
            raise VerifyException(
                f"updates {show(x.get_shape())} must have one entry for each of {show(count)} indices in dimension {d} of {dest}"
            )
