"""Tests of what the primitives of `fused` mean, against numpy in f64 and integers, on awkward data too."""

from __future__ import annotations

import itertools
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.parser import parse_module
from ge_compiler.runtime.execute import execute

Array = np.ndarray[Any, Any]
NAMES = {
    np.dtype(np.float32): "f32",
    np.dtype(np.float16): "f16",
    np.dtype(ml_dtypes.bfloat16): "bf16",
    np.dtype(np.int32): "i32",
    np.dtype(np.int64): "i64",
    np.dtype(np.bool_): "i1",
}
RANDOM = np.random.default_rng(4)


def type_of(array: Array) -> str:
    return f"tensor<{''.join(f'{size}x' for size in array.shape)}{NAMES[array.dtype]}>"


def run(op: str, inputs: list[Array], result: str, separator: str = "to") -> Array:
    """The value of `op`, in whose text `%a`, `%b` ... are `inputs` and `TYPES` their types; `result` is its type."""
    names = "abcdef"[: len(inputs)]
    arguments = ", ".join(f"%{name}: {type_of(x)}" for name, x in zip(names, inputs, strict=True))
    typed = op.replace("TYPES", ", ".join(map(type_of, inputs)))
    text = f"func.func @main({arguments}) -> {result} {{\n  %r = {typed} {separator} {result}\n  func.return %r : {result}\n}}"
    return execute(parse_module(text, "test.mlir"), inputs, {})[0]


# ---- reductions -------------------------------------------------------------------------------------------------------

REDUCED = [
    (shape, axes) for shape in ((7,), (3, 5), (4, 1, 6), (2, 0, 3)) for n in (1, 2, 3) for axes in itertools.combinations(range(3), n)
]


@pytest.mark.parametrize(("shape", "axes"), [(shape, axes) for shape, axes in REDUCED if max(axes) < len(shape)])
@pytest.mark.parametrize("kind", ["sum", "max", "min"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64])
def test_a_reduction_over_any_dimensions(shape: tuple[int, ...], axes: tuple[int, ...], kind: str, dtype: Any) -> None:
    x = (RANDOM.standard_normal(shape) * 100).astype(dtype)
    start: Any = 0
    if kind != "sum":
        limits = (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype is not np.float32 else (-np.inf, np.inf)
        start = limits[kind == "min"]
    exact = {"sum": np.sum, "max": np.max, "min": np.min}[kind](x.astype(np.float64 if dtype is np.float32 else dtype), axes, initial=start)
    exact = np.asarray(exact)
    result = f"tensor<{''.join(f'{size}x' for size in exact.shape)}{NAMES[np.dtype(dtype)]}>"
    got = run(f"fused.reduce <{kind}> %a along {list(axes)} : TYPES", [x], result)
    np.testing.assert_allclose(got, exact, rtol=1e-6, atol=1e-4 if kind == "sum" and dtype is np.float32 else 0)


def test_sums_are_accurate_along_every_axis_and_infinite_where_an_element_is() -> None:
    x = np.full((40_000, 2), 0.1, np.float32)
    x[0, 1] = np.inf
    got = run("fused.reduce <sum> %a along [0] : TYPES", [x], "tensor<2xf32>")
    assert abs(got[0] - 40_000 * np.float64(np.float32(0.1))) < 1e-2
    assert got[1] == np.inf


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
def test_a_reduction_is_nan_where_an_element_is(kind: str) -> None:
    x = np.array([[1, np.nan, 2], [1, -np.inf, 2]], np.float32)
    got = run(f"fused.reduce <{kind}> %a along [1] : TYPES", [x], "tensor<2xf32>")
    assert np.isnan(got[0])
    assert not np.isnan(got[1])


def test_integers_wrap_around() -> None:
    x = np.array([2**31 - 1, 1], np.int32)
    assert run("fused.reduce <sum> %a along [0] : TYPES", [x], "tensor<i32>") == -(2**31)


# ---- views ------------------------------------------------------------------------------------------------------------

X = np.arange(24, dtype=np.float16).reshape(4, 6)


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("fused.reshape %a", X.reshape(2, 3, 4)),
        ("fused.transpose %a permutation [1, 0]", X.T),
        ("fused.slice %a offsets [1, 0] strides [2, 3]", X[1::2, ::3]),
        ("fused.slice %a offsets [3, 5] strides [1, 4]", X[3:, 5:]),
        ("fused.slice %a offsets [0, 2] strides [1, 1]", X[:0, 2:]),
    ],
)
def test_a_view(op: str, expected: Array) -> None:
    np.testing.assert_array_equal(run(f"{op} : TYPES", [X], type_of(expected)), expected)


def test_concat() -> None:
    pieces = [X, X[:, :2] + 100, X[:, :0]]
    expected = np.concatenate(pieces, 1)
    np.testing.assert_array_equal(run("fused.concat %a, %b, %c along 1 : TYPES", pieces, type_of(expected)), expected)


def test_insert_changes_a_window_of_the_result_alone() -> None:
    x, dest = np.full((2, 3), -1, np.float16), X.copy()
    expected = X.copy()
    expected[1::2, ::2] = -1
    op = f"fused.insert %a into %b offsets [1, 0] strides [2, 2] : {type_of(x)} into {type_of(dest)}"
    np.testing.assert_array_equal(run(op, [x, dest], type_of(dest)), expected)
    np.testing.assert_array_equal(dest, X)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32])
def test_iota(axis: int, dtype: Any) -> None:
    expected = np.broadcast_to(np.arange((3, 4)[axis]).reshape((-1, 1) if axis == 0 else (1, -1)), (3, 4)).astype(dtype)
    np.testing.assert_array_equal(run(f"fused.iota along {axis}", [], type_of(expected), ":"), expected)


