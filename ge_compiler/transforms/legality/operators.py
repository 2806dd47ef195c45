"""What the units of a target can do with operators and primitives, before there are tiles."""

from __future__ import annotations

from xdsl.ir import Operation

from ge_compiler.dialects import fused, ge
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.transforms.legality.elements import cube_refusal, element_of, vector_refusal

MODEL_FLOATS = ("f16", "bf16", "f32")
"""Types that a whole model is in: where a unit does not take one, its user must choose another. What is in others runs elsewhere."""


def primitive_refusal(op: Operation, target: NpuTarget) -> str | None:
    """Why no unit of `target` can compute the primitive `op` in its element types, or `None` if one can."""
    match op:
        case fused.MatmulOp():
            return cube_refusal(op.a, target)
        case fused.AttentionOp():
            return cube_refusal(op.q, target) or vector_refusal(op.operands, target)
        case fused.KernelOp() | fused.LaunchOp() | fused.YieldOp():
            return None
        case _:
            return vector_refusal((*op.operands, *op.results), target) if op.dialect_name() == "fused" else None


def check_units(op: Operation, target: NpuTarget) -> None:
    """Raises `CompileError` if `target` cannot compute `op` in its element types."""
    refusal = primitive_refusal(op, target)
    if isinstance(op, ge.MatMulBase | ge.FlashAttentionScoreOp) and element_of(op.operands[0]) in MODEL_FLOATS:
        refusal = cube_refusal(op.operands[0], target)
    if refusal is not None:
        raise CompileError.at(op, refusal)
