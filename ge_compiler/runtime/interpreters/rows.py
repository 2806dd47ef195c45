"""Rows of global memory that a tile of indices names: as values, in buffers, and as instructions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_compiler.dialects import npu, tile
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.semantics import Array
from ge_compiler.runtime.bounds import check_room, check_rows, cut, defined
from ge_compiler.runtime.memory import Reference, Region
from ge_compiler.runtime.walk import Frame, Registers, Step

_Op = tile.LoadRowsOp | tile.StoreRowsOp | npu.LoadRowsOp | npu.StoreRowsOp


def _table(op: tile.LoadRowsOp | tile.StoreRowsOp, what: str, whole: Array, offsets: Sequence[int], columns: int) -> Array:
    """The columns of the matrix at `offsets` that rows are taken from: a view."""
    *points, column = offsets
    extents = [1] * len(points) + [whole.shape[-2], columns]
    where = cut(op, what, whole.shape, [*points, 0, column], extents)
    return np.empty(extents[-2:], whole.dtype) if 0 in extents else whole[(*points, *where[-2:])]


def load_values(op: tile.LoadRowsOp, frame: Frame) -> Step:
    source, indices, result = frame.slots([op.source, op.indices, op.results[0]])
    offsets, valid = frame.slots(op.mixed_offsets), frame.slots(op.mixed_valid)
    room = op.tile_type().get_shape()

    def step(r: Registers) -> None:
        extents = [r[v] for v in valid]
        check_room(op, extents, room)
        rows = _rows(op, defined(op, "the tile of indices", r[indices]), extents[0])
        table = _table(op, "the source", r[source], [r[o] for o in offsets], extents[1])
        check_rows(op, "the source", rows, len(table))
        r[result] = table[rows]

    return step


def store_values(op: tile.StoreRowsOp, frame: Frame) -> Step:
    source, indices, into, offsets = frame.slot(op.tile), frame.slot(op.indices), frame.slot(op.into), frame.slots(op.mixed_offsets)

    def step(r: Registers) -> None:
        value = defined(op, "the tile", r[source])
        rows = _rows(op, defined(op, "the tile of indices", r[indices]), value.shape[0])
        table = _table(op, "the destination", r[into], [r[o] for o in offsets], value.shape[1])
        check_rows(op, "the destination", rows, len(table))
        table[rows] = value

    return step


def load_buffers(op: tile.LoadRowsOp, frame: Frame) -> Step:
    assert op.out is not None
    source, indices, out, offsets = frame.slot(op.source), frame.slot(op.indices), frame.slot(op.out), frame.slots(op.mixed_offsets)
    valid = frame.slots(op.mixed_valid)

    def step(r: Registers) -> None:
        extents = [r[v] for v in valid]
        check_room(op, extents, r[out].shape)
        table = _region(op, "the source", r[source], [r[o] for o in offsets], extents[1])
        _gather(op, "the source", table, r[indices], r[out])

    return step


def store_buffers(op: tile.StoreRowsOp, frame: Frame) -> Step:
    source, indices, into, offsets = frame.slot(op.tile), frame.slot(op.indices), frame.slot(op.into), frame.slots(op.mixed_offsets)

    def step(r: Registers) -> None:
        table = _region(op, "the destination", r[into], [r[o] for o in offsets], r[source].shape[1])
        _scatter(op, "the destination", r[source], r[indices], table)

    return step


def load_instruction(op: npu.LoadRowsOp, frame: Frame) -> Step:
    table, indices, out = frame.slots([op.table, op.indices, op.out])

    def step(r: Registers) -> None:
        _gather(op, "the table", r[table], r[indices], r[out])

    return step


def store_instruction(op: npu.StoreRowsOp, frame: Frame) -> Step:
    source, indices, table = frame.slots([op.tile, op.indices, op.table])

    def step(r: Registers) -> None:
        _scatter(op, "the table", r[source], r[indices], r[table])

    return step


def _region(op: tile.LoadRowsOp | tile.StoreRowsOp, what: str, whole: Region, offsets: Sequence[int], columns: int) -> Region:
    """The same as `_table` of a tensor in memory."""
    *points, column = offsets
    return whole.part(op, what, [*points, 0, column], [1] * len(points) + [whole.shape[-2], columns], len(points))


def _gather(op: _Op, what: str, table: Region, indices: Reference, out: Reference) -> None:
    rows = _rows(op, indices.read(op, "the tile of indices"), out.shape[0])
    check_rows(op, what, rows, table.shape[0])
    out.write(op, table.read_rows(op, what, rows))


def _scatter(op: _Op, what: str, source: Reference, indices: Reference, table: Region) -> None:
    value = source.read(op, "the tile")
    rows = _rows(op, indices.read(op, "the tile of indices"), value.shape[0])
    check_rows(op, what, rows, table.shape[0])
    table.write_rows(op, rows, value)


def _rows(op: _Op, indices: Array, count: int) -> Array:
    """The numbers in a column of indices. Raises `CompileError` at `op` unless there are `count`."""
    if indices.shape != (count, 1):
        raise CompileError.at(op, f"needs one index for each of {count} rows, got {indices.shape[0]}x{indices.shape[1]} indices")
    return indices[:, 0]
