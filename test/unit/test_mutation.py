"""What verify-sync sees: every program with one thing wrong that can do harm is reported, and every flag of a program is needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from ge_compiler.dialects.fused import kernels
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import target_of
from ge_compiler.runtime.checks.mutation import mutants
from ge_compiler.runtime.checks.mutation_score import Bench, Score, score
from ge_compiler.tools.compilation import Options, lower

NPU = Path(__file__).parents[1] / "npu"
TARGETS = ("Ascend910A", "Ascend910B2")
MLP = """
func.func @main(%x: tensor<20x64xf16>, %w1: tensor<96x64xf16>, %b1: tensor<96xf16>, %w2: tensor<64x96xf16>) -> tensor<20x64xf16> {
  %0 = ge.MatMulV2 %x, %w1, %b1 {transpose_x2} : (tensor<20x64xf16>, tensor<96x64xf16>, tensor<96xf16>) -> tensor<20x96xf16>
  %1 = ge.Relu %0 : (tensor<20x96xf16>) -> tensor<20x96xf16>
  %2 = ge.MatMulV2 %1, %w2 {transpose_x2} : (tensor<20x96xf16>, tensor<64x96xf16>) -> tensor<20x64xf16>
  func.return %2 : tensor<20x64xf16>
}
"""
SPLIT_K = """
func.func @main(%x: tensor<16x256xf16>, %w: tensor<256x32xf16>) -> tensor<16x32xf16> {
  %0 = ge.MatMulV2 %x, %w : (tensor<16x256xf16>, tensor<256x32xf16>) -> tensor<16x32xf16>
  func.return %0 : tensor<16x32xf16>
}
"""
ELEMENTWISE = """
func.func @main(%x: tensor<300x40xf16>, %y: tensor<300x40xf16>) -> tensor<300x40xf16> {
  %0 = ge.Add %x, %y : (tensor<300x40xf16>, tensor<300x40xf16>) -> tensor<300x40xf16>
  %1 = ge.Abs %0 : (tensor<300x40xf16>) -> tensor<300x40xf16>
  func.return %1 : tensor<300x40xf16>
}
"""
SOFTMAX = """
func.func @main(%x: tensor<70x50xf16>) -> tensor<70x50xf16> {
  %0 = ge.SoftmaxV2 %x {axes = array<i64: 1>} : (tensor<70x50xf16>) -> tensor<70x50xf16>
  func.return %0 : tensor<70x50xf16>
}
"""
MODELS = {
    "mlp": (MLP, ("MatMulV2Relu=m:16,n:32,k:32,k0:16",)),
    "split-k": (SPLIT_K, ("MatMulV2=m:16,n:32,k:32,k0:16,splits:4",)),
    "elementwise": (ELEMENTWISE, ("AddAbs=m:4,n:40",)),
    "softmax": (SOFTMAX, ("SoftmaxV2=m:4,n:16",)),
}


def compiled(model: str, target: str) -> ModuleOp:
    text, tiling = MODELS[model]
    *_, (_, module) = lower(parse_module(text), Options(target=target, tiling=tiling))
    return module


def check_scores(module: ModuleOp, orders: int) -> list[Score]:
    """Every single flag and barrier is needed, and no mutant that does harm is missed."""
    scores = [score(module, kernel.sym_name.data, orders=orders) for kernel in kernels(module)]
    for result in scores:
        for kind, row in result.rows.items():
            assert row.harmful_reported == row.harmful, (kind, row.unreported)
        removed = result.rows["removed"]
        assert removed.made == result.synchronisations
        assert removed.reported == removed.made, removed.unreported
        assert removed.harmful > 0
    return scores


@pytest.mark.parametrize("name", ["elementwise", "split_k"])
def test_a_kernel_by_hand(name: str) -> None:
    (result,) = check_scores(parse_module((NPU / f"{name}.mlir").read_text()), orders=4)
    assert all(row.reported == row.made for row in result.rows.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["elementwise", "split_k", "matmul_double_buffered", "matmul_split_chip"])
def test_a_kernel_by_hand_in_many_orders(name: str) -> None:
    (result,) = check_scores(parse_module((NPU / f"{name}.mlir").read_text()), orders=20)
    assert all(row.reported == row.made for row in result.rows.values())


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("model", MODELS)
def test_what_the_compiler_writes(model: str, target: str) -> None:
    check_scores(compiled(model, target), orders=20)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("model", ["mlp", "elementwise", "softmax"])
def test_what_the_compiler_writes_does_not_depend_on_the_order(model: str, target: str) -> None:
    for kernel in kernels(compiled(model, target)):
        assert not Bench(kernel, target_of(compiled(model, target)), orders=10).is_harmful(kernel)


def test_mutants_leave_their_origin_alone() -> None:
    module = parse_module((NPU / "elementwise.mlir").read_text())
    before = str(module)
    found = list(mutants(module, "sigmoid"))
    assert str(module) == before
    assert {mutant.kind for mutant in found} == {"removed", "number", "slot"}
    assert all(str(mutant.module) != before for mutant in found)
    assert len({str(mutant.module) for mutant in found}) == len(found)
