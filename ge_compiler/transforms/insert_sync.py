"""
Orders the instructions of different pipes, which would otherwise run at the same time.

    npu.load <nd> ins(%x : ...) outs(%a : ...)      // pipe mte2
    npu.vexp ins(%a : ...) outs(%b : ...)           // pipe v

becomes

    npu.load <nd> ins(%x : ...) outs(%a : ...)
    npu.pipe_barrier <all>
    npu.vexp ins(%a : ...) outs(%b : ...)
    npu.pipe_barrier <all>
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ge_compiler.dialects.fused import kernels
from ge_compiler.dialects.npu import InstructionOp, PipeBarrierOp


@dataclass(frozen=True)
class InsertSyncPass(ModulePass):
    """Orders instructions that depend on each other, on every path through the loops."""

    name = "insert-sync"

    mode: Literal["barrier-all"] = "barrier-all"
    """`barrier-all` lets one instruction run at a time: slow, and right whatever the instructions touch."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            _MODES[self.mode](kernel)


def _barrier_after_each(kernel: FuncOp) -> None:
    """With a barrier behind every instruction, none is left that two of them, in one iteration or in two, could pass together."""
    for op in list(kernel.walk()):
        if isinstance(op, InstructionOp) and not isinstance(op.next_op, PipeBarrierOp):
            block = op.parent
            assert block is not None
            barrier = PipeBarrierOp()
            barrier.location = op.location
            block.insert_op_after(barrier, op)


_MODES: dict[str, Callable[[FuncOp], None]] = {"barrier-all": _barrier_after_each}
"""How to order a kernel's instructions, by mode."""
