"""
How far a result is from the truth, and how far it may be: the one table of tolerances.

The truth is an f64 evaluation with the same rounded weights and inputs. A result is good if its error, at most and in the root mean
square, is within `FACTOR` times the error of eager PyTorch in the same dtype plus `ULPS` units in the last place of the tensor's largest
value; if its cosine with the truth reaches the dtype's bound; and if NaN and infinities stand where eager has them or where the truth,
rounded to the dtype, has them. The truth is heard because a kernel rounds less often than eager: an intermediate that overflows f16 in
eager stays finite here, as it does in f64; and because eager's vectorised functions give NaN where the limit is finite (GELU of infinity).

Integers and booleans are exact. Where one derives from a computed float, f64 may decide it by less than the tolerance: such elements, and
all that depends on them, are left out and counted.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ge_compiler.runtime.signature import DTYPES, FLOATS, Array, dtype_name

FACTOR = 2.0
ULPS = 1.0
COSINE = {"f32": 0.99999, "f16": 0.9999, "bf16": 0.999}
"""The least cosine by dtype, where neither tensor is all zero."""

_FORMATS = {"f32": (23, -126), "f16": (10, -14), "bf16": (7, -126)}
"""Explicit mantissa bits and the exponent of the smallest normal number."""


@dataclass(frozen=True)
class Metrics:
    """One tensor against the f64 reference; elements that are NaN or infinite anywhere are compared by their place alone."""

    dtype: str
    elements: int
    max_abs: float
    rms: float
    max_ulp: float
    """Largest error in units in the last place of the tensor's largest value."""
    max_ulp_elementwise: float
    """Largest error in units in the last place of its own element: large where sums cancel."""
    cosine: float | None
    """`None` where a tensor is all zero or has no finite element."""
    eager_max_abs: float
    eager_rms: float
    allowed_max_abs: float
    allowed_rms: float
    misplaced: int
    """Elements that are NaN or infinite where neither eager PyTorch nor the rounded truth is, or the other way round."""
    left_out: int
    """Elements that are not compared, since they hang on decisions that f64 takes by less than the tolerance."""
    max_abs_to_eager: float
    max_ulp_to_eager: float
    cosine_to_eager: float | None

    @property
    def failures(self) -> tuple[str, ...]:
        """Every part of the rule that is broken, with its figures."""
        broken: list[str] = []
        if self.misplaced:
            broken.append(f"{self.misplaced} of {self.elements} elements are NaN or infinite on one side only")
        if not self.max_abs <= self.allowed_max_abs:
            broken.append(f"max error {self.max_abs:.3g} exceeds {self.allowed_max_abs:.3g}")
        if not self.rms <= self.allowed_rms:
            broken.append(f"rms error {self.rms:.3g} exceeds {self.allowed_rms:.3g}")
        if self.cosine is not None and self.cosine < COSINE.get(self.dtype, 1.0):
            broken.append(f"cosine {self.cosine:.6f} is below {COSINE[self.dtype]}")
        return tuple(broken)

    @property
    def within(self) -> bool:
        return not self.failures

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"within": self.within, "failures": list(self.failures)}


def measure(
    actual: Array, reference: Array, eager: Array, dtype: str | None = None, undecided: npt.NDArray[np.bool_] | None = None
) -> Metrics:
    """
    Compares tensors of one shape. `reference` is f64 (or an exact integer), `eager` PyTorch's own result in the dtype of the run.

    `dtype` is that dtype where it is not that of `actual` (a program that computes in f16 for an f32 model). `undecided` marks elements to
    leave out. Raises `ValueError` if shapes differ.
    """
    if not actual.shape == reference.shape == eager.shape:
        raise ValueError(f"shapes differ: {actual.shape}, reference {reference.shape}, eager {eager.shape}")
    name = dtype or dtype_name(actual.dtype)
    left_out = 0
    if undecided is not None and (left_out := int(np.count_nonzero(undecided))):
        actual, reference, eager = (x[~undecided] for x in (actual, reference, eager))
    if name not in FLOATS:
        return _exact(name, actual, reference, left_out)
    a, r, e = (x.astype(np.float64).reshape(-1) for x in (actual, reference, eager))
    return _close(name, a, r, e, left_out)


