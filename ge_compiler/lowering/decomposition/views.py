"""Operators that move elements: views are primitives, which later become the way in which a kernel reads or writes memory."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ge_compiler.dialects import fused, ge
from ge_compiler.dialects.types import tensor_type
from ge_compiler.lowering.decomposition.region import Region, computed_in, element_of


def reshape(op: ge.ReshapeOp, region: Region) -> SSAValue:
    return region.reshape(region.operand(op.x), tensor_type(op.y).get_shape())


def transpose(op: ge.TransposeDOp, region: Region) -> SSAValue:
    return region.transpose(region.operand(op.x), op.perm.get_values())


def strided_slice(op: ge.StridedSliceDOp, region: Region) -> SSAValue:
    x, shape = region.operand(op.x), tensor_type(op.y).get_shape()
    if shape == tensor_type(x).get_shape():
        return x
    return region.add(fused.SliceOp(x, op.begin.get_values(), op.strides.get_values(), shape))


def strided_slice_assign(op: ge.StridedSliceAssignDOp, region: Region) -> SSAValue:
    var, updates = region.argument(op.var), region.operand(op.updates)
    return region.add(fused.InsertOp(updates, var, op.begin.get_values(), op.strides.get_values()))


def broadcast_to(op: ge.BroadcastToDOp, region: Region) -> SSAValue:
    return region.broadcast(region.operand(op.x), tensor_type(op.y).get_shape())


def concat(op: ge.ConcatDOp, region: Region) -> SSAValue:
    axis = op.axis()
    pieces = [x for x in op.x if tensor_type(x).get_shape()[axis]] or [op.x[0]]
    values = [region.operand(x) for x in pieces]
    return values[0] if len(values) == 1 else region.add(fused.ConcatOp(values, axis))


def triangle(op: ge.TriangleOp, region: Region) -> SSAValue:
    x = region.wide(region.operand(op.x))
    numbers = type(tensor_type(x))(i32, tensor_type(x).get_shape())
    row, column = (region.add(fused.IotaOp(len(numbers.get_shape()) - d, numbers)) for d in (2, 1))
    diagonal = region.apply("adds", row, scalar=op.diagonal.value.data)
    kept = region.apply("ge" if isinstance(op, ge.TrilOp) else "le", diagonal, column)
    return region.apply("select", kept, x, region.full(0, x))


def sequence(op: ge.RangeOp, region: Region) -> SSAValue:
    start, delta = op.start.value.data, op.delta.value.data
    type_ = tensor_type(op.y)
    value = region.add(fused.IotaOp(0, type(type_)(computed_in(element_of(op.y)), type_.get_shape())))
    value = value if delta == 1 else region.apply("muls", value, scalar=delta)
    return value if start == 0 else region.apply("adds", value, scalar=start)
