"""Tests of strided views of global memory: one program at tile, buf and npu, the bytes that it reads and writes, its faults."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

from ge_compiler import dialects
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.parser import parse_module
from ge_compiler.runtime.execute import execute
from ge_compiler.tools.opt.pass_manager import PassManager

TO_BUF = "bufferize-tile,plan-memory,verify-memory,verify-stage{stage=buf}"
TO_NPU = f"{TO_BUF},convert-buf-to-npu,insert-sync{{mode=flags}},allocate-events,verify-sync,verify-stage{{stage=npu}}"
LEVELS = {"tile": "", "buf": TO_BUF, "npu": TO_NPU}

KERNEL = """
builtin.module attributes {{ge.target = "{target}"}} {{
  func.func private @k(%x: tensor<6x8xf32>, %y: tensor<{out}xf32>) {{
    {body}
    func.return
  }}
  func.func @main(%x: tensor<6x8xf32>) -> tensor<{out}xf32> {{
    %d = tensor.empty() : tensor<{out}xf32>
    %r = fused.launch @k(%x) into (%d) on aicore {{op_name = "k", ops = ["K"]}}
      : (tensor<6x8xf32>) into (tensor<{out}xf32>) -> tensor<{out}xf32>
    func.return %r : tensor<{out}xf32>
  }}
}}
"""


def _load_and_store(into: str, window: str, shape: str) -> str:
    """A kernel that copies a view of the input, a matrix of `shape`, into the value `into` of the same shape."""
    ub = f"tensor<{shape}xf32, #npu.mem<ub>>"
    rows, columns = shape.split("x")
    return f"""
    %v = tile.view %x {window} : tensor<6x8xf32> to tensor<{shape}xf32>
    tile.forall (%i) in (1) {{
      %a = tile.load %v[0, 0] valid [{rows}, {columns}] : tensor<{shape}xf32> to {ub}
      tile.store %a into {into}[0, 0] : {ub} into tensor<{shape}xf32>
    }}"""


def _module(body: str, out: str, passes: str, target: str = "Ascend910A") -> ModuleOp:
    module = parse_module(KERNEL.format(body=body, out=out, target=target))
    PassManager(passes).run(dialects.context(), module)
    return parse_module(str(module))


X = np.arange(48, dtype=np.float32).reshape(6, 8)


def _run(body: str, out: str, passes: str, target: str = "Ascend910A") -> npt.NDArray[Any]:
    return execute(_module(body, out, passes, target), [X], {})[0]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("strides [1, 8]", X.T),
        ("offset 2 strides [16, 3]", X[::2, 2::3]),
        ("offset 8 strides [0, 1]", np.broadcast_to(X[1], (5, 8))),
        ("offset 7 strides [8, 0]", np.repeat(X[:, 7:], 3, axis=1)),
        ("offset 47", X[5:, 7:]),
        ("offset 12", X.reshape(-1)[12:24].reshape(3, 4)),
        ("", X.reshape(3, 16)),
        ("strides [4, 8]", np.empty((0, 6), np.float32)),
    ],
)
def test_a_view_reads_the_same_elements_at_every_level(window: str, expected: npt.NDArray[Any], level: str) -> None:
    shape = "x".join(map(str, expected.shape))
    np.testing.assert_array_equal(_run(_load_and_store("%y", window, shape), shape, LEVELS[level]), expected)


@pytest.mark.parametrize("level", LEVELS)
def test_a_store_through_a_view_writes_what_the_view_shows(level: str) -> None:
    body = """
    %even = tile.view %y strides [1, 12] : tensor<8x12xf32> to tensor<12x8xf32>
    %a = tile.view %y strides [1, 24] : tensor<8x12xf32> to tensor<6x4xf32>
    %b = tile.view %y offset 6 strides [1, 24] : tensor<8x12xf32> to tensor<6x4xf32>
    %c = tile.view %y offset 12 strides [24, 1] : tensor<8x12xf32> to tensor<4x12xf32>
    tile.forall (%i) in (1) {
      %x4 = tile.load %x[0, 4] valid [6, 4] : tensor<6x8xf32> to tensor<6x4xf32, #npu.mem<ub>>
      tile.store %x4 into %a[0, 0] : tensor<6x4xf32, #npu.mem<ub>> into tensor<6x4xf32>
      tile.store %x4 into %b[0, 0] : tensor<6x4xf32, #npu.mem<ub>> into tensor<6x4xf32>
      %f = tile.full -1.0 : f32 valid [4, 12] to tensor<4x12xf32, #npu.mem<ub>>
      tile.store %f into %c[0, 0] : tensor<4x12xf32, #npu.mem<ub>> into tensor<4x12xf32>
    }"""
    expected = np.full((8, 12), -1, np.float32)
    expected[::2, :6] = expected[::2, 6:] = X[:, 4:].T
    np.testing.assert_array_equal(_run(body, "8x12", LEVELS[level]), expected)


def test_what_a_view_leaves_out_stays_unwritten() -> None:
    body = _load_and_store("%w", "strides [8, 1]", "6x4").replace(
        "tile.forall", "%w = tile.view %y strides [8, 1] : tensor<6x8xf32> to tensor<6x4xf32>\n    tile.forall"
    )
    with pytest.raises(CompileError, match=r'reads gm bytes .* of buffer "%out0", which nothing has written'):
        _run(body, "6x8", TO_NPU)


def test_lanes_load_and_store_parts_of_views() -> None:
    body = """
    %t = tile.view %x strides [1, 8] : tensor<6x8xf32> to tensor<8x6xf32>
    %v = tile.view %y strides [1, 8] : tensor<6x8xf32> to tensor<8x6xf32>
    tile.forall (%i) in (1) {
      %lane = npu.sub_block_idx
      %c4 = arith.constant 4 : index
      %row = arith.muli %lane, %c4 : index
      %a = tile.load %t[%row, 0] valid [4, 6] : tensor<8x6xf32> to tensor<4x6xf32, #npu.mem<ub>>
      tile.store %a into %v[%row, 0] : tensor<4x6xf32, #npu.mem<ub>> into tensor<8x6xf32>
    }"""
    for passes in LEVELS.values():
        np.testing.assert_array_equal(_run(body, "6x8", passes, "Ascend910B2"), X)


def test_two_lanes_that_write_one_element_through_views_are_reported() -> None:
    body = """
    %a = tile.view %y strides [1, 8] : tensor<6x8xf32> to tensor<8x6xf32>
    tile.forall (%i) in (1) {
      %f = tile.full 1.0 : f32 valid [8, 6] to tensor<8x6xf32, #npu.mem<ub>>
      tile.store %f into %a[0, 0] : tensor<8x6xf32, #npu.mem<ub>> into tensor<8x6xf32>
    }"""
    with pytest.raises(CompileError, match="lane"):
        _run(body, "6x8", TO_NPU, "Ascend910B2")


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ("%v = tile.view %x strides [1, 8] : tensor<6x8xf32> to tensor<6x8xf32>", r"reaches element 61 of tensor<6x8xf32>, which has 48"),
        ("%v = tile.view %x offset 48 : tensor<6x8xf32> to tensor<1x1xf32>", r"reaches element 48 of"),
        ("%v = tile.view %x offset -1 strides [1] : tensor<6x8xf32> to tensor<2xf32>", r"no negative offset or strides"),
        ("%v = tile.view %x offset 7 strides [-1] : tensor<6x8xf32> to tensor<2xf32>", r"no negative offset or strides"),
        (
            "%v = tile.view %x strides [1] : tensor<6x8xf32> to tensor<2x2xf32>",
            r"needs a stride for each dimension of tensor<2x2xf32>, got \[1\]",
        ),
        (
            "%w = tile.view %x strides [1, 8] : tensor<6x8xf32> to tensor<8x6xf32>\n%v = tile.view %w : tensor<8x6xf32> to tensor<48xf32>",
            r"view of a strided view",
        ),
        (
            _load_and_store("%w", "", "3x16").replace(
                "tile.forall", "%w = tile.view %y strides [8, 1] : tensor<6x8xf32> to tensor<3x16xf32>\n    tile.forall"
            ),
            r"'tile.store' op writes into a view that overlaps itself: offset 0, shape \[3, 16\], strides \[8, 1\]",
        ),
    ],
)
def test_faulty_views_are_refused(view: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        _module(view, "6x8", "")


def test_between_launches_a_view_has_all_elements_in_order() -> None:
    text = """
    builtin.module {
      func.func @main(%x: tensor<6x8xf32>) -> tensor<8x6xf32> {
        %0 = tile.view %x strides [1, 8] : tensor<6x8xf32> to tensor<8x6xf32>
        func.return %0 : tensor<8x6xf32>
      }
    }"""
    module = parse_module(text)
    np.testing.assert_array_equal(execute(module, [X], {})[0], X.T)
    with pytest.raises(CompileError, match=r"'tile\.view' op shows only a part of its source, or in another order"):
        PassManager(TO_BUF).run(dialects.context(), module)
