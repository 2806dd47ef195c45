"""Tests of the semantics table: every function against an independent f64 model, with infinities, NaN, zeros of both signs and outliers."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ge_compiler.dialects import semantics
from ge_compiler.dialects.functions import FUNCTIONS, NATIVE, REDUCTIONS, identity_of

Array = npt.NDArray[Any]
Unary = Callable[[Any], Any]
Binary = Callable[[Any, Any], Any]

INF, NAN = math.inf, math.nan
SPECIAL = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 1e-45, -1e-45, 1e-38, -1e-38, 3.4e38, -3.4e38, 65504.0, 1e-4, -1e-4]
SCALARS = (0.0, 1.5, -0.3333333333333333, 3e38)


def _elementwise(function: Callable[[float], float]) -> Unary:
    return np.vectorize(function, otypes=[np.float64])


def _gelu(x: Array) -> Array:
    # Not x/2 · (1 + erf): that cancels for negative x, in f64 too.
    return np.where(np.isneginf(x), NAN, 0.5 * x * _elementwise(lambda v: math.erfc(-v / math.sqrt(2)))(x))


def _gelu_tanh(x: Array) -> Array:
    return np.where(np.isneginf(x), NAN, x * 1.0 / (1.0 + np.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


def _whole(x: Array, function: Callable[[float], int]) -> Array:
    """Python's rounding to whole numbers, which infinities and NaN do not have."""
    return np.array([v if not math.isfinite(v) else float(function(v)) for v in x.tolist()])


_BINARY: dict[str, Binary] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "adds": np.add,
    "muls": np.multiply,
    "maxs": np.maximum,
    "mins": np.minimum,
}
_COMPARED: dict[str, Callable[[float, float], bool]] = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
_LOGIC: dict[str, Callable[..., bool]] = {
    "logical_and": bool.__and__,
    "logical_or": bool.__or__,
    "logical_not": operator.not_,
}
_UNARY: dict[str, Unary] = {
    "abs": np.abs,
    "exp": np.exp,
    "ln": np.log,
    "sqrt": np.sqrt,
    "rec": lambda x: 1 / x,
    "relu": lambda x: np.maximum(x, 0),
    "neg": np.negative,
    "square": lambda x: x * x,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "erf": _elementwise(math.erf),
    "rint": lambda x: _whole(x, round),
    "floor": lambda x: _whole(x, math.floor),
    "ceil": lambda x: _whole(x, math.ceil),
    "trunc": lambda x: _whole(x, math.trunc),
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
}
MODELS: dict[str, Callable[..., Any]] = {**_BINARY, **_UNARY}
ULPS = {"exp": 3, "ln": 3, "rsqrt": 2, "sigmoid": 6, "silu": 6, "erf": 6, "tanh": 6}
"""Units in the last place that a function may be off; the others round once."""

TURNING = {"sin", "cos"}
"""Functions that are of no meaning for large numbers."""

NUMERIC = [f for f in FUNCTIONS.values() if "f32" in f.dtypes and not f.is_predicate and not f.conditions]

CANCELLING = {"gelu", "gelu_tanh"}
"""1 + erf(x) cancels for negative x: exact relative to |x| there, and to the result near 0 and for positive x."""


def grid() -> Array:
    """Both signs: a dense range, magnitudes from the smallest denormal to the largest number, and every special value."""
    small = np.linspace(0, 12, 4001)
    wide = np.geomspace(1e-45, 3.4e38, 2000)
    positive = np.concatenate([small, wide])
    return np.concatenate([positive, -positive, SPECIAL]).astype(np.float32)


def assert_close(actual: Array, expected: Array, ulps: float) -> None:
    """Equal where infinite or NaN, else within `ulps` of the f64 value."""
    with np.errstate(all="ignore"):
        rounded = expected.astype(np.float32)
        assert_same_special(actual, rounded, ulps)
        finite = np.isfinite(rounded) & np.isfinite(actual)
        allowed = ulps * np.spacing(np.maximum(np.abs(rounded[finite]), np.float32(1.2e-38)))
        error = np.abs(actual[finite].astype(np.float64) - expected[finite])
    assert np.all(error <= allowed), float(np.max(error / allowed))


