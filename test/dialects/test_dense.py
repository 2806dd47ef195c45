"""Tests that a dense constant keeps its bits through text, whatever they are."""

from __future__ import annotations

from typing import cast

import pytest
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    ModuleOp,
    TensorType,
)

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.parser import parse_module

# exponent bits and mantissa bits of each type
FORMATS: dict[AnyFloat, tuple[int, int]] = {Float16Type(): (5, 10), BFloat16Type(): (8, 7), Float32Type(): (8, 23)}
TYPES = pytest.mark.parametrize("element", FORMATS, ids=lambda element: element.name)


def special_bits(element: AnyFloat) -> list[int]:
    """Infinities, NaNs with payloads and signs, zeros, the smallest and largest denormal, a normal, the largest."""
    exponent, mantissa = FORMATS[element]
    sign, infinity = 1 << (exponent + mantissa), ((1 << exponent) - 1) << mantissa
    quiet = 1 << (mantissa - 1)
    magnitudes = [
        0,
        1,
        (1 << mantissa) - 1,
        infinity,
        infinity | quiet,
        infinity | quiet | 3,
        infinity | 1,
        infinity - 1,
        infinity // 2 + 5,
    ]
    return [bits | which for which in (0, sign) for bits in magnitudes]


def dense(element: AnyFloat, bits: list[int]) -> DenseIntOrFPElementsAttr:
    size = element.compile_time_size
    return DenseIntOrFPElementsAttr(TensorType(element, [len(bits)]), BytesAttr(b"".join(word.to_bytes(size, "little") for word in bits)))


def reread(attr: DenseIntOrFPElementsAttr) -> DenseIntOrFPElementsAttr:
    return cast(DenseIntOrFPElementsAttr, parse_module(str(ModuleOp([], {"value": attr}))).attributes["value"])


@TYPES
@pytest.mark.parametrize("count", [1, 18, 100, 101])
def test_mixed_elements_keep_their_bits(element: AnyFloat, count: int) -> None:
    special = special_bits(element)
    for first in range(len(special)):
        attr = dense(element, [special[(first + i) % len(special)] for i in range(count)])
        assert reread(attr) == attr


@TYPES
@pytest.mark.parametrize("count", [1, 7, 101])
def test_a_splat_keeps_its_bits_and_prints_once(element: AnyFloat, count: int) -> None:
    for bits in special_bits(element):
        attr = dense(element, [bits] * count)
        assert attr.is_splat()
        assert "[" not in str(attr)
        assert reread(attr) == attr


@TYPES
def test_the_two_zeros_are_no_splat(element: AnyFloat) -> None:
    attr = dense(element, [0, special_bits(element)[9]])
    assert not attr.is_splat()
    assert reread(attr) == attr


def test_a_hexadecimal_float_is_a_bit_pattern() -> None:
    module = parse_module("builtin.module attributes {value = dense<[[0x7FC00000, 0xff800000], [0x3F800000, 2.0]]> : tensor<2x2xf32>} {}")
    assert "dense<[[0x7FC00000, 0xFF800000], [1.000000e+00, 2.000000e+00]]> : tensor<2x2xf32>" in str(module)


def test_hexadecimal_integers_stay_integers() -> None:
    module = parse_module("builtin.module attributes {value = dense<[0x7F, 0x10]> : tensor<2xi32>} {}")
    assert "dense<[127, 16]> : tensor<2xi32>" in str(module)


def test_float_arrays_read_bit_patterns_too() -> None:
    module = parse_module("builtin.module attributes {value = array<f32: 0x7F800000, 0x3F800000, 2.5>} {}")
    assert "array<f32: 0x7f800000, 1.000000e+00, 2.500000e+00>" in str(module)


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        ("0x1FFFF", r"^t:1:42: error: the bit pattern does not fit the 16 bits of f16"),
        ("-0x7C00", r"^t:1:42: error: a hexadecimal float is .* no sign"),
    ],
)
def test_a_bad_bit_pattern_is_an_error(literal: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        parse_module(f"builtin.module attributes {{value = dense<{literal}> : tensor<f16>}} {{}}", "t")
