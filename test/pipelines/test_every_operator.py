"""Tests that every operator with a lowering gives its meaning at every level on every chip, also on rows far from 0 and on nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.rewriter import Rewriter

from ge_compiler.dialects import context, fused
from ge_compiler.dialects.ge import GE, GeOp
from ge_compiler.dialects.ge.shapes import is_compatible
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import complete_targets, load_target
from ge_compiler.dialects.types import tensor_type
from ge_compiler.lowering.pipelines import PIPELINES
from ge_compiler.runtime.execute import execute
from ge_compiler.tools.opt.pipeline_text import build_pass, parse_pipeline

Array = npt.NDArray[Any]

DTYPES: Mapping[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i8": np.dtype(np.int8),
    "i1": np.dtype(np.bool_),
}
ULP = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-18}

LAST, FIRST, BOTH = "{axes = array<i64: 1>}", "{axes = array<i64: 0>}", "{axes = array<i64: 0, 1>}"
NORM = "{normalized_dims = 1 : i64, epsilon = 1.0e-5 : f32}"
SCALE = "{scale_value = 0.25 : f32}"

REDUCTIONS = [
    f"{op} {types} {attributes}"
    for op in ("ReduceSumD", "ReduceMeanD", "ReduceMaxD", "ReduceMinD")
    for types, attributes in (
        ("40x70xf16 -> 40xf16", LAST),
        ("40x70xf16 -> 70xf16", FIRST),
        ("40x70xf32 -> f32", BOTH),
        ("4x6x5xf16 -> 4x5xf16", LAST),
        ("4x6x5xf16 -> 6xf16", "{axes = array<i64: 0, 2>}"),
        ("4x0xf16 -> 4xf16", LAST),
        ("0x4xf16 -> 0xf16", LAST),
        ("3x50000xf16 -> 3xf16", LAST),
        ("40x1xf16 -> 40x1xf16", "{axes = array<i64: -1>, keep_dims}"),
    )
] + [
    f"ReduceSumD 40x70xi64 -> 40xi64 {LAST}",
    f"ReduceSumD 40x70xi8 -> 70xi8 {FIRST}",
    f"ReduceMaxD 40x70xi1 -> 40xi1 {LAST}",
    f"ReduceMinD 40x70xi32 -> 40xi32 {LAST}",
    "ArgMaxD 40x70xf16 -> 40xi64 {axis = 1 : i64}",
    "ArgMinD 40x70xi64 -> 1x70xi32 {axis = 0 : i64, keep_dims}",
]
NORMS = [
    *(
        f"{op} {types} {attributes}"
        for op in ("SoftmaxV2", "LogSoftmaxV2")
        for types, attributes in (
            ("40x70xf16 -> 40x70xf16", LAST),
            ("40x70xf32 -> 40x70xf32", FIRST),
            ("4x1xf16 -> 4x1xf16", LAST),
            ("3x50000xf16 -> 3x50000xf16", LAST),
        )
    ),
    f"LayerNormV4 40x70xf16, 70xf16, 70xf16 -> 40x70xf16 {NORM}",
    f"LayerNormV4 40x768xf32 -> 40x768xf32 {NORM}",
    f"LayerNormV4 0x7xf16 -> 0x7xf16 {NORM}",
    f"LayerNormV4 6xf16 -> 6xf16 {NORM}",
    f"LayerNormV4 3x50000xf16, 50000xf32 -> 3x50000xf16 {NORM}",
    "LayerNormV4 5x4x8xf16, 4x8xf16 -> 5x4x8xf16 {normalized_dims = 2 : i64, epsilon = 1.0e-5 : f32}",
    f"RmsNorm 40x70xf16, 70xf16 -> 40x70xf16 {NORM}",
]
VIEWS = [
    "Reshape 1xf16 -> f16",
    "Reshape 4x6x5xf16 -> 24x5xf16",
    "TransposeD 40x70xf16 -> 70x40xf16 {perm = array<i64: 1, 0>}",
    "TransposeD 4x6x5xf32 -> 6x4x5xf32 {perm = array<i64: 1, 0, 2>}",
    "TransposeD 4x6x5xi64 -> 5x6x4xi64 {perm = array<i64: 2, 1, 0>}",
    "TransposeD 4x6x5xi1 -> 5x4x6xi1 {perm = array<i64: 2, 0, 1>}",
    "StridedSliceD 40x70xf16 -> 39x23xf16 {begin = array<i64: 1, 2>, end = array<i64: 40, 70>, strides = array<i64: 1, 3>}",
    "StridedSliceD 40x70xf16 -> 0x70xf16 {begin = array<i64: 1, 0>, end = array<i64: 1, 70>, strides = array<i64: 1, 1>}",
    "StridedSliceAssignD 40x70xf16, 39x23xf16 -> 40x70xf16 {begin = array<i64: 1, 2>, strides = array<i64: 1, 3>}",
    "BroadcastToD 1x70xf16 -> 3x40x70xf16",
    "BroadcastToD i64 -> 3x40xi64",
    "ConcatD 40x70xf16, 40x3xf16, 40x0xf16 -> 40x73xf16 {concat_dim = 1 : i64}",
    "ConcatD 3x5xi1, 2x5xi1 -> 5x5xi1 {concat_dim = 0 : i64}",
    "GatherV2 40x70xf16, 4xi64 -> 4x70xf16 {axis = 0 : i64}",
    "GatherV2 40x70xf16, 2x3xi32 -> 2x3x70xf16 {axis = 0 : i64}",
    "GatherV2 40x70xf16, 4xi64 -> 40x4xf16 {axis = 1 : i64}",
    "GatherV2 40xf16, 4xi64 -> 4xf16 {axis = 0 : i64}",
    "GatherV2 40x70xf16, i64 -> 70xf16 {axis = 0 : i64}",
    "ScatterUpdate 40x70xf16, 4xi64, 4x70xf16 -> 40x70xf16 {axis = 0 : i64}",
    "ScatterUpdate 2x8x5xf16, 2xi64, 2x2x5xf16 -> 2x8x5xf16 {axis = 1 : i64}",
    "ScatterUpdate 40x70xf16, 4xi64, 40x4xf16 -> 40x70xf16 {axis = 1 : i64}",
    "Tril 40x70xf16 -> 40x70xf16 {diagonal = 1 : i64}",
    "Triu 2x4x7xi64 -> 2x4x7xi64 {diagonal = -1 : i64}",
    "Range -> 70xi64 {start = 3 : i64, delta = 2 : i64}",
    "Range -> 70xf16 {start = 3.0 : f32, delta = 2.0 : f32}",
]
ELEMENTWISE = [
    *(f"{op} 40x70x{e}, 70x{e} -> 40x70xi1" for op in ("Less", "Equal", "NotEqual") for e in ("f16", "i64", "i32", "i8", "i1")),
    *(f"{op} 4x7xf32, f32 -> 4x7xi1" for op in ("LessEqual", "Greater", "GreaterEqual")),
    *(f"SelectV2 40x70xi1, 70x{e}, {e} -> 40x70x{e}" for e in ("f16", "i64", "i32", "i8", "i1")),
    *(f"{op} 40x70xi1, 70xi1 -> 40x70xi1" for op in ("LogicalAnd", "LogicalOr", "BitwiseAnd", "BitwiseOr", "BitwiseXor")),
    *(f"{op} 40x70xi1 -> 40x70xi1" for op in ("LogicalNot", "Invert")),
    *(f"{op} 40x70xf16 -> 40x70xf16" for op in ("Abs", "Ceil", "Cos", "Floor", "Neg", "Rint", "Sign", "Sin", "Square", "Trunc")),
    *(f"{op} 40x70xf16 -> 40x70xf16" for op in ("Erf", "Expm1", "GeluV2", "Relu", "Sigmoid", "Swish", "Tanh")),
    *(f"{op} 4x7xf16 -> 4x7xf16" for op in ("Exp", "Log", "Log1p", "Reciprocal", "Rsqrt", "Sqrt")),
    *(f"{op} 40x70xf16 -> 40x70xi1" for op in ("IsNan", "IsInf", "IsFinite")),
    *(f"{op} 4x7xi64 -> 4x7xi64 {{value = 3 : i64}}" for op in ("Adds", "Muls", "Maxs", "Mins")),
    *(f"{op} 40x70x{e}, 70x{e} -> 40x70x{e}" for op in ("Add", "Sub", "Mul", "Maximum", "Minimum") for e in ("f16", "i64", "i8")),
    "RealDiv 40x70xf16, 70xf16 -> 40x70xf16",
    *(f"Abs 40x70x{e} -> 40x70x{e}" for e in ("i64", "i8")),
    *(f"Cast 4x70x{a} -> 4x70x{b}" for a in DTYPES for b in DTYPES if a != b and "bf16" not in (a, b)),
]
PRODUCTS = [
    "MatMulV2 0x5xf16, 5x4xf16 -> 0x4xf16",
    "MatMulV2 3x0xf16, 0x4xf16, 4xf16 -> 3x4xf16",
    "BatchMatMulV2 2x3x4xf16, 4x5xf16 -> 2x3x5xf16",
    f"FlashAttentionScore 1x4x40x16xf16, 1x4x40x16xf16, 1x4x40x16xf16 -> 1x4x40x16xf16 {SCALE}",
    f"FlashAttentionScore 1x4x40x16xf16, 1x2x33x16xf16, 1x2x33x5xf16 -> 1x4x40x5xf16 {SCALE}",
    f"FlashAttentionScore 1x4x7x16xf16, 1x2x33x16xf16, 1x2x33x16xf16, 7x33xi1 -> 1x4x7x16xf16 {SCALE}",
    f"FlashAttentionScore 1x4x7x16xf16, 1x2x33x16xf16, 1x2x33x16xf16, 1x1x1x33xf16 -> 1x4x7x16xf16 {SCALE}",
    "FlashAttentionScore 3x5x8xf16, 3x5x8xf16, 3x5x8xf16 -> 3x5x8xf16 {scale_value = 0.25 : f32, is_causal}",
]
SPLIT_CHIP = [
    f"ReduceSumD 40x70xbf16 -> 40xbf16 {LAST}",
    f"SoftmaxV2 40x70xbf16 -> 40x70xbf16 {LAST}",
    f"LayerNormV4 40x70xbf16, 70xbf16, 70xf32 -> 40x70xbf16 {NORM}",
    f"RmsNorm 40x70xbf16, 70xbf16 -> 40x70xbf16 {NORM}",
    "Cast 4x70xbf16 -> 4x70xf16",
    "Cast 4x70xi64 -> 4x70xbf16",
    "MatMulV2 30x40xf32, 40x50xf32 -> 30x50xf32",
    f"FlashAttentionScore 1x4x40x16xbf16, 1x2x33x16xbf16, 1x2x33x5xbf16 -> 1x4x40x5xbf16 {SCALE}",
    f"FlashAttentionScore 1x4x40x16xf32, 1x2x33x16xf32, 1x2x33x5xf32 -> 1x4x40x5xf32 {SCALE}",
]
"""In element types that a unified chip does not compute, or not in its cube."""

CASES = [*REDUCTIONS, *NORMS, *VIEWS, *ELEMENTWISE, *PRODUCTS, *SPLIT_CHIP]
# fmt: off
ELSEWHERE = frozenset((
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atan2", "Atanh", "AtenFallback", "Const", "Cosh", "CumprodD",
    "CumsumD", "FloorDiv", "FloorMod", "GatherElements", "LeftShift", "Mod", "PadD", "Pow", "ReduceProdD", "ReverseD",
    "RightShift", "ScatterElements", "Sinh", "SortD", "Tan", "TopKD",
))
# fmt: on
"""Operators that other engines run, or that are no kernels; powers to a constant are multiplications, which are tried."""


def test_every_operator_is_tried_or_runs_elsewhere() -> None:
    tried = {case.split()[0] for case in CASES}
    assert {op.name.removeprefix("ge.") for op in GE.operations if issubclass(op, GeOp)} == tried | ELSEWHERE
    assert not tried & ELSEWHERE


# ---- one case ---------------------------------------------------------------------------------------------------------


def shape_of(type_: str) -> tuple[int, ...]:
    return tuple(int(d) for d in type_.split("x")[:-1])


def draw(type_: str, number: int) -> Array:
    """Elements of a type: some around 0; every fifth row around 300, every fifth constant, every fifth of ±300."""
    shape, element = shape_of(type_), type_.split("x")[-1]
    generator = np.random.default_rng(number)
    if element == "i1":
        return np.asarray(generator.random(shape) < 0.5)
    if element[0] == "i":
        return np.asarray(generator.integers(-9, 9, shape)).astype(DTYPES[element])
    x = np.asarray(generator.standard_normal(shape))
    if len(shape) > 1 and number == 0:
        x[1::5] += 300
        x[2::5] = 7.3
        x[3::5] = 300 * np.sign(x[3::5])
    return x.astype(DTYPES[element])


def inputs_of(op: str, types: list[str]) -> list[Array]:
    inputs = [draw(t, i) for i, t in enumerate(types)]
    if op in ("GatherV2", "ScatterUpdate"):
        size = 2 if "2x8" in types[0] else 4
        inputs[1] = np.asarray(np.random.default_rng(1).permutation(size).reshape(-1)[: max(1, inputs[1].size)])
        inputs[1] = np.resize(inputs[1], shape_of(types[1])).astype(DTYPES[types[1].split("x")[-1]])
    if op in ("FlashAttentionScore", "Exp", "ReduceSumD"):
        inputs[0] = (inputs[0] / 32).astype(inputs[0].dtype) if inputs[0].dtype.kind == "f" else inputs[0]
    return inputs


def text_of(case: str, target: str) -> tuple[str, str, list[str]]:
    """The operator, a module with it, and the types of its operands."""
    head, attributes = re.fullmatch(r"([^{]*)(.*)", case).groups()  # pyright: ignore[reportOptionalMemberAccess]
    op, left, right = re.fullmatch(r"(\w+) (.*?)\s*-> (\S+)\s*", head).groups()  # pyright: ignore[reportOptionalMemberAccess]
    operands = [t.strip() for t in left.split(",") if t.strip()]
    types, names = [f"tensor<{t}>" for t in operands], [f"%x{i}" for i in range(len(operands))]
    signature = f"tensor<{right}>" if op == "Range" else f"({', '.join(types)}) -> tensor<{right}>"
    arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, types, strict=True))
    text = f"""builtin.module attributes {{ge.target = "{target}"}} {{
  func.func @main({arguments}) -> tensor<{right}> {{
    %y = ge.{op} {", ".join(names)} {attributes} : {signature}
    func.return %y : tensor<{right}>
  }}
}}"""
    return op, text, operands


@pytest.mark.parametrize("case", CASES)
def test_rules_take_sizes_that_are_open(case: str) -> None:
    _, text, types = text_of(case, "Ascend910B2")
    for seed in range(4):
        module, generator = parse_module(text), np.random.default_rng(seed)
        (op,) = [o for o in module.walk() if isinstance(o, GeOp)]
        for operand, type_ in zip(op.operands, types, strict=True):
            sizes = [DYNAMIC_INDEX if generator.random() < 0.5 else d for d in shape_of(type_)]
            element = tensor_type(operand).get_element_type()
            Rewriter.replace_value_with_new_type(operand, TensorType(element, sizes))
        op.verify_()
        (known,) = op.infer_types()
        assert is_compatible(op.results[0].type, known)


def lower(module: ModuleOp, level: str) -> None:
    for step in PIPELINES[f"to-{level}"].stage:
        for call in parse_pipeline(step.pass_spec):
            build_pass(call).apply(context(), module)


def assert_near(actual: Array, expected: Array) -> None:
    """Within an ulp or two of each element, or of a quarter of the largest where elements are small by cancelling."""
    if expected.dtype.kind in "iub":
        np.testing.assert_array_equal(actual, expected)
        return
    element = next(name for name, dtype in DTYPES.items() if dtype == expected.dtype)
    a, b = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(b)
    np.testing.assert_array_equal(a[~finite], b[~finite])
    largest = np.abs(b[finite]).max(initial=0)
    assert np.all(np.abs(a - b)[finite] <= 2 * ULP[element] * np.maximum(np.abs(b[finite]), largest / 4))


@pytest.mark.parametrize("target", complete_targets())
@pytest.mark.parametrize("case", CASES)
def test_every_level_gives_the_meaning(case: str, target: str) -> None:
    op, text, types = text_of(case, target)
    if case in SPLIT_CHIP and "bf16" not in load_target(target).cube_dtypes:
        pytest.skip("the chip does not take these element types")
    inputs, module = inputs_of(op, types), parse_module(text, "op.mlir")
    with np.errstate(invalid="ignore"):
        (expected,) = execute(module, inputs, {})
        lower(module, "fused")
        assert all(fused.engine_of(kernel) is fused.Engine.AICORE for kernel in fused.kernels(module))
        assert_near(execute(module, inputs, {})[0], expected)
        lower(module, "tile")
        (tile,) = execute(module, inputs, {})
        assert_near(tile, expected)
        for level in ("buf", "npu"):
            lower(module, level)
            (actual,) = execute(module, inputs, {})
            assert actual.dtype == tile.dtype
            assert actual.tobytes() == tile.tobytes(), level
