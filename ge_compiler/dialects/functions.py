"""The one table of elementwise functions: what `fused`, `tile` and `npu` compute tile by tile.

An entry is *native* (one vector instruction, `npu.v<name>`) or an *expansion*: a straight line of other entries that `expand-math` writes
out at `tile`, so that every level below runs exactly the same arithmetic. The ops of three dialects are generated from this table, and
`semantics.py` holds one numpy function for each native entry. Nothing here imports numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class Emitter(Protocol):
    """Where a straight line of functions goes: IR, a list that is only measured, or numpy arrays."""

    def apply(self, name: str, *operands: Any, scalar: float | None = None) -> Any:
        """Apply the table's function `name`; the handle of its result."""
        ...


Expansion = Callable[[Emitter, Sequence[Any]], Any]


@dataclass(frozen=True)
class Function:
    """One elementwise function."""

    name: str
    operands: int
    """How many tensor operands it takes; they broadcast against each other in dimensions of size 1."""

    summary: str
    """Its value, as a formula."""

    has_scalar: bool = False
    """Whether it carries a `scalar` attribute (rounded to f32, or exact for integers)."""

    dtypes: tuple[str, ...] = ("f32",)
    """The element types it computes in: those of its operands, conditions apart, and of its result unless that is a boolean."""

    conditions: int = 0
    """How many of its first operands are booleans whatever it computes in."""

    is_predicate: bool = False
    """Whether its result is a boolean whatever it computes in."""

    expansion: Expansion | None = field(default=None, compare=False)
    """How it is written in other entries; `None` for a native function."""

    @property
    def is_native(self) -> bool:
        return self.expansion is None


def _polynomial(emit: Emitter, t: Any, coefficients: Sequence[float]) -> Any:
    """Horner's rule; `coefficients` from the constant term up, at least two of them."""
    value = emit.apply("adds", emit.apply("muls", t, scalar=coefficients[-1]), scalar=coefficients[-2])
    for coefficient in coefficients[-3::-1]:
        value = emit.apply("adds", emit.apply("mul", value, t), scalar=coefficient)
    return value


def _odd_rational(emit: Emitter, x: Any, bound: float, numerator: Sequence[float], denominator: Sequence[float]) -> Any:
    """x·P(x²)/Q(x²) with x held to [-bound, bound] and the result to [-1, 1]: odd, so its relative error stays small near 0."""
    x = _held(emit, x, bound)
    t = emit.apply("mul", x, x)
    value = emit.apply("mul", x, _polynomial(emit, t, numerator))
    value = emit.apply("div", value, _polynomial(emit, t, denominator))
    return _held(emit, value, 1.0)


def _held(emit: Emitter, x: Any, bound: float) -> Any:
    """x within [-bound, bound]."""
    return emit.apply("maxs", emit.apply("mins", x, scalar=bound), scalar=-bound)


# Rational minimax fits of erf(√t)/√t on [0, 3.9²] and tanh(√t)/√t on [0, 9²] (relative error 1.7e-8 and 9e-11; at most 5.5 units in the
# last place when evaluated in f32). Both reach 1 at the bound, so that infinities give exactly ±1. GELU, which adds 1 and multiplies,
# needs no better ones.
_ERF_P = (
    1.1283791065216064,
    0.1896607130765915,
    0.05266730859875679,
    0.0037380948197096586,
    0.00028505807858891785,
    2.0665368083427893e-06,
)
_ERF_Q = (1.0, 0.5014151930809021, 0.11381646245718002, 0.01491377130150795, 0.0011573182418942451, 3.827047476079315e-05)
_TANH_P = (
    1.0,
    0.1385592669248581,
    0.004094291944056749,
    3.300422758911736e-05,
    4.573833578547237e-08,
    -3.175010601652595e-11,
    2.579341362891896e-14,
)
_TANH_Q = (1.0, 0.4718925952911377, 0.028058495372533798, 0.0004350745293777436, 1.6700317928552977e-06)

