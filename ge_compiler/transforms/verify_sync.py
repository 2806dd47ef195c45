"""
Proves that the instructions of every kernel are in order, whoever wrote them; changes nothing.

    npu.load <nd> ins(%x : ...) outs(%a : ...)        // pipe mte2
    npu.vexp ins(%a : ...) outs(%b : ...)             // error: RAW race: ... missing: npu.set_flag <mte2>, <v> ...

Pipes run at the same time; only flags and barriers order them. The check follows every core without data and reports races, deadlocks,
flags that are set twice or never waited for, accesses out of bounds, and reads of what nothing or another buffer has written.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ge_compiler.dialects.diagnostics import remark
from ge_compiler.dialects.npu import InstructionOp, SyncOp
from ge_compiler.dialects.target import target_of


@dataclass(frozen=True)
class VerifySyncPass(ModulePass):
    """Checks that instructions which touch the same bytes are ordered by flags and barriers; shares no code with insert-sync."""

    name = "verify-sync"

    trips: tuple[int, ...] = ()
    """Check the order also as if every scf.for had these numbers of iterations."""

    cores: int | None = None
    """Check for this many cores instead of the target's."""

    def __post_init__(self) -> None:
        if self.cores is not None and self.cores < 1:
            raise ValueError(f"cores must be at least 1, got {self.cores}")
        if negative := [count for count in self.trips if count < 0]:
            raise ValueError(f"trips cannot be negative, got {negative[0]}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from ge_compiler.runtime.checks import check_sync

        target = target_of(op)
        for kernel in op.body.block.ops:
            if isinstance(kernel, FuncOp) and any(isinstance(inner, InstructionOp | SyncOp) for inner in kernel.walk()):
                report = check_sync(kernel, target, cores=self.cores, trips=self.trips)
                remark(self.name, kernel, "coverage", str(report.coverage))
                if (error := report.error()) is not None:
                    raise error