def assert_same_special(actual: Array, rounded: Array, ulps: float) -> None:
    assert np.array_equal(np.isnan(actual), np.isnan(rounded))
    # At the end of the range an inexact function may overflow where the model does not quite, and the reverse.
    differ = np.isinf(actual) != np.isinf(rounded)
    assert not differ.any() or ulps > 1
    both = np.isinf(actual) & np.isinf(rounded)
    assert np.array_equal(np.sign(actual[both]), np.sign(rounded[both]))


def evaluate(name: str, *operands: Array, scalar: float | None = None) -> tuple[Array, Array]:
    """The table's result, and the model's in f64."""
    wide = [x.astype(np.float64) for x in operands]
    with np.errstate(all="ignore"):
        extra = () if scalar is None else (float(np.float32(scalar)),)
        return semantics.apply(name, *operands, scalar=scalar), np.asarray(MODELS[name](*wide, *extra))


def test_every_function_has_a_model() -> None:
    assert MODELS.keys() | _COMPARED.keys() | _LOGIC.keys() | {"select"} == FUNCTIONS.keys()


@pytest.mark.parametrize("name", [f.name for f in NUMERIC if f.operands == 1 and f.name not in CANCELLING | TURNING])
def test_functions_of_one_operand(name: str) -> None:
    for scalar in SCALARS if FUNCTIONS[name].has_scalar else (None,):
        actual, expected = evaluate(name, grid(), scalar=scalar)
        assert actual.dtype == np.float32
        # Below exp(-88) the expansions of sigmoid and silu flush: 1 / inf.
        keep = slice(None) if name not in ("sigmoid", "silu") else ~(grid() < -87)
        assert_close(actual[keep], expected[keep], ULPS.get(name, 0.5000001))


@pytest.mark.parametrize("name", [f.name for f in NUMERIC if f.operands == 2])
def test_functions_of_two_operands(name: str) -> None:
    values = np.concatenate([np.array(SPECIAL), np.random.default_rng(0).standard_normal(40) * 100]).astype(np.float32)
    actual, expected = evaluate(name, values[:, None], values[None, :])
    assert actual.shape == (values.size, values.size)
    assert_close(actual, expected, 0.5000001)


@pytest.mark.parametrize("name", sorted(TURNING))
def test_sine_and_cosine_within_a_few_units_up_to_1e5(name: str) -> None:
    near = np.arange(0, 31830, 0.5) * math.pi  # where one of them is near 0, and f32 is nearest to that
    positive = np.concatenate([np.linspace(0, 30, 20001), np.geomspace(1e-38, 1e5, 20001), near]).astype(np.float32)
    positive = np.concatenate([positive, np.nextafter(positive, np.float32(0))])
    x = np.concatenate([positive, -positive])
    x = x[np.abs(x) <= 1e5]
    actual, expected = evaluate(name, x)
    assert_close(actual, expected, 4)
    assert np.isnan(semantics.apply(name, np.array([INF, -INF, NAN], np.float32))).all()
    assert (np.abs(semantics.apply(name, np.array([1e9, -3e20, 3e38], np.float32))) <= 1).all(), "of no meaning, but no infinity"


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64])
@pytest.mark.parametrize("name", sorted(_COMPARED))
def test_comparisons(name: str, dtype: npt.DTypeLike) -> None:
    values = SPECIAL if dtype == np.float32 else [0, 1, -1, 7, 2**31 - 1, -(2**31)]
    x = np.array(values).astype(dtype)
    actual = semantics.apply(name, x[:, None], x)
    assert actual.dtype == np.bool_
    assert actual.tolist() == [[_COMPARED[name](a, b) for b in x.tolist()] for a in x.tolist()]


@pytest.mark.parametrize("name", sorted(_LOGIC))
def test_logic(name: str) -> None:
    x, y = np.array([[False], [True]]), np.array([False, True])
    operands = [x, y][: FUNCTIONS[name].operands]
    actual = semantics.apply(name, *operands)
    assert actual.dtype == np.bool_
    wide = np.broadcast_arrays(*operands)
    assert actual.ravel().tolist() == [_LOGIC[name](*map(bool, pair)) for pair in zip(*(w.ravel() for w in wide), strict=True)]


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64, np.bool_])
def test_select_keeps_every_bit(dtype: npt.DTypeLike) -> None:
    x, y = np.array(SPECIAL, np.float32), -np.array(SPECIAL, np.float32)
    if dtype != np.float32:
        x, y = (np.nan_to_num(v).clip(-9, 9).astype(dtype) for v in (x, y))
    condition = np.arange(x.size) % 3 == 0
    actual = semantics.apply("select", condition, x, y)
    assert actual.dtype == np.dtype(dtype)
    assert actual.tobytes() == np.array([a if c else b for c, a, b in zip(condition, x, y, strict=True)], dtype).tobytes()
    assert semantics.apply("select", np.array([[True], [False]]), x, y).tobytes() == x.tobytes() + y.tobytes()