# erf and tanh of their own, within 1.9 and 1.5 units in the last place: x + x·R(x²) on [-1, 1], where R is small, and beyond it the way
# that is left to ±1, which is 0 at 1 to the last bit. With d = |x| − 1 that is erfc(1)·(1 − exp(−d² − 2d)·N(d)/D(d)) for erf, and
# K·(1 − exp(−2d)) / (1 + exp(−2)·exp(−2d)) for tanh.
_ERF_R = (
    0.12837916612625122,
    -0.3761262595653534,
    0.11283600330352783,
    -0.026854444295167923,
    0.005189535208046436,
    -0.0008020841050893068,
    7.889119297033176e-05,
)
_ERFC_1 = 0.15729920566082
_ERFC_N = (1.0, 0.2967802882194519, 0.0024121252354234457)
_ERFC_D = (1.0, 0.9357430338859558, 0.23936879634857178)
_TANH_R = (
    -0.333333283662796,
    0.13333210349082947,
    -0.053953930735588074,
    0.021788116544485092,
    -0.008602497167885303,
    0.003087448189035058,
    -0.0008466425351798534,
    0.0001228576438734308,
)
_TANH_K = 0.23840583860874176
_EXP_MINUS_2 = 0.1353352814912796
_FARTHEST = 4.0
"""erf(1 + d) is 1 in f32 from here on; a larger d would overflow in its square."""


def _erf(emit: Emitter, x: Sequence[Any]) -> Any:
    near, beyond, sign = _split_at_one(emit, x[0])
    t = emit.apply("mul", near, near)
    core = emit.apply("add", near, emit.apply("mul", near, _polynomial(emit, t, _ERF_R)))
    d = emit.apply("mins", beyond, scalar=_FARTHEST)
    exponent = emit.apply("muls", emit.apply("mul", d, emit.apply("adds", d, scalar=2.0)), scalar=-1.0)
    ratio = emit.apply("div", _polynomial(emit, d, _ERFC_N), _polynomial(emit, d, _ERFC_D))
    left = _one_minus(emit, emit.apply("mul", emit.apply("exp", exponent), ratio))
    return emit.apply("add", core, emit.apply("mul", sign, emit.apply("muls", left, scalar=_ERFC_1)))


def _tanh(emit: Emitter, x: Sequence[Any]) -> Any:
    near, beyond, sign = _split_at_one(emit, x[0])
    t = emit.apply("mul", near, near)
    core = emit.apply("add", near, emit.apply("mul", near, emit.apply("mul", t, _polynomial(emit, t, _TANH_R))))
    q = emit.apply("exp", emit.apply("muls", beyond, scalar=-2.0))
    denominator = emit.apply("adds", emit.apply("muls", q, scalar=_EXP_MINUS_2), scalar=1.0)
    left = emit.apply("muls", emit.apply("div", _one_minus(emit, q), denominator), scalar=_TANH_K)
    return emit.apply("add", core, emit.apply("mul", sign, left))


def _split_at_one(emit: Emitter, x: Any) -> tuple[Any, Any, Any]:
    """x within [-1, 1], how far |x| is beyond it, and the sign of x where it is."""
    near = _held(emit, x, 1.0)
    rest = emit.apply("sub", near, x)  # 0 for both zeros: its negative then has the sign that keeps that of x
    return near, emit.apply("abs", rest), _held(emit, emit.apply("muls", rest, scalar=-(2.0**30)), 1.0)


def _one_minus(emit: Emitter, x: Any) -> Any:
    return emit.apply("adds", emit.apply("muls", x, scalar=-1.0), scalar=1.0)


def _gelu(emit: Emitter, x: Sequence[Any]) -> Any:
    erf = _odd_rational(emit, emit.apply("muls", x[0], scalar=0.7071067811865476), 3.9, _ERF_P, _ERF_Q)
    return emit.apply("mul", emit.apply("muls", x[0], scalar=0.5), emit.apply("adds", erf, scalar=1.0))


def _gelu_tanh(emit: Emitter, x: Sequence[Any]) -> Any:
    cube = emit.apply("mul", emit.apply("mul", x[0], x[0]), x[0])
    inner = emit.apply("add", x[0], emit.apply("muls", cube, scalar=0.044715))
    tanh = _odd_rational(emit, emit.apply("muls", inner, scalar=0.7978845608028654), 9.0, _TANH_P, _TANH_Q)
    return emit.apply("mul", emit.apply("muls", x[0], scalar=0.5), emit.apply("adds", tanh, scalar=1.0))


