"""Programs that update their states in place, from operators down to instructions, on both kinds of chip."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ge_compiler.dialects.parser import parse_module
from ge_compiler.runtime.execute import execute
from ge_compiler.tools.compilation import Options, lower

Array = npt.NDArray[Any]
TARGETS = ["Ascend910A", "Ascend910B2"]


def _check(text: str, inputs: list[Array], expected: list[Array], target: str) -> str:
    """Every level gives `expected` and leaves `inputs` alone; the text of the lowest one."""
    before = [x.copy() for x in inputs]
    lowest = ""
    for level, module in lower(parse_module(text), Options(target)):
        results = execute(module, inputs, {})
        assert len(results) == len(expected), level
        for result, value in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, value, err_msg=level)
        for x, old in zip(inputs, before, strict=True):
            np.testing.assert_array_equal(x, old, err_msg=level)
        lowest = str(module)
    return lowest


CACHE = """
builtin.module {
  func.func @main(%x: tensor<1x4x16x32xf16>, %p: tensor<16xi64>, %cache: tensor<1x4x64x32xf16> {ge.updated_by = 1 : i64},
                  %n: tensor<COUNTxi64> {ge.updated_by = 2 : i64})
      -> (tensor<1x4x64x32xf16>, tensor<1x4x64x32xf16>, tensor<COUNTxi64>) {
    %0 = ge.ScatterUpdate %cache, %p, %x {axis = 2 : i64}
      : (tensor<1x4x64x32xf16>, tensor<16xi64>, tensor<1x4x16x32xf16>) -> tensor<1x4x64x32xf16>
    %1 = ge.Relu %0 : (tensor<1x4x64x32xf16>) -> tensor<1x4x64x32xf16>
    %2 = ge.Adds %n {value = 16 : i64} : (tensor<COUNTxi64>) -> tensor<COUNTxi64>
    func.return %1, %0, %2 : tensor<1x4x64x32xf16>, tensor<1x4x64x32xf16>, tensor<COUNTxi64>
  }
}"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("count", ["1", "3x5", "2x1", "1x7"])
def test_a_cache_and_a_counter(count: str, target: str) -> None:
    random = np.random.default_rng(0)
    x, cache = random.standard_normal((1, 4, 16, 32)).astype(np.float16), random.standard_normal((1, 4, 64, 32)).astype(np.float16)
    positions = random.permutation(64)[:16].astype(np.int64)
    counter = np.arange(np.prod([int(size) for size in count.split("x")]), dtype=np.int64).reshape([int(size) for size in count.split("x")])
    new = cache.copy()
    new[:, :, positions] = x
    text = _check(CACHE.replace("COUNTx", f"{count}x"), [x, positions, cache, counter], [np.maximum(new, 0), new, counter + 16], target)
    main = text.partition("@main")[2]
    assert main.count("fused.launch") == 3, "no launch copies"
    assert "buf.at" not in main


WINDOW = """
builtin.module {
  func.func @main(%x: tensor<5x3xf32>, %s: tensor<12x7xf32> {ge.updated_by = 0 : i64}) -> (tensor<12x7xf32>, tensor<5x3xf32>) {
    %0 = ge.StridedSliceAssignD %s, %x {begin = array<i64: 1, 2>, strides = array<i64: 2, 1>}
      : (tensor<12x7xf32>, tensor<5x3xf32>) -> tensor<12x7xf32>
    %1 = ge.StridedSliceAssignD %0, %x {begin = array<i64: 0, 0>, strides = array<i64: 2, 3>}
      : (tensor<12x7xf32>, tensor<5x3xf32>) -> tensor<12x7xf32>
    %2 = ge.StridedSliceD %1 {begin = array<i64: 1, 2>, end = array<i64: 11, 5>, strides = array<i64: 2, 1>}
      : (tensor<12x7xf32>) -> tensor<5x3xf32>
    func.return %1, %2 : tensor<12x7xf32>, tensor<5x3xf32>
  }
}"""


