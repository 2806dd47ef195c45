"""Tests of `execute` itself: what it takes and gives, levels, weights, statistics, BLAS threads; loops, branches and index arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.parser import parse_module
from ge_compiler.runtime.execute import Statistics, execute

Array = npt.NDArray[Any]


def index_value(body: str, result: str = "%r", **arguments: int) -> int:
    """The value of an index computation: the number of elements of an empty tensor of that size."""
    constants = "\n".join(f"%{name} = arith.constant {value} : index" for name, value in arguments.items())
    text = f"""func.func @main() -> tensor<?xi8> {{
{constants}
{body}
%made = tensor.empty({result}) : tensor<?xi8>
func.return %made : tensor<?xi8>
}}"""
    (y,) = execute(parse_module(text), [], {})
    return y.size


INTS = st.integers(-50, 50)
NONZERO = INTS.filter(bool)


@settings(max_examples=20)
@given(x=INTS, y=NONZERO)
def test_quotients_and_remainders(x: int, y: int) -> None:
    exact = x / y
    expected = {"divsi": int(exact), "floordivsi": x // y, "ceildivsi": -(-x // y), "remsi": x - int(exact) * y}
    for op, value in expected.items():
        assert index_value(f"%q = arith.{op} %x, %y : index\n%r = arith.addi %q, %o : index", x=x, y=y, o=100) == value + 100


@settings(max_examples=20)
@given(x=st.integers(0, 50), y=st.integers(1, 50))
def test_unsigned_quotients(x: int, y: int) -> None:
    for op, value in {"divui": x // y, "remui": x % y, "ceildivui": -(-x // y), "minui": min(x, y), "maxui": max(x, y)}.items():
        assert index_value(f"%r = arith.{op} %x, %y : index", x=x, y=y) == value


@settings(max_examples=20)
@given(x=INTS, y=INTS)
def test_sums_and_comparisons(x: int, y: int) -> None:
    expected = {"addi": x + y, "subi": x - y, "muli": x * y, "minsi": min(x, y), "maxsi": max(x, y)}
    for op, value in expected.items():
        assert index_value(f"%q = arith.{op} %x, %y : index\n%r = arith.addi %q, %o : index", x=x, y=y, o=5000) == value + 5000
    for predicate, holds in {"eq": x == y, "ne": x != y, "slt": x < y, "sle": x <= y, "sgt": x > y, "sge": x >= y}.items():
        body = f"%p = arith.cmpi {predicate}, %x, %y : index\n%r = arith.select %p, %one, %two : index"
        assert index_value(body, x=x, y=y, one=1, two=2) == (1 if holds else 2)


def test_logic() -> None:
    for op, value in {"andi": 2, "ori": 1, "xori": 1}.items():
        body = f"%t = arith.constant true\n%f = arith.constant false\n%p = arith.{op} %t, %f : i1\n%r = arith.select %p, %one, %two : index"
        assert index_value(body, one=1, two=2) == value


@pytest.mark.parametrize(("low", "high", "step"), [(0, 5, 1), (2, 11, 3), (0, 0, 1), (5, 2, 1), (-4, 4, 4)])
def test_loops_carry_values(low: int, high: int, step: int) -> None:
    body = """%r, %s = scf.for %i = %l to %h step %d iter_args(%a = %one, %b = %two) -> (index, index) {
  %c = arith.addi %a, %b : index
  scf.yield %b, %c : index, index
}"""
    a, b = 1, 2
    for _ in range(low, high, step):
        a, b = b, a + b
    assert index_value(body, l=low, h=high, d=step, one=1, two=2) == a
    assert index_value(body, "%s", l=low, h=high, d=step, one=1, two=2) == b


@pytest.mark.parametrize(("x", "expected"), [(3, 4), (9, 18)])
def test_branches(x: int, expected: int) -> None:
    body = """%p = arith.cmpi slt, %x, %five : index
