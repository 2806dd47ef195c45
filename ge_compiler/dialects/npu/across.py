"""Vector instructions that look across a tile: reductions along an axis, numbers in order, transposes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IndexType, IntegerAttr, MemRefType, StringAttr, i64
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.index_list import index_list_format, join_index_list, split_index_list
from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.npu.base import verify_same_element, verify_same_shape, verify_spaces
from ge_compiler.dialects.npu.compute import X_TO_OUT, UnaryOp, VectorOp
from ge_compiler.dialects.reductions import ReductionAttr, verify_counts, verify_reduced
from ge_compiler.dialects.types import buffer_type


@irdl_op_definition
class VreduceOp(UnaryOp):
    """Combine the elements along an axis in the order of `tile.reduce`. What it needs beside is the vector unit's own."""

    name = "npu.vreduce"

    kind = prop_def(ReductionAttr)
    axis = prop_def(IntegerAttr.constr(i64))

    assembly_format = f"$kind {X_TO_OUT.removesuffix(' attr-dict')} `along` $axis attr-dict"

    def __init__(self, x: SSAValue, kind: str, axis: int, out: SSAValue):
        super().__init__(x, out, {"kind": ReductionAttr(StringAttr(kind)), "axis": IntegerAttr(axis, i64)})

    @property
    def dimension(self) -> int:
        """The axis that is reduced, as a number."""
        return self.axis.value.data

    def verify_(self) -> None:
        verify_spaces(self.x, "x", Space.UB)
        verify_spaces(self.out, "the result", Space.UB)
        verify_same_element(self.x, self.out)
        verify_counts(buffer_type(self.out), "reduces")
        verify_reduced(self.dimension, buffer_type(self.x), buffer_type(self.out))


@irdl_op_definition
class ViotaOp(VectorOp):
    """Numbers in order: element (i, j) is `base + i * steps[0] + j * steps[1]`."""

    name = "npu.viota"

    base = var_operand_def(IndexType)
    static_base = prop_def(DenseArrayBase.constr(i64))
    steps = prop_def(DenseArrayBase.constr(i64))
    out = operand_def(MemRefType)

    custom_directives = (DynamicIndexList,)
    assembly_format = f"{index_list_format('base')} `steps` $steps `outs` `(` $out `:` type($out) `)` attr-dict"

    def __init__(self, base: SSAValue | int, steps: Sequence[int], out: SSAValue):
        start, static_base = split_index_list([base])
        super().__init__(operands=[start, out], properties={"static_base": static_base, "steps": DenseArrayBase.from_list(i64, steps)})

    @property
    def first(self) -> SSAValue | int:
        """Element (0, 0)."""
        (base,) = join_index_list(self.base, self.static_base)
        return base

    def reads(self) -> Sequence[SSAValue]:
        return ()

    def writes(self) -> SSAValue:
        return self.out

    def verify_(self) -> None:
        verify_spaces(self.out, "the result", Space.UB)
        verify_counts(buffer_type(self.out), "counts")
        if len(self.static_base) != 1 or len(self.base) != self.static_base.get_values().count(DYNAMIC_INDEX):
            raise VerifyException(f"starts from one number, got {list(self.static_base.get_values())}")
        if len(self.steps) != 2:
            raise VerifyException(f"needs a step from row to row and one from column to column, got {list(self.steps.get_values())}")


@irdl_op_definition
class VtransposeOp(UnaryOp):
    """Rows become columns. What it needs beside is the vector unit's own."""

    name = "npu.vtranspose"

    assembly_format = X_TO_OUT

    def verify_(self) -> None:
        verify_spaces(self.x, "x", Space.UB)
        verify_spaces(self.out, "the result", Space.UB)
        verify_same_element(self.x, self.out)
        verify_same_shape(self.x, self.out, transposed=True)
