"""Tests of launches that write over a value: states of @main, chains of updates, what tied means, at every level."""

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

Array = npt.NDArray[Any]

TO_BUF = "bufferize-tile,plan-memory,verify-memory,verify-stage{stage=buf}"
TO_NPU = f"{TO_BUF},convert-buf-to-npu,insert-sync{{mode=flags}},allocate-events,verify-sync,verify-stage{{stage=npu}}"
LEVELS = {"tile": "", "buf": TO_BUF, "npu": TO_NPU}

KERNELS = """
  func.func private @rows(%x: tensor<2x8xf32>, %into: tensor<6x8xf32>, %out: tensor<6x8xf32>) {
    tile.forall (%i) in (1) {
      %a = tile.load %x[0, 0] valid [2, 8] : tensor<2x8xf32> to tensor<2x8xf32, #npu.mem<ub>>
      tile.store %a into %out[2, 0] : tensor<2x8xf32, #npu.mem<ub>> into tensor<6x8xf32>
    }
    func.return
  }
  func.func private @twice(%x: tensor<6x8xf32>, %out: tensor<6x8xf32>) {
    tile.forall (%i) in (3) {
      %c2 = arith.constant 2 : index
      %r = arith.muli %i, %c2 : index
      %a = tile.load %x[%r, 0] valid [2, 8] : tensor<6x8xf32> to tensor<2x8xf32, #npu.mem<ub>>
      %b = tile.muls %a {scalar = 2.0 : f32} : tensor<2x8xf32, #npu.mem<ub>> -> tensor<2x8xf32, #npu.mem<ub>>
      tile.store %b into %out[%r, 0] : tensor<2x8xf32, #npu.mem<ub>> into tensor<6x8xf32>
    }
    func.return
  }
"""

ROWS = '{op_name = "rows", ops = ["SliceUpdate"]} : (tensor<2x8xf32>, tensor<6x8xf32>) into (tensor<6x8xf32>) -> tensor<6x8xf32>'
TWICE = '{op_name = "twice", ops = ["Muls"]} : (tensor<6x8xf32>) into (tensor<6x8xf32>) -> tensor<6x8xf32>'

X = np.arange(16, dtype=np.float32).reshape(2, 8)
CACHE = np.full((6, 8), -1, np.float32)


def _module(main: str, passes: str, kernels: str = KERNELS) -> ModuleOp:
    module = parse_module(f'builtin.module attributes {{ge.target = "Ascend910A"}} {{ {kernels} {main} }}')
    PassManager(passes).run(dialects.context(), module)
    return parse_module(str(module))


def _updated(x: Array = X, cache: Array = CACHE) -> Array:
    new = cache.copy()
    new[2:4] = x
    return new


STATE = f"""
  func.func @main(%x: tensor<2x8xf32>, %cache: tensor<6x8xf32> {{ge.updated_by = 1 : i64}}) -> (tensor<6x8xf32>, tensor<6x8xf32>) {{
    %new = fused.launch @rows(%x, %cache) into (%cache) on aicore {ROWS}
    %d = tensor.empty() : tensor<6x8xf32>
    %y = fused.launch @twice(%new) into (%d) on aicore {TWICE}
    func.return %y, %new : tensor<6x8xf32>, tensor<6x8xf32>
  }}"""


@pytest.mark.parametrize("level", LEVELS)
def test_a_state_is_updated_in_its_own_bytes_and_the_callers_array_is_left_alone(level: str) -> None:
    cache = CACHE.copy()
    y, new = execute(_module(STATE, LEVELS[level]), [X, cache], {})
    np.testing.assert_array_equal(y, _updated() * 2)
    np.testing.assert_array_equal(new, _updated())
    np.testing.assert_array_equal(cache, CACHE)
    new[...] = 0  # it is the caller's


def test_with_addresses_a_state_has_no_result_argument() -> None:
    text = str(_module(STATE, TO_BUF))
    assert (
        "func.func @main(%x: memref<2x8xf32>, %cache: memref<6x8xf32> {ge.updated_by = 1 : i64}, %out0: memref<6x8xf32>) "
        "attributes {results = 1 : i64}" in text
    )
    assert "fused.launch @rows(%x, %cache) into(%cache)" in text
    assert "buf.at" not in text.partition("@main")[2]


