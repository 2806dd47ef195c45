"""Every op that a pass makes says where it comes from."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from ge_compiler import dialects
from ge_compiler.dialects.diagnostics import location_text, source_location
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import complete_targets
from ge_compiler.lowering.pipelines import PIPELINES
from ge_compiler.tools.opt.pipeline_text import build_pass, parse_pipeline

PROGRAMS = {
    "mlp": (Path(__file__).parents[1] / "pipelines" / "mlp.mlir").read_text(),
    "batches": """
        ge.weight @w : tensor<3x5x7xf16>
        func.func @main(%x: tensor<2x1x33x5xf16>, %s: tensor<f16>) -> (tensor<2x3x33x7xf16>, tensor<2x3x33x7xf16>) {
          %w = ge.load_weight @w : tensor<3x5x7xf16>
          %c = ge.Const dense<0.5> : tensor<1x7xf16>
          %0 = ge.BatchMatMulV2 %x, %w : (tensor<2x1x33x5xf16>, tensor<3x5x7xf16>) -> tensor<2x3x33x7xf16>
          %1 = ge.Mul %0, %c : (tensor<2x3x33x7xf16>, tensor<1x7xf16>) -> tensor<2x3x33x7xf16>
          %2 = ge.Add %1, %s : (tensor<2x3x33x7xf16>, tensor<f16>) -> tensor<2x3x33x7xf16>
          %3 = ge.Tanh %2 : (tensor<2x3x33x7xf16>) -> tensor<2x3x33x7xf16>
          func.return %2, %3 : tensor<2x3x33x7xf16>, tensor<2x3x33x7xf16>
        }""",
    "vector": """
        func.func @main(%x: tensor<100x300xf32>, %row: tensor<300xf32>) -> (tensor<100x300xf32>, tensor<100x300xf32>) {
          %0 = ge.RealDiv %x, %row : (tensor<100x300xf32>, tensor<300xf32>) -> tensor<100x300xf32>
          %1 = ge.Adds %0 {value = 0.5 : f32} : (tensor<100x300xf32>) -> tensor<100x300xf32>
          func.return %1, %x : tensor<100x300xf32>, tensor<100x300xf32>
        }""",
    "nothing to sum": """
        func.func @main(%x: tensor<4x0xf16>, %w: tensor<0x6xf16>) -> tensor<4x6xf16> {
          %0 = ge.MatMulV2 %x, %w : (tensor<4x0xf16>, tensor<0x6xf16>) -> tensor<4x6xf16>
          func.return %0 : tensor<4x6xf16>
        }""",
    "integers": """
        func.func @main(%x: tensor<40x70xi8>, %w: tensor<50x70xi8>) -> tensor<40x50xi32> {
          %0 = ge.MatMulV2 %x, %w {transpose_x2} : (tensor<40x70xi8>, tensor<50x70xi8>) -> tensor<40x50xi32>
          %1 = ge.Neg %0 : (tensor<40x50xi32>) -> tensor<40x50xi32>
          func.return %1 : tensor<40x50xi32>
        }""",
}


def without_a_place(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if op is not module and source_location(op.location) is None]


@pytest.mark.parametrize("target", complete_targets())
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_op_has_a_place_after_every_pass(program: str, target: str) -> None:
    module = parse_module(PROGRAMS[program], "model.mlir")
    module.attributes["ge.target"] = StringAttr(target)
    context = dialects.context()
    for step in PIPELINES["to-npu"].steps():
        for call in parse_pipeline(step.pass_spec):
            build_pass(call).apply(context, module)
            assert not without_a_place(module), f"after {call}"
    # The places are those of the program, not of some other text.
    assert {location_text(op.location).split(":")[0] for op in module.walk() if op is not module} == {"model.mlir"}


def test_a_merged_kernel_has_the_places_of_all_its_operators() -> None:
    module = parse_module(PROGRAMS["mlp"], "model.mlir")
    context = dialects.context()
    for step in PIPELINES["to-fused"].steps():
        for call in parse_pipeline(step.pass_spec):
            build_pass(call).apply(context, module)
    launches = [op for op in module.walk() if op.name == "fused.launch"]
    assert [str(op.location).count("model.mlir") for op in launches] == [2, 1]
