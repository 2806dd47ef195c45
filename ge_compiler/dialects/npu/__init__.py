"""The `npu` dialect: instructions, the pipe that executes each, and their order. Nothing is left open.

One op is one instruction on one pipe at the grain of the vector API: a matrix with extents; repeats, masks and strides are the business of
its cost. Operands are memrefs at fixed addresses whose sizes are the valid extents. Data instructions read `ins` and write `outs`.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from ge_compiler.dialects.memory import MemAttr
from ge_compiler.dialects.npu.across import ViotaOp, VreduceOp, VtransposeOp
from ge_compiler.dialects.npu.base import InstructionOp
from ge_compiler.dialects.npu.compute import VECTOR, MmadOp, VbrcOp, VconvOp, VdupOp, VectorElementwiseOp, VectorOp
from ge_compiler.dialects.npu.copy import CopyOp
from ge_compiler.dialects.npu.moves import FixpipeOp, Load2dOp, LoadFormat, LoadFormatAttr, LoadOp, StoreOp
from ge_compiler.dialects.npu.rows import LoadRowsOp, StoreRowsOp
from ge_compiler.dialects.npu.sync import (
    ALL_PIPES,
    BlockIdxOp,
    CrossCoreFlagOp,
    CrossCoreSetFlagOp,
    CrossCoreWaitFlagOp,
    FlagOp,
    PipeAttr,
    PipeBarrierOp,
    SetFlagOp,
    SubBlockIdxOp,
    SyncAllOp,
    SyncOp,
    WaitFlagOp,
)

__all__ = [
    "ALL_PIPES",
    "NPU",
    "VECTOR",
    "BlockIdxOp",
    "CopyOp",
    "CrossCoreFlagOp",
    "CrossCoreSetFlagOp",
    "CrossCoreWaitFlagOp",
    "FixpipeOp",
    "FlagOp",
    "InstructionOp",
    "Load2dOp",
    "LoadFormat",
    "LoadFormatAttr",
    "LoadOp",
    "LoadRowsOp",
    "MmadOp",
    "PipeAttr",
    "PipeBarrierOp",
    "SetFlagOp",
    "StoreOp",
    "StoreRowsOp",
    "SubBlockIdxOp",
    "SyncAllOp",
    "SyncOp",
    "VbrcOp",
    "VconvOp",
    "VdupOp",
    "VectorElementwiseOp",
    "VectorOp",
    "ViotaOp",
    "VreduceOp",
    "VtransposeOp",
    "WaitFlagOp",
]

_SYNC = [
    PipeBarrierOp,
    SetFlagOp,
    WaitFlagOp,
    CrossCoreSetFlagOp,
    CrossCoreWaitFlagOp,
    SyncAllOp,
    BlockIdxOp,
    SubBlockIdxOp,
]

_ACROSS = [VreduceOp, ViotaOp, VtransposeOp]

NPU = Dialect(
    "npu",
    [
        LoadOp,
        Load2dOp,
        FixpipeOp,
        StoreOp,
        CopyOp,
        MmadOp,
        *VECTOR.values(),
        VconvOp,
        VbrcOp,
        VdupOp,
        *_ACROSS,
        LoadRowsOp,
        StoreRowsOp,
        *_SYNC,
    ],
    [MemAttr, LoadFormatAttr, PipeAttr],
)
