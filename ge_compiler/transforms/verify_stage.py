"""
The gate at the end of a stage: only ops of that stage are left, and the target can execute each of them.

Changes nothing. After `verify-stage{stage=npu}`, for example, a kernel holds instructions, addresses, loops and index arithmetic:

    %a = buf.at "a" [0] : memref<4x8xf32, #npu.mem<ub>>
    tile.exp %a into %a : ...     // error: has no place in a kernel at stage npu

A kernel for the AI CPU or the host keeps its operators of `ge` and their tensors at every stage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ge_compiler.dialects import LEVELS
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.fused import Engine, engine_of, kernels
from ge_compiler.dialects.ge import WeightOp
from ge_compiler.dialects.target import NpuTarget, target_of
from ge_compiler.dialects.types import is_shaped
from ge_compiler.transforms.legality.stages import KEPT, STAGES, Stage, allows


@dataclass(frozen=True)
class VerifyStagePass(ModulePass):
    """Checks that a module holds only what belongs to a stage, in types, moves and addresses that the target has."""

    name = "verify-stage"

    stage: Literal["ge", "fused", "tile", "buf", "npu"]
    """The stage that has just ended."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target, of_kernels, check_units = target_of(op), kernels(op), self._check_of_units()
        for function in op.body.block.ops:
            if isinstance(function, WeightOp):
                continue
            if not isinstance(function, FuncOp):
                raise CompileError.at(function, f"has no place beside functions and weights at stage {self.stage}")
            engine = engine_of(function) if function in of_kernels and self.stage != "ge" else Engine.AICORE
            stage = STAGES[self.stage] if engine is Engine.AICORE else KEPT
            for block in function.body.blocks:
                for argument in block.args:
                    self._check_value(function, argument, stage)
            for inner in list(function.walk())[1:]:
                self._check_op(inner, stage, function in of_kernels)
                if stage is not KEPT:
                    check_units(inner, target)

    def _check_of_units(self) -> Callable[[Operation, NpuTarget], None]:
        """The check of the stage's ops; only what it needs is imported, since every text passes here."""
        if self.stage in ("ge", "fused"):
            from ge_compiler.transforms.legality.operators import check_units
        else:
            from ge_compiler.transforms.legality.tiles import check_units
        return check_units

    def _check_op(self, op: Operation, stage: Stage, is_kernel: bool) -> None:
        if not allows(stage.kernels if is_kernel else stage.main, op.name):
            where = "beside operators in a kernel" if stage is KEPT else "in a kernel" if is_kernel else "in @main"
            left_over = op.dialect_name() in LEVELS[: LEVELS.index(self.stage) + 1]
            advice = f"; run {stage.before}" if stage.before and left_over else ""
            raise CompileError.at(op, f"has no place {where} at stage {self.stage}{advice}")
        for value in (*op.operands, *op.results):
            self._check_value(op, value, stage)

    def _check_value(self, op: Operation, value: SSAValue, stage: Stage) -> None:
        if is_shaped(value.type) and isinstance(value.type, TensorType) != (stage.values == "tensor"):
            when = "in a kernel of operators" if stage is KEPT else f"at stage {self.stage}"
            raise CompileError.at(op, f"uses {value.type}, but values are {stage.values}s {when}")
