"""Chains of products, functions and residual sums, drawn at random with tile sizes: every level keeps the rule of tolerances."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor, nn

from ge_compiler.dialects import LEVELS
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.lowering.from_torch.dtypes import to_numpy
from ge_compiler.lowering.from_torch.golden import Golden, golden_of
from ge_compiler.lowering.from_torch.importer import Imported, import_model
from ge_compiler.runtime.accuracy import identical, measure
from ge_compiler.tools.api import Program, compile_module, make_options

UNARY: Sequence[Callable[[Tensor], Tensor]] = (
    torch.relu,
    torch.tanh,
    torch.sigmoid,
    torch.erf,
    torch.abs,
    nn.functional.gelu,
    nn.functional.silu,
    lambda x: x * 0.5,
    lambda x: x.clamp(-1, 1),
    lambda x: 2 - x / 3,
)
BINARY: Sequence[Callable[[Tensor, Tensor], Tensor]] = (torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum)


class Product(nn.Module):
    """A product with a weight in one of its spellings."""

    def __init__(self, draw: random.Random, inner: int, outer: int, is_matrix: bool) -> None:
        super().__init__()
        self.form = draw.choice(["linear", "matmul", "transposed"] + ["addmm"] * is_matrix)
        shape = (outer, inner) if self.form in ("linear", "transposed") else (inner, outer)
        self.weight = nn.Parameter(torch.randn(shape) / max(inner, 1) ** 0.5)
        self.bias = nn.Parameter(torch.randn(outer))

    def forward(self, x: Tensor) -> Tensor:
        match self.form:
            case "linear":
                return nn.functional.linear(x, self.weight, self.bias)
            case "transposed":
                return x @ self.weight.t()
            case "addmm":
                return torch.addmm(self.bias, x, self.weight)
            case _:
                return x @ self.weight


class Elementwise(nn.Module):
    """A function of one tensor, or of one and a weight that broadcasts against it."""

    def __init__(self, draw: random.Random, shape: Sequence[int]) -> None:
        super().__init__()
        self.unary, self.binary = draw.choice(UNARY), draw.choice(BINARY)
        self.weight = nn.Parameter(torch.randn([d if draw.random() < 0.6 else 1 for d in shape])) if draw.random() < 0.4 else None

    def forward(self, x: Tensor) -> Tensor:
        return self.unary(x) if self.weight is None else self.binary(x, self.weight)


class Chain(nn.Module):
    """Some steps, with residual sums between values of one shape."""

    def __init__(self, draw: random.Random, shape: Sequence[int]) -> None:
        super().__init__()
        self.steps = nn.ModuleList()
        self.residual: list[bool] = []
        current = list(shape)
        for _ in range(draw.randint(1, 6)):
            if draw.random() < 0.4 and len(current) >= 2:
                outer = draw.choice([1, 3, 8, 17, 33, 64, 100])
                self.steps.append(Product(draw, current[-1], outer, len(current) == 2))
                current[-1] = outer
            else:
                self.steps.append(Elementwise(draw, current))
            self.residual.append(draw.random() < 0.2)

    def forward(self, x: Tensor) -> Tensor:
        seen = [x]
        for step, adds in zip(self.steps, self.residual, strict=True):
            x = step(x)
            earlier = next((value for value in reversed(seen) if value.shape == x.shape), None)
            x = x + earlier if adds and earlier is not None else x
            seen.append(x)
        return x


def draw_shape(draw: random.Random) -> tuple[int, ...]:
    rank = draw.choice([1, 2, 2, 2, 3, 4])
    return (
        *(draw.choice([0, 1, 2, 3, 5]) for _ in range(rank - 2)),
        *(draw.choice([0, 1, 3, 8, 17, 31, 48, 100]) for _ in range(min(rank, 2))),
    )


def draw_tiling(draw: random.Random, program: Program) -> dict[str, dict[str, int]]:
    kernel = draw.choice(program.report().kernels)
    return {kernel.name: {key: draw.choice([16, 32, 48, 64, 128]) for key in kernel.schedule if draw.random() < 0.6}}


def check(seed: int) -> None:
    draw = random.Random(seed)
    torch.manual_seed(seed)  # pyright: ignore[reportUnknownMemberType]
    shape = draw_shape(draw)
    imported = import_model(Chain(draw, shape), (torch.randn(shape),), dtype="f16")
    truth = golden_of(imported)
    program = compile_for(imported, {})
    check_levels(program, imported, truth)
    tiling = {name: sizes for name, sizes in draw_tiling(draw, program).items() if sizes}
    try:
        compile_for(imported, tiling, stop="fused")
    except CompileError:
        return  # the sizes drawn are not legal; those that are must work to the end
    check_levels(compile_for(imported, tiling), imported, truth)


def compile_for(imported: Imported, tiling: dict[str, dict[str, int]], stop: str = LEVELS[-1]) -> Program:
    options = make_options(None, None, tiling)
    return compile_module(imported.module.clone(), imported.weights, options, imported.signature, "f16", stop)


def check_levels(program: Program, imported: Imported, truth: Golden) -> None:
    results = {level: program.run([to_numpy(x) for x in imported.inputs], level)[0] for level in LEVELS}
    for level, y in results.items():
        metrics = measure(y, truth.reference[0], truth.eager[0])
        assert metrics.within, (level, program.options.tiling, metrics)
    assert identical(results["buf"], results["tile"])
    assert identical(results["npu"], results["buf"])


@pytest.mark.parametrize("seed", range(12))
def test_a_random_model(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 200))
def test_more_random_models(seed: int) -> None:
    check(seed)
