"""Tests of reductions, softmax and norms of `ge` against PyTorch in f64, as operators and as the kernels that they are turned into."""

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

DTYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32)}
EPSILON = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-20}


def wide(array: Array) -> torch.Tensor:
    return torch.tensor(array.astype(np.float64))


def outliers(shape: tuple[int, ...], element: str) -> Array:
    """Numbers around 0, with rows of 300 and of -300 among them, and one that is constant."""
    x = np.asarray(np.random.default_rng(len(shape)).standard_normal(shape))
    if x.ndim > 1 and x.shape[0] > 3:
        x[1] = 300 + x[1]
        x[2] = -300
        x[3] = 300 * np.sign(x[3])
    return x.astype(DTYPES[element])


def assert_near(outcomes: list[list[Array]], expected: torch.Tensor, element: str, magnitude: float = 0.25) -> None:
    reference = expected.numpy()
    for (actual,) in outcomes:
        error = np.abs(actual.astype(np.float64) - reference)
        assert np.all(error <= EPSILON[element] * np.maximum(np.abs(reference), magnitude))


def axes_text(axes: tuple[int, ...]) -> str:
    return f"axes = array<i64: {', '.join(map(str, axes))}>" if axes else "axes = array<i64>"


SHAPES_AND_AXES = [
    ((5, 7), (1,)),
    ((5, 7), (0,)),
    ((5, 7), (0, 1)),
    ((5, 7), (-1,)),
    ((4, 3, 6), (-1, 0)),
    ((4, 3, 6), ()),
    ((1, 1), (1,)),
    ((), ()),
    ((4, 3000), (1,)),
    ((3000, 4), (0,)),
]
REDUCTIONS: dict[str, Callable[..., torch.Tensor]] = {"ReduceSumD": torch.sum, "ReduceMeanD": torch.mean}
EXTREMES: dict[str, Callable[..., torch.Tensor]] = {"ReduceMaxD": torch.amax, "ReduceMinD": torch.amin}


def reduced(function: Callable[..., torch.Tensor], x: torch.Tensor, axes: tuple[int, ...], keep: bool) -> torch.Tensor:
    return function(x, dim=axes, keepdim=keep) if axes else x


