"""From tile down to npu: every step prints and parses to the same module, and every step computes the same bits."""

from __future__ import annotations

from math import erf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from ge_compiler import dialects
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import TARGET_ATTRIBUTE
from ge_compiler.runtime.execute import execute
from ge_compiler.tools.opt.pass_manager import PassManager

STEPS = (
    "expand-math",
    "verify-stage{stage=tile}",
    "bufferize-tile",
    "plan-memory",
    "verify-memory",
    "verify-stage{stage=buf}",
    "convert-buf-to-npu",
    "insert-sync",
    "verify-memory",
    "verify-stage{stage=npu}",
)

RAGGED = Path(__file__).with_name("ragged.mlir").read_text()
"""Written for a chip whose accumulator reaches the unified buffer directly."""


def _ragged() -> ModuleOp:
    module = parse_module(RAGGED, verify=False)
    module.attributes[TARGET_ATTRIBUTE] = StringAttr("Ascend910A")
    return module


def _run(module: ModuleOp, *steps: str) -> ModuleOp:
    PassManager(",".join(steps)).run(dialects.context(), module)
    return module


def _inputs() -> list[np.ndarray[Any, Any]]:
    random = np.random.default_rng(0)
    return [(random.standard_normal(shape) / 4).astype(np.float16) for shape in ((2, 50, 70), (40, 70), (40,))]


def _bits(module: ModuleOp) -> list[bytes]:
    return [np.ascontiguousarray(array).tobytes() for array in execute(module, _inputs(), {})]


def test_through_text_after_every_step_is_the_same_as_straight() -> None:
    straight, through_text = _ragged(), _ragged()
    for step in STEPS:
        _run(straight, step)
        _run(through_text, step)
        text = str(through_text)
        through_text = parse_module(text)
        assert str(through_text) == text, step
        assert str(straight) == text, step


def test_the_kernels_compute_what_numpy_does() -> None:
    a, b, bias = (x.astype(np.float64) for x in _inputs())
    z, x = (y.astype(np.float64) for y in execute(_run(_ragged(), *STEPS), _inputs(), {}))
    s = a @ b.T + bias
    expected = s / 2 * (1 + np.vectorize(erf)(s / np.sqrt(2))) + 1
    np.testing.assert_allclose(x, expected, rtol=1e-3)
    for _ in range(2):
        expected = (expected / (1 + np.exp(-expected))).astype(np.float16).astype(np.float64)
    np.testing.assert_allclose(z, expected, rtol=3e-3)


@pytest.mark.parametrize(
    "steps",
    [
        ("expand-math",),
        ("expand-math", "canonicalize", "cse", "dce"),
        ("expand-math", "bufferize-tile"),
        ("expand-math", "bufferize-tile", "canonicalize", "cse", "dce"),
        ("expand-math", "bufferize-tile", "plan-memory"),
        ("expand-math", "bufferize-tile", "plan-memory{reuse=none}", "verify-memory"),
        ("expand-math", "cse", "bufferize-tile", "plan-memory", "convert-buf-to-npu"),
        ("expand-math", "bufferize-tile", "convert-buf-to-npu", "plan-memory", "insert-sync"),
        (*STEPS, "canonicalize", "cse", "dce", "verify-memory"),
        STEPS,
    ],
    ids=lambda steps: "-".join(steps[-3:]),
)
def test_every_level_computes_the_same_bits(steps: tuple[str, ...]) -> None:
    assert _bits(_run(_ragged(), *steps)) == _bits(_run(_ragged(), "expand-math"))