%r = scf.if %p -> (index) {
  %u = arith.addi %x, %one : index
  scf.yield %u : index
} else {
  %u = arith.addi %x, %x : index
  scf.yield %u : index
}"""
    assert index_value(body, x=x, five=5, one=1) == expected


GE = """
ge.weight @w : tensor<2x3xf16>
func.func @main(%x: tensor<2x3xf16>) -> (tensor<2x3xf16>, tensor<2x3xf16>, tensor<2x3xf16>) {
  %w = ge.load_weight @w : tensor<2x3xf16>
  %y = ge.Add %x, %w : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xf16>
  func.return %y, %x, %w : tensor<2x3xf16>, tensor<2x3xf16>, tensor<2x3xf16>
}
"""
FUSED = """
ge.weight @w : tensor<2x3xf16>
func.func private @k(%a: tensor<2x3xf16>, %b: tensor<3x2xf16>) -> (tensor<2x2xf32>, tensor<2x2xf16>) {
  %m = fused.matmul %a, %b : (tensor<2x3xf16>, tensor<3x2xf16>) -> tensor<2x2xf32>
  %c = fused.full 0.5 : f32 to tensor<2x2xf32>
  %s = fused.add %m, %c : tensor<2x2xf32>
  %h = fused.cast %s : tensor<2x2xf32> to tensor<2x2xf16>
  func.return %s, %h : tensor<2x2xf32>, tensor<2x2xf16>
}
func.func @main(%x: tensor<3x2xf16>) -> (tensor<2x2xf32>, tensor<2x2xf16>, tensor<2x2x2xf32>) {
  %w = ge.load_weight @w : tensor<2x3xf16>
  %d = tensor.empty() : tensor<2x2xf32>
  %e = tensor.empty() : tensor<2x2xf16>
  %s, %h = fused.launch @k(%w, %x) into (%d, %e) on aicore {ops = ["Add"], op_name = "k"}
    : (tensor<2x3xf16>, tensor<3x2xf16>) into (tensor<2x2xf32>, tensor<2x2xf16>) -> tensor<2x2xf32>, tensor<2x2xf16>
  %b = fused.kernel (%s) {ops = ["Add"], op_name = "b"} : (tensor<2x2xf32>) -> tensor<2x2x2xf32> {
  ^bb0(%t: tensor<2x2xf32>):
    %r = fused.broadcast %t along [1, 2] : tensor<2x2xf32> to tensor<2x2x2xf32>
    fused.yield %r : tensor<2x2x2xf32>
  }
  func.return %s, %h, %b : tensor<2x2xf32>, tensor<2x2xf16>, tensor<2x2x2xf32>
}
"""
X = np.arange(6, dtype=np.float16).reshape(2, 3)


def test_operators_with_weights() -> None:
    y, x, w = execute(parse_module(GE), [X], {"w": X + 1})
    assert np.array_equal(y, 2 * X + 1)
    assert np.array_equal(x, X)
    assert np.array_equal(w, X + 1)


def test_results_belong_to_the_caller() -> None:
    weight = X + 1
    weight.flags.writeable = False
    for result in execute(parse_module(GE), [X], {"w": weight}):
        assert not np.may_share_memory(result, X)
        assert not np.may_share_memory(result, weight)
        assert result.flags.writeable


def test_kernels_on_tensors() -> None:
    statistics = Statistics()
    s, h, b = execute(parse_module(FUSED), [X.T], {"w": X}, statistics=statistics)
    expected = X.astype(np.float32) @ X.T.astype(np.float32) + 0.5
    assert np.array_equal(s, expected)
    assert np.array_equal(h, expected.astype(np.float16))
    assert np.array_equal(b, np.stack([expected, expected]))
    assert statistics.launches == {"k": 1}
    assert statistics.instructions["k"] == {"fused.matmul": 1, "fused.full": 1, "fused.add": 1, "fused.cast": 1}


def test_strided_inputs_and_weights() -> None:
    wide = np.zeros((4, 6), np.float16)
    wide[::2, ::2] = X
    y, *_ = execute(parse_module(GE), [wide[::2, ::2]], {"w": wide[::2, ::2]})
    assert np.array_equal(y, 2 * X)


def test_weights_on_memory_are_not_copied() -> None:
    text = """
