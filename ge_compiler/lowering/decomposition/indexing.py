"""Operators with indices: rows of the first dimension are looked up, so other axes are brought there and back."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_compiler.dialects import fused, ge
from ge_compiler.dialects.types import tensor_type
from ge_compiler.lowering.decomposition.region import Region


def gather(op: ge.GatherV2Op, region: Region) -> SSAValue:
    table, indices, axis = region.argument(op.table), region.argument(op.indices), op.dimension()
    rank, count = len(tensor_type(table).get_shape()), len(tensor_type(indices).get_shape())
    rows = region.transpose(table, [axis, *(d for d in range(rank) if d != axis)])
    value = region.add(fused.GatherOp(rows, indices))
    before, behind = range(count, count + axis), range(count + axis, count + rank - 1)
    return region.transpose(value, [*before, *range(count), *behind])


def scatter_update(op: ge.ScatterUpdateOp, region: Region) -> SSAValue:
    var, indices, updates = region.argument(op.var), region.argument(op.indices), region.operand(op.updates)
    return region.add(fused.ScatterOp(updates, indices, var, op.dimension()))