@pytest.mark.parametrize("level", LEVELS)
def test_pieces_are_written_into_one_tensor(level: str) -> None:
    """A chain that starts with an empty tensor is one buffer; what it feeds reads it whole."""
    kernels = """
  func.func private @top(%x: tensor<2x8xf32>, %into: tensor<4x8xf32>, %out: tensor<4x8xf32>) {
    tile.forall (%i) in (1) {
      %a = tile.load %x[0, 0] valid [2, 8] : tensor<2x8xf32> to tensor<2x8xf32, #npu.mem<ub>>
      tile.store %a into %out[0, 0] : tensor<2x8xf32, #npu.mem<ub>> into tensor<4x8xf32>
    }
    func.return
  }
  func.func private @bottom(%x: tensor<2x8xf32>, %into: tensor<4x8xf32>, %out: tensor<4x8xf32>) {
    tile.forall (%i) in (1) {
      %a = tile.load %x[0, 0] valid [2, 8] : tensor<2x8xf32> to tensor<2x8xf32, #npu.mem<ub>>
      tile.store %a into %out[2, 0] : tensor<2x8xf32, #npu.mem<ub>> into tensor<4x8xf32>
    }
    func.return
  }
  func.func private @negated(%x: tensor<4x8xf32>, %out: tensor<4x8xf32>) {
    tile.forall (%i) in (1) {
      %a = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf32> to tensor<4x8xf32, #npu.mem<ub>>
      %b = tile.muls %a {scalar = -1.0 : f32} : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
      tile.store %b into %out[0, 0] : tensor<4x8xf32, #npu.mem<ub>> into tensor<4x8xf32>
    }
    func.return
  }"""
    piece = '{op_name = "cat", ops = ["ConcatD"]} : (tensor<2x8xf32>, tensor<4x8xf32>) into (tensor<4x8xf32>) -> tensor<4x8xf32>'
    main = f"""
  func.func @main(%x: tensor<2x8xf32>, %z: tensor<2x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {{
    %e = tensor.empty() : tensor<4x8xf32>
    %0 = fused.launch @top(%x, %e) into (%e) on aicore {piece}
    %1 = fused.launch @bottom(%z, %0) into (%0) on aicore {piece}
    %2 = fused.launch @top(%z, %e) into (%e) on aicore {piece}
    %3 = fused.launch @bottom(%x, %2) into (%2) on aicore {piece}
    %d = tensor.empty() : tensor<4x8xf32>
    %y = fused.launch @negated(%3) into (%d) on aicore {{op_name = "neg", ops = ["Neg"]}}
      : (tensor<4x8xf32>) into (tensor<4x8xf32>) -> tensor<4x8xf32>
    func.return %1, %y : tensor<4x8xf32>, tensor<4x8xf32>
  }}"""
    module = _module(main, LEVELS[level], kernels)
    first, second = execute(module, [X, X + 100], {})
    np.testing.assert_array_equal(first, np.concatenate([X, X + 100]))
    np.testing.assert_array_equal(second, -np.concatenate([X + 100, X]))
    if level != "tile":
        assert str(module).partition("@main")[2].count("buf.at") == 1


@pytest.mark.parametrize("level", LEVELS)
def test_a_tied_kernel_may_read_each_element_before_it_writes_it(level: str) -> None:
    main = f"""
  func.func @main(%s: tensor<6x8xf32> {{ge.updated_by = 0 : i64}}) -> tensor<6x8xf32> {{
    %0 = fused.launch @twice(%s) into (%s) on aicore {TWICE}
    %1 = fused.launch @twice(%0) into (%0) on aicore {TWICE}
    func.return %1 : tensor<6x8xf32>
  }}"""
    np.testing.assert_array_equal(execute(_module(main, LEVELS[level]), [CACHE], {})[0], CACHE * 4)


@pytest.mark.parametrize("level", LEVELS)
def test_a_value_without_further_use_may_be_written_over_without_being_read(level: str) -> None:
    main = f"""
  func.func @main(%x: tensor<6x8xf32>, %s: tensor<6x8xf32> {{ge.updated_by = 1 : i64}}) -> (tensor<6x8xf32>, tensor<6x8xf32>) {{
    %d = tensor.empty() : tensor<6x8xf32>
    %y = fused.launch @twice(%s) into (%d) on aicore {TWICE}
    %new = fused.launch @twice(%x) into (%s) on aicore {TWICE}
    func.return %y, %new : tensor<6x8xf32>, tensor<6x8xf32>
  }}"""
    y, new = execute(_module(main, LEVELS[level]), [CACHE + 5, CACHE], {})
    np.testing.assert_array_equal(y, CACHE * 2)
    np.testing.assert_array_equal(new, (CACHE + 5) * 2)