@pytest.mark.parametrize("target", TARGETS)
def test_windows_of_a_state_one_after_the_other(target: str) -> None:
    random = np.random.default_rng(1)
    x, s = random.standard_normal((5, 3)).astype(np.float32), random.standard_normal((12, 7)).astype(np.float32)
    new = s.copy()
    new[1:11:2, 2:5] = x
    new[0:10:2, 0:7:3] = x
    _check(WINDOW, [x, s], [new, new[1:11:2, 2:5]], target)


@pytest.mark.parametrize("target", TARGETS)
def test_a_state_that_stays_as_it_is_and_one_that_is_replaced(target: str) -> None:
    text = """
builtin.module {
  func.func @main(%x: tensor<9x4xf32>, %s: tensor<9x4xf32> {ge.updated_by = 2 : i64}, %t: tensor<9x4xf32> {ge.updated_by = 1 : i64})
      -> (tensor<9x4xf32>, tensor<9x4xf32>, tensor<9x4xf32>) {
    %0 = ge.Muls %t {value = 2.0 : f32} : (tensor<9x4xf32>) -> tensor<9x4xf32>
    %1 = ge.Relu %x : (tensor<9x4xf32>) -> tensor<9x4xf32>
    func.return %0, %1, %s : tensor<9x4xf32>, tensor<9x4xf32>, tensor<9x4xf32>
  }
}"""
    x, s, t = (np.linspace(-1, 1, 36, dtype=np.float32).reshape(9, 4) + shift for shift in (np.float32(0), np.float32(1), np.float32(2)))
    _check(text, [x, s, t], [t * 2, np.maximum(x, 0), s], target)


@pytest.mark.parametrize("target", TARGETS)
def test_new_contents_that_need_the_old_ones_to_the_end_are_copied(target: str) -> None:
    text = """
builtin.module {
  func.func @main(%x: tensor<8x8xf32>, %s: tensor<8x8xf32> {ge.updated_by = 0 : i64}, %t: tensor<8x8xf32> {ge.updated_by = 1 : i64},
                  %u: tensor<8x8xf32> {ge.updated_by = 2 : i64}) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
    %0 = ge.TransposeD %s {perm = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = ge.Relu %u : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = ge.Relu %t : (tensor<8x8xf32>) -> tensor<8x8xf32>
    func.return %0, %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}"""
    x, s, t, u = (np.random.default_rng(i).standard_normal((8, 8)).astype(np.float32) for i in range(4))
    _check(text, [x, s, t, u], [s.T, np.maximum(u, 0), np.maximum(t, 0)], target)