# π in five parts: the first four have 8 bits each, so that their products with a multiple of 1/2 below 2^15 are exact in f32. Then
# (sin(√t)/√t − 1)/t on [0, 1.6²].
_PI = (3.140625, 0.000965118408203125, 2.5331974029541016e-06, 1.979060471057892e-09, 5.126688136514179e-12)
_SIN_R = (-0.1666666666374001, 0.008333332746000505, -0.00019841081060563884, 2.7536049708553138e-06, -2.407065765302617e-08)


def _sine_beside(emit: Emitter, x: Any, turns: Any, half_turns: Any, sign: float) -> Any:
    """sign · sin(x − turns·π) where `half_turns` is even, the negative of that where it is odd."""
    rest = x
    for part in _PI:
        rest = emit.apply("sub", rest, emit.apply("muls", turns, scalar=part))
    rest = _held(emit, rest, 1.6)  # more only where f32 has no digits left for the remainder
    t = emit.apply("mul", rest, rest)
    sine = emit.apply("add", rest, emit.apply("mul", rest, emit.apply("mul", t, _polynomial(emit, t, _SIN_R))))
    half = emit.apply("muls", half_turns, scalar=0.5)
    odd = emit.apply("sub", half, emit.apply("floor", half))  # 1/2 or 0
    return emit.apply("mul", sine, emit.apply("adds", emit.apply("muls", odd, scalar=-4.0 * sign), scalar=sign))


def _sin(emit: Emitter, x: Sequence[Any]) -> Any:
    turns = emit.apply("rint", emit.apply("muls", x[0], scalar=0.3183098861837907))
    return _sine_beside(emit, x[0], turns, turns, 1.0)


def _cos(emit: Emitter, x: Sequence[Any]) -> Any:
    whole = emit.apply("rint", emit.apply("adds", emit.apply("muls", x[0], scalar=0.3183098861837907), scalar=-0.5))
    return _sine_beside(emit, x[0], emit.apply("adds", whole, scalar=0.5), whole, -1.0)


def _one_plus_exp_of_minus(emit: Emitter, x: Any) -> Any:
    return emit.apply("adds", emit.apply("exp", emit.apply("muls", x, scalar=-1.0)), scalar=1.0)


def _sigmoid(emit: Emitter, x: Sequence[Any]) -> Any:
    return emit.apply("rec", _one_plus_exp_of_minus(emit, x[0]))


def _silu(emit: Emitter, x: Sequence[Any]) -> Any:
    return emit.apply("div", x[0], _one_plus_exp_of_minus(emit, x[0]))


def _neg(emit: Emitter, x: Sequence[Any]) -> Any:
    return emit.apply("muls", x[0], scalar=-1.0)


def _square(emit: Emitter, x: Sequence[Any]) -> Any:
    return emit.apply("mul", x[0], x[0])


def _rsqrt(emit: Emitter, x: Sequence[Any]) -> Any:
    return emit.apply("rec", emit.apply("sqrt", x[0]))


_NUMBERS = ("f32", "i32", "i64")
_LOGIC = ("i1",)

