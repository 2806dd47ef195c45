"""Lanes' parts that become one tile: every lane writes, and all share the result."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from ge_compiler.dialects import npu, semantics, tile
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.runtime.bounds import check_room, cut
from ge_compiler.runtime.lanes import in_lane, lanes_of
from ge_compiler.runtime.memory import Reference
from ge_compiler.runtime.walk import Frame, Registers, Step


def assemble_values(op: tile.AssembleOp, frame: Frame) -> Step:
    """The tile as an array. Raises `CompileError` where the parts leave an element open."""
    part, result = frame.slot(op.source), frame.slot(op.results[0])
    offsets, valid = frame.slots(op.mixed_offsets), frame.slots(op.mixed_valid)
    dtype, room = semantics.dtype_of(op.tile_type().get_element_type()), op.tile_type().get_shape()

    def step(r: Registers) -> None:
        lanes = lanes_of(r)
        extents = [lanes[0][v] for v in valid]
        check_room(op, extents, room)
        made, open_ = np.empty(extents, dtype), np.ones(extents, np.bool_)
        for number, lane in enumerate(lanes):
            try:
                if lane[part] is None:
                    raise CompileError.at(op, "the part is a tile that nothing has written")
                where = cut(op, "the tile", made.shape, [lane[o] for o in offsets], lane[part].shape)
            except CompileError as error:
                raise error if len(lanes) == 1 else in_lane(error, op, number) from error
            if lane[part].size:
                made[where], open_[where] = lane[part], False
        if open_.any():
            row, column = np.argwhere(open_)[0]
            raise CompileError.at(op, f"no part holds element ({row}, {column}) of the tile's {extents[0]}x{extents[1]}")
        r[result] = made

    return step


def assemble_buffers(op: tile.AssembleOp, frame: Frame) -> Step:
    """The parts into one buffer, lane by lane."""
    assert op.out is not None
    part, out, offsets = frame.slot(op.source), frame.slot(op.out), frame.slots(op.mixed_offsets)

    def write(r: Registers) -> None:
        value = r[part].read(op, "the part")
        at: Reference = r[out].part(op, "the tile", [r[o] for o in offsets], value.shape)
        at.write(op, value)

    return _in_each_lane(op, write)


def copy(op: npu.CopyOp, frame: Frame) -> Step:
    """One lane's part from its unified buffer to the cube's L1."""
    source, out = frame.slot(op.source), frame.slot(op.out)

    def write(r: Registers) -> None:
        r[out].write(op, r[source].read(op, "the source"))

    return _in_each_lane(op, write)


def _in_each_lane(op: Operation, step: Step) -> Step:
    def run(r: Registers) -> None:
        lanes = lanes_of(r)
        for number, lane in enumerate(lanes):
            try:
                step(lane)
            except CompileError as error:
                raise error if len(lanes) == 1 else in_lane(error, op, number) from error

    return run
