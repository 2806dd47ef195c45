"""
Removes flags and barriers that others imply.

    npu.set_flag <mte2>, <v>[0] event "a_ready"      // the store waits for this too, by way of the vector unit
    npu.set_flag <mte2>, <mte3>[0] event "a_ready"
    npu.wait_flag <mte2>, <v>[0] event "a_ready"
    npu.vexp ins(%a : ...) outs(%b : ...)
    npu.set_flag <v>, <mte3>[0] event "b_ready"
    npu.wait_flag <v>, <mte3>[0] event "b_ready"
    npu.wait_flag <mte2>, <mte3>[0] event "a_ready"  // removed, with its set
    npu.store ins(%a : ...) outs(%x : ...)

Loops are unrolled a few trips, and each event (its sets and waits, arming and draining included) and barrier is left out in turn: it is
removed for good if everything that depends on each other is still in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ge_compiler.dialects.diagnostics import remark
from ge_compiler.dialects.fused import aicore_kernels
from ge_compiler.dialects.npu import CrossCoreFlagOp, FlagOp, PipeBarrierOp
from ge_compiler.dialects.target import NpuTarget, target_of
from ge_compiler.transforms.synchronization.replay import is_ordered
from ge_compiler.transforms.synchronization.trace import Trace, Unprovable
from ge_compiler.transforms.synchronization.unrolling import unrolled


@dataclass(frozen=True)
class RemoveRedundantSyncPass(ModulePass):
    """Removes events and barriers without which everything stays in order, because others imply them."""

    name = "remove-redundant-sync"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for kernel in aicore_kernels(op):
            if kernel.body.blocks:
                _reduce(kernel, target)


def _reduce(kernel: FuncOp, target: NpuTarget) -> None:
    try:
        traces = unrolled(kernel, target)
    except Unprovable as reason:
        remark("remove-redundant-sync", reason.op, reason.code, f"{reason}; nothing is removed from its kernel")
        return
    if not all(is_ordered(trace) for trace in traces):
        remark("remove-redundant-sync", kernel, "not-in-order", "its instructions are not in order as it stands; nothing is removed")
        return
    removed: set[Operation] = set()
    for group in _groups(kernel, traces):
        without = removed.union(group)
        if all(is_ordered(trace, without) for trace in traces):
            removed = without
    for op in kernel.walk():
        if op in removed:
            op.detach()
            op.erase()


def _groups(kernel: FuncOp, traces: Sequence[Trace]) -> list[list[Operation]]:
    """What can only be removed together, barriers alone; what runs most often comes first."""
    ops: list[Operation] = [op for op in kernel.walk() if isinstance(op, FlagOp | CrossCoreFlagOp | PipeBarrierOp)]
    groups = _joined(ops, [match for trace in traces for match in trace.matches])
    runs = dict.fromkeys(ops, 0)
    for item in traces[0].items:
        if item.op in runs:
            runs[item.op] += 1
    return sorted(groups, key=lambda group: -max(runs[op] for op in group))


def _joined(ops: Sequence[Operation], pairs: Iterable[tuple[Operation, Operation]]) -> list[list[Operation]]:
    """The classes of `ops` in which those of each pair are together, in the order of their first members."""
    group_of = {op: [op] for op in ops}
    for a, b in pairs:
        into, other = group_of[a], group_of[b]
        if into is not other:
            into += other
            for op in other:
                group_of[op] = into
    distinct: dict[int, list[Operation]] = {}
    for op in ops:
        distinct.setdefault(id(group_of[op]), group_of[op])
    return list(distinct.values())
