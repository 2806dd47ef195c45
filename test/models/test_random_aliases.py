"""Random functions of views, changes in place and sums: compiled by `torch.compile`, they do to memory what eager PyTorch does."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

TORCH: Any = torch
VIEWS: Sequence[Callable[[Tensor], Tensor]] = (
    lambda x: x.t() if x.dim() == 2 else x.unsqueeze(0),
    lambda x: x[1:] if x.dim() and x.shape[0] > 1 else x.unsqueeze(-1),
    lambda x: x.flatten() if x.is_contiguous() else x.transpose(0, -1),
    lambda x: x[..., 0] if x.dim() > 1 else x.unsqueeze(0),
    lambda x: x.expand(2, *x.shape) if x.dim() < 3 else x[0],
    lambda x: x.squeeze(),
)
VALUES: Sequence[Callable[[Tensor], Tensor]] = (
    lambda x: x * 2,
    lambda x: torch.relu(x),
    lambda x: x.contiguous(),
    lambda x: x.clone(),
    lambda x: x.reshape(-1),
    lambda x: x.sum(-1) if x.dim() else x,
    lambda x: torch.cat([x, x]) if x.dim() else x,
)
CHANGES: Sequence[Callable[[Tensor], Tensor]] = (
    lambda x: x.add_(1),
    lambda x: x.mul_(0.5),
    lambda x: x.zero_(),
    lambda x: x.copy_(x.flip(0)) if x.dim() else x.neg_(),
)


@dataclass(frozen=True)
class Step:
    """What is done to which of the values so far, as fractions of how many there are."""

    kind: str
    value: float
    function: float


@dataclass(frozen=True)
class Drawn:
    """A function of tensors."""

    steps: tuple[Step, ...]
    results: tuple[float, ...]

    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        values = list(tensors)
        for step in self.steps:
            values += self._done(step, values)
        return tuple(_chosen(values, result) for result in self.results)

    def _done(self, step: Step, values: list[Tensor]) -> Iterator[Tensor]:
        x = _chosen(values, step.value)
        match step.kind:
            case "view":
                yield _chosen(VIEWS, step.function)(x)
            case "value":
                yield _chosen(VALUES, step.function)(x)
            case "change" if 0 not in x.stride():
                _chosen(CHANGES, step.function)(x)
            case _:
                yield from [x + y for y in values if y.shape == x.shape and y is not x][-1:]


def _chosen(choices: Sequence[Any], fraction: float) -> Any:
    return choices[int(fraction * len(choices))]


def draw_function(draw: random.Random) -> Drawn:
    kinds = ("view", "view", "value", "value", "change", "change", "sum")
    steps = [Step(draw.choice(kinds), draw.random(), draw.random()) for _ in range(draw.randint(2, 7))]
    return Drawn(tuple(steps), tuple(draw.random() for _ in range(draw.randint(1, 4))))


def draw_inputs(seed: int) -> list[Tensor]:
    """Fresh tensors, the same for the same seed; some are turned, and some are different rows of one tensor."""
    generator = torch.Generator().manual_seed(seed)
    x, y, z = (torch.randn(shape, generator=generator) for shape in ((2, 3), (3,), (4, 3)))
    return [[x, y], [x.t().contiguous().t(), z[:2]], [z[:2], y, z[2:]]][seed % 3]


def shared(tensors: Sequence[Tensor]) -> list[int]:
    """For each tensor the first that has the same memory."""
    memories = [tensor.untyped_storage().data_ptr() for tensor in tensors]
    return [memories.index(memory) for memory in memories]


def check(seed: int, level: str) -> None:
    TORCH._dynamo.reset()
    function = draw_function(random.Random(seed))
    eager, given = draw_inputs(seed), draw_inputs(seed)
    with torch.no_grad():
        expected = function(*eager)
        results = TORCH.compile(function, backend="npu", options={"level": level})(*given)
    for got, want in zip([*given, *results], [*eager, *expected], strict=True):
        assert got.stride() == want.stride()
        torch.testing.assert_close(got, want)
    assert shared([*given, *results]) == shared([*eager, *expected])


@pytest.mark.parametrize("seed", range(20))
def test_a_random_function(seed: int) -> None:
    check(seed, "ge")


@pytest.mark.slow
@pytest.mark.parametrize("level", ["ge", "npu"])
@pytest.mark.parametrize("seed", range(20, 120))
def test_more_random_functions(seed: int, level: str) -> None:
    check(seed, level)