# ---- indexing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("shape", [(), (3,), (2, 2), (0,)])
def test_gather(shape: tuple[int, ...], dtype: Any) -> None:
    indices = RANDOM.integers(0, 4, shape).astype(dtype)
    expected = np.asarray(X[indices])
    np.testing.assert_array_equal(run("fused.gather %a, %b : TYPES", [X, indices], type_of(expected)), expected)


@pytest.mark.parametrize("value", [-1, 4])
def test_gather_names_the_index_that_is_out_of_bounds(value: int) -> None:
    indices = np.array([[0, 1], [value, 9]], np.int64)
    with pytest.raises(CompileError, match=rf"indices \(%b\)\[1, 0\] is {value}, but the table 4x6 has 4 entries"):
        run("fused.gather %a, %b : TYPES", [X, indices], "tensor<2x2x6xf16>")


def test_the_last_of_several_updates_of_an_entry_stays() -> None:
    x, indices = np.array([[1, 2, 3]] * 4, np.float16), np.array([5, 0, 5], np.int32)
    expected = X.copy()
    expected[:, 5], expected[:, 0] = 3, 2
    op = f"fused.scatter %a at %b into %c along 1 : {type_of(x)}, {type_of(indices)} into {type_of(X)}"
    np.testing.assert_array_equal(run(op, [x, indices, X], type_of(X)), expected)


def test_scatter_names_the_index_that_is_out_of_bounds() -> None:
    x, indices = np.zeros((4, 1), np.float16), np.array([6], np.int32)
    op = f"fused.scatter %a at %b into %c along 1 : {type_of(x)}, {type_of(indices)} into {type_of(X)}"
    with pytest.raises(CompileError, match=r"indices \(%b\)\[0\] is 6, but dimension 1 of 4x6 has 6 entries"):
        run(op, [x, indices, X], type_of(X))


# ---- attention --------------------------------------------------------------------------------------------------------


def exact_attention(q: Array, k: Array, v: Array, mask: Array | None, scale: float, causal: bool) -> Array:
    """In f64, one query after the other."""
    batch = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    q, k, v = (np.broadcast_to(x, (*batch, *x.shape[-2:])).astype(np.float64) for x in (q, k, v))
    seen = np.broadcast_to(True if mask is None else mask, (*batch, q.shape[-2], k.shape[-2]))
    result = np.zeros((*batch, q.shape[-2], v.shape[-1]))
    for place in np.ndindex(*batch, q.shape[-2]):
        added = seen[place].astype(np.float64) if seen.dtype != np.bool_ else np.where(seen[place], 0, -np.inf)
        scores = k[place[:-1]] @ q[place] * scale + added
        if causal:
            scores[place[-1] + 1 :] = -np.inf
        kept = scores > -np.inf
        if kept.any():
            weights = np.exp(scores[kept] - scores[kept].max())
            result[place] = weights @ v[place[:-1]][kept] / weights.sum()
    return result


def run_attention(q: Array, k: Array, v: Array, mask: Array | None = None, scale: float = 0.5, causal: bool = False) -> None:
    expected = exact_attention(q, k, v, mask, scale, causal)
    inputs = [q, k, v] + ([] if mask is None else [mask])
    flags = f"{{scale = {scale} : f32{', causal' if causal else ''}}}"
    op = f"fused.attention %a, %b, %c {'mask %d ' if mask is not None else ''}{flags} : (TYPES)"
    got = run(op, inputs, type_of(expected.astype(np.float32)), "->")
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-6)


def random(*shape: int, dtype: Any = np.float32) -> Array:
    return RANDOM.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(dtype: Any, causal: bool) -> None:
    run_attention(random(2, 3, 5, 8, dtype=dtype), random(2, 3, 7, 8, dtype=dtype), random(2, 3, 7, 4, dtype=dtype), causal=causal)


def test_grouped_queries_share_keys() -> None:
    run_attention(random(1, 2, 3, 4, 8), random(1, 2, 1, 6, 8), random(1, 2, 1, 6, 8))


def test_large_scores_do_not_overflow() -> None:
    run_attention(random(3, 4) * 300, random(5, 4) * 300, random(5, 4), scale=1.0)


@pytest.mark.parametrize("shape", [(4, 6), (1, 6), (2, 1, 1, 6), (3, 1, 1)])
def test_masks_broadcast(shape: tuple[int, ...]) -> None:
    q, k, v = random(2, 3, 4, 8), random(2, 3, 6, 8), random(2, 3, 6, 8)
    run_attention(q, k, v, RANDOM.integers(0, 2, shape).astype(np.bool_))
    run_attention(q, k, v, random(*shape, dtype=np.float16))


def test_queries_without_keys_give_zero() -> None:
    q, k, v = random(3, 8), random(4, 8), random(4, 5)
    hidden = np.ones((3, 4), np.bool_)
    hidden[1] = False
    run_attention(q, k, v, hidden)
    run_attention(q, k, v, np.where(hidden, 0, -np.inf).astype(np.float32))
    run_attention(random(3, 8), random(0, 8), random(0, 5))


def test_masks_of_the_lowest_finite_number_are_finite() -> None:
    mask = np.full((3, 4), np.finfo(np.float32).min, np.float32)
    got = run(
        "fused.attention %a, %b, %c mask %d {scale = 1.0 : f32} : (TYPES)",
        [random(3, 8), random(4, 8), random(4, 5), mask],
        "tensor<3x5xf32>",
        "->",
    )
    assert math.isfinite(got.sum())
