"""Tests of comparisons, choices, functions of numpy, and operators along an axis, as operators and as the kernels that they become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
import torch

Array = npt.NDArray[Any]
RunOperator = Callable[..., list[list[Array]]]

DTYPES: dict[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i16": np.dtype(np.int16),
    "i8": np.dtype(np.int8),
    "i1": np.dtype(np.bool_),
}
FLOATS = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-21}


def draw(shape: tuple[int, ...], element: str, seed: int = 0) -> Array:
    generator = np.random.default_rng(seed)
    if element == "i1":
        return np.asarray(generator.random(shape) < 0.5)
    x = np.asarray(generator.integers(-9, 9, shape) if element[0] == "i" else generator.standard_normal(shape) * 2)
    return x.astype(DTYPES[element])


def wide(array: Array) -> torch.Tensor:
    return torch.tensor(array if array.dtype.kind in "iub" else array.astype(np.float64))


def assert_equal(outcomes: list[list[Array]], *expected: Any) -> None:
    for outcome in outcomes:
        for y, value in zip(outcome, expected, strict=True):
            np.testing.assert_array_equal(y, np.asarray(value))


def assert_near(outcomes: list[list[Array]], expected: torch.Tensor, element: str) -> None:
    reference = expected.numpy()
    for (y,) in outcomes:
        finite = np.isfinite(reference)
        np.testing.assert_array_equal(y.astype(np.float64)[~finite], reference[~finite])
        error = np.abs(y.astype(np.float64)[finite] - reference[finite])
        assert np.all(error <= FLOATS[element] * np.maximum(np.abs(reference[finite]), 0.25))


# ---- comparisons, logic, choices --------------------------------------------------------------------------------------

COMPARISONS: dict[str, Callable[..., torch.Tensor]] = {
    "Equal": torch.eq,
    "NotEqual": torch.ne,
    "Less": torch.lt,
    "LessEqual": torch.le,
    "Greater": torch.gt,
    "GreaterEqual": torch.ge,
}


@pytest.mark.parametrize("op", COMPARISONS)
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize(("a", "b", "shape"), [((4, 5), (5,), (4, 5)), ((3, 1), (1, 2), (3, 2)), ((), (), ()), ((0, 4), (4,), (0, 4))])
def test_comparisons(
    run_operator: RunOperator, op: str, element: str, a: tuple[int, ...], b: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    x, y = draw(a, element), draw(b, element, 1)
    assert_equal(run_operator(op, [x, y], [(shape, "i1")]), COMPARISONS[op](wide(x), wide(y)))


@pytest.mark.parametrize("op", COMPARISONS)
def test_comparisons_of_nan_and_large_integers(run_operator: RunOperator, op: str) -> None:
    x, y = np.array([np.nan, 1, np.inf, -0.0], np.float32), np.array([np.nan, np.nan, np.inf, 0.0], np.float32)
    assert_equal(run_operator(op, [x, y], [((4,), "i1")]), COMPARISONS[op](torch.tensor(x), torch.tensor(y)))
    x, y = np.array([2**53, 2**62 + 1, -(2**63)]), np.array([2**53 + 1, 2**62, 2**63 - 1])
    assert_equal(run_operator(op, [x, y], [((3,), "i1")]), COMPARISONS[op](torch.tensor(x), torch.tensor(y)))


def test_logic(run_operator: RunOperator) -> None:
    x, y = draw((4, 5), "i1"), draw((5,), "i1", 1)
    assert_equal(run_operator("LogicalAnd", [x, y], [((4, 5), "i1")]), x & y)
    assert_equal(run_operator("LogicalOr", [x, y], [((4, 5), "i1")]), x | y)
    assert_equal(run_operator("LogicalNot", [x], [((4, 5), "i1")]), ~x)
    assert_equal(run_operator("BitwiseAnd", [x, y], [((4, 5), "i1")]), x & y)
    assert_equal(run_operator("BitwiseOr", [x, y], [((4, 5), "i1")]), x | y)
    assert_equal(run_operator("BitwiseXor", [x, y], [((4, 5), "i1")]), x ^ y)
    assert_equal(run_operator("Invert", [x], [((4, 5), "i1")]), ~x)
    assert_equal(run_operator("Maximum", [x, y], [((4, 5), "i1")]), x | y)


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("shapes", [((4, 5), (4, 5), (4, 5)), ((4, 1), (5,), ()), ((), (4, 5), (4, 1))])
def test_select(run_operator: RunOperator, element: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    condition, x, y = draw(shapes[0], "i1"), draw(shapes[1], element, 1), draw(shapes[2], element, 2)
    assert_equal(run_operator("SelectV2", [condition, x, y], [((4, 5), element)]), np.where(condition, x, y))


def test_select_does_not_touch_what_it_leaves_out(run_operator: RunOperator) -> None:
    condition, x = np.array([True, False, True]), np.array([np.nan, np.inf, -np.inf], np.float16)
    assert_equal(run_operator("SelectV2", [condition, x, np.zeros(3, np.float16)], [((3,), "f16")]), np.where(condition, x, 0))


# ---- functions --------------------------------------------------------------------------------------------------------

ROUNDING: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "Ceil": torch.ceil,
    "Floor": torch.floor,
    "Rint": torch.round,
    "Trunc": torch.trunc,
    "Sign": torch.sign,
}


@pytest.mark.parametrize("op", ROUNDING)
@pytest.mark.parametrize("element", FLOATS)
def test_rounding(run_operator: RunOperator, op: str, element: str) -> None:
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 300, -0.25, 0, np.inf, -np.inf, np.nan]).astype(DTYPES[element])
    assert_near(run_operator(op, [x], [((12,), element)]), ROUNDING[op](wide(x)), element)


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
def test_integers_wrap_around(run_operator: RunOperator, element: str) -> None:
    bounds = np.iinfo(DTYPES[element])
    x = np.array([bounds.min, bounds.max, -3, 0, 5], DTYPES[element])
    y = x[::-1].copy()
    with np.errstate(all="ignore"):
        assert_equal(run_operator("Add", [x, y], [((5,), element)]), x + y)
        assert_equal(run_operator("Mul", [x, y], [((5,), element)]), x * y)
        assert_equal(run_operator("Abs", [x], [((5,), element)]), np.abs(x))
        assert_equal(run_operator("Sign", [x], [((5,), element)]), np.sign(x))
        assert_equal(run_operator("Adds", [x], [((5,), element)], "{value = 7 : i64}"), x + DTYPES[element].type(7))


ON_AI_CORE = {"Sin": torch.sin, "Cos": torch.cos, "Expm1": torch.expm1, "Log1p": torch.log1p}
ELSEWHERE: dict[str, Callable[..., torch.Tensor]] = {
    "Acos": torch.acos,
    "Acosh": torch.acosh,
    "Asin": torch.asin,
    "Asinh": torch.asinh,
    "Atan": torch.atan,
    "Atanh": torch.atanh,
    "Cosh": torch.cosh,
    "Sinh": torch.sinh,
    "Tan": torch.tan,
}
PAIRS: dict[str, Callable[..., torch.Tensor]] = {
    "Atan2": torch.atan2,
    "FloorDiv": torch.floor_divide,
    "FloorMod": torch.remainder,
    "Mod": torch.fmod,
    "Pow": torch.pow,
}


@pytest.mark.parametrize("op", [*ON_AI_CORE, *ELSEWHERE])
@pytest.mark.parametrize("element", FLOATS)
def test_functions(run_operator: RunOperator, op: str, element: str) -> None:
    x = np.clip(draw((40,), element), -3, 3).astype(DTYPES[element])
    expected = (ON_AI_CORE | ELSEWHERE)[op](wide(x))
    assert_near(run_operator(op, [x], [((40,), element)], engine="aicore" if op in ON_AI_CORE else "aicpu"), expected, element)


@pytest.mark.parametrize("op", ["Expm1", "Log1p"])
def test_functions_that_are_exact_near_zero(run_operator: RunOperator, op: str) -> None:
    small = np.concatenate([s * 10.0 ** np.arange(-30, 1, dtype=np.float64) * 0.3 for s in (1, -1)])
    special = [0.0, np.inf, -np.inf, np.nan, -1.0, -0.99, 0.5, 0.51, 88.0, 1e5, 2.0**24, 2.0**24 + 2, 3e38]
    x = np.array([*small, *special], np.float32)
    expected = ON_AI_CORE[op](wide(x)).to(torch.float32).double().numpy()
    for (y,) in run_operator(op, [x], [(x.shape, "f32")]):
        np.testing.assert_allclose(y, expected, rtol=5e-7, atol=1e-37)


@pytest.mark.parametrize("op", PAIRS)
@pytest.mark.parametrize("element", ["f16", "f32", "i32", "i64"])
def test_functions_of_two_operands(run_operator: RunOperator, op: str, element: str) -> None:
    if op == "Atan2" and element[0] == "i":
        pytest.skip("takes floats only")
    x, y = draw((6, 7), element), draw((7,), element, 1)
    y[y == 0] = 3
    outcomes = run_operator(op, [x, y], [((6, 7), element)], engine="aicpu")
    if element[0] == "i":
        assert_equal(outcomes, PAIRS[op](wide(x), wide(y)))
    else:
        assert_near(outcomes, PAIRS[op](*(torch.tensor(v.astype(np.float32)) for v in (x, y))).double(), element)


@pytest.mark.parametrize("op", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
def test_bits(run_operator: RunOperator, op: str) -> None:
    x, y = draw((6, 7), "i32"), draw((7,), "i32", 1)
    function = {"BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or, "BitwiseXor": np.bitwise_xor}[op]
    assert_equal(run_operator(op, [x, y], [((6, 7), "i32")], engine="aicpu"), function(x, y))


def test_shifts(run_operator: RunOperator) -> None:
    x, places = draw((7,), "i64"), np.array([0, 1, 2, 3, 4, 31, 40])
    assert_equal(run_operator("LeftShift", [x, places], [((7,), "i64")], engine="aicpu"), x << places)
    assert_equal(run_operator("RightShift", [x, places], [((7,), "i64")], engine="aicpu"), x >> places)
    assert_equal(run_operator("Invert", [x], [((7,), "i64")], engine="aicpu"), ~x)


@pytest.mark.parametrize("element", FLOATS)
def test_predicates(run_operator: RunOperator, element: str) -> None:
    x = np.array([0, -1, np.inf, -np.inf, np.nan, 3e4]).astype(DTYPES[element])
    for op, function in (("IsNan", torch.isnan), ("IsInf", torch.isinf), ("IsFinite", torch.isfinite)):
        assert_equal(run_operator(op, [x], [((6,), "i1")]), function(wide(x)))


# ---- along an axis ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("element", "start", "delta"), [("i64", "3 : i64", "-2 : i64"), ("i32", "0 : i64", "1 : i64"), ("i8", "100 : i64", "50 : i64")]
)
def test_ranges_of_integers(run_operator: RunOperator, element: str, start: str, delta: str) -> None:
    expected = (np.arange(5) * int(delta.split()[0]) + int(start.split()[0])).astype(DTYPES[element])
    assert_equal(run_operator("Range", [], [((5,), element)], f"{{start = {start}, delta = {delta}}}"), expected)
    assert_equal(run_operator("Range", [], [((0,), element)], f"{{start = {start}, delta = {delta}}}"), expected[:0])


@pytest.mark.parametrize("element", FLOATS)
def test_ranges_of_floats(run_operator: RunOperator, element: str) -> None:
    expected = torch.arange(9, dtype=torch.float64) * 0.25 - 1
    assert_near(run_operator("Range", [], [((9,), element)], "{start = -1.0 : f32, delta = 0.25 : f32}"), expected, element)


@pytest.mark.parametrize("element", ["f16", "i64", "i8", "i1"])
@pytest.mark.parametrize("op", ["Tril", "Triu"])
@pytest.mark.parametrize("diagonal", [-9, -1, 0, 2, 9])
def test_triangles(run_operator: RunOperator, element: str, op: str, diagonal: int) -> None:
    x = draw((2, 4, 6), element)
    expected = (np.tril if op == "Tril" else np.triu)(x, diagonal)
    assert_equal(run_operator(op, [x], [((2, 4, 6), element)], f"{{diagonal = {diagonal} : i64}}"), expected)


def test_padding(run_operator: RunOperator) -> None:
    x = draw((2, 3), "f16")
    attributes = "{paddings = array<i64: 0, 1, 2, 0>, value = 0.5 : f32}"
    expected = np.pad(x, ((0, 1), (2, 0)), constant_values=0.5)
    assert_equal(run_operator("PadD", [x], [((3, 5), "f16")], attributes, engine="aicpu"), expected)


def test_reversing(run_operator: RunOperator) -> None:
    x = draw((2, 3, 4), "i1")
    assert_equal(run_operator("ReverseD", [x], [((2, 3, 4), "i1")], "{axes = array<i64: -1, 0>}", engine="aicpu"), np.flip(x, (0, 2)))


@pytest.mark.parametrize("element", ["f16", "f32", "i64"])
def test_running_sums_and_products(run_operator: RunOperator, element: str) -> None:
    x = draw((3, 7), element)
    for op, function in (("CumsumD", torch.cumsum), ("CumprodD", torch.cumprod)):
        outcomes = run_operator(op, [x], [((3, 7), element)], "{axis = -1 : i64}", engine="aicpu")
        if element == "i64":
            assert_equal(outcomes, function(wide(x), -1))
        else:
            assert_near(outcomes, function(wide(x), -1), element)


@pytest.mark.parametrize("places", ["i32", "i64"])
@pytest.mark.parametrize("keep", [False, True])
def test_places_of_extremes(run_operator: RunOperator, places: str, keep: bool) -> None:
    x = np.array([[1, 3, 3], [np.nan, 5, -1], [2, np.nan, np.nan], [0, 0, 0]], np.float16)
    shape, flags = ((4, 1), ", keep_dims") if keep else ((4,), "")
    for op, function in (("ArgMaxD", torch.argmax), ("ArgMinD", torch.argmin)):
        for values in (x, np.nan_to_num(x).astype(np.int64)):
            outcomes = run_operator(op, [values], [(shape, places)], f"{{axis = 1 : i64{flags}}}")
            assert_equal(outcomes, function(wide(values), 1, keepdim=keep))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("element", ["f16", "i64", "i1"])
def test_sorting(run_operator: RunOperator, descending: bool, element: str) -> None:
    x = draw((3, 9), element)
    if element == "f16":
        x[1, 3] = np.nan
    order = torch.sort(wide(x), dim=1, descending=descending, stable=True)
    attributes = f"{{axis = 1 : i64{', descending' if descending else ''}}}"
    outcomes = run_operator("SortD", [x], [((3, 9), element), ((3, 9), "i64")], attributes, engine="aicpu")
    assert_equal(outcomes, order.values, order.indices)


@pytest.mark.parametrize("smallest", [False, True])
def test_top_k(run_operator: RunOperator, smallest: bool) -> None:
    x = np.random.default_rng(1).permutation(27).reshape(3, 9).astype(np.float32)
    order = torch.topk(torch.tensor(x), 4, 1, largest=not smallest)
    attributes = f"{{axis = 1 : i64, k = 4 : i64{', smallest' if smallest else ''}}}"
    outcomes = run_operator("TopKD", [x], [((3, 4), "f32"), ((3, 4), "i32")], attributes, engine="aicpu")
    assert_equal(outcomes, order.values, order.indices)
