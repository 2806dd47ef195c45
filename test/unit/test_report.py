"""Tests of what a report says about global memory."""

from __future__ import annotations

from ge_compiler import dialects
from ge_compiler.dialects.parser import parse_module
from ge_compiler.runtime.report import report
from ge_compiler.tools.opt.pass_manager import PassManager

TEXT = """
builtin.module attributes {ge.target = "Ascend910A"} {
  ge.weight @w : tensor<100xf32>
  func.func private @k(%x: tensor<64xf32>, %w: tensor<100xf32>, %y: tensor<64xf32>) {
    %part = tensor.empty() : tensor<8x64xf32>
    %other = tensor.empty() : tensor<4x64xf32>
    func.return
  }
  func.func private @step(%x: tensor<64xf32>, %s: tensor<16xf32>, %out: tensor<16xf32>) {
    func.return
  }
  func.func @main(%x: tensor<64xf32>, %s: tensor<16xf32> {ge.updated_by = 1 : i64}) -> (tensor<64xf32>, tensor<16xf32>) {
    %w = ge.load_weight @w : tensor<100xf32>
    %0 = tensor.empty() : tensor<64xf32>
    %a = fused.launch @k(%x, %w) into (%0) on aicore {op_name = "a", ops = ["A"]}
      : (tensor<64xf32>, tensor<100xf32>) into (tensor<64xf32>) -> tensor<64xf32>
    %1 = tensor.empty() : tensor<64xf32>
    %b = fused.launch @k(%a, %w) into (%1) on aicore {op_name = "b", ops = ["A"]}
      : (tensor<64xf32>, tensor<100xf32>) into (tensor<64xf32>) -> tensor<64xf32>
    %n = fused.launch @step(%b, %s) into (%s) on aicore {op_name = "s", ops = ["S"]}
      : (tensor<64xf32>, tensor<16xf32>) into (tensor<16xf32>) -> tensor<16xf32>
    func.return %b, %n : tensor<64xf32>, tensor<16xf32>
  }
}
"""


def test_global_memory_is_split_by_what_holds_it() -> None:
    module = parse_module(TEXT)
    above = report({"tile": module})
    assert above.hbm == {"weights": 400, "inputs": 256, "states": 64, "outputs": 256, "intermediates": 0, "workspace": 0}
    PassManager("bufferize-tile,plan-memory").run(dialects.context(), module)
    below = report({"buf": module})
    assert below.hbm == {"weights": 400, "inputs": 256, "states": 64, "outputs": 256, "intermediates": 256, "workspace": 12 * 64 * 4}
    assert below.hbm_peak == 400 + 2 * 256 + 64 + 256 + 12 * 64 * 4