@pytest.mark.parametrize("name", sorted(CANCELLING))
def test_gelu_is_exact_near_zero_and_bounded_elsewhere(name: str) -> None:
    x = grid()
    x = x[np.abs(x) < 1e12]
    actual, expected = evaluate(name, x)
    error = np.abs(actual.astype(np.float64) - expected)
    near = (np.abs(x) < 0.5) & (np.abs(x) > 1e-37)
    assert np.max(error[near] / np.abs(expected[near])) < 1e-6
    assert np.all(error <= 4e-7 * np.maximum(np.abs(x), 1e-37))


@pytest.mark.parametrize("name", sorted(CANCELLING))
def test_gelu_of_special_values(name: str) -> None:
    actual = semantics.apply(name, np.array([INF, -INF, NAN, 0.0, -0.0, 1e-45], np.float32))
    assert actual[0] == INF
    assert np.isnan(actual[1]), "-inf * 0, as in the formula"
    assert np.isnan(actual[2])
    assert np.array_equal(np.signbit(actual[3:5]), [False, True])
    assert abs(actual[5]) <= np.float32(1e-45)


def test_erf_and_tanh_are_odd_and_reach_one() -> None:
    x = np.abs(grid())
    for name in ("erf", "tanh"):
        assert np.array_equal(semantics.apply(name, -x), -semantics.apply(name, x), equal_nan=True)
        assert semantics.apply(name, np.array([INF, 50.0, -50.0], np.float32)).tolist() == [1, 1, -1]
    assert np.signbit(semantics.apply("erf", np.array([0.0, -0.0], np.float32))).tolist() == [False, True]


def test_gelus_differ_by_what_they_should() -> None:
    x = np.linspace(-4, 4, 2001, dtype=np.float32)
    assert 3e-4 < np.max(np.abs(semantics.apply("gelu", x) - semantics.apply("gelu_tanh", x))) < 6e-4


@pytest.mark.parametrize(("dtype", "bound", "scalar"), [(np.int32, 2**14, -77), (np.int64, 2**31, 2**31 - 5)])
@pytest.mark.parametrize("name", [f.name for f in NUMERIC if "i32" in f.dtypes])
def test_integer_functions_are_exact(name: str, dtype: npt.DTypeLike, bound: int, scalar: int) -> None:
    rng = np.random.default_rng(1)
    operands = [rng.integers(-bound, bound, 100).astype(dtype) for _ in range(FUNCTIONS[name].operands)]
    actual = semantics.apply(name, *operands, scalar=scalar if FUNCTIONS[name].has_scalar else None)
    extra = [scalar] if FUNCTIONS[name].has_scalar else []
    expected = [int(MODELS[name](*map(np.int64, values), *extra)) for values in zip(*operands, strict=True)]
    assert FUNCTIONS[name].dtypes == ("f32", "i32", "i64")
    assert actual.dtype == np.dtype(dtype)
    assert actual.tolist() == expected


