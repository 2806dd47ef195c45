"""
Let kernels read and write through views, so that reshapes, transposes, slices and repetitions move no bytes.

    %1 = fused.kernel(%0) {op_name = "heads", ops = ["TransposeD"]} ...       // a view alone
    %2 = fused.kernel(%1) {op_name = "act", ops = ["GeluV2"]} ...
    // becomes
    %2 = fused.kernel(%0) {op_name = "act", ops = ["GeluV2", "TransposeD"]} ...

Every user of a view that can read in its way takes it over; where one cannot, the kernel that makes the value writes it in that way. A
concat whose pieces are computed apart becomes a chain of kernels that each write one piece into the same memory. What stays is a kernel
that copies; a remark says why.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ge_compiler.dialects import fused
from ge_compiler.dialects.diagnostics import remark
from ge_compiler.transforms.grouping.cost import bytes_of_tensor
from ge_compiler.transforms.grouping.grouping import Grouping, Option, Refusal
from ge_compiler.transforms.grouping.merging import name_of
from ge_compiler.transforms.grouping.pieces import split_concats

MAX_OPS = 256
"""The most operators that a kernel may hold, with the views that it takes over."""


@dataclass(frozen=True)
class ElideViewsPass(ModulePass):
    """Lets kernels read and write through views instead of copies."""

    name = "elide-views"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, FuncOp) and not f.is_declaration]:
            grouping = Grouping(function, MAX_OPS)
            _forward(grouping)
            pending = deque(grouping.kernels())
            while pending:
                kernel = pending.popleft()
                if kernel.parent is not None and grouping.body(kernel).is_view:
                    pending.extendleft(_elide(grouping, kernel))
            grouping.write_bodies()
            split_concats(grouping, self.name)


def _forward(grouping: Grouping) -> None:
    """What a kernel only hands through is its input; where it needs memory of its own, it is copied later. What nobody uses goes."""
    for kernel in reversed(grouping.kernels()):
        for result, value in zip(kernel.results, kernel.yielded.values, strict=True):
            if value in kernel.body.block.args:
                result.replace_all_uses_with(kernel.inputs[kernel.body.block.args.index(value)])
        if not any(result.uses for result in kernel.results):
            grouping.erase(kernel)


def _elide(grouping: Grouping, view: fused.KernelOp) -> list[fused.KernelOp]:
    """The kernels that do for themselves what a view did."""
    refusals: list[str] = []
    made: list[fused.KernelOp] = []
    for user in grouping.users(view):
        option = grouping.copied(view, user) if isinstance(user, fused.KernelOp) else None
        if isinstance(option, Option):
            made += grouping.apply(view, option)
        elif option is not None and isinstance(user, fused.KernelOp):
            refusals.append(f"{name_of(user)}: {option.code}: {option.reason}")
        else:
            refusals.append("a result needs memory of its own")
    if refusals and not _write_as(grouping, view):
        moved = 2 * bytes_of_tensor(view.outputs[0])
        remark(ElideViewsPass.name, view, "copy", f"{name_of(view)} stays a copy, which moves {moved} bytes: {'; '.join(refusals)}")
    return made


def _write_as(grouping: Grouping, view: fused.KernelOp) -> bool:
    """Let the kernel that makes what a view shows write it as the view shows it, if that moves fewer bytes."""
    producer = view.inputs[0].owner
    if not isinstance(producer, fused.KernelOp):
        return False
    option = grouping.into_one(producer, view)
    if isinstance(option, Refusal) or option.gain <= 0:
        return False
    grouping.apply(producer, option)
    return True
