"""Tests of every `ge` operator against PyTorch in f64: element types, broadcasting, rank 0, no elements."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
import torch

from ge_compiler.dialects.ge import GE, GeOp
from ge_compiler.dialects.parser import parse_module
from ge_compiler.runtime.execute import execute

Array = npt.NDArray[Any]

DTYPES: dict[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "i8": np.dtype(np.int8),
    "i1": np.dtype(np.bool_),
}
EPSILON = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-22}


def tensor(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{d}x' for d in shape)}{element}>"


def run(op: str, inputs: Sequence[Array], result: tuple[Sequence[int], str], attributes: str = "") -> Array:
    """The result, a type as (shape, element), of the operator on `inputs`."""
    element = {dtype: name for name, dtype in DTYPES.items()}
    types = [tensor(x.shape, element[x.dtype]) for x in inputs]
    arguments = ", ".join(f"%x{i}: {t}" for i, t in enumerate(types))
    operands = ", ".join(f"%x{i}" for i in range(len(inputs)))
    out = tensor(*result)
    text = f"""func.func @main({arguments}) -> {out} {{
  %y = ge.{op} {operands} {attributes} : ({", ".join(types)}) -> {out}
  func.return %y : {out}
}}"""
    (y,) = execute(parse_module(text, "op.mlir"), inputs, {})
    assert y.shape == tuple(result[0])
    assert y.dtype == DTYPES[result[1]]
    return y


def wide(array: Array) -> torch.Tensor:
    return torch.tensor(array.astype(np.float64))


def assert_near(actual: Array, expected: torch.Tensor, element: str, magnitude: Array | float = 0.25) -> None:
    """Within a unit in the last place of the result, or of `magnitude` where results are small by cancelling."""
    reference = expected.numpy()
    error = np.abs(actual.astype(np.float64) - reference)
    assert np.all(error <= EPSILON[element] * np.maximum(np.abs(reference), magnitude))


UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "Abs": torch.abs,
    "Erf": torch.erf,
    "Exp": torch.exp,
    "Log": torch.log,
    "Neg": torch.neg,
    "Reciprocal": torch.reciprocal,
    "Relu": torch.relu,
    "Rsqrt": torch.rsqrt,
    "Sigmoid": torch.sigmoid,
    "Sqrt": torch.sqrt,
    "Square": torch.square,
    "Swish": torch.nn.functional.silu,
    "Tanh": torch.tanh,
}
POSITIVE = ("Log", "Reciprocal", "Rsqrt", "Sqrt")


def values(shape: tuple[int, ...], element: str, positive: bool = False) -> Array:
    x = np.asarray(np.random.default_rng(len(shape)).standard_normal(shape)) * 2
    return np.asarray(np.abs(x) + 0.1 if positive else x).astype(DTYPES[element])


@pytest.mark.parametrize("op", UNARY)
@pytest.mark.parametrize("element", EPSILON)
@pytest.mark.parametrize("shape", [(), (0, 3), (7,), (2, 3, 65)])
def test_operators_of_one_operand(op: str, element: str, shape: tuple[int, ...]) -> None:
    x = values(shape, element, op in POSITIVE)
    assert_near(run(op, [x], (shape, element)), UNARY[op](wide(x)), element)


@pytest.mark.parametrize("element", EPSILON)
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(element: str, approximate: str) -> None:
    x = values((40, 5), element)
    actual = run("GeluV2", [x], ((40, 5), element), f'{{approximate = "{approximate}"}}')
    assert_near(actual, torch.nn.functional.gelu(wide(x), approximate=approximate), element, np.abs(x.astype(np.float64)))


BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "Add": torch.add,
    "Sub": torch.sub,
    "Mul": torch.mul,
    "RealDiv": torch.div,
    "Maximum": torch.maximum,
    "Minimum": torch.minimum,
}


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("element", EPSILON)
@pytest.mark.parametrize(
    ("a", "b", "shape"),
    [
        ((4, 5), (4, 5), (4, 5)),
        ((4, 5), (5,), (4, 5)),
        ((3, 1, 2), (7, 1), (3, 7, 2)),
        ((), (3,), (3,)),
        ((0, 4), (1,), (0, 4)),
        ((), (), ()),
    ],
)
def test_operators_of_two_operands(op: str, element: str, a: tuple[int, ...], b: tuple[int, ...], shape: tuple[int, ...]) -> None:
    x, y = values(a, element), values(b, element, positive=True)
    assert_near(run(op, [x, y], (shape, element)), BINARY[op](wide(x), wide(y)), element)


@pytest.mark.parametrize("op", [op for op in BINARY if op != "RealDiv"])
@pytest.mark.parametrize("element", ["i32", "i64"])
def test_integers_are_exact(op: str, element: str) -> None:
    x, y = (np.random.default_rng(i).integers(-30000, 30000, (5, 6)).astype(DTYPES[element]) for i in (0, 1))
    assert np.array_equal(run(op, [x, y], ((5, 6), element)), BINARY[op](torch.tensor(x), torch.tensor(y)).numpy())


@pytest.mark.parametrize(("op", "function"), [("Adds", torch.add), ("Muls", torch.mul)])
@pytest.mark.parametrize("element", EPSILON)
def test_operators_with_a_scalar(op: str, function: Callable[[torch.Tensor, float], torch.Tensor], element: str) -> None:
    x = values((3, 4), element)
    assert_near(run(op, [x], ((3, 4), element), "{value = 0.3 : f32}"), function(wide(x), 0.3), element)


@pytest.mark.parametrize("element", EPSILON)
def test_operators_that_clamp(element: str) -> None:
    x = values((3, 4), element)
    assert_near(run("Maxs", [x], ((3, 4), element), "{value = 0.5 : f32}"), torch.clamp(wide(x), min=0.5), element)
    assert_near(run("Mins", [x], ((3, 4), element), "{value = 0.5 : f32}"), torch.clamp(wide(x), max=0.5), element)


@pytest.mark.parametrize("op", ["Relu", "Maximum", "Minimum", "Maxs"])
def test_nan_goes_through(op: str) -> None:
    x = np.array([np.nan, 1.0], np.float32)
    inputs = [x, x[::-1].copy()] if op in BINARY else [x]
    y = run(op, inputs, ((2,), "f32"), "{value = 0.0 : f32}" if op == "Maxs" else "")
    assert np.isnan(y[0])


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_casts(source: str, target: str) -> None:
    x = np.array([[0, 1, -3, 100], [2.5, 0.75, -0.5, 64]]).astype(DTYPES[source])
    actual = run("Cast", [x], ((2, 4), target))
    truth = torch.tensor(x.astype(np.float64))
    if target == "i1":
        assert np.array_equal(actual, truth.ne(0).numpy())
    else:
        assert np.array_equal(actual, (truth.trunc() if target.startswith("i") else truth).numpy())


@pytest.mark.parametrize("element", EPSILON)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("transpose_a", "transpose_b"), [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize(("m", "n", "k"), [(5, 6, 7), (1, 33, 64), (0, 3, 4), (3, 4, 0)])
def test_matmul(element: str, bias: bool, transpose_a: bool, transpose_b: bool, m: int, n: int, k: int) -> None:
    a, b, c = values((m, k), element), values((k, n), element), values((n,), element)
    expected = wide(a) @ wide(b) + (wide(c) if bias else 0)
    inputs = [a.T.copy() if transpose_a else a, b.T.copy() if transpose_b else b, *([c] if bias else [])]
    flags = ", ".join(["transpose_x1"] * transpose_a + ["transpose_x2"] * transpose_b)
    actual = run("MatMulV2", inputs, ((m, n), element), f"{{{flags}}}")
    magnitude = np.maximum((wide(a).abs() @ wide(b).abs() + 1).numpy(), 0.25)
    error = np.abs(actual.astype(np.float64) - expected.numpy())
    # One rounding of the result, and f32 sums: a bf16 accumulation would be far off.
    assert np.all(error <= EPSILON[element] / 2 * np.abs(expected.numpy()) + (k + 2) * 2.0**-24 * magnitude)


@pytest.mark.parametrize(("a", "b"), [((2, 3, 4, 5), (5, 6)), ((3, 4, 5), (2, 1, 5, 6)), ((4, 5), (3, 5, 6)), ((0, 4, 5), (0, 5, 6))])
def test_batched_matmul(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = values(a, "f32"), values(b, "f32")
    expected = wide(x) @ wide(y)
    actual = run("BatchMatMulV2", [x, y], (tuple(expected.shape), "f32"))
    assert np.all(np.abs(actual - expected.numpy()) <= 1e-5)


@pytest.mark.parametrize(
    ("literal", "shape", "element", "data"),
    [
        ("dense<1.5>", (2, 3), "f16", np.full(6, 0x3E00, np.uint16)),
        ("dense<[0x7E01, -0.0]>", (2,), "f16", np.array([0x7E01, 0x8000], np.uint16)),
        ("dense<[0xFF80, 1.0]>", (2,), "bf16", np.array([0xFF80, 0x3F80], np.uint16)),
        ("dense<[true, false]>", (2,), "i1", np.array([1, 0], np.uint8)),
        ("dense<-3>", (), "i64", np.array([-3], np.int64)),
        ("dense<>", (0, 2), "f32", np.array([], np.uint8)),
    ],
)
def test_constants_keep_their_bits(literal: str, shape: tuple[int, ...], element: str, data: Array) -> None:
    out = tensor(shape, element)
    text = f"func.func @main() -> {out} {{\n%c = ge.Const {literal} : {out}\nfunc.return %c : {out}\n}}"
    (y,) = execute(parse_module(text), [], {})
    assert (y.shape, y.dtype) == (shape, DTYPES[element])
    assert y.tobytes() == data.tobytes()
    assert y.flags.writeable


def test_every_operator_is_covered() -> None:
    files = [path.read_text() for path in Path(__file__).parent.glob("test_*.py")]
    named = {word for text in files for word in re.findall(r'"([A-Z]\w+)"', text)} | {"Const", "AtenFallback"}
    assert {op.name.removeprefix("ge.") for op in GE.operations if issubclass(op, GeOp)} <= named
