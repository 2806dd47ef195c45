"""Ops that bring tiles on chip, from memory to memory, and out again."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
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
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.index_list import DYNAMIC, index_list_format, join_index_list, split_index_list, verify_index_list
from ge_compiler.dialects.memory import Space, mem_of
from ge_compiler.dialects.tile.base import TileOp
from ge_compiler.dialects.tile.rules import (
    ON_CHIP,
    verify_global,
    verify_inside,
    verify_one_kind,
    verify_room,
    verify_same_element,
    verify_space,
    verify_tile,
)
from ge_compiler.dialects.tile.window import Window, row_major
from ge_compiler.dialects.types import Tensor, shaped_type, tensor_type


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
class ViewOp(IRDLOperation):
    """A tensor in global memory under another shape: no cost.

    Without `strides` the elements stand one after the other, from element `offset` (else 0) on. `strides` has an entry for each dimension
    of the result, in elements of the source, none negative; with 0, one element is read again and again. Where the view says neither, it
    keeps all elements of the source.
    """

    name = "tile.view"

    source = operand_def(TensorType)
    offset = opt_prop_def(IntegerAttr.constr(i64))
    strides = opt_prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$source (`offset` $offset^)? (`strides` $strides^)? attr-dict `:` type($source) `to` type($result)"

    def __init__(self, source: SSAValue, result: Tensor, offset: int | None = None, strides: Sequence[int] | None = None):
        place = None if offset is None else IntegerAttr(offset, i64)
        steps = None if strides is None else DenseArrayBase.from_list(i64, strides)
        super().__init__(operands=[source], properties={"offset": place, "strides": steps}, result_types=[result])

    def window(self) -> Window:
        """The elements of the source that the view shows."""
        shape = tensor_type(self.result).get_shape()
        strides = row_major(shape) if self.strides is None else self.strides.get_values()
        return Window(0 if self.offset is None else self.offset.value.data, tuple(shape), tuple(strides))

    @property
    def shows_all(self) -> bool:
        """Whether the view has all elements of the source in the same order."""
        window = self.window()
        return window.offset == 0 and window.is_contiguous and tensor_type(self.source).element_count() == window.last + 1

    def verify_(self) -> None:
        source, result = tensor_type(self.source), tensor_type(self.result)
        for name, type_ in (("the source", source), ("the result", result)):
            verify_space(type_, name, Space.GM)
            if DYNAMIC in type_.get_shape():
                raise VerifyException(f"{name} must have a static shape, got {type_}")
        keeps_all = self.offset is not None or self.strides is not None or source.element_count() == result.element_count()
        if source.get_element_type() != result.get_element_type() or not keeps_all:
            raise VerifyException(f"keeps the elements, but goes from {source} to {result}")
        if self.strides is not None and len(self.strides) != len(result.get_shape()):
            raise VerifyException(f"needs a stride for each dimension of {result}, got {list(self.strides.get_values())}")
        self.window().verify_inside(source)
        if isinstance(self.source.owner, ViewOp) and not self.source.owner.window().is_contiguous:
            raise VerifyException("is a view of a strided view; make it of the tensor itself")


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


def verify_stored_view(into: SSAValue) -> None:
    """Raises `VerifyException` if a store may write an element of `into` twice: what stands there then depends on the order."""
    if isinstance(into.owner, ViewOp) and into.owner.window().may_overlap_itself:
        raise VerifyException(f"writes into a view that overlaps itself: {into.owner.window()}")
