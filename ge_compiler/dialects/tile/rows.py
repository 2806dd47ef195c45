"""Ops that bring rows of global memory on chip, or take them back, in an order that a tile of indices names."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerType, MemRefType, TensorType, i64
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    var_operand_def,
)

from ge_compiler.dialects.index_list import (
    DYNAMIC,
    Mixed,
    index_list_format,
    join_index_list,
    split_index_list,
    verify_index_list,
    verify_indices,
)
from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.tile.base import ExtentsOp
from ge_compiler.dialects.tile.rules import (
    verify_global,
    verify_inside,
    verify_one_kind,
    verify_same_element,
    verify_tile,
)
from ge_compiler.dialects.tile.view import verify_stored_view
from ge_compiler.dialects.types import Tensor, shaped_type


@irdl_op_definition
class LoadRowsOp(ExtentsOp):
    """Gather: row i of the tile is row `indices[i]` of the source, from a column on.

    Rows are counted in the last dimension but one of the source, which has rank r >= 2 and is in global memory. `offsets` names r - 2
    points, then the first column. Indices are a column of i32 or i64; one that is not a row of the source is an error.
    """

    name = "tile.load_rows"

    source = operand_def(TensorType | MemRefType)
    offsets = var_operand_def(IndexType)
    indices = operand_def(TensorType | MemRefType)
    static_offsets = prop_def(DenseArrayBase.constr(i64))

    assembly_format = (
        f"$source `` {index_list_format('offsets')} `rows` $indices `valid` {index_list_format('valid')} (`into` $out^)? attr-dict "
        "`:` type($source) `,` type($indices) (`into` type($out)^)? (`to` type($result)^)?"
    )

    def __init__(
        self, source: SSAValue, indices: SSAValue, offsets: Mixed, valid: Mixed, result: Tensor | None = None, out: SSAValue | None = None
    ):
        (at, static_offsets), (extents, static_valid) = split_index_list(offsets), split_index_list(valid)
        properties = {"static_offsets": static_offsets, "static_valid": static_valid}
        super().__init__(operands=[source, at, indices, extents, out], properties=properties, result_types=[result])

    @property
    def mixed_offsets(self) -> list[SSAValue | int]:
        """The points and the first column, in elements of the source."""
        return join_index_list(self.offsets, self.static_offsets)

    def verify_(self) -> None:
        self.verify_form()
        verify_global(self.source, "the source")
        verify_same_element(self.source, self.tile_type())
        verify_tile(self.indices, "the indices", Space.UB)
        verify_indices(self.indices, self.destination() or self.results[0])
        _verify_columns(self.source, self.offsets, self.static_offsets, self.static_valid.get_values()[1])


def _verify_columns(table: SSAValue, offsets: Sequence[SSAValue], static: DenseArrayBase[IntegerType], columns: int) -> None:
    """The points and the columns lie inside a table."""
    type_ = shaped_type(table)
    verify_index_list("offsets (points, then a column)", offsets, static, len(type_.get_shape()) - 1)
    *points, column = static.get_values()
    verify_inside("the table", type_, [*points, DYNAMIC, column], [1, columns])


@irdl_op_definition
class StoreRowsOp(IRDLOperation):
    """Scatter: row `indices[i]` of the destination, from a column on, becomes row i of the tile; rows are written in order.

    The destination and `offsets` are as the source's of `tile.load_rows`.
    """

    name = "tile.store_rows"

    tile = operand_def(TensorType | MemRefType)
    indices = operand_def(TensorType | MemRefType)
    into = operand_def(TensorType | MemRefType)
    offsets = var_operand_def(IndexType)
    static_offsets = prop_def(DenseArrayBase.constr(i64))

    custom_directives = (DynamicIndexList,)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        f"$tile `rows` $indices `into` $into `` {index_list_format('offsets')} attr-dict "
        "`:` type($tile) `,` type($indices) `into` type($into)"
    )

    def __init__(self, tile: SSAValue, indices: SSAValue, into: SSAValue, offsets: Mixed):
        dynamic, static = split_index_list(offsets)
        super().__init__(operands=[tile, indices, into, dynamic], properties={"static_offsets": static})

    @property
    def mixed_offsets(self) -> list[SSAValue | int]:
        """The points and the first column, in elements of the destination."""
        return join_index_list(self.offsets, self.static_offsets)

    def verify_(self) -> None:
        verify_one_kind((self.tile, self.indices, self.into))
        verify_tile(self.tile, "the tile", Space.UB)
        verify_global(self.into, "the destination")
        verify_same_element(self.tile, self.into)
        verify_tile(self.indices, "the indices", Space.UB)
        verify_indices(self.indices, self.tile)
        _verify_columns(self.into, self.offsets, self.static_offsets, DYNAMIC)
        verify_stored_view(self.into)
