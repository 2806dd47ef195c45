"""Ops that compute tiles: the cube's instruction and the vector unit's functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    MemRefType,
    TensorType,
    i1,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.elementwise import ElementwiseOp, define, elementwise_operands, operand_names
from ge_compiler.dialects.functions import FUNCTIONS, Function
from ge_compiler.dialects.ge.shapes import broadcast, show
from ge_compiler.dialects.index_list import DYNAMIC, index_list_format, split_index_list
from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.tile.base import ExtentsOp, TileOp
from ge_compiler.dialects.tile.rules import verify_tile
from ge_compiler.dialects.types import Tensor, shaped_type, tensor_type, verify_product_elements


@irdl_op_definition
class UndefOp(IRDLOperation):
    """A tile without contents, to be written by the first `tile.mmad` of a loop, or where a loop carries the tile of the trip before."""

    name = "tile.undef"

    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, type: Tensor):
        super().__init__(result_types=[type])

    def verify_(self) -> None:
        verify_tile(self.result, "the tile", Space.L0C, Space.L1)


@irdl_op_definition
class MmadOp(TileOp):
    """One cube instruction: a (m x k) times b (k x n), written to the accumulator where `init` is true, else added to it.

    In destination-passing form `accumulator` is the buffer and there is no result.
    """

    name = "tile.mmad"

    a = operand_def(TensorType | MemRefType)
    b = operand_def(TensorType | MemRefType)
    accumulator = operand_def(TensorType | MemRefType)
    init = operand_def(i1)
    result = opt_result_def(TensorType)

    assembly_format = (
        "$a `,` $b `,` $accumulator `init` $init attr-dict `:` type($a) `,` type($b) `,` type($accumulator) (`->` type($result)^)?"
    )

    def __init__(self, a: SSAValue, b: SSAValue, accumulator: SSAValue, init: SSAValue):
        result = tensor_type(accumulator) if isinstance(accumulator.type, TensorType) else None
        super().__init__(operands=[a, b, accumulator, init], result_types=[result])

    def destination(self) -> SSAValue | None:
        return self.accumulator if isinstance(self.accumulator.type, MemRefType) else None

    def verify_(self) -> None:
        self.verify_form()
        for value, name, space in ((self.a, "a", Space.L0A), (self.b, "b", Space.L0B), (self.accumulator, "the accumulator", Space.L0C)):
            verify_tile(value, name, space)
        a, b, c = (shaped_type(x) for x in (self.a, self.b, self.accumulator))
        verify_product_elements(a.get_element_type(), b.get_element_type(), c.get_element_type())
        (m, k), (k_b, n), result = a.get_shape(), b.get_shape(), c.get_shape()
        if any(DYNAMIC not in (p, q) and p != q for p, q in ((k, k_b), (m, result[0]), (n, result[1]))):
            raise VerifyException(f"extents differ: a {show((m, k))}, b {show((k_b, n))}, accumulator {show(result)}")
        if self.result is not None and self.result.type != self.accumulator.type:
            raise VerifyException(f"the result is {self.result.type}, but the accumulator {self.accumulator.type}")


@irdl_op_definition
class CastOp(TileOp):
    """Convert the element type of a tile in the unified buffer: the only place where values are rounded."""

    name = "tile.cast"

    x = operand_def(TensorType | MemRefType)
    out = opt_operand_def(MemRefType)
    result = opt_result_def(TensorType)

    assembly_format = "$x (`into` $out^)? attr-dict `:` type($x) (`into` type($out)^)? (`to` type($result)^)?"

    def __init__(self, x: SSAValue, result: Tensor | None = None, out: SSAValue | None = None):
        super().__init__(operands=[x, out], result_types=[result])

    def verify_(self) -> None:
        self.verify_form()
        verify_tile(self.x, "x", Space.UB)
        verify_tile(self.tile_type(), "the result", Space.UB)
        x, result = shaped_type(self.x).get_shape(), self.tile_type().get_shape()
        if any(DYNAMIC not in (p, q) and p != q for p, q in zip(x, result, strict=True)):
            raise VerifyException(f"keeps the shape, but goes from {self.x.type} to {self.tile_type()}")


@irdl_op_definition
class FullOp(ExtentsOp):
    """A tile of one value; `valid` names its extents."""

    name = "tile.full"

    value = prop_def(FloatAttr | IntegerAttr)

    assembly_format = f"$value `valid` {index_list_format('valid')} (`into` $out^)? attr-dict (`into` type($out)^)? (`to` type($result)^)?"

    def __init__(
        self,
        value: FloatAttr[Any] | IntegerAttr[Any],
        valid: Sequence[SSAValue | int],
        result: Tensor | None = None,
        out: SSAValue | None = None,
    ):
        dynamic, static = split_index_list(valid)
        super().__init__(operands=[dynamic, out], properties={"value": value, "static_valid": static}, result_types=[result])

    def verify_(self) -> None:
        self.verify_form()
        if self.value.type != self.tile_type().get_element_type():
            raise VerifyException(f"value is {self.value.type}, but the tile is {self.tile_type()}")


@irdl_op_definition
class BroadcastOp(ExtentsOp):
    """Repeat a row, a column or a single element of the unified buffer; `valid` names the extents of the result."""

    name = "tile.broadcast"

    x = operand_def(TensorType | MemRefType)

    assembly_format = (
        f"$x `valid` {index_list_format('valid')} (`into` $out^)? attr-dict `:` type($x) (`into` type($out)^)? (`to` type($result)^)?"
    )

    def __init__(self, x: SSAValue, valid: Sequence[SSAValue | int], result: Tensor | None = None, out: SSAValue | None = None):
        dynamic, static = split_index_list(valid)
        super().__init__(operands=[x, dynamic, out], properties={"static_valid": static}, result_types=[result])

    def verify_(self) -> None:
        self.verify_form()
        verify_tile(self.x, "x", Space.UB)
        x, result = shaped_type(self.x), self.tile_type()
        if x.get_element_type() != result.get_element_type():
            raise VerifyException(f"keeps the element type, but goes from {x} to {result}")
        if any(DYNAMIC not in (p, q) and p not in (1, q) for p, q in zip(x.get_shape(), result.get_shape(), strict=True)):
            raise VerifyException(f"{x} cannot be repeated to {result}: each extent must be 1 or equal")


class TileElementwiseOp(ElementwiseOp, TileOp):
    """A function of the table on tiles in the unified buffer, which broadcast where an extent is 1."""

    OVERWRITES: ClassVar[bool] = True

    out = opt_operand_def(MemRefType)
    result = opt_result_def(TensorType)

    def verify_(self) -> None:
        self.verify_form()
        type_, operands = self.tile_type(), elementwise_operands(self)
        self.verify_elements(operands, type_)
        for i, x in enumerate(operands):
            verify_tile(x, f"operand #{i}", Space.UB)
        verify_tile(type_, "the result", Space.UB)
        shapes = [shaped_type(x).get_shape() for x in operands]
        if DYNAMIC not in {d for s in (*shapes, type_.get_shape()) for d in s} and broadcast(shapes) != type_.get_shape():
            raise VerifyException(f"operands {' and '.join(map(show, shapes))} do not broadcast to {show(type_.get_shape())}")


def _fields(function: Function) -> dict[str, Any]:
    names = operand_names(function)
    return {
        **{name: operand_def(TensorType | MemRefType) for name in names},
        "assembly_format": " `,` ".join(f"${name}" for name in names)
        + " (`into` $out^)? attr-dict `:` "
        + " `,` ".join(f"type(${name})" for name in names)
        + " (`into` type($out)^)? (`->` type($result)^)?",
    }


ELEMENTWISE: dict[str, type[TileElementwiseOp]] = define("tile", "", TileElementwiseOp, FUNCTIONS.values(), _fields)
"""The elementwise ops, by name in the table of functions; `expand-math` leaves native ones only."""
