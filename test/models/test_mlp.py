"""The feed-forward block of the examples, at every level, by the rule of tolerances."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch

import ge_compiler as ge
from ge_compiler.dialects import LEVELS
from ge_compiler.lowering.from_torch.dtypes import to_numpy
from ge_compiler.lowering.from_torch.golden import golden
from ge_compiler.runtime.accuracy import identical, measure
from ge_compiler.runtime.signature import Array

EXAMPLE = Path(__file__).parents[2] / "examples" / "mlp.py"


def simple_mlp(*sizes: int) -> torch.nn.Module:
    spec = importlib.util.spec_from_file_location("mlp", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    return module.SimpleMLP(*sizes)


@pytest.mark.parametrize(
    ("sizes", "shape"),
    [
        pytest.param((768, 3072), (32, 768), id="as in the example"),
        pytest.param((37, 53), (5, 37), id="ragged"),
        pytest.param((16, 1), (1, 16), id="one hidden value, one row"),
        pytest.param((24, 40), (2, 3, 4, 24), id="a stack of batches"),
        pytest.param((24, 40), (0, 24), id="no rows"),
    ],
)
def test_every_level_is_within_the_tolerance(sizes: tuple[int, int], shape: tuple[int, ...]) -> None:
    model = simple_mlp(*sizes)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    program = ge.compile(model, (x,), dtype="f16")
    truth = golden(model, (x,), dtype="f16")
    inputs = [to_numpy(x.half())]
    results: dict[str, Array] = {level: program.run(inputs, level)[0] for level in LEVELS}
    for level, y in results.items():
        metrics = measure(y, truth.reference[0], truth.eager[0])
        assert metrics.within, (level, metrics)
    assert identical(results["buf"], results["tile"])
    assert identical(results["npu"], results["buf"])


def test_the_first_kernel_is_product_bias_and_gelu() -> None:
    report = ge.compile(simple_mlp(48, 80), (torch.zeros(8, 48),), dtype="f16").report()
    assert [kernel.operators for kernel in report.kernels] == [("MatMulV2", "GeluV2"), ("MatMulV2",)]
    assert report.kernels[0].source == ("fc1 (mlp.py:16)", "gelu (mlp.py:17)")
