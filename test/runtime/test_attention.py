"""Tests of `ge.FlashAttentionScore` against PyTorch in f64, as an operator and as the kernel that it is turned into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

Array = npt.NDArray[Any]
RunOperator = Callable[..., list[list[Array]]]

DTYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32)}
EPSILON = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-19}


def wide(array: Array) -> torch.Tensor:
    return torch.tensor(array if array.dtype == np.bool_ else array.astype(np.float64))


def draw(shape: tuple[int, ...], element: str, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(DTYPES[element])


def check(
    run: RunOperator, inputs: list[Array], element: str, *, causal: bool = False, scale: float = 0.25, expected: torch.Tensor | None = None
) -> None:
    query, key, value, *masks = map(wide, inputs)
    if expected is None:
        mask = masks[0] if masks else None
        grouped = query.shape[-3] != key.shape[-3]
        expected = scaled_dot_product_attention(query, key, value, mask, is_causal=causal, scale=scale, enable_gqa=grouped)
    attributes = f"{{scale_value = {scale} : f32{', is_causal' if causal else ''}}}"
    for (y,) in run("FlashAttentionScore", inputs, [(tuple(expected.shape), element)], attributes):
        assert np.all(np.abs(y.astype(np.float64) - expected.numpy()) <= EPSILON[element] * np.maximum(np.abs(expected.numpy()), 0.5))


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("query", "key", "value_size"),
    [
        ((2, 3, 5, 8), (2, 3, 5, 8), 8),
        ((2, 3, 5, 8), (2, 3, 7, 8), 4),
        ((3, 7, 1), (3, 2, 1), 1),
        ((1, 4, 1, 16), (1, 2, 9, 16), 16),
        ((2, 6, 5, 3), (2, 2, 4, 3), 3),
        ((1, 2, 1, 8), (1, 2, 0, 8), 8),
        ((1, 2, 0, 8), (1, 2, 3, 8), 8),
        ((0, 2, 3, 8), (0, 2, 3, 8), 8),
    ],
)
def test_lengths_and_groups(
    run_operator: RunOperator, element: str, causal: bool, query: tuple[int, ...], key: tuple[int, ...], value_size: int
) -> None:
    inputs = [draw(query, element), draw(key, element, 1), draw((*key[:-1], value_size), element, 2)]
    check(run_operator, inputs, element, causal=causal)


MASKS = [(5, 7), (1, 7), (5, 1), (7,), (), (4, 5, 7), (1, 5, 7), (2, 1, 5, 7), (2, 4, 5, 7), (2, 1, 1, 7), (1, 4, 1, 1)]


@pytest.mark.parametrize("shape", MASKS)
@pytest.mark.parametrize("key_heads", [4, 2, 1])
@pytest.mark.parametrize("kind", ["boolean", "additive", "infinite"])
def test_masks(run_operator: RunOperator, shape: tuple[int, ...], key_heads: int, kind: str) -> None:
    inputs = [draw((2, 4, 5, 8), "f16"), draw((2, key_heads, 7, 8), "f16", 1), draw((2, key_heads, 7, 8), "f16", 2)]
    chosen = np.asarray(np.random.default_rng(3).random(shape) < 0.6)
    mask = {
        "boolean": chosen,
        "additive": draw(shape, "f16", 4),
        "infinite": np.where(chosen, np.float16(0), np.float16(-np.inf)),
    }[kind]
    q, k, v, m = map(wide, [*inputs, np.asarray(mask)])
    m = m if mask.ndim > 1 else m.broadcast_to(5, 7)
    expected = scaled_dot_product_attention(q, k, v, m, scale=0.25, enable_gqa=key_heads != 4)
    check(run_operator, [*inputs, np.asarray(mask)], "f16", expected=expected)


def test_rows_without_keys_give_zero_and_the_lowest_number_the_mean(run_operator: RunOperator) -> None:
    inputs = [draw((1, 1, 3, 8), "f32"), draw((1, 1, 4, 8), "f32", 1), draw((1, 1, 4, 8), "f32", 2)]
    keep = np.array([[True] * 4, [False] * 4, [True] * 4])
    check(run_operator, [*inputs, keep], "f32")
    lowest = np.zeros((3, 4), np.float32)
    lowest[1], lowest[2] = -np.inf, np.finfo(np.float32).min
    q, k, v, m = (torch.tensor(x) for x in (*inputs, lowest))
    check(run_operator, [*inputs, lowest], "f32", expected=scaled_dot_product_attention(q, k, v, m, scale=0.25).double())


def test_scores_that_would_overflow(run_operator: RunOperator) -> None:
    inputs = [np.full((1, 1, 2, 4), 300, np.float16), draw((1, 1, 3, 4), "f16", 1) * np.float16(100), draw((1, 1, 3, 4), "f16", 2)]
    check(run_operator, inputs, "f16", scale=1.0)


def test_batches_broadcast(run_operator: RunOperator) -> None:
    inputs = [draw((2, 1, 3, 5, 8), "f32"), draw((4, 3, 6, 8), "f32", 1), draw((1, 3, 6, 8), "f32", 2)]
    query, key, value = map(wide, inputs)
    expected = torch.softmax(query @ key.transpose(-1, -2) * 0.25, -1) @ value
    check(run_operator, inputs, "f32", expected=expected)


def test_heads_of_size_zero_run_on_the_ai_cpu(run_operator: RunOperator) -> None:
    inputs = [draw((2, 3, 0), "f16"), draw((2, 4, 0), "f16"), draw((2, 4, 5), "f16", 2)]
    attributes = "{scale_value = 1.0 : f32}"
    for (y,) in run_operator("FlashAttentionScore", inputs, [((2, 3, 5), "f16")], attributes, engine="aicpu"):
        np.testing.assert_allclose(y, np.broadcast_to(inputs[2].mean(1, keepdims=True), y.shape), atol=2e-3)