def _main(body: str, result: str = "%r", attribute: str = "") -> str:
    return f"""
  ge.weight @w : tensor<6x8xf32>
  func.func @main(%x: tensor<2x8xf32>, %s: tensor<6x8xf32> {attribute}) -> tensor<6x8xf32> {{
    {body}
    func.return {result} : tensor<6x8xf32>
  }}"""


S = "{ge.updated_by = 0 : i64}"


@pytest.mark.parametrize(
    ("main", "message"),
    [
        (
            _main(f"%r = fused.launch @rows(%x, %s) into (%s) on aicore {ROWS}"),
            r"destination #0 \(%s\) is an input, which may only be read; copy",
        ),
        (
            _main(f"%w = ge.load_weight @w : tensor<6x8xf32> %r = fused.launch @rows(%x, %w) into (%w) on aicore {ROWS}"),
            r"destination #0 \(%w\) is a weight, which may only be read",
        ),
        (
            _main(
                f"%r = fused.launch @rows(%x, %s) into (%s) on aicore {ROWS} %q = fused.launch @rows(%x, %s) into (%s) on aicore {ROWS}",
                attribute=S,
            ),
            r"destination #0 \(%s\) is overwritten, but its old contents are used after; copy it first",
        ),
        (
            _main(f"%r = fused.launch @rows(%x, %s) into (%s) on aicore {ROWS}", result="%s", attribute=S),
            r"old contents are used after(.|\n)*used here",
        ),
        (
            _main(
                f"%v = tile.view %s : tensor<6x8xf32> to tensor<6x8xf32> %r = fused.launch @twice(%v) into (%s) on aicore {TWICE}",
                attribute=S,
            ),
            r"old contents are used after",
        ),
        (
            _main(
                f"%v = tile.view %s : tensor<6x8xf32> to tensor<6x8xf32> %r = fused.launch @twice(%v) into (%v) on aicore {TWICE}",
                attribute=S,
            ),
            r"destination #0 \(%v\) is a view of another value",
        ),
    ],
)
def test_what_is_needed_or_foreign_is_not_written_over(main: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        _module(main, "")


def test_the_contents_of_a_state_must_come_from_its_own_bytes() -> None:
    main = _main(f"%d = tensor.empty() : tensor<6x8xf32> %r = fused.launch @twice(%s) into (%d) on aicore {TWICE}", attribute=S)
    message = r"result #0 is to be the new contents of %s, but is computed elsewhere; it needs a kernel that copies it into %s"
    with pytest.raises(CompileError, match=message):
        _module(main, "bufferize-tile")
    with pytest.raises(CompileError, match="result #0 is the input %s itself"):
        _module(_main("", result="%s"), "bufferize-tile")
    unchanged = _module(_main("", result="%s", attribute=S), "bufferize-tile")
    np.testing.assert_array_equal(execute(unchanged, [X, CACHE], {})[0], CACHE)


def test_two_cores_that_read_what_a_tied_kernel_writes_are_reported() -> None:
    kernels = KERNELS.replace("tile.load %x[%r, 0]", "tile.load %x[2, 0]")
    main = _main(f"%r = fused.launch @twice(%s) into (%s) on aicore {TWICE}", attribute=S)
    with pytest.raises(CompileError, match="which core 1 writes at %i = 1: cores run at the same time"):
        _module(main, TO_NPU, kernels)


FUSED = """
  func.func private @insert(%x: tensor<2x8xf32>, %into: tensor<6x8xf32>) -> tensor<6x8xf32> {
    %r = fused.insert %x into %into offsets [2, 0] strides [1, 1] : tensor<2x8xf32> into tensor<6x8xf32> to tensor<6x8xf32>
    func.return %r : tensor<6x8xf32>
  }"""


def test_before_loops_a_kernel_says_itself_which_argument_it_updates() -> None:
    rows = ROWS.replace("@rows", "@insert")
    tied = _main(f"%r = fused.launch @insert(%x, %s) into (%s) on aicore {rows}", attribute=S)
    np.testing.assert_array_equal(execute(_module(tied, "", FUSED), [X, CACHE], {})[0], _updated())
    loose = _main(f"%d = tensor.empty() : tensor<6x8xf32> %r = fused.launch @insert(%x, %s) into (%d) on aicore {rows}", attribute=S)
    with pytest.raises(CompileError, match=r"@insert updates argument #1 \(%into\), so destination #0 must be that input"):
        _module(loose, "", FUSED)


WORKSPACES = """
builtin.module attributes {ge.target = "Ascend910A"} {
  func.func private @fill(%x: memref<2x8xf32>, %out: memref<2x8xf32>, %ws: memref<2x8xf32>) {
    tile.forall (%i) in (1) {
      %a = buf.at "a" [0] : memref<2x8xf32, #npu.mem<ub>>
      tile.load %x[0, 0] valid [2, 8] into %a : memref<2x8xf32> into memref<2x8xf32, #npu.mem<ub>>
      tile.store %a into %ws[0, 0] : memref<2x8xf32, #npu.mem<ub>> into memref<2x8xf32>
      tile.store %a into %out[0, 0] : memref<2x8xf32, #npu.mem<ub>> into memref<2x8xf32>
    }
    func.return
  }
  func.func private @use(%x: memref<2x8xf32>, %out: memref<2x8xf32>, %ws: memref<2x8xf32>) {
    tile.forall (%i) in (1) {
      %a = buf.at "a" [0] : memref<2x8xf32, #npu.mem<ub>>
      tile.load %ws[0, 0] valid [2, 8] into %a : memref<2x8xf32> into memref<2x8xf32, #npu.mem<ub>>
      tile.store %a into %out[0, 0] : memref<2x8xf32, #npu.mem<ub>> into memref<2x8xf32>
    }
    func.return
  }
  func.func @main(%x: memref<2x8xf32>, %out0: memref<2x8xf32>) attributes {results = 1 : i64} {
    %ws = buf.at "ws" [0] : memref<2x8xf32>
    %y = buf.at "y" [512] : memref<2x8xf32>
    fused.launch @fill(%x) into (%y, %ws) on aicore {op_name = "a", ops = ["A"]} : (memref<2x8xf32>) into (memref<2x8xf32>, memref<2x8xf32>)
    fused.launch @use(%y) into (%out0, %ws) on aicore {op_name = "b", ops = ["B"]}
      : (memref<2x8xf32>) into (memref<2x8xf32>, memref<2x8xf32>)
    func.return
  }
}"""


def test_what_a_launch_leaves_in_a_workspace_is_not_for_the_next_one() -> None:
    with pytest.raises(CompileError, match='buffer "ws", which nothing has written'):
        execute(parse_module(WORKSPACES), [X], {})
    tied = WORKSPACES.replace("@use(%y) into (%out0, %ws)", "@use(%ws) into (%out0, %ws)")
    np.testing.assert_array_equal(execute(parse_module(tied), [X], {})[0], X)


def test_launches_share_workspaces_of_one_type() -> None:
    kernels = """
  func.func private @k(%x: tensor<6x8xf32>, %y: tensor<6x8xf32>) {
    %0 = tensor.empty() : tensor<2x8xf32>
    %1 = tensor.empty() : tensor<2x8xf32>
    func.return
  }
  func.func private @l(%x: tensor<6x8xf32>, %y: tensor<6x8xf32>) {
    %0 = tensor.empty() : tensor<2x8xf32>
    %1 = tensor.empty() : tensor<4x8xf32>
    func.return
  }"""
    main = f"""
  func.func @main(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {{
    %d = tensor.empty() : tensor<6x8xf32>
    %0 = fused.launch @k(%x) into (%d) on aicore {TWICE}
    %1 = fused.launch @l(%0) into (%d) on aicore {TWICE}
    %2 = fused.launch @k(%1) into (%d) on aicore {TWICE}
    func.return %2 : tensor<6x8xf32>
  }}"""
    text = str(_module(main, "bufferize-tile", kernels)).partition("@main")[2]
    assert text.count('buf.alloc "workspace') == 3
    assert "@k(%x) into(%twice, %workspace, %workspace_1)" in text
    assert "@l(%twice) into(%twice_1, %workspace, %workspace_2)" in text
    assert "@k(%twice_1) into(%out0, %workspace, %workspace_1)" in text