def test_nothing_warns() -> None:
    x = np.array([0.0, -1.0, INF, NAN, 3e38], np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function in NUMERIC:
            semantics.apply(function.name, *[x] * function.operands, scalar=2.0 if function.has_scalar else None)
        for kind in REDUCTIONS:
            semantics.reduce(kind, np.stack([x, -x]), 0)
        semantics.cast(x, np.dtype(np.float16))
        semantics.cast(x, np.dtype(np.int32))
        semantics.mmad(x[None, :], x[:, None], None)


@pytest.mark.parametrize("name", sorted(NATIVE))
def test_native_functions_do_not_depend_on_strides(name: str) -> None:
    wide = np.random.default_rng(2).standard_normal((33, 70)).astype(np.float32) * 30
    scalar = 0.7 if NATIVE[name].has_scalar else None
    strided = [wide[:, ::2], wide[:, 1::2]][: NATIVE[name].operands - NATIVE[name].conditions]
    if NATIVE[name].conditions or NATIVE[name].dtypes == ("i1",):
        strided = [wide[:, ::2] > 0, *(strided if NATIVE[name].conditions else [x > 0 for x in strided[1:]])]
    packed = [np.ascontiguousarray(x) for x in strided]
    a, b = semantics.apply(name, *strided, scalar=scalar), semantics.apply(name, *packed, scalar=scalar)
    assert np.ascontiguousarray(a).tobytes() == b.tobytes()


# ---- reductions and numbers in order ----------------------------------------------------------------------------------


def _folded(values: list[float], combine: Callable[[float, float], float]) -> float:
    """The order of a reduction, element by element."""
    while len(values) > 1:
        half = len(values) // 2
        values = [combine(values[i], values[i + half]) for i in range(half)] + values[2 * half :]
    return values[0]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 100, 257])
def test_sums_fold_the_second_half_onto_the_first(count: int, axis: int) -> None:
    x = (np.random.default_rng(count).standard_normal((count, 5)) * 300).astype(np.float32)
    expected = [_folded(column.tolist(), lambda a, b: float(np.float32(a) + np.float32(b))) for column in x.T]
    actual = semantics.reduce("sum", x if axis == 0 else x.T, axis)
    assert actual.shape == ((1, 5) if axis == 0 else (5, 1))
    assert actual.tobytes() == np.array(expected, np.float32).tobytes()
    assert np.all(np.abs(actual.ravel() - x.astype(np.float64).sum(0)) <= 2.0**-24 * (math.log2(count) + 1) * np.abs(x).sum(0))


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64])
@pytest.mark.parametrize(("kind", "model"), [("sum", np.sum), ("max", np.max), ("min", np.min)])
def test_reductions(kind: str, model: Callable[..., Any], dtype: npt.DTypeLike) -> None:
    x = small_numbers((9, 37), dtype)
    for axis in (0, 1):
        actual = semantics.reduce(kind, x, axis)
        assert actual.dtype == np.dtype(dtype)
        assert np.array_equal(actual, model(x.astype(np.float64), axis=axis, keepdims=True))
    element = "f32" if dtype == np.float32 else f"i{8 * np.dtype(dtype).itemsize}"
    nothing = semantics.reduce(kind, x[:, :0], 1)
    assert nothing.tolist() == [[identity_of(kind, element)]] * 9
    assert semantics.reduce(kind, x[:0], 1).shape == (0, 1)
    again = semantics.apply(REDUCTIONS[kind], np.full((9, 37), identity_of(kind, element), dtype), x)
    assert np.array_equal(again, x), "the identity changes nothing"


