"""Matrix products."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import TensorType, UnitAttr
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, result_def, traits_def
from xdsl.traits import Pure

from ge_compiler.dialects.ge.base import GeOp, ShapeRule
from ge_compiler.dialects.ge.shapes import products as rules


class MatMulBase(GeOp):
    """x1 times x2, each transposed in its last two dimensions if asked, plus a bias along the columns."""

    MEANING: ClassVar[str] = "products.matmul"

    x1 = operand_def(TensorType)
    x2 = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    transpose_x1 = opt_prop_def(UnitAttr)
    transpose_x2 = opt_prop_def(UnitAttr)
    y = result_def(TensorType)

    traits = traits_def(Pure())


@irdl_op_definition
class MatMulV2Op(MatMulBase):
    """Product of two matrices."""

    name = "ge.MatMulV2"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.matmul)


@irdl_op_definition
class BatchMatMulV2Op(MatMulBase):
    """Products of two stacks of matrices; leading dimensions broadcast, and an operand of rank 2 serves every batch."""

    name = "ge.BatchMatMulV2"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.batch_matmul)
