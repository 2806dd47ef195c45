"""What select-schedule counts with is what plan-memory needs: the same bytes in every memory."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from ge_compiler import dialects
from ge_compiler.dialects import buf, fused, tile
from ge_compiler.dialects.memory import Space, bytes_of, mem_of
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import TARGET_ATTRIBUTE, NpuTarget, target_of
from ge_compiler.dialects.types import buffer_type
from ge_compiler.lowering.tiling.schedules import peaks
from ge_compiler.tools.opt.pass_manager import PassManager
from ge_compiler.transforms.iteration.domain import domain_of

MATMUL = """
func.func @main(%a: tensor<200x300xf16>, %w: tensor<150x300xf16>, %b: tensor<150xf16>) -> tensor<200x150xf16> {
  %0 = ge.MatMulV2 %a, %w, %b {transpose_x2} : (tensor<200x300xf16>, tensor<150x300xf16>, tensor<150xf16>) -> tensor<200x150xf16>
  %1 = ge.GeluV2 %0 {approximate = "none"} : (tensor<200x150xf16>) -> tensor<200x150xf16>
  func.return %1 : tensor<200x150xf16>
}
"""
VECTOR = """
func.func @main(%a: tensor<500x300xf16>, %b: tensor<300xf16>) -> tensor<500x300xf16> {
  %0 = ge.Swish %a : (tensor<500x300xf16>) -> tensor<500x300xf16>
  %1 = ge.Mul %0, %b : (tensor<500x300xf16>, tensor<300xf16>) -> tensor<500x300xf16>
  %2 = ge.Add %1, %a : (tensor<500x300xf16>, tensor<500x300xf16>) -> tensor<500x300xf16>
  func.return %2 : tensor<500x300xf16>
}
"""
ATTENTION = """
!q = tensor<2x4x100x40xf16>
!k = tensor<2x2x300x40xf16>
!v = tensor<2x2x300x80xf16>
!m = tensor<100x300xi1>
!r = tensor<80xf16>
!y = tensor<2x4x100x80xf16>
func.func @main(%q: !q, %k: !k, %v: !v, %m: !m, %r: !r) -> !y {
  %0 = ge.FlashAttentionScore %q, %k, %v, %m {scale_value = 0.125 : f32, is_causal} : (!q, !k, !v, !m) -> !y
  %1 = ge.Mul %0, %r : (!y, !r) -> !y
  func.return %1 : !y
}
"""
REDUCTION = """
func.func @main(%a: tensor<50x3000xf16>, %b: tensor<3000xf16>) -> tensor<50x3000xf16> {
  %0 = ge.SoftmaxV2 %a {axes = array<i64: 1>} : (tensor<50x3000xf16>) -> tensor<50x3000xf16>
  %1 = ge.Mul %0, %b : (tensor<50x3000xf16>, tensor<3000xf16>) -> tensor<50x3000xf16>
  func.return %1 : tensor<50x3000xf16>
}
"""
TURNED = """
func.func @main(%a: tensor<70x90xf16>, %b: tensor<90xf16>) -> tensor<90x70xf16> {
  %0 = ge.TransposeD %a {perm = array<i64: 1, 0>} : (tensor<70x90xf16>) -> tensor<90x70xf16>
  %1 = ge.Exp %0 : (tensor<90x70xf16>) -> tensor<90x70xf16>
  func.return %1 : tensor<90x70xf16>
}
"""
MATMUL_SCHEDULES: tuple[dict[str, int], ...] = (
    {},
    {"m": 16, "n": 48, "k": 64, "k0": 32, "l1": 3, "l0": 3, "ub": 3},
    {"m": 32, "n": 16, "k": 64, "k0": 64, "l1": 2, "l0": 1, "ub": 2, "skew": 1},
    {"m": 32, "n": 16, "k": 64, "k0": 32, "l1": 1, "l0": 1, "ub": 1},
    {"m": 32, "n": 32, "k": 64, "k0": 32, "splits": 2, "ub": 2},
)
VECTOR_SCHEDULES: tuple[dict[str, int], ...] = ({}, {"ub": 1}, {"m": 7, "n": 64, "ub": 2}, {"m": 8, "n": 300, "ub": 3})
ATTENTION_SCHEDULES: tuple[dict[str, int], ...] = (
    {},
    {"l1": 1, "l0": 1},
    {"m": 30, "n": 50, "k0": 16, "l1": 3, "l0": 2, "ub": 2},
    {"m": 100, "n": 100, "k0": 64, "l1": 1, "l0": 2},
)
REDUCTION_SCHEDULES: tuple[dict[str, int], ...] = (
    {},
    {"n": 512},
    {"m": 4, "n": 700, "ub": 1},
    {"m": 6, "n": 3000, "ub": 1},
    {"n": 96, "ub": 3},
)
TURNED_SCHEDULES: tuple[dict[str, int], ...] = ({}, {"m": 8, "n": 16, "ub": 2})
CASES = [
    *((REDUCTION, schedule) for schedule in REDUCTION_SCHEDULES),
    *((TURNED, schedule) for schedule in TURNED_SCHEDULES),
    *((MATMUL, schedule) for schedule in MATMUL_SCHEDULES),
    *((VECTOR, schedule) for schedule in VECTOR_SCHEDULES),
    *((ATTENTION, schedule) for schedule in ATTENTION_SCHEDULES),
]


def _planned(kernel: FuncOp, target: NpuTarget) -> dict[Space, int]:
    """The end of the highest buffer in each memory of the target."""
    ends = {space: 0 for space in target.spaces if space is not Space.GM}
    for op in kernel.walk():
        if isinstance(op, buf.AtOp):
            space, size = mem_of(op.result.type).space, bytes_of(buffer_type(op.result))
            ends[space] = max(ends[space], max(op.offsets.get_values()) + size)
    return ends


def _lower(module: ModuleOp, level: str) -> None:
    PassManager(f"to-{level}").run(dialects.context(), module)


@pytest.mark.parametrize("chip", ["Ascend910A", "Ascend910B2"])
@pytest.mark.parametrize(("text", "schedule"), CASES)
def test_the_bytes_that_a_schedule_counts_with_are_those_of_the_plan(text: str, schedule: dict[str, int], chip: str) -> None:
    module = parse_module(text)
    module.attributes[TARGET_ATTRIBUTE] = StringAttr(chip)
    _lower(module, "fused")
    (kernel,) = fused.kernels(module)
    kernel.attributes[tile.SCHEDULE_ATTRIBUTE] = tile.ScheduleAttr.of(schedule)
    PassManager("select-schedule").run(dialects.context(), module)
    complete = tile.schedule_of(kernel)
    assert complete is not None
    assert complete.values().items() >= schedule.items()
    target = target_of(module)
    counted = peaks(domain_of(kernel), complete.values(), target)
    _lower(module, "buf")
    (kernel,) = fused.kernels(module)
    assert _planned(kernel, target) == counted