A, B, X = np.arange(4, dtype=np.float32), np.arange(4, dtype=np.float32) - 9, np.ones(2, np.float32)
M = np.arange(40, dtype=np.float32).reshape(5, 8)
SIGNATURE = "%a: tensor<4xf32> {{ge.updated_by = {} : i64}}"
CASES: dict[str, tuple[str, list[Array], list[Array]]] = {
    "a number": (
        """func.func @main(%n: tensor<i64> {ge.updated_by = 0 : i64}) -> tensor<i64> {
        %0 = ge.Adds %n {value = 1 : i64} : (tensor<i64>) -> tensor<i64>
        func.return %0 : tensor<i64> }""",
        [np.array(7, dtype=np.int64)],
        [np.array(8, dtype=np.int64)],
    ),
    "nothing": (
        """func.func @main(%n: tensor<0x3xf32> {ge.updated_by = 0 : i64}) -> tensor<0x3xf32> {
        %0 = ge.Adds %n {value = 1.0 : f32} : (tensor<0x3xf32>) -> tensor<0x3xf32>
        func.return %0 : tensor<0x3xf32> }""",
        [np.zeros((0, 3), np.float32)],
        [np.zeros((0, 3), np.float32)],
    ),
    "one value for two states": (
        f"""func.func @main({SIGNATURE.format(0)}, %b: tensor<4xf32> {{ge.updated_by = 1 : i64}}) -> (tensor<4xf32>, tensor<4xf32>) {{
        %0 = ge.Add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        func.return %0, %0 : tensor<4xf32>, tensor<4xf32> }}""",
        [A, B],
        [A + B, A + B],
    ),
    "states that change places": (
        f"""func.func @main({SIGNATURE.format(1)}, %b: tensor<4xf32> {{ge.updated_by = 0 : i64}}) -> (tensor<4xf32>, tensor<4xf32>) {{
        func.return %a, %b : tensor<4xf32>, tensor<4xf32> }}""",
        [A, B],
        [A, B],
    ),
    "old and new contents": (
        f"""func.func @main({SIGNATURE.format(1)}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {{
        %0 = ge.Relu %a : (tensor<4xf32>) -> tensor<4xf32>
        func.return %a, %0, %0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> }}""",
        [B],
        [B, np.maximum(B, 0), np.maximum(B, 0)],
    ),
    "another engine": (
        f"""func.func @main({SIGNATURE.format(0)}) -> tensor<4xf32> {{
        %0 = ge.CumsumD %a {{axis = 0 : i64}} : (tensor<4xf32>) -> tensor<4xf32>
        func.return %0 : tensor<4xf32> }}""",
        [A],
        [np.cumsum(A)],
    ),
    "a window and the whole": (
        f"""func.func @main(%x: tensor<2xf32>, {SIGNATURE.format(0)}) -> (tensor<4xf32>, tensor<4xf32>) {{
        %0 = ge.StridedSliceAssignD %a, %x {{begin = array<i64: 1>, strides = array<i64: 2>}}
          : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
        %1 = ge.Muls %0 {{value = 3.0 : f32}} : (tensor<4xf32>) -> tensor<4xf32>
        func.return %1, %0 : tensor<4xf32>, tensor<4xf32> }}""",
        [X, A],
        [np.array([0, 3, 6, 3], np.float32), np.array([0, 1, 2, 1], np.float32)],
    ),
    "an input that is no state": (
        """func.func @main(%x: tensor<2xf32>, %a: tensor<4xf32>) -> tensor<4xf32> {
        %0 = ge.StridedSliceAssignD %a, %x {begin = array<i64: 1>, strides = array<i64: 2>}
          : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
        func.return %0 : tensor<4xf32> }""",
        [X, A],
        [np.array([0, 1, 2, 1], np.float32)],
    ),
    "overlapping windows of one state": (
        f"""func.func @main({SIGNATURE.format(0)}) -> tensor<4xf32> {{
        %0 = ge.StridedSliceD %a {{begin = array<i64: 0>, end = array<i64: 3>, strides = array<i64: 1>}} : (tensor<4xf32>) -> tensor<3xf32>
        %1 = ge.StridedSliceAssignD %a, %0 {{begin = array<i64: 1>, strides = array<i64: 1>}}
          : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
        func.return %1 : tensor<4xf32> }}""",
        [A],
        [np.array([0, 0, 1, 2], np.float32)],
    ),
    "halves that change places": (
        """func.func @main(%a: !m {ge.updated_by = 0 : i64}) -> !m {
        %0 = ge.StridedSliceD %a {begin = array<i64: 0, 4>, end = array<i64: 5, 8>, strides = array<i64: 1, 1>} : (!m) -> tensor<5x4xf32>
        %1 = ge.StridedSliceD %a {begin = array<i64: 0, 0>, end = array<i64: 5, 4>, strides = array<i64: 1, 1>} : (!m) -> tensor<5x4xf32>
        %2 = ge.ConcatD %0, %1 {concat_dim = 1 : i64} : (tensor<5x4xf32>, tensor<5x4xf32>) -> !m
        func.return %2 : !m }""",
        [M],
        [np.roll(M, 4, axis=1)],
    ),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CASES)
def test_corners(case: str, target: str) -> None:
    function, inputs, expected = CASES[case]
    _check(f"!m = tensor<5x8xf32>\nbuiltin.module {{ {function} }}", inputs, expected, target)
