"""Which function writes which operator in primitives. Its value is rounded to the operator's element type afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.ir import SSAValue

from ge_compiler.dialects import ge
from ge_compiler.lowering.decomposition import attention, elementwise, indexing, products, reductions, views
from ge_compiler.lowering.decomposition.region import NoLowering, Region

Rule = Callable[[Any, Region], SSAValue]

RULES: Mapping[type[ge.GeOp], Rule] = {
    ge.LogicalOp: elementwise.logical,
    ge.ElementwiseOp: elementwise.function,
    ge.NumpyOp: elementwise.numpy_function,
    ge.SelectV2Op: elementwise.select,
    ge.CastOp: elementwise.cast_to,
    ge.MatMulBase: products.matmul,
    ge.FlashAttentionScoreOp: attention.attention,
    ge.ReshapeOp: views.reshape,
    ge.TransposeDOp: views.transpose,
    ge.StridedSliceDOp: views.strided_slice,
    ge.StridedSliceAssignDOp: views.strided_slice_assign,
    ge.BroadcastToDOp: views.broadcast_to,
    ge.ConcatDOp: views.concat,
    ge.TriangleOp: views.triangle,
    ge.RangeOp: views.sequence,
    ge.ReductionOp: reductions.reduction,
    ge.ArgOp: reductions.argument,
    ge.SoftmaxV2Op: reductions.softmax,
    ge.LogSoftmaxV2Op: reductions.log_softmax,
    ge.LayerNormV4Op: reductions.layer_norm,
    ge.RmsNormOp: reductions.rms_norm,
    ge.GatherV2Op: indexing.gather,
    ge.ScatterUpdateOp: indexing.scatter_update,
}
"""By class; of a class and one that it derives from, the derived one stands first."""


def rule_of(op: ge.GeOp) -> Rule:
    """The function for `op`. Raises `NoLowering` if there is none."""
    rule = next((rule for kind, rule in RULES.items() if isinstance(op, kind)), None)
    if rule is None:
        raise NoLowering("it is not written in primitives yet")
    return rule
