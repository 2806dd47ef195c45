"""Which kernels a merged kernel stems from: what it is called after, each once, however often it has been taken over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from ge_compiler.dialects import fused
from ge_compiler.dialects.types import is_integer, tensor_type
from ge_compiler.transforms.grouping.simplification import is_view


class Weight(IntEnum):
    """How much of a kernel's work an origin is: the kernel has the place in the model of its heaviest one."""

    ANCHOR = 0
    REDUCTION = 1
    OTHER = 2
    INDICES = 3
    """Views, and integers that say where something is."""


@dataclass(frozen=True)
class Origin:
    """A kernel as it was before any was merged."""

    is_minor: bool
    number: int
    """Its place in the function."""
    weight: Weight
    ops: tuple[str, ...]
    op_name: str


def origin_of(kernel: fused.KernelOp, number: int) -> Origin:
    """The origin that a kernel is itself."""
    weight = _weight(kernel)
    return Origin(weight is Weight.INDICES, number, weight, tuple(op.data for op in kernel.ops), kernel.op_name.data)


def _weight(kernel: fused.KernelOp) -> Weight:
    ops = list(kernel.body.block.ops)
    if any(isinstance(op, fused.Anchor) for op in ops):
        return Weight.ANCHOR
    if any(isinstance(op, fused.ReduceOp | fused.ScatterOp | fused.InsertOp) for op in ops):
        return Weight.REDUCTION
    if is_view(kernel.body.block) or all(is_integer(tensor_type(y).get_element_type()) for y in kernel.outputs):
        return Weight.INDICES
    return Weight.OTHER


def names(origins: Iterable[Origin]) -> tuple[list[str], str]:
    """The operators of a kernel that stems from `origins`, minor ones last, and its place in the model."""
    ordered = sorted(origins, key=lambda origin: (origin.is_minor, origin.number, origin.weight, origin.ops, origin.op_name))
    heaviest = min(ordered, key=lambda origin: origin.weight)
    return [op for origin in ordered for op in origin.ops], heaviest.op_name
