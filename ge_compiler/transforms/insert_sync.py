"""
Orders the instructions of different pipes, which would otherwise run at the same time.

    scf.for ... {
      npu.load <nd> ins(%x : ...) outs(%a : ...)      // pipe mte2
      npu.vexp ins(%a : ...) outs(%b : ...)           // pipe v

with `mode=flags` becomes

    npu.set_flag <v>, <mte2>[0] event "a_free"
    scf.for ... {
      npu.wait_flag <v>, <mte2>[0] event "a_free"
      npu.load <nd> ins(%x : ...) outs(%a : ...)
      npu.set_flag <mte2>, <v>[0] event "a_ready"
      npu.wait_flag <mte2>, <v>[0] event "a_ready"
      npu.vexp ins(%a : ...) outs(%b : ...)
      npu.set_flag <v>, <mte2>[0] event "a_free"
    }
    npu.wait_flag <v>, <mte2>[0] event "a_free"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ge_compiler.dialects.diagnostics import CompileError, remark
from ge_compiler.dialects.fused import aicore_kernels
from ge_compiler.dialects.locations import located
from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.npu import ALL_PIPES, CrossCoreFlagOp, FlagOp, PipeBarrierOp, SyncAllOp
from ge_compiler.dialects.target import NpuTarget, target_of
from ge_compiler.dialects.tile import GridOp
from ge_compiler.transforms.synchronization.accesses import Instruction, instructions
from ge_compiler.transforms.synchronization.dependences import Order, find_orders
from ge_compiler.transforms.synchronization.flags import Flags, add_barriers
from ge_compiler.transforms.synchronization.insertions import Insertions, Rank
from ge_compiler.transforms.synchronization.structure import Structure


@dataclass(frozen=True)
class InsertSyncPass(ModulePass):
    """Orders instructions that depend on each other, on every path through the loops."""

    name = "insert-sync"

    mode: Literal["flags", "barrier-all", "none"] = "barrier-all"
    """`flags` orders what depends on each other, `barrier-all` lets one instruction of a core run at a time, `none` orders nothing."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.mode == "none":
            return
        target = target_of(op)
        for kernel in aicore_kernels(op):
            if kernel.body.blocks:
                _Inserter(kernel, target).run(self.mode == "flags")


class _Inserter:
    """Orders one kernel."""

    def __init__(self, kernel: FuncOp, target: NpuTarget) -> None:
        _refuse_flags(kernel)
        self.target = target
        self.structure = Structure(kernel)
        self.insertions = Insertions(dict(self.structure.bodies))
        self.instructions = list(instructions(kernel, target))

    def run(self, flags: bool) -> None:
        """Orders the kernel: by flags and barriers of a pipe, or by barriers of all pipes and what these cannot do between cores."""
        flags = flags and self._is_understood()
        meetings = self._meet_between_grids()
        orders = find_orders(self.structure, self.instructions)
        events = Flags(self.structure, self.insertions, self.target)
        for order in orders.needed():
            if (flags or order.crosses) and not any(_divides(self.structure, gap, order) for gap in meetings):
                events.add(order)
        if flags:
            for block, within in orders.within_pipes():
                add_barriers(block, within, self.insertions)
        self.insertions.apply()
        if not flags:
            _barrier_after_each(self.instructions, self.target)

    def _is_understood(self) -> bool:
        """Whether flags can be proven; leaves a remark where they cannot."""
        if (branch := self.structure.irregular) is not None:
            remark("insert-sync", branch, "no-loop", "holds instructions and is no loop; its kernel is ordered by barriers")
            return False
        unknown = [i for i in self.instructions if any(access.place.memory is None for access in i.accesses)]
        if unknown:
            message = "uses memory that cannot be followed to a buf.at or an argument; its kernel is ordered by barriers"
            remark("insert-sync", unknown[0].op, "unknown-memory", message)
        return not unknown

    def _meet_between_grids(self) -> list[int]:
        """Makes all cores meet between grids of which the later touches what the earlier left in global memory: gaps in the body."""
        body = self.structure.kernel.body.block
        ops = self.structure.bodies[body]
        meetings = [position for position, op in enumerate(ops) if isinstance(op, SyncAllOp)]
        where = {i: self.structure.positions[self.structure.chain(i.op)[0][1]] for i in self.instructions}
        begun = max(meetings, default=0)
        for grid in (position for position, op in enumerate(ops) if isinstance(op, GridOp)):
            before = [i for i in self.instructions if begun <= where[i] < grid]
            inside = [i for i in self.instructions if where[i] == grid]
            shared = next((y for y in inside for x in before if _share_global_memory(x, y)), None)
            if shared is not None:
                self.insertions.add(body, grid, Rank.BARRIER, SyncAllOp(), shared.op.location)
                meetings.append(grid)
                begun = grid
        return meetings


def _divides(structure: Structure, gap: int, order: Order) -> bool:
    """Whether a meeting of all cores at a gap of the kernel's body stands between source and sink."""
    return order.block is structure.kernel.body.block and order.after < gap <= order.before


def _share_global_memory(x: Instruction, y: Instruction) -> bool:
    return any(a.depends_on(b) and not isinstance(a.place.memory, Space) for a in x.accesses for b in y.accesses)


def _refuse_flags(kernel: FuncOp) -> None:
    """Raises `CompileError` for a kernel that has flags: what is set twice or waited for twice fails on the chip."""
    for op in kernel.walk():
        if isinstance(op, FlagOp | CrossCoreFlagOp):
            raise CompileError.at(
                op, "stands there before insert-sync, which cannot tell what it is for; remove the kernel's flags, or the pass"
            )


def _barrier_after_each(found: Sequence[Instruction], target: NpuTarget) -> None:
    """With a barrier behind every instruction, none is left that two of a core, in one iteration or in two, could pass together."""
    for instruction in found:
        op, block = instruction.op, instruction.op.parent
        assert block is not None
        pipe = f"{instruction.unit.core}.{ALL_PIPES}" if target.is_split else ALL_PIPES
        if not (isinstance(following := op.next_op, PipeBarrierOp) and following.pipe.pipe.data == pipe):
            block.insert_op_after(located(PipeBarrierOp(pipe), op.location), op)
