"""Ops that bring tiles on chip, from memory to memory, and out again."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    MemRefType,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.index_list import index_list_format, join_index_list, split_index_list, verify_index_list
from ge_compiler.dialects.memory import Space, mem_of
from ge_compiler.dialects.tile.base import TileOp
from ge_compiler.dialects.tile.rules import (
    ON_CHIP,
    verify_global,
    verify_inside,
    verify_one_kind,
    verify_room,
    verify_same_element,
    verify_tile,
)
from ge_compiler.dialects.tile.view import verify_stored_view
from ge_compiler.dialects.types import Tensor, shaped_type


class SlicingOp(TileOp):
    """Reads a tile at `offsets` of its source; `valid` names the tile's extents."""

    source = operand_def(TensorType | MemRefType)
    offsets = var_operand_def(IndexType)
    valid = var_operand_def(IndexType)
    out = opt_operand_def(MemRefType)
    static_offsets = prop_def(DenseArrayBase.constr(i64))
    static_valid = prop_def(DenseArrayBase.constr(i64))
    result = opt_result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    custom_directives = (DynamicIndexList,)

    def __init__(
        self,
        source: SSAValue,
        offsets: Sequence[SSAValue | int],
        valid: Sequence[SSAValue | int],
        result: Tensor | None = None,
        out: SSAValue | None = None,
        flags: Sequence[str] = (),
    ):
        dynamic_offsets, static_offsets = split_index_list(offsets)
        dynamic_valid, static_valid = split_index_list(valid)
        super().__init__(
            operands=[source, dynamic_offsets, dynamic_valid, out],
            properties={"static_offsets": static_offsets, "static_valid": static_valid, **{flag: UnitAttr() for flag in flags}},
            result_types=[result],
        )

    @property
    def mixed_offsets(self) -> list[SSAValue | int]:
        """One offset for each dimension of the source, in elements."""
        return join_index_list(self.offsets, self.static_offsets)

    @property
    def mixed_valid(self) -> list[SSAValue | int]:
        """Valid rows and columns of the tile."""
        return join_index_list(self.valid, self.static_valid)


def _verify_slice(op: SlicingOp, transposed: bool = False) -> None:
    """The tile lies inside its source, and what is valid inside the tile."""
    source, tile = shaped_type(op.source), op.tile_type()
    verify_same_element(source, tile)
    verify_index_list("offsets", op.offsets, op.static_offsets, len(source.get_shape()))
    verify_index_list("valid extents", op.valid, op.static_valid, 2)
    verify_room("tile", op.static_valid, tile)
    extents = op.static_valid.get_values()
    verify_inside("the source", source, op.static_offsets.get_values(), extents[::-1] if transposed else extents)


SLICE_FORMAT = (
    f"$source `` {index_list_format('offsets')} `valid` {index_list_format('valid')} (`into` $out^)? attr-dict "
    "`:` type($source) (`into` type($out)^)? (`to` type($result)^)?"
)


@irdl_op_definition
class LoadOp(SlicingOp):
    """Bring a tile from global memory: rows and columns are the two last dimensions of the source, the others are points."""

    name = "tile.load"
    assembly_format = SLICE_FORMAT

    def verify_(self) -> None:
        self.verify_form()
        verify_global(self.source, "the source")
        verify_tile(self.tile_type(), "the tile", Space.L1, Space.UB)
        _verify_slice(self)


@irdl_op_definition
class MoveOp(SlicingOp):
    """Move (a part of) a tile to another memory, transposed if asked: `valid` counts rows and columns of the result.

    A tile in global memory (`#npu.mem<gm>`) is a workspace of its core, for chips whose units meet there only.
    """

    name = "tile.move"

    transpose = opt_prop_def(UnitAttr)

    assembly_format = SLICE_FORMAT

    def verify_(self) -> None:
        self.verify_form()
        verify_tile(self.source, "the source", *ON_CHIP)
        verify_tile(self.tile_type(), "the tile", *ON_CHIP, Space.GM)
        if mem_of(self.source.type).space is mem_of(self.tile_type()).space:
            raise VerifyException(f"goes from one memory to another, got {self.source.type} and {self.tile_type()}")
        _verify_slice(self, transposed=self.transpose is not None)


@irdl_op_definition
class StoreOp(IRDLOperation):
    """Write the valid elements of a tile to global memory at `offsets`: rows and columns are the two last dimensions there."""

    name = "tile.store"

    tile = operand_def(TensorType | MemRefType)
    into = operand_def(TensorType | MemRefType)
    offsets = var_operand_def(IndexType)
    static_offsets = prop_def(DenseArrayBase.constr(i64))

    custom_directives = (DynamicIndexList,)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = f"$tile `into` $into `` {index_list_format('offsets')} attr-dict `:` type($tile) `into` type($into)"

    def __init__(self, tile: SSAValue, into: SSAValue, offsets: Sequence[SSAValue | int]):
        dynamic, static = split_index_list(offsets)
        super().__init__(operands=[tile, into, dynamic], properties={"static_offsets": static})

    @property
    def mixed_offsets(self) -> list[SSAValue | int]:
        """One offset for each dimension of the destination, in elements."""
        return join_index_list(self.offsets, self.static_offsets)

    def verify_(self) -> None:
        verify_one_kind((self.tile, self.into))
        verify_tile(self.tile, "the tile", Space.UB, Space.L0C)
        verify_global(self.into, "the destination")
        verify_same_element(self.tile, self.into)
        verify_index_list("offsets", self.offsets, self.static_offsets, len(shaped_type(self.into).get_shape()))
        verify_stored_view(self.into)
