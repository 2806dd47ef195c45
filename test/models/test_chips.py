"""Every chip that ships, and that of the examples, computes the same model, at every level, by the rule of tolerances."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import ge_compiler as ge
from ge_compiler.dialects import LEVELS
from ge_compiler.dialects.target import DEFAULT_TARGET, complete_targets
from ge_compiler.lowering.from_torch.dtypes import to_numpy
from ge_compiler.lowering.from_torch.golden import golden
from ge_compiler.runtime.accuracy import identical, measure

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_npu.toml"
DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


def check(target: str, rows: int, dtype: str) -> None:
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    model = nn.Sequential(nn.Linear(100, 150), nn.GELU(), nn.Linear(150, 70), nn.Tanh())
    x = torch.randn(rows, 100)
    program = ge.compile(model, (x,), dtype=dtype, target=target)
    truth = golden(model, (x,), dtype=dtype)
    results = {level: program.run([to_numpy(x.to(DTYPES[dtype]))], level)[0] for level in LEVELS}
    for level, y in results.items():
        metrics = measure(y, truth.reference[0], truth.eager[0])
        assert metrics.within, (level, metrics)
    assert identical(results["buf"], results["tile"])
    assert identical(results["npu"], results["buf"])


@pytest.mark.parametrize("target", [*complete_targets(), pytest.param(str(EXAMPLE), id="a table file")])
@pytest.mark.parametrize("rows", [1, 37])
def test_every_level_is_within_the_tolerance(target: str, rows: int) -> None:
    check(target, rows, "f16")


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_the_default_chip_multiplies_wider_types(dtype: str) -> None:
    check(DEFAULT_TARGET, 37, dtype)
