"""
Merge kernels where that moves fewer bytes through global memory, and the result is still one kernel.

    %0 = fused.kernel(%x, %w) {op_name = "fc1", ops = ["MatMulV2"]} ...
    %1 = fused.kernel(%0) {op_name = "act", ops = ["GeluV2"]} ...
    // becomes
    %1 = fused.kernel(%x, %w) {op_name = "fc1", ops = ["MatMulV2", "GeluV2"]} ...

A region is a kernel if it has an iteration domain. A value that several kernels use is computed in each of them if that costs less than
to read it back, or stays a result of the kernel that it is merged into. A pair that stays apart leaves a remark with the condition that
fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ge_compiler.dialects import fused
from ge_compiler.dialects.diagnostics import remark
from ge_compiler.transforms.grouping.grouping import Grouping, Option, Refusal
from ge_compiler.transforms.grouping.merging import name_of


@dataclass(frozen=True)
class GroupKernelsPass(ModulePass):
    """Merges kernels into those that use what they make."""

    name = "group-kernels"

    max_ops: int = 64
    """The most operators that one kernel may hold."""

    def __post_init__(self) -> None:
        if self.max_ops < 1:
            raise ValueError(f"max-ops must be at least 1, got {self.max_ops}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, FuncOp) and not f.is_declaration]:
            grouping = Grouping(function, self.max_ops)
            _group(grouping)
            grouping.write_bodies()
            for kernel in grouping.kernels():
                _explain(grouping, kernel)


class _Queue:
    """Producers by what it saves to merge them, most first; of equal ones the first in the function."""

    def __init__(self, grouping: Grouping) -> None:
        self.grouping = grouping
        self.heap: list[tuple[int, int, int]] = []
        self.entries: list[tuple[fused.KernelOp, Option]] = []
        self.current: dict[fused.KernelOp, int] = {}
        self.stale: set[fused.KernelOp] = set()

    def neighbour_changed(self, producer: fused.KernelOp) -> None:
        """Look for another option of a producer: at once if it has none, else when its turn comes."""
        if producer in self.current:
            self.stale.add(producer)
        else:
            self.ask(producer)

    def ask(self, producer: fused.KernelOp) -> None:
        """Look for the best option of a producer."""
        self.current.pop(producer, None)
        self.stale.discard(producer)
        option = _best(self.grouping, producer)
        if option is not None:
            self.current[producer] = len(self.entries)
            heappush(self.heap, (-option.gain, self.grouping.order.places[producer], len(self.entries)))
            self.entries.append((producer, option))

    def pop(self) -> tuple[fused.KernelOp, Option] | None:
        while self.heap:
            _, _, number = heappop(self.heap)
            producer, option = self.entries[number]
            if self.current.get(producer) != number or producer.parent is None:
                continue
            if producer not in self.stale:
                del self.current[producer]
                return producer, option
            self.ask(producer)
        return None


def _group(grouping: Grouping) -> None:
    """Whatever saves most first; whoever feeds a kernel that has changed is asked again."""
    queue = _Queue(grouping)
    for kernel in grouping.kernels():
        queue.ask(kernel)
    while (found := queue.pop()) is not None:
        producer, option = found
        if not grouping.is_possible(producer, option):  # others have moved
            queue.ask(producer)
            continue
        made = grouping.apply(producer, option)
        again: list[fused.KernelOp] = [kernel for new in made for kernel in (*_producers(new), new)]
        for kernel in dict.fromkeys([*again, producer]):
            if kernel.parent is not None:
                queue.neighbour_changed(kernel)


def _best(grouping: Grouping, producer: fused.KernelOp) -> Option | None:
    """What saves most bytes; of equal ones the first."""
    users = grouping.users(producer)
    consumers = [user for user in users if isinstance(user, fused.KernelOp)]
    options: list[Option | Refusal] = []
    if users and len(consumers) == len(users):
        options.append(grouping.into_all(producer, consumers))
    if len(users) > 1 and not (len(producer.inputs) <= 2 and grouping.body(producer).is_light and any(map(_saves, options))):
        options += [grouping.into_one(producer, consumer) for consumer in consumers]
        options.append(_copies(grouping, producer, consumers))
    legal = [option for option in options if isinstance(option, Option) and _saves(option)]
    return max(legal, key=lambda option: option.gain, default=None)


def _saves(option: Option | Refusal) -> bool:
    return isinstance(option, Option) and option.gain > 0


def _copies(grouping: Grouping, producer: fused.KernelOp, consumers: Sequence[fused.KernelOp]) -> Option:
    """Let those users do for themselves what the producer does that gain by it."""
    copies = [copied for c in consumers if isinstance(copied := grouping.copied(producer, c), Option) and copied.gain > 0]
    return Option(tuple(c for copied in copies for c in copied.consumers), sum(copied.gain for copied in copies))


def _explain(grouping: Grouping, kernel: fused.KernelOp) -> None:
    """Say why the kernels that feed `kernel` have stayed apart from it."""
    for producer in _producers(kernel):
        option = grouping.into_one(producer, kernel)
        if isinstance(option, Option):
            apart = grouping.price(producer) + grouping.price(kernel)
            option = Refusal("cost", f"together they would cost {apart - option.gain} bytes, apart {apart}")
        remark(GroupKernelsPass.name, kernel, option.code, f"{name_of(producer)} stays apart: {option.reason}")


def _producers(kernel: fused.KernelOp) -> list[fused.KernelOp]:
    """The kernels that make inputs of `kernel`, each once."""
    owners: dict[Operation, None] = dict.fromkeys(x.owner for x in kernel.operands if isinstance(x.owner, fused.KernelOp))
    return [owner for owner in owners if isinstance(owner, fused.KernelOp)]
