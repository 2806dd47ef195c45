"""What the units of a target can do with operators and primitives, before there are tiles."""

from __future__ import annotations

from xdsl.ir import Operation

from ge_compiler.dialects import fused, ge
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.transforms.legality.elements import require_cube, require_vector


def check_units(op: Operation, target: NpuTarget) -> None:
    """Raises `CompileError` if `target` cannot compute `op` in its element types."""
    match op:
        case ge.MatMulBase():
            require_cube(op, op.x1, target)
        case fused.MatmulOp():
            require_cube(op, op.a, target)
        case fused.FusedElementwiseOp() | fused.CastOp() | fused.BroadcastOp() | fused.FullOp():
            require_vector(op, (*op.operands, *op.results), target)
        case _:
            pass