def _close(name: str, a: Array, r: Array, e: Array, left_out: int) -> Metrics:
    misplaced = int(np.count_nonzero((_kinds(a) != _kinds(e)) & (_kinds(a) != _kinds(_rounded(r, name)))))
    finite = np.isfinite(a) & np.isfinite(r)
    of_eager = finite & np.isfinite(e)
    eagers, errors, distances = e[of_eager], e[of_eager] - r[of_eager], a[of_eager] - e[of_eager]
    elements, ours = a.size + left_out, a[of_eager]
    a, r = a[finite], r[finite]
    unit = ulp(_largest(r), name)
    return Metrics(
        dtype=name,
        elements=elements,
        max_abs=_largest(a - r),
        rms=_rms(a - r),
        max_ulp=_largest(a - r) / unit,
        max_ulp_elementwise=_largest((a - r) / ulps(r, name)),
        cosine=_cosine(a, r),
        eager_max_abs=_largest(errors),
        eager_rms=_rms(errors),
        allowed_max_abs=FACTOR * _largest(errors) + ULPS * unit,
        allowed_rms=FACTOR * _rms(errors) + ULPS * unit,
        misplaced=misplaced,
        left_out=left_out,
        max_abs_to_eager=_largest(distances),
        max_ulp_to_eager=_largest(distances) / unit,
        cosine_to_eager=_cosine(ours, eagers),
    )


def ulps(values: Array, dtype: str) -> Array:
    """The unit in the last place of each finite f64 value when it is held in `dtype`; that of the smallest subnormal near 0."""
    mantissa_bits, least_exponent = _FORMATS[dtype]
    _, exponents = np.frexp(values)
    exponents = np.where(values == 0, least_exponent, np.maximum(exponents - 1, least_exponent))
    return np.ldexp(1.0, exponents - mantissa_bits)


def ulp(value: float, dtype: str) -> float:
    """The unit in the last place of one value."""
    return float(ulps(np.array([value]), dtype)[0])


def identical(a: Array, b: Array) -> bool:
    """Whether two arrays have the same shape, dtype and bits."""
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def _exact(name: str, actual: Array, reference: Array, left_out: int) -> Metrics:
    difference = np.abs(actual.astype(np.float64) - reference.astype(np.float64))
    differing = int(np.count_nonzero(actual != reference))
    largest = max(_largest(difference), 1.0) if differing else 0.0
    return Metrics(
        dtype=name,
        elements=actual.size + left_out,
        max_abs=largest,
        rms=_rms(difference),
        max_ulp=largest,
        max_ulp_elementwise=largest,
        cosine=None,
        eager_max_abs=0.0,
        eager_rms=0.0,
        allowed_max_abs=0.0,
        allowed_rms=0.0,
        misplaced=0,
        left_out=left_out,
        max_abs_to_eager=largest,
        max_ulp_to_eager=largest,
        cosine_to_eager=None,
    )


def _rounded(values: Array, dtype: str) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(DTYPES[dtype]).astype(np.float64)


def _kinds(values: Array) -> Array:
    """0 for a finite value, 1 for NaN, 2 and 3 for the infinities."""
    return np.where(np.isnan(values), 1, np.where(np.isposinf(values), 2, np.where(np.isneginf(values), 3, 0)))


def _largest(difference: Array) -> float:
    return float(np.max(np.abs(difference), initial=0.0))


def _rms(difference: Array) -> float:
    return math.sqrt(float(np.mean(np.square(difference)))) if difference.size else 0.0


def _cosine(a: Array, b: Array) -> float | None:
    scale_a, scale_b = _largest(a), _largest(b)
    if scale_a == 0 or scale_b == 0:
        return None
    a, b = a / scale_a, b / scale_b
    return float(np.dot(a, b) / math.sqrt(float(np.dot(a, a)) * float(np.dot(b, b))))
