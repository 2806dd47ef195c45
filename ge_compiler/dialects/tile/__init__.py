"""The `tile` dialect: the grid, the loops, the memory space of every tile, every rounding and every split of a sum. Addresses are open.

A tile is a matrix in an on-chip memory: `tensor<32x128xf32, #npu.mem<l0c>>`. Its static shape is the room it takes; its *valid extents*
are named where data enters (`valid [%m, %n]`) and propagate from operands to results, so ragged edges never change a memory plan. Row
vectors (1 x n), columns (m x 1) and single elements broadcast in elementwise functions.

The same ops stand at `buf` in destination-passing form: operands are memrefs whose sizes are the valid extents, the result is written
`into` a buffer and there is no value.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from ge_compiler.dialects.tile.assemble import AssembleOp
from ge_compiler.dialects.tile.base import ForallOp, GridLoopOp, GridOp, TileOp
from ge_compiler.dialects.tile.compute import ELEMENTWISE, BroadcastOp, CastOp, FullOp, MmadOp, TileElementwiseOp, UndefOp
from ge_compiler.dialects.tile.moves import LoadOp, MoveOp, StoreOp
from ge_compiler.dialects.tile.rows import LoadRowsOp, StoreRowsOp
from ge_compiler.dialects.tile.schedule import (
    SCHEDULE_ATTRIBUTE,
    SCHEDULE_KEYS,
    SIZE_KEYS,
    SLOT_KEYS,
    ScheduleAttr,
    expected_of,
    in_range,
    schedule_of,
)
from ge_compiler.dialects.tile.vector import IotaOp, ReduceOp, TransposeOp
from ge_compiler.dialects.tile.view import ViewOp

__all__ = [
    "ELEMENTWISE",
    "SCHEDULE_ATTRIBUTE",
    "SCHEDULE_KEYS",
    "SIZE_KEYS",
    "SLOT_KEYS",
    "TILE",
    "AssembleOp",
    "BroadcastOp",
    "CastOp",
    "ForallOp",
    "FullOp",
    "GridLoopOp",
    "GridOp",
    "IotaOp",
    "LoadOp",
    "LoadRowsOp",
    "MmadOp",
    "MoveOp",
    "ReduceOp",
    "ScheduleAttr",
    "StoreOp",
    "StoreRowsOp",
    "TileElementwiseOp",
    "TileOp",
    "TransposeOp",
    "UndefOp",
    "ViewOp",
    "expected_of",
    "in_range",
    "schedule_of",
]

TILE = Dialect(
    "tile",
    [
        ForallOp,
        GridLoopOp,
        LoadOp,
        MoveOp,
        UndefOp,
        MmadOp,
        CastOp,
        FullOp,
        BroadcastOp,
        *ELEMENTWISE.values(),
        ReduceOp,
        IotaOp,
        TransposeOp,
        LoadRowsOp,
        StoreRowsOp,
        ViewOp,
        StoreOp,
        AssembleOp,
    ],
    [ScheduleAttr],
)
