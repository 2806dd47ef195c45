"""The rule of tolerances: what it lets pass, what not, and the tensors that need care."""

from __future__ import annotations

import numpy as np
import pytest

from ge_compiler.runtime.accuracy import identical, measure, ulp, ulps
from ge_compiler.runtime.signature import DTYPES, Array


def truth(size: int = 1000) -> Array:
    return np.random.default_rng(0).normal(size=size)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
def test_rounding_once_is_within(dtype: str) -> None:
    reference = truth()
    rounded = reference.astype(DTYPES[dtype])
    metrics = measure(rounded, reference, rounded)
    assert metrics.within
    assert metrics.max_ulp <= metrics.max_ulp_elementwise <= 0.5
    assert metrics.max_abs == metrics.eager_max_abs
    assert metrics.max_abs_to_eager == metrics.max_ulp_to_eager == 0
    assert metrics.cosine_to_eager == pytest.approx(1)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
def test_twice_the_error_of_eager_and_an_ulp_is_the_limit(dtype: str) -> None:
    reference = np.full(100, 1.5)
    eager = (reference + ulp(1.5, dtype)).astype(DTYPES[dtype])
    for steps, within in ((3, True), (4, False), (-3, True), (-4, False)):
        actual = (reference + steps * ulp(1.5, dtype)).astype(DTYPES[dtype])
        assert measure(actual, reference, eager).within is within


def test_the_root_mean_square_has_its_own_limit() -> None:
    reference = np.full(100, 1.5)
    eager = reference.astype(np.float16)
    eager[0] += 50 * np.float16(ulp(1.5, "f16"))
    actual = (reference + 20 * ulp(1.5, "f16")).astype(np.float16)
    assert [text.split()[0] for text in measure(actual, reference, eager).failures] == ["rms"]


def test_another_direction_fails_by_its_cosine() -> None:
    reference = np.array([1.0, 0.0])
    eager = np.array([1.5, 0.5], np.float16)
    actual = np.array([0.5, 0.5], np.float16)
    assert any("cosine" in text for text in measure(actual, reference, eager).failures)


def test_zeros_have_no_cosine() -> None:
    zeros = np.zeros(4, np.float32)
    metrics = measure(zeros, zeros.astype(np.float64), zeros)
    assert metrics.cosine is None
    assert metrics.within
    assert not measure(zeros, np.ones(4), np.ones(4, np.float32)).within
    assert not measure(np.ones(4, np.float32), np.zeros(4), zeros).within


def test_empty_tensors_are_within() -> None:
    empty = np.zeros((0, 3), np.float16)
    metrics = measure(empty, empty.astype(np.float64), empty)
    assert metrics.within
    assert metrics.elements == 0


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stands_where_eager_has_it(value: float) -> None:
    reference = np.array([1.0, 2.0, 3.0])
    finite = reference.astype(np.float16)
    other = np.array([1.0, value, 3.0], np.float16)
    assert measure(other, reference, other).within
    assert measure(other, reference, finite).misplaced == 1
    assert not measure(-other, reference, other).within


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_or_where_the_truth_has_it(value: float) -> None:
    """Eager rounds more often, and its vectorised functions miss limits: the truth excuses what agrees with it, and is then its measure."""
    reference = np.array([1.0, 2.0, 3.0])
    finite, other = reference.astype(np.float16), np.array([1.0, value, 3.0], np.float16)
    assert measure(finite, reference, other).within
    assert not measure(finite, np.array([1.0, 2.5, 3.0]), other).within
    assert measure(other, np.array([1.0, value, 3.0]), finite).within
    assert measure(finite, np.array([1.0, value, 3.0]), other).misplaced == 1
    beyond, overflowed = np.array([1.0, 7e4]), np.array([1.0, np.inf], np.float16)
    assert measure(overflowed, beyond, np.array([1.0, 65504.0], np.float16)).within
    assert measure(np.array([1.0, 65504.0], np.float16), beyond, overflowed).misplaced == 1


def test_what_is_undecided_is_left_out_and_counted() -> None:
    reference = np.array([0, 1, 2, 3])
    wrong = np.array([0, 1, 7, 3])
    metrics = measure(wrong, reference, reference, undecided=wrong != reference)
    assert metrics.within
    assert (metrics.left_out, metrics.elements) == (1, 4)
    assert not measure(wrong, reference, reference, undecided=np.array([True, False, False, False])).within
    floats = reference.astype(np.float32)
    assert measure(wrong.astype(np.float32), reference.astype(np.float64), floats, undecided=wrong != reference).within


def test_the_truth_may_be_finite_where_both_overflow() -> None:
    reference = np.array([1.0, 70000.0])
    overflowed = np.array([1.0, np.inf], np.float16)
    metrics = measure(overflowed, reference, overflowed)
    assert metrics.within
    assert metrics.max_abs == 0


@pytest.mark.parametrize("dtype", ["i8", "i32", "i64", "bool"])
def test_integers_are_exact(dtype: str) -> None:
    reference = np.array([0, 1, 1, 0]).astype(DTYPES[dtype])
    wrong = reference.copy()
    wrong[0] = 1
    assert measure(reference, reference, reference).within
    assert not measure(wrong, reference, reference).within


def test_large_integers_are_exact_beyond_what_f64_holds() -> None:
    reference = np.array([2**60])
    assert not measure(reference + 1, reference, reference).within


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match="shapes differ"):
        measure(np.zeros(3, np.float32), np.zeros((3, 1)), np.zeros(3, np.float32))


def test_a_program_may_run_in_less_than_its_results_say() -> None:
    reference = truth()
    eager = reference.astype(np.float16)
    actual = eager.astype(np.float32)
    assert measure(actual, reference, eager, "f16").within
    assert not measure(actual, reference, reference.astype(np.float32)).within


@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_units_in_the_last_place_agree_with_numpy(dtype: str) -> None:
    values = np.array([0.0, 1e-40, 1e-7, 1e-5, 0.3, 1.0, 1.9999, 2.0, 1000.0, 60000.0]).astype(DTYPES[dtype])
    np.testing.assert_array_equal(ulps(values.astype(np.float64), dtype), np.spacing(values).astype(np.float64))
    np.testing.assert_array_equal(ulps(-values.astype(np.float64), dtype), np.spacing(values).astype(np.float64))


def test_identical_means_bits() -> None:
    zero, minus = np.zeros(2, np.float32), np.array([0.0, -0.0], np.float32)
    assert identical(zero, zero.copy())
    assert not identical(zero, minus)
    assert not identical(zero, zero.astype(np.float16))
    assert identical(np.array([np.nan]), np.array([np.nan]))
