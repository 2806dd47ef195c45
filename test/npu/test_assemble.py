"""Lanes' parts that become one tile for the cube: the same bits at every level, in any number of lanes, for ragged and empty parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ge_compiler import dialects
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import load_target
from ge_compiler.runtime.execute import execute
from ge_compiler.tools.opt.pass_manager import PassManager

OWN_CHIP = str(Path(__file__).parents[2] / "examples" / "my_npu.toml")
CHIPS = ("Ascend910A", "Ascend910B2", OWN_CHIP)
STEPS = (
    "verify-stage{stage=tile}",
    "bufferize-tile,multi-buffer,plan-memory,verify-memory,verify-stage{stage=buf}",
    "convert-buf-to-npu,insert-sync{mode=flags},remove-redundant-sync,allocate-events,verify-sync,verify-stage{stage=npu}",
)


def kernel(chip: str, rows: int, inner: int, columns: int, m: int) -> str:
    """y = relu(x) · w: lanes compute relu, the cube multiplies."""
    target = load_target(chip)
    share = -(-m // target.vec_per_cube)
    if target.is_split:
        assembled, brought = "gm", f"%a = tile.load %g[0, 0] valid [%m, {inner}] : tensor<{m}x{inner}xf16, #npu.mem<gm>> to !l1"
        finish = f"tile.store %acc into %y[%m0, 0] : !acc into tensor<{rows}x{columns}xf32>"
        g, a = "%g", "%a"
    else:
        assembled, brought, g, a = "l1", "", "%a", "%a"
        finish = f"""%u = tile.move %acc[0, 0] valid [%m, {columns}] : !acc to tensor<{m}x{columns}xf32, #npu.mem<ub>>
      tile.store %u into %y[%m0, 0] : tensor<{m}x{columns}xf32, #npu.mem<ub>> into tensor<{rows}x{columns}xf32>"""
    return f"""
!l1 = tensor<{m}x{inner}xf16, #npu.mem<l1>>
!part = tensor<{share}x{inner}xf32, #npu.mem<ub>>
!acc = tensor<{m}x{columns}xf32, #npu.mem<l0c>>
!half = tensor<{share}x{inner}xf16, #npu.mem<ub>>
!whole = tensor<{m}x{inner}xf16, #npu.mem<{assembled}>>
!a0 = tensor<{m}x{inner}xf16, #npu.mem<l0a>>
!b1 = tensor<{inner}x{columns}xf16, #npu.mem<l1>>
!b0 = tensor<{inner}x{columns}xf16, #npu.mem<l0b>>
!x = tensor<{rows}x{inner}xf32>
!w = tensor<{inner}x{columns}xf16>
!y = tensor<{rows}x{columns}xf32>
module attributes {{ge.target = "{chip}"}} {{
  func.func private @k(%x: !x, %w: !w, %y: !y) {{
    %cm = arith.constant {m} : index
    %share = arith.constant {share} : index
    %rows = arith.constant {rows} : index
    %zero = arith.constant 0 : index
    %true = arith.constant true
    tile.grid_loop %t (%i) in ({-(-rows // m)}) {{
      %m0 = arith.muli %i, %cm : index
      %left = arith.subi %rows, %m0 : index
      %m = arith.minsi %left, %cm : index
      %lane = npu.sub_block_idx
      %start = arith.muli %lane, %share : index
      %l0 = arith.subi %m, %start : index
      %l1 = arith.minsi %l0, %share : index
      %part = arith.maxsi %l1, %zero : index
      %at = arith.addi %m0, %start : index
      %p = tile.load %x[%at, 0] valid [%part, {inner}] : !x to !part
      %r = tile.relu %p : !part -> !part
      %h = tile.cast %r : !part to !half
      {g} = tile.assemble %h[%start, 0] valid [%m, {inner}] : !half to !whole
      {brought}
      %b = tile.load %w[0, 0] valid [{inner}, {columns}] : !w to !b1
      %a0 = tile.move {a}[0, 0] valid [%m, {inner}] : !l1 to !a0
      %b0 = tile.move %b[0, 0] valid [{inner}, {columns}] : !b1 to !b0
      %empty = tile.undef : !acc
      %acc = tile.mmad %a0, %b0, %empty init %true : !a0, !b0, !acc -> !acc
      {finish}
    }}
    func.return
  }}
  func.func @main(%x: !x, %w: !w) -> !y {{
    %e = tensor.empty() : !y
    %y = fused.launch @k(%x, %w) into (%e) on aicore {{ops = ["k"], op_name = "k"}} : (!x, !w) into (!y) -> !y
    func.return %y : !y
  }}
}}
"""


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(("rows", "m"), [(1, 16), (2, 2), (37, 16), (100, 20), (9, 9), (700, 16)])
def test_the_cube_multiplies_what_lanes_computed(chip: str, rows: int, m: int) -> None:
    generator = np.random.default_rng(rows)
    x, w = generator.standard_normal((rows, 24)).astype(np.float32), generator.standard_normal((24, 40)).astype(np.float16)
    module, outputs = parse_module(kernel(chip, rows, 24, 40, m)), list[np.ndarray[Any, Any]]()
    for steps in STEPS:
        PassManager(steps).run(dialects.context(), module)
        outputs += execute(module, [x, w], {})
        module = parse_module(str(module))
    expected = np.maximum(x, 0).astype(np.float16).astype(np.float64) @ w.astype(np.float64)
    np.testing.assert_allclose(outputs[0], expected, rtol=1e-5, atol=1e-5)
    assert len({output.tobytes() for output in outputs}) == 1


def test_an_element_that_no_lane_has_is_named() -> None:
    text = kernel("Ascend910B2", 20, 24, 40, 20).replace("%part = arith.maxsi %l1, %zero", "%part = arith.minsi %l1, %zero")
    with pytest.raises(CompileError, match=r"no part holds element \(0, 0\) of the tile's 20x24"):
        execute(parse_module(text), [np.zeros((20, 24), np.float32), np.zeros((24, 40), np.float16)], {})