def small_numbers(shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    return np.random.default_rng(0).integers(-99, 99, shape).astype(dtype)


def test_reductions_of_special_values() -> None:
    rows = np.array([[1, NAN, 3], [INF, 1, -INF], [INF, 1, 2], [-INF, -INF, -INF]], np.float32)
    expected = {"sum": [NAN, NAN, INF, -INF], "max": [NAN, INF, INF, -INF], "min": [NAN, -INF, 1, -INF]}
    for kind, values in expected.items():
        assert np.array_equal(semantics.reduce(kind, rows, 1).ravel(), values, equal_nan=True)


def test_integer_sums_wrap_around() -> None:
    assert semantics.reduce("sum", np.array([[2**31 - 1, 1]], np.int32), 1).tolist() == [[-(2**31)]]


def test_numbers_in_order() -> None:
    assert semantics.iota(5, (10, -1), (2, 3), np.dtype(np.int32)).tolist() == [[5, 4, 3], [15, 14, 13]]
    assert semantics.iota(2**24, (0, 1), (1, 3), np.dtype(np.float32)).tolist() == [[2**24, 2**24, 2**24 + 2]]
    assert semantics.iota(2**31, (0, 0), (1, 1), np.dtype(np.int32)).tolist() == [[-(2**31)]]
    assert semantics.iota(2**40, (1, 0), (2, 1), np.dtype(np.int64)).tolist() == [[2**40], [2**40 + 1]]
    assert semantics.iota(0, (1, 1), (0, 4), np.dtype(np.int64)).shape == (0, 4)


# ---- casts ------------------------------------------------------------------------------------------------------------


def _round_to_even(x: float, digits: int, lowest: int) -> float:
    """`x` rounded to a float of `digits` binary digits whose denormals are multiples of 2**lowest."""
    if x == 0 or not math.isfinite(x):
        return x
    step = 2.0 ** max(math.frexp(x)[1] - digits, lowest)
    return round(x / step) * step


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_casts_round_to_nearest_even(x: float) -> None:
    half = _round_to_even(x, 11, -24)
    expected = half if abs(half) <= 65504 else math.copysign(INF, x)
    assert float(semantics.cast(np.array([x], np.float32), np.dtype(np.float16))[0]) == expected
    brain = _round_to_even(x, 8, -133)
    expected = brain if abs(brain) < 2.0**128 else math.copysign(INF, x)
    assert float(semantics.cast(np.array([x], np.float32), np.dtype(ml_dtypes.bfloat16))[0]) == expected


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_widening_is_exact_and_inverse(dtype: npt.DTypeLike) -> None:
    every = np.arange(2**16, dtype=np.uint16).view(dtype)
    wide = semantics.cast(every, np.dtype(np.float32))
    back = semantics.cast(wide, np.dtype(dtype))
    number = ~np.isnan(wide)
    assert np.array_equal(every.view(np.uint16)[number], back.view(np.uint16)[number])
    assert np.isnan(back.astype(np.float32)[~number]).all()


def test_casts_to_integers_truncate() -> None:
    x = np.array([0.9, -0.9, 1.5, -1.5, 2.5, 127.9, -128.9, 0.0], np.float32)
    for dtype in (np.int8, np.int16, np.int32, np.int64):
        assert semantics.cast(x, np.dtype(dtype)).tolist() == [0, 0, 1, -1, 2, 127, -128, 0]
    assert semantics.cast(x, np.dtype(np.bool_)).tolist() == [True] * 7 + [False]
    assert semantics.cast(np.array([True, False]), np.dtype(np.float16)).tolist() == [1.0, 0.0]
    assert semantics.cast(np.array([2**24 + 1, -7], np.int32), np.dtype(np.float32)).tolist() == [2**24, -7]
    assert semantics.cast(np.array([2**40 + 1, -7], np.int64), np.dtype(np.float32)).tolist() == [2**40, -7]
    assert semantics.cast(np.array([2**40 + 1, -7], np.int64), np.dtype(np.int32)).tolist() == [1, -7]
    assert semantics.cast(np.array([-7, 2**31 - 1], np.int32), np.dtype(np.int64)).tolist() == [-7, 2**31 - 1]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.int8, np.int16, np.int32, np.int64])
def test_booleans_are_nonzero_numbers(dtype: npt.DTypeLike) -> None:
    booleans = np.array([True, False])
    assert semantics.cast(booleans, np.dtype(dtype)).tolist() == [1, 0]
    values = np.array([0, 1, -1, 100]).astype(dtype)
    assert semantics.cast(values, np.dtype(np.bool_)).tolist() == [False, True, True, True]
    if np.dtype(dtype).kind != "i":
        special = np.array([-0.0, NAN, INF, 1e-7], np.float32).astype(dtype)
        assert semantics.cast(special, np.dtype(np.bool_)).tolist() == [False, True, True, True]


# ---- mmad -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 16), (1, 1, 1), (1, 33, 50), (37, 1, 64), (5, 7, 300), (32, 128, 128)])
def test_mmad_against_f64(dtype: npt.DTypeLike, m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(m * n + k)
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n)))
    c = rng.standard_normal((m, n)).astype(np.float32)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    exact, magnitude = wide_a @ wide_b, np.abs(wide_a) @ np.abs(wide_b)
    for accumulator, plus in ((None, 0.0), (c, c.astype(np.float64))):
        result = semantics.mmad(a, b, accumulator)
        assert result.dtype == np.float32
        assert np.all(np.abs(result - (exact + plus)) <= (k + 2) * 2.0**-24 * (magnitude + np.abs(plus)))


def test_mmad_adds_the_product_to_the_accumulator() -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal(shape).astype(np.float32) for shape in ((9, 20), (20, 30), (9, 30)))
    assert np.array_equal(semantics.mmad(a, b, c), c + semantics.mmad(a, b, None))