FUNCTIONS: dict[str, Function] = {
    f.name: f
    for f in (
        Function("add", 2, "x + y", dtypes=_NUMBERS),
        Function("sub", 2, "x - y", dtypes=_NUMBERS),
        Function("mul", 2, "x * y", dtypes=_NUMBERS),
        Function("div", 2, "x / y"),
        Function("max", 2, "the larger of x and y; NaN if either is", dtypes=_NUMBERS),
        Function("min", 2, "the smaller of x and y; NaN if either is", dtypes=_NUMBERS),
        Function("adds", 1, "x + scalar", has_scalar=True, dtypes=_NUMBERS),
        Function("muls", 1, "x * scalar", has_scalar=True, dtypes=_NUMBERS),
        Function("maxs", 1, "the larger of x and scalar; NaN if x is", has_scalar=True, dtypes=_NUMBERS),
        Function("mins", 1, "the smaller of x and scalar; NaN if x is", has_scalar=True, dtypes=_NUMBERS),
        Function("abs", 1, "|x|"),
        Function("exp", 1, "e to the power x"),
        Function("ln", 1, "the natural logarithm of x"),
        Function("sqrt", 1, "the square root of x"),
        Function("rec", 1, "1 / x"),
        Function("relu", 1, "the larger of x and 0; NaN if x is", dtypes=_NUMBERS),
        Function("rint", 1, "x rounded to a whole number, halves to the even one"),
        Function("floor", 1, "the largest whole number that is not above x"),
        Function("ceil", 1, "the smallest whole number that is not below x"),
        Function("trunc", 1, "x without what is behind its point"),
        Function("eq", 2, "whether x and y are equal, which NaN is to nothing", dtypes=_NUMBERS, is_predicate=True),
        Function("ne", 2, "whether x and y differ, as NaN does from everything", dtypes=_NUMBERS, is_predicate=True),
        Function("lt", 2, "whether x is below y", dtypes=_NUMBERS, is_predicate=True),
        Function("le", 2, "whether x is y or below it", dtypes=_NUMBERS, is_predicate=True),
        Function("gt", 2, "whether x is above y", dtypes=_NUMBERS, is_predicate=True),
        Function("ge", 2, "whether x is y or above it", dtypes=_NUMBERS, is_predicate=True),
        Function("select", 3, "x where the condition is true, else y", dtypes=(*_NUMBERS, *_LOGIC), conditions=1),
        Function("logical_and", 2, "whether both x and y are true", dtypes=_LOGIC),
        Function("logical_or", 2, "whether x or y is true", dtypes=_LOGIC),
        Function("logical_not", 1, "whether x is false", dtypes=_LOGIC),
        Function("neg", 1, "-x", dtypes=_NUMBERS, expansion=_neg),
        Function("square", 1, "x * x", dtypes=_NUMBERS, expansion=_square),
        Function("rsqrt", 1, "1 / sqrt(x)", expansion=_rsqrt),
        Function("sigmoid", 1, "1 / (1 + exp(-x))", expansion=_sigmoid),
        Function("silu", 1, "x / (1 + exp(-x))", expansion=_silu),
        Function("sin", 1, "the sine of x, of no meaning where |x| > 1e5", expansion=_sin),
        Function("cos", 1, "the cosine of x, of no meaning where |x| > 1e5", expansion=_cos),
        Function("erf", 1, "the error function of x", expansion=_erf),
        Function("tanh", 1, "the hyperbolic tangent of x", expansion=_tanh),
        Function("gelu", 1, "x / 2 * (1 + erf(x / sqrt 2))", expansion=_gelu),
        Function("gelu_tanh", 1, "x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x³)))", expansion=_gelu_tanh),
    )
}

NATIVE: dict[str, Function] = {name: f for name, f in FUNCTIONS.items() if f.is_native}

REDUCTIONS: dict[str, str] = {"sum": "add", "max": "max", "min": "min"}
"""How a reduction of each kind combines two elements: a function of the table."""


def identity_of(kind: str, element: str) -> float | int:
    """What a reduction of `kind` over no elements of type `element` (f32, i32 or i64) gives: combined with x, it gives x."""
    if kind == "sum":
        return 0.0 if element == "f32" else 0
    least = -math.inf if element == "f32" else -(2 ** (int(element[1:]) - 1))
    return least if kind == "max" else -least if element == "f32" else -least - 1


def expand(emit: Emitter, name: str, operands: Sequence[Any], scalar: float | None = None) -> Any:
    """Apply `name` to `operands` through native functions only, expanding as deep as needed."""
    function = FUNCTIONS[name]
    if function.expansion is None:
        return emit.apply(name, *operands, scalar=scalar)
    return function.expansion(_Expanding(emit), operands)


@dataclass(frozen=True)
class _Expanding:
    """An emitter that expands whatever reaches it."""

    target: Emitter

    def apply(self, name: str, *operands: Any, scalar: float | None = None) -> Any:
        return expand(self.target, name, operands, scalar)