ge.weight @w : tensor<2x3xf16>
func.func private @k(%w: memref<2x3xf16>, %out: memref<2x3xf16>) {
  %t = buf.at "t" [0] : memref<2x3xf16, #npu.mem<ub>>
  npu.load <nd> ins(%w : memref<2x3xf16>) outs(%t : memref<2x3xf16, #npu.mem<ub>>)
  npu.store ins(%t : memref<2x3xf16, #npu.mem<ub>>) outs(%TO : memref<2x3xf16>)
  func.return
}
func.func @main(%out0: memref<2x3xf16>) attributes {results = 1 : i64} {
  %w = ge.load_weight @w : memref<2x3xf16>
  fused.launch @k(%w) into (%out0) on aicore {ops = ["Add"], op_name = "k"} : (memref<2x3xf16>) into (memref<2x3xf16>)
  func.return
}"""
    (y,) = execute(parse_module(text.replace("TO", "out")), [], {"w": X})
    assert np.array_equal(y, X)
    with pytest.raises(CompileError, match="writes to weight @w, which may only be read"):
        execute(parse_module(text.replace("TO", "w")), [], {"w": X})


def test_a_function_may_be_called() -> None:
    text = """
func.func private @twice(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = ge.Add %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = func.call @twice(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %z = func.call @twice(%y) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %z : tensor<3xf32>
}"""
    assert execute(parse_module(text), [np.ones(3, np.float32)], {})[0].tolist() == [4, 4, 4]


def error_of(text: str, inputs: list[Array], weights: dict[str, Array]) -> str:
    with pytest.raises(CompileError) as caught:
        execute(parse_module(text, "m.mlir"), inputs, weights)
    return str(caught.value)


def test_inputs_that_do_not_fit() -> None:
    place = "m.mlir:3:1: error: 'func.func' op "
    assert error_of(GE, [], {"w": X}) == place + "@main takes 1 inputs, got 0"
    assert error_of(GE, [X.T], {"w": X}) == place + "input #0 (%x) must be tensor<2x3xf16>, got 3x2 of float16"
    assert error_of(GE, [X.astype(np.float32)], {"w": X}) == place + "input #0 (%x) must be tensor<2x3xf16>, got 2x3 of float32"


def test_weights_that_do_not_fit() -> None:
    place = "m.mlir:4:8: error: 'ge.load_weight' op "
    assert error_of(GE, [X], {"v": X}) == place + "weight @w is not among the weights given (v)"
    assert error_of(GE, [X], {"w": X.T}) == place + "weight @w must be tensor<2x3xf16>, got 3x2 of float16"


def test_a_module_without_main() -> None:
    assert "has no function @main to execute" in error_of("builtin.module {}", [], {})
    assert "@main has no body to execute" in error_of("func.func private @main()", [], {})


def blas_threads() -> list[int]:
    info: list[dict[str, Any]] = threadpool_info()  # pyright: ignore[reportUnknownVariableType]
    return [library["num_threads"] for library in info if library["user_api"] == "blas"]


def test_blas_has_one_thread_inside_and_its_own_again_after(monkeypatch: pytest.MonkeyPatch) -> None:
    from ge_compiler.dialects.ge.semantics import elementwise

    inside: list[int] = []
    monkeypatch.setattr(elementwise, "function", lambda op, xs: (inside.extend(blas_threads()), xs[:1])[1])  # pyright: ignore
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        execute(parse_module(GE), [X], {"w": X})
        assert blas_threads() == before
    assert inside
    assert set(inside) == {1}


def test_two_executions_do_not_share_memory() -> None:
    module = parse_module(GE)
    first = execute(module, [X], {"w": X})[0]
    kept = first.copy()
    execute(module, [X + 5], {"w": X})
    assert np.array_equal(first, kept)


MALFORMED = {
    "elements of type i4 have no meaning": """func.func @main() -> tensor<2xi4> {
      %d = tensor.empty() : tensor<2xi4>
      func.return %d : tensor<2xi4> }""",
    "has no negative size, got -1": """func.func @main() { %n = arith.constant -1 : index
      %d = tensor.empty(%n) : tensor<?xf32>
      func.return }""",
    "there is no dimension 2": """func.func @main(%x: memref<2x2xf32>) { %n = arith.constant 2 : index
      %d = memref.dim %x, %n : memref<2x2xf32>
      func.return }""",
    "only dimensions of global memory may vanish": """func.func @main() { %a = buf.at "a" [0] : memref<4x4xf32, #npu.mem<ub>>
      %v = memref.subview %a[0, 0] [1, 4] [1, 1] : memref<4x4xf32, #npu.mem<ub>> to memref<4xf32, strided<[1]>, #npu.mem<ub>>
      func.return }""",
    "only leading dimensions of size 1 may vanish": """func.func @main(%x: memref<2x2xf32>) {
      %v = memref.subview %x[0, 0] [2, 1] [1, 1] : memref<2x2xf32> to memref<2xf32, strided<[2]>>
      func.return }""",
    "only strides of 1 can be executed": """func.func @main(%x: memref<2x2xf32>) {
      %v = memref.subview %x[0, 0] [1, 1] [2, 2] : memref<2x2xf32> to memref<1x1xf32, strided<[4, 2]>>
      func.return }""",
    "only global memory takes another shape": """func.func @main() { %a = buf.at "a" [0] : memref<4x4xf32, #npu.mem<ub>>
      %v = memref.reinterpret_cast %a to offset: [0], sizes: [2, 8], strides: [8, 1]
        : memref<4x4xf32, #npu.mem<ub>> to memref<2x8xf32, strided<[8, 1]>, #npu.mem<ub>>
      func.return }""",
    "@main executes itself": "func.func @main() { func.call @main() : () -> ()\n func.return }",
    "@main takes and gives tensors, or memrefs": "func.func @main(%x: memref<2x2xf32>, %t: tensor<2x2xf32>) { func.return }",
    "@main takes and gives tensors, or memrefs of": "func.func @main(%x: memref<2x2xf32, #npu.mem<ub>>) { func.return }",
    "the last 2 arguments are to be results": "func.func @main(%x: memref<2x2xf32>) attributes {results = 2 : i64} { func.return }",
    "the last 1 arguments are to be results": "func.func @main(%x: memref<?x2xf32>) attributes {results = 1 : i64} { func.return }",
    "only one block can be executed": """func.func @main() { "cf.br"()[^a] : () -> ()
      ^a:
      func.return }""",
}


@pytest.mark.parametrize("message", MALFORMED)
def test_programs_without_a_meaning(message: str) -> None:
    from ge_compiler import dialects

    context = dialects.context()
    context.allow_unregistered = True
    module = parse_module(MALFORMED[message], "bad.mlir", context)
    shapes = [t.get_shape() for t in getattr(module.body.block.first_op, "function_type").inputs]  # noqa: B009
    with pytest.raises(CompileError, match=message) as caught:
        execute(module, [np.zeros([max(d, 1) for d in s], np.float32) for s in shapes], {})
    assert str(caught.value).startswith("bad.mlir:")