def test_mmad_of_integers_is_exact() -> None:
    a = np.full((3, 1000), -128, np.int8)
    b = np.full((1000, 2), 127, np.int8)
    result = semantics.mmad(a, b, np.full((3, 2), 5, np.int32))
    assert result.dtype == np.int32
    assert (result == -128 * 127 * 1000 + 5).all()


@pytest.mark.parametrize(("m", "n", "k"), [(0, 4, 3), (4, 0, 3), (4, 5, 0), (0, 0, 0)])
def test_mmad_without_elements(m: int, n: int, k: int) -> None:
    result = semantics.mmad(np.zeros((m, k), np.float16), np.zeros((k, n), np.float16), None)
    assert result.shape == (m, n)
    assert not result.any()


def test_mmad_does_not_depend_on_strides() -> None:
    a = np.random.default_rng(0).standard_normal((20, 48)).astype(np.float32)
    b = np.random.default_rng(1).standard_normal((24, 48)).astype(np.float32)
    assert np.array_equal(semantics.mmad(a[:, ::2], b[:, ::2].T, None), semantics.mmad(a[:, ::2].copy(), b[:, ::2].T.copy(), None))
    assert np.array_equal(semantics.mmad(a, a.T, None), semantics.mmad(a, a.T.copy(), None))


def test_mmad_spreads_special_values() -> None:
    result = semantics.mmad(np.array([[INF, 1], [NAN, 1], [1, 1]], np.float16), np.array([[1], [-1]], np.float16), None)
    assert result[0] == INF
    assert np.isnan(result[1])
    assert result[2] == 0


@pytest.mark.parametrize("name", sorted(NATIVE))
def test_native_functions_work_on_many_tiles_at_once_and_write_where_they_are_told(name: str) -> None:
    """Leading axes, strides and a given result change no bit: what executes many blocks at once relies on it."""
    function, rng = NATIVE[name], np.random.default_rng(5)
    conditions = [rng.random((3, 5, 7)) < 0.5 for _ in range(function.conditions)]
    dtype = np.bool_ if "f32" not in function.dtypes else np.float32
    count = function.operands - function.conditions
    numbers = [(rng.standard_normal((3, 7, 5)) * 4).astype(dtype).swapaxes(1, 2) for _ in range(count)]
    scalar = 0.7 if function.has_scalar else None
    operands = [*conditions, *numbers]
    tiles = [semantics.apply(name, *[np.ascontiguousarray(x[i]) for x in operands], scalar=scalar) for i in range(3)]
    assert np.stack(tiles).tobytes() == np.ascontiguousarray(semantics.apply(name, *operands, scalar=scalar)).tobytes()
    out = np.empty((3, 5, 14), tiles[0].dtype)[..., ::2]
    extra = () if scalar is None else (np.float32(scalar),)
    with np.errstate(all="ignore"):
        semantics.native(name, scalar is not None)(*operands, *extra, out=out)
    assert np.ascontiguousarray(out).tobytes() == np.stack(tiles).tobytes()


@pytest.mark.parametrize("kind", sorted(REDUCTIONS))
@pytest.mark.parametrize("axis", [-1, -2])
def test_reductions_of_many_tiles_at_once_have_the_bits_of_each(kind: str, axis: int) -> None:
    x = np.random.default_rng(6).standard_normal((4, 13, 37)).astype(np.float32)
    together = semantics.reduce(kind, x.swapaxes(1, 2).copy().swapaxes(1, 2), axis)
    assert together.tobytes() == np.stack([semantics.reduce(kind, tile, axis) for tile in x]).tobytes()


def test_products_of_many_tiles_at_once_have_the_bits_of_each() -> None:
    rng = np.random.default_rng(7)
    for m, n, k in ((16, 16, 16), (17, 33, 65), (32, 128, 128), (3, 2, 5)):
        a, b = rng.standard_normal((4, 1, m, 2 * k)).astype(np.float32)[..., :k], rng.standard_normal((1, 3, k, n)).astype(np.float32)
        together = np.matmul(a, b)
        assert together.tobytes() == np.stack([[semantics.mmad(x[0], y, None) for y in b[0]] for x in a]).tobytes()
