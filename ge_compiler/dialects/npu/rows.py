"""Instructions that move rows of global memory whose numbers are data: each index is checked when it is used."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.index_list import verify_indices
from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.npu.base import InstructionOp, verify_same_element, verify_spaces
from ge_compiler.dialects.target import NpuTarget, Unit
from ge_compiler.dialects.types import buffer_type


@irdl_op_definition
class LoadRowsOp(InstructionOp):
    """Gather: row i of `out` is row `indices[i]` of the table, a matrix in global memory. Indices are a column of i32 or i64."""

    name = "npu.load_rows"

    table = operand_def(MemRefType)
    indices = operand_def(MemRefType)
    out = operand_def(MemRefType)

    assembly_format = "`ins` `(` $table `,` $indices `:` type($table) `,` type($indices) `)` `outs` `(` $out `:` type($out) `)` attr-dict"

    def __init__(self, table: SSAValue, indices: SSAValue, out: SSAValue):
        super().__init__(operands=[table, indices, out])

    def reads(self) -> Sequence[SSAValue]:
        return (self.table, self.indices)

    def writes(self) -> SSAValue:
        return self.out

    def unit(self, target: NpuTarget) -> Unit | None:
        path = target.path(Space.GM, Space.UB)
        return None if path is None else path.unit

    def verify_(self) -> None:
        _verify_rows(self.table, self.indices, self.out)


@irdl_op_definition
class StoreRowsOp(InstructionOp):
    """Scatter: row `indices[i]` of the table, a matrix in global memory, becomes row i of `tile`; rows are written in order.

    Two of them on one table may run in any order where nothing else orders them: which rows they write is data.
    """

    name = "npu.store_rows"

    tile = operand_def(MemRefType)
    indices = operand_def(MemRefType)
    table = operand_def(MemRefType)

    assembly_format = "`ins` `(` $tile `,` $indices `:` type($tile) `,` type($indices) `)` `outs` `(` $table `:` type($table) `)` attr-dict"

    def __init__(self, tile: SSAValue, indices: SSAValue, table: SSAValue):
        super().__init__(operands=[tile, indices, table])

    def reads(self) -> Sequence[SSAValue]:
        return (self.tile, self.indices)

    def writes(self) -> SSAValue:
        return self.table

    def unit(self, target: NpuTarget) -> Unit | None:
        path = target.path(Space.UB, Space.GM)
        return None if path is None else path.unit

    def verify_(self) -> None:
        _verify_rows(self.table, self.indices, self.tile)


def _verify_rows(table: SSAValue, indices: SSAValue, tile: SSAValue) -> None:
    verify_spaces(table, "the table", Space.GM)
    verify_spaces(tile, "the tile", Space.UB)
    verify_spaces(indices, "the indices", Space.UB)
    verify_same_element(table, tile)
    verify_indices(indices, tile)
    there, here = buffer_type(table).get_shape()[1], buffer_type(tile).get_shape()[1]
    if DYNAMIC_INDEX not in (there, here) and there != here:
        raise VerifyException(f"rows of {table.type} and of {tile.type} differ in length")
