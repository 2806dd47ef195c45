"""Tiles that are reduced, numbered or transposed: as values, in buffers, and as instructions."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ge_compiler.dialects import npu, semantics, tile
from ge_compiler.dialects.semantics import Array
from ge_compiler.dialects.types import shaped_type
from ge_compiler.runtime.bounds import check_room, defined
from ge_compiler.runtime.walk import Frame, Registers, Step


def reduce_values(op: tile.ReduceOp, frame: Frame) -> Step:
    x, result, kind, axis = frame.slot(op.x), frame.slot(op.results[0]), op.kind.kind.data, op.dimension

    def step(r: Registers) -> None:
        r[result] = semantics.reduce(kind, defined(op, "x", r[x]), axis)

    return step


def reduce_buffers(op: tile.ReduceOp | npu.VreduceOp, frame: Frame) -> Step:
    assert op.out is not None
    x, out, kind, axis = frame.slot(op.x), frame.slot(op.out), op.kind.kind.data, op.dimension

    def step(r: Registers) -> None:
        r[out].write(op, semantics.reduce(kind, r[x].read(op, "x"), axis))

    return step


def transpose_values(op: tile.TransposeOp, frame: Frame) -> Step:
    x, result = frame.slot(op.x), frame.slot(op.results[0])

    def step(r: Registers) -> None:
        r[result] = np.ascontiguousarray(defined(op, "x", r[x]).T)

    return step


def transpose_buffers(op: tile.TransposeOp | npu.VtransposeOp, frame: Frame) -> Step:
    assert op.out is not None
    x, out = frame.slot(op.x), frame.slot(op.out)

    def step(r: Registers) -> None:
        value: Array = r[x].read(op, "x")
        r[out].write(op, value.T)

    return step


def iota_values(op: tile.IotaOp, frame: Frame) -> Step:
    base, valid, result, room = frame.slot(op.first), frame.slots(op.mixed_valid), frame.slot(op.results[0]), op.tile_type().get_shape()
    steps, dtype = op.steps.get_values(), _dtype(op.results[0])

    def step(r: Registers) -> None:
        extents = [r[v] for v in valid]
        check_room(op, extents, room)
        r[result] = semantics.iota(r[base], steps, extents, dtype)

    return step


def iota_buffers(op: tile.IotaOp | npu.ViotaOp, frame: Frame) -> Step:
    assert op.out is not None
    base, out, steps, dtype = frame.slot(op.first), frame.slot(op.out), op.steps.get_values(), _dtype(op.out)
    valid = frame.slots(op.mixed_valid) if isinstance(op, tile.IotaOp) else None

    def step(r: Registers) -> None:
        extents = r[out].shape if valid is None else [r[v] for v in valid]
        check_room(op, extents, r[out].shape)
        r[out].write(op, semantics.iota(r[base], steps, extents, dtype))

    return step


def _dtype(value: SSAValue) -> np.dtype[np.generic]:
    return semantics.dtype_of(shaped_type(value).get_element_type())
