"""The `fused` dialect: which operators share one kernel, with every rounding written down.

It decides how operators are grouped, which engine runs each launch and where results go; it leaves loops and the order of arithmetic open.
Values are tensors. `@main` is a straight list of launches; a kernel is a private function (a `fused.kernel` region until it is outlined) of
a small closed set of primitives, which the files of this package define. Views (`reshape`, `transpose`, `slice`, `concat`, `insert`) stand
inside kernels too: they become the access maps of loads and stores.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from ge_compiler.dialects.fused.destinations import updated_argument, verify_destinations
from ge_compiler.dialects.fused.elementwise import ELEMENTWISE, FusedElementwiseOp
from ge_compiler.dialects.fused.indexing import GatherOp, ScatterOp
from ge_compiler.dialects.fused.kernels import (
    HOST_OPERATOR,
    Engine,
    EngineAttr,
    KernelOp,
    YieldOp,
    aicore_kernels,
    engine_of,
    is_kernel,
    kernels,
)
from ge_compiler.dialects.fused.launches import LaunchOp, launched_here, launches, launches_of, lives, starts_anew, updated_inputs
from ge_compiler.dialects.fused.products import Anchor, AttentionOp, MatmulOp
from ge_compiler.dialects.fused.values import BroadcastOp, CastOp, FullOp, IotaOp, ReduceOp
from ge_compiler.dialects.fused.views import ConcatOp, InsertOp, ReshapeOp, SliceOp, TransposeOp, View
from ge_compiler.dialects.reductions import Reduction, ReductionAttr

__all__ = [
    "ELEMENTWISE",
    "FUSED",
    "HOST_OPERATOR",
    "Anchor",
    "AttentionOp",
    "BroadcastOp",
    "CastOp",
    "ConcatOp",
    "Engine",
    "EngineAttr",
    "FullOp",
    "FusedElementwiseOp",
    "GatherOp",
    "InsertOp",
    "IotaOp",
    "KernelOp",
    "LaunchOp",
    "MatmulOp",
    "ReduceOp",
    "Reduction",
    "ReductionAttr",
    "ReshapeOp",
    "ScatterOp",
    "SliceOp",
    "TransposeOp",
    "View",
    "YieldOp",
    "aicore_kernels",
    "engine_of",
    "is_kernel",
    "kernels",
    "launched_here",
    "launches",
    "launches_of",
    "lives",
    "starts_anew",
    "updated_argument",
    "updated_inputs",
    "verify_destinations",
]

FUSED = Dialect(
    "fused",
    [
        *ELEMENTWISE.values(),
        MatmulOp,
        AttentionOp,
        CastOp,
        BroadcastOp,
        FullOp,
        IotaOp,
        ReduceOp,
        ReshapeOp,
        TransposeOp,
        SliceOp,
        ConcatOp,
        InsertOp,
        GatherOp,
        ScatterOp,
        KernelOp,
        YieldOp,
        LaunchOp,
    ],
    [EngineAttr, ReductionAttr],
)
