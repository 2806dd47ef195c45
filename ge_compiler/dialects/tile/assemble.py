"""One tile of all lanes' parts: the way from the vector lanes back to the cube."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IndexType, MemRefType, TensorType, i64
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    prop_def,
    var_operand_def,
)

from ge_compiler.dialects.index_list import index_list_format, join_index_list, split_index_list, verify_index_list
from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.tile.base import TileOp
from ge_compiler.dialects.tile.rules import verify_inside, verify_room, verify_same_element, verify_tile
from ge_compiler.dialects.types import Tensor, shaped_type


@irdl_op_definition
class AssembleOp(TileOp):
    """Put the part that each lane has, at the lane's own `offsets`, into one tile of `valid` extents, which the parts must fill.

    The tile is in L1 where the target has that path, else in global memory: a workspace of the core, which the cube loads.
    """

    name = "tile.assemble"

    part = operand_def(TensorType | MemRefType)
    offsets = var_operand_def(IndexType)
    valid = var_operand_def(IndexType)
    out = opt_operand_def(MemRefType)
    static_offsets = prop_def(DenseArrayBase.constr(i64))
    static_valid = prop_def(DenseArrayBase.constr(i64))
    result = opt_result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    custom_directives = (DynamicIndexList,)
    assembly_format = (
        f"$part `` {index_list_format('offsets')} `valid` {index_list_format('valid')} (`into` $out^)? attr-dict "
        "`:` type($part) (`into` type($out)^)? (`to` type($result)^)?"
    )

    def __init__(
        self,
        part: SSAValue,
        offsets: Sequence[SSAValue | int],
        valid: Sequence[SSAValue | int],
        result: Tensor | None = None,
        out: SSAValue | None = None,
    ):
        dynamic_offsets, static_offsets = split_index_list(offsets)
        dynamic_valid, static_valid = split_index_list(valid)
        properties = {"static_offsets": static_offsets, "static_valid": static_valid}
        super().__init__(operands=[part, dynamic_offsets, dynamic_valid, out], properties=properties, result_types=[result])

    @property
    def mixed_offsets(self) -> list[SSAValue | int]:
        """Row and column of the tile at which the lane's part begins."""
        return join_index_list(self.offsets, self.static_offsets)

    @property
    def mixed_valid(self) -> list[SSAValue | int]:
        """Valid rows and columns of the tile."""
        return join_index_list(self.valid, self.static_valid)

    def verify_(self) -> None:
        self.verify_form()
        verify_tile(self.part, "the part", Space.UB)
        verify_tile(self.tile_type(), "the tile", Space.GM, Space.L1)
        verify_same_element(self.part, self.tile_type())
        verify_index_list("offsets", self.offsets, self.static_offsets, 2)
        verify_index_list("valid extents", self.valid, self.static_valid, 2)
        verify_room("tile", self.static_valid, self.tile_type())
        # A part of fixed extents may have room for more than is valid of it, so only its first element must lie inside.
        verify_inside("the tile", shaped_type(self.tile_type()), self.static_offsets.get_values(), [0, 0])
