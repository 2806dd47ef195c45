"""The `ge` dialect: which operators, with which attributes. Everything below that is left open.

Operators carry CANN's names, inputs and attributes, so that logs, IR and the documentation of the Graph Engine grep alike. Values are
tensors. An op names its shape rule (`shapes`) and its numpy meaning (`semantics`); shape inference, verification, constant folding, the
AI CPU and the interpreter all use those.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from ge_compiler.dialects.ge.attention import FlashAttentionScoreOp
from ge_compiler.dialects.ge.base import GeOp
from ge_compiler.dialects.ge.constants import ConstOp, LoadWeightOp, WeightOp, find_weight, weights
from ge_compiler.dialects.ge.elementwise import (
    COMPARISONS,
    ELEMENTWISE,
    LOGICAL,
    CastOp,
    ComparisonOp,
    ElementwiseOp,
    GeluV2Op,
    LogicalOp,
    SelectV2Op,
)
from ge_compiler.dialects.ge.fallback import AtenFallbackOp
from ge_compiler.dialects.ge.functions import NUMPY, NumpyOp
from ge_compiler.dialects.ge.indexing import GatherElementsOp, GatherV2Op, ScatterElementsOp, ScatterUpdateOp
from ge_compiler.dialects.ge.products import BatchMatMulV2Op, MatMulBase, MatMulV2Op
from ge_compiler.dialects.ge.reductions import (
    LayerNormV4Op,
    LogSoftmaxV2Op,
    NormOp,
    ReduceMaxDOp,
    ReduceMeanDOp,
    ReduceMinDOp,
    ReduceProdDOp,
    ReduceSumDOp,
    ReductionOp,
    RmsNormOp,
    SoftmaxBase,
    SoftmaxV2Op,
)
from ge_compiler.dialects.ge.sequences import (
    AlongAxisOp,
    ArgMaxDOp,
    ArgMinDOp,
    ArgOp,
    CumprodDOp,
    CumsumDOp,
    OrderingOp,
    PadDOp,
    RangeOp,
    ReverseDOp,
    ScanOp,
    SortDOp,
    TopKDOp,
    TriangleOp,
    TrilOp,
    TriuOp,
)
from ge_compiler.dialects.ge.views import (
    BroadcastToDOp,
    ConcatDOp,
    ReshapeOp,
    StridedSliceAssignDOp,
    StridedSliceDOp,
    TransposeDOp,
)

__all__ = [
    "COMPARISONS",
    "ELEMENTWISE",
    "GE",
    "LOGICAL",
    "NUMPY",
    "AlongAxisOp",
    "ArgMaxDOp",
    "ArgMinDOp",
    "ArgOp",
    "AtenFallbackOp",
    "BatchMatMulV2Op",
    "BroadcastToDOp",
    "CastOp",
    "ComparisonOp",
    "ConcatDOp",
    "ConstOp",
    "CumprodDOp",
    "CumsumDOp",
    "ElementwiseOp",
    "FlashAttentionScoreOp",
    "GatherElementsOp",
    "GatherV2Op",
    "GeOp",
    "GeluV2Op",
    "LayerNormV4Op",
    "LoadWeightOp",
    "LogSoftmaxV2Op",
    "LogicalOp",
    "MatMulBase",
    "MatMulV2Op",
    "NormOp",
    "NumpyOp",
    "OrderingOp",
    "PadDOp",
    "RangeOp",
    "ReduceMaxDOp",
    "ReduceMeanDOp",
    "ReduceMinDOp",
    "ReduceProdDOp",
    "ReduceSumDOp",
    "ReductionOp",
    "ReshapeOp",
    "ReverseDOp",
    "RmsNormOp",
    "ScanOp",
    "ScatterElementsOp",
    "ScatterUpdateOp",
    "SelectV2Op",
    "SoftmaxBase",
    "SoftmaxV2Op",
    "SortDOp",
    "StridedSliceAssignDOp",
    "StridedSliceDOp",
    "TopKDOp",
    "TransposeDOp",
    "TriangleOp",
    "TrilOp",
    "TriuOp",
    "WeightOp",
    "find_weight",
    "weights",
]

_ELEMENTWISE = (*ELEMENTWISE.values(), *COMPARISONS.values(), *LOGICAL.values(), *NUMPY.values(), GeluV2Op, SelectV2Op, CastOp)
_VIEWS = (ReshapeOp, TransposeDOp, StridedSliceDOp, StridedSliceAssignDOp, BroadcastToDOp, ConcatDOp)
_REDUCTIONS = (
    ReduceSumDOp,
    ReduceMeanDOp,
    ReduceMaxDOp,
    ReduceMinDOp,
    ReduceProdDOp,
    SoftmaxV2Op,
    LogSoftmaxV2Op,
    LayerNormV4Op,
    RmsNormOp,
)
_INDEXING = (GatherV2Op, ScatterUpdateOp, GatherElementsOp, ScatterElementsOp)
_SEQUENCES = (RangeOp, PadDOp, ReverseDOp, TrilOp, TriuOp, CumsumDOp, CumprodDOp, ArgMaxDOp, ArgMinDOp, SortDOp, TopKDOp)

GE = Dialect(
    "ge",
    [
        *_ELEMENTWISE,
        MatMulV2Op,
        BatchMatMulV2Op,
        FlashAttentionScoreOp,
        *_VIEWS,
        *_REDUCTIONS,
        *_INDEXING,
        *_SEQUENCES,
        AtenFallbackOp,
        ConstOp,
        WeightOp,
        LoadWeightOp,
    ],
)