@pytest.mark.parametrize("op", [*REDUCTIONS, *EXTREMES])
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize(("shape", "axes"), SHAPES_AND_AXES)
def test_reductions(run_operator: RunOperator, op: str, element: str, keep: bool, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = outliers(shape, element) / DTYPES[element].type(32)
    expected = reduced((REDUCTIONS | EXTREMES)[op], wide(x), axes, keep)
    flags = f"{{{axes_text(axes)}{', keep_dims' if keep else ''}}}"
    outcomes = run_operator(op, [x], [(tuple(expected.shape), element)], flags)
    if op in EXTREMES:
        assert all(np.array_equal(y.astype(np.float64), expected.numpy()) for (y,) in outcomes)
    else:
        size = float(wide(x).abs().sum()) * (1 if op == "ReduceSumD" else 1 / max(1, x.size))
        assert_near(outcomes, expected, element, max(0.25, size if element == "f32" else 0.25))


@pytest.mark.parametrize("element", ["i32", "i64", "i16", "i8"])
@pytest.mark.parametrize("op", ["ReduceSumD", *EXTREMES])
def test_reductions_of_integers_are_exact(run_operator: RunOperator, op: str, element: str) -> None:
    dtype = np.dtype(f"int{element[1:]}")
    bounds = np.iinfo(dtype)
    x = np.random.default_rng(1).integers(bounds.min, bounds.max, (6, 5, 4), dtype, endpoint=True)
    function = {"ReduceSumD": np.add, "ReduceMaxD": np.maximum, "ReduceMinD": np.minimum}[op]
    for (y,) in run_operator(op, [x], [((5,), element)], "{axes = array<i64: 0, 2>}"):
        assert np.array_equal(y, function.reduce(x, axis=(0, 2), dtype=dtype))


def test_reductions_of_booleans(run_operator: RunOperator) -> None:
    x = np.array([[True, False], [False, False], [True, True]])
    for (y,) in run_operator("ReduceMaxD", [x], [((3,), "i1")], "{axes = array<i64: 1>}"):
        assert y.tolist() == [True, False, True]
    for (y,) in run_operator("ReduceMinD", [x], [((3,), "i1")], "{axes = array<i64: 1>}"):
        assert y.tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("op", "element", "expected"),
    [
        ("ReduceSumD", "f16", 0.0),
        ("ReduceMeanD", "f16", np.nan),
        ("ReduceMaxD", "f32", -np.inf),
        ("ReduceMinD", "f32", np.inf),
        ("ReduceSumD", "i64", 0),
        ("ReduceMaxD", "i32", -(2**31)),
        ("ReduceMaxD", "i8", -128),
        ("ReduceMinD", "i16", 32767),
        ("ReduceMaxD", "i1", False),
        ("ReduceMinD", "i1", True),
    ],
)
def test_reductions_of_nothing(run_operator: RunOperator, op: str, element: str, expected: float) -> None:
    dtype = {"f16": np.float16, "f32": np.float32, "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
    for (y,) in run_operator(op, [np.empty((3, 0), dtype[element])], [((3,), element)], "{axes = array<i64: 1>}"):
        assert np.array_equal(y, np.full(3, expected, dtype[element]), equal_nan=element[0] == "f")


@pytest.mark.parametrize("op", ["ReduceMaxD", "ReduceMinD"])
def test_extremes_let_nan_and_infinities_through(run_operator: RunOperator, op: str) -> None:
    x = np.array([[1, np.nan, 3], [np.inf, -np.inf, 0], [-np.inf, -np.inf, -np.inf]], np.float32)
    for (y,) in run_operator(op, [x], [((3,), "f32")], "{axes = array<i64: 1>}"):
        assert np.array_equal(y, (np.max if op == "ReduceMaxD" else np.min)(x, axis=1), equal_nan=True)


SOFTMAXES = {"SoftmaxV2": torch.softmax, "LogSoftmaxV2": torch.log_softmax}


@pytest.mark.parametrize("op", SOFTMAXES)
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize(
    ("shape", "axis"), [((5, 7), 1), ((5, 7), -2), ((4, 3, 6), 1), ((4, 1), 1), ((0, 4), 1), ((4, 0), 1), ((4, 2000), -1)]
)
def test_softmax(run_operator: RunOperator, op: str, element: str, shape: tuple[int, ...], axis: int) -> None:
    x = outliers(shape, element)
    outcomes = run_operator(op, [x], [(shape, element)], f"{{axes = array<i64: {axis}>}}")
    assert_near(outcomes, SOFTMAXES[op](wide(x), axis), element, magnitude=2.0**-10 if op == "SoftmaxV2" else 0.25)


def test_softmax_over_several_axes(run_operator: RunOperator) -> None:
    x = outliers((3, 4, 5), "f32")
    expected = torch.softmax(wide(x).reshape(3, 20), 1).reshape(3, 4, 5)
    assert_near(run_operator("SoftmaxV2", [x], [((3, 4, 5), "f32")], "{axes = array<i64: 2, 1>}"), expected, "f32", 2.0**-10)


@pytest.mark.parametrize("op", SOFTMAXES)
def test_softmax_of_infinities_is_as_in_pytorch(run_operator: RunOperator, op: str) -> None:
    x = np.array([[1, -np.inf, 3], [-np.inf, -np.inf, -np.inf], [np.inf, 0, 0], [np.nan, 0, 0]], np.float32)
    expected = SOFTMAXES[op](wide(x), 1).numpy()
    for (y,) in run_operator(op, [x], [((4, 3), "f32")], "{axes = array<i64: 1>}"):
        np.testing.assert_allclose(y, expected, rtol=1e-6)


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("parameters", [0, 1, 2])
@pytest.mark.parametrize(("shape", "dims"), [((5, 64), 1), ((5, 4, 8), 2), ((4, 1), 1), ((0, 4), 1), ((6,), 1), ((4, 3000), 1)])
def test_layer_norm(run_operator: RunOperator, element: str, parameters: int, shape: tuple[int, ...], dims: int) -> None:
    x, trailing = outliers(shape, element), shape[-dims:]
    gamma, beta = outliers(trailing, element), outliers(trailing, element)
    given = [gamma, beta][:parameters]
    expected = torch.nn.functional.layer_norm(wide(x), trailing, *map(wide, given), eps=1e-5)
    attributes = f"{{normalized_dims = {dims} : i64, epsilon = 1.0e-5 : f32}}"
    assert_near(run_operator("LayerNormV4", [x, *given], [(shape, element)], attributes), expected, element, 4 if element == "f32" else 1)


@pytest.mark.parametrize("value", [300.1, 0.1, -1e6, 0.0])
@pytest.mark.parametrize("size", [768, 3000, 49])
def test_rows_of_equal_elements_are_normalized_to_zero(run_operator: RunOperator, value: float, size: int) -> None:
    x = np.full((2, size), value, np.float32)
    for (y,) in run_operator("LayerNormV4", [x], [((2, size), "f32")], "{normalized_dims = 1 : i64, epsilon = 1.0e-5 : f32}"):
        assert np.abs(y).max() < 1e-6


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("has_gamma", [False, True])
@pytest.mark.parametrize(("shape", "dims"), [((5, 64), 1), ((5, 4, 8), 2), ((4, 1), 1), ((0, 4), 1)])
def test_rms_norm(run_operator: RunOperator, element: str, has_gamma: bool, shape: tuple[int, ...], dims: int) -> None:
    x, trailing = outliers(shape, element), shape[-dims:]
    given = [outliers(trailing, element)] * has_gamma
    expected = torch.nn.functional.rms_norm(wide(x), trailing, *map(wide, given), eps=1e-6)
    attributes = f"{{normalized_dims = {dims} : i64, epsilon = 1.0e-6 : f32}}"
    assert_near(run_operator("RmsNorm", [x, *given], [(shape, element)], attributes), expected, element)


def test_norms_take_parameters_of_other_float_types(run_operator: RunOperator) -> None:
    x, gamma = outliers((5, 8), "bf16"), outliers((8,), "f32")
    expected = torch.nn.functional.layer_norm(wide(x), (8,), wide(gamma), wide(gamma), eps=1e-5)
    attributes = "{normalized_dims = 1 : i64, epsilon = 1.0e-5 : f32}"
    assert_near(run_operator("LayerNormV4", [x, gamma, gamma], [((5, 8), "bf16")], attributes), expected, "bf16", 1)


def test_products_run_on_the_ai_cpu(run_operator: RunOperator) -> None:
    x = outliers((5, 7), "f32") / np.float32(100)
    expected = wide(x).prod(1)
    assert_near(run_operator("ReduceProdD", [x], [((5,), "f32")], "{axes = array<i64: 1>}", engine="aicpu"), expected, "f32")
