"""Ops of the vector unit that look across a tile: reductions along an axis, tiles of numbers in order, transposes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, MemRefType, StringAttr, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.index_list import DYNAMIC, Mixed, index_list_format, join_index_list, split_index_list
from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.reductions import ReductionAttr, verify_counts, verify_reduced
from ge_compiler.dialects.tile.base import ExtentsOp, TileOp
from ge_compiler.dialects.tile.rules import verify_same_element, verify_tile
from ge_compiler.dialects.types import Tensor, shaped_type, tensor_type

_FROM_X = "(`into` $out^)? attr-dict `:` type($x) (`into` type($out)^)? (`to` type($result)^)?"


@irdl_op_definition
class ReduceOp(TileOp):
    """Combine the valid elements along an axis, 0 (of a column) or 1 (of a row): the result's extent there is 1.

    A sum adds the second half to the first (of 2h or 2h + 1 elements: element i + h to element i; the odd one stays the last), again and
    again, so that its bits depend on the number of elements only. Over no elements it is 0, a max the least and a min the largest value
    of the type (f32: -inf and +inf). f32, i32 and i64; an integer sum wraps around. NaN if any element is.
    """

    name = "tile.reduce"

    kind = prop_def(ReductionAttr)
    x = operand_def(TensorType | MemRefType)
    axis = prop_def(IntegerAttr.constr(i64))
    out = opt_operand_def(MemRefType)
    result = opt_result_def(TensorType)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = f"$kind $x `along` $axis {_FROM_X}"

    def __init__(self, x: SSAValue, kind: str, axis: int, result: Tensor | None = None, out: SSAValue | None = None):
        if result is None and out is None:
            type_ = tensor_type(x)
            shape = [1 if d == axis else size for d, size in enumerate(type_.get_shape())]
            result = TensorType(type_.get_element_type(), shape, type_.encoding)
        properties = {"kind": ReductionAttr(StringAttr(kind)), "axis": IntegerAttr(axis, i64)}
        super().__init__(operands=[x, out], properties=properties, result_types=[result])

    @property
    def dimension(self) -> int:
        """The axis that is reduced, as a number."""
        return self.axis.value.data

    def verify_(self) -> None:
        self.verify_form()
        verify_tile(self.x, "x", Space.UB)
        verify_tile(self.tile_type(), "the result", Space.UB)
        verify_same_element(self.x, self.tile_type())
        verify_counts(self.tile_type(), "reduces")
        verify_reduced(self.dimension, shaped_type(self.x), self.tile_type())


@irdl_op_definition
class IotaOp(ExtentsOp):
    """Numbers in order: element (i, j) is `base + i * steps[0] + j * steps[1]`, rounded once where the type is f32.

    f32, i32 and i64; integers wrap around. The base may differ from lane to lane.
    """

    name = "tile.iota"

    base = var_operand_def(IndexType)
    static_base = prop_def(DenseArrayBase.constr(i64))
    steps = prop_def(DenseArrayBase.constr(i64))

    assembly_format = (
        f"{index_list_format('base')} `steps` $steps `valid` {index_list_format('valid')} "
        "(`into` $out^)? attr-dict (`into` type($out)^)? (`to` type($result)^)?"
    )

    def __init__(self, base: SSAValue | int, steps: Sequence[int], valid: Mixed, result: Tensor | None = None, out: SSAValue | None = None):
        start, static_base = split_index_list([base])
        dynamic, static_valid = split_index_list(valid)
        properties = {"static_base": static_base, "steps": DenseArrayBase.from_list(i64, steps), "static_valid": static_valid}
        super().__init__(operands=[start, dynamic, out], properties=properties, result_types=[result])

    @property
    def first(self) -> SSAValue | int:
        """Element (0, 0)."""
        (base,) = join_index_list(self.base, self.static_base)
        return base

    def verify_(self) -> None:
        self.verify_form()
        verify_counts(self.tile_type(), "counts")
        if len(self.static_base) != 1 or len(self.base) != sum(v == DYNAMIC for v in self.static_base.get_values()):
            raise VerifyException(f"starts from one number, got {list(self.static_base.get_values())}")
        if len(self.steps) != 2:
            raise VerifyException(f"needs a step from row to row and one from column to column, got {list(self.steps.get_values())}")


@irdl_op_definition
class TransposeOp(TileOp):
    """Rows become columns; the valid extents change places too. Elements of 1, 2, 4 or 8 bytes."""

    name = "tile.transpose"

    x = operand_def(TensorType | MemRefType)
    out = opt_operand_def(MemRefType)
    result = opt_result_def(TensorType)

    assembly_format = f"$x {_FROM_X}"

    def __init__(self, x: SSAValue, result: Tensor | None = None, out: SSAValue | None = None):
        if result is None and out is None:
            type_ = tensor_type(x)
            result = TensorType(type_.get_element_type(), type_.get_shape()[::-1], type_.encoding)
        super().__init__(operands=[x, out], result_types=[result])

    def verify_(self) -> None:
        self.verify_form()
        verify_tile(self.x, "x", Space.UB)
        verify_tile(self.tile_type(), "the result", Space.UB)
        verify_same_element(self.x, self.tile_type())
        x, result = shaped_type(self.x).get_shape(), self.tile_type().get_shape()
        if any(DYNAMIC not in (p, q) and p != q for p, q in zip(x[::-1], result, strict=True)):
            raise VerifyException(f"changes rows and columns, but goes from {self.x.type} to {self.tile_type()}")
