"""The f64 reference: exact where nothing is computed, and what hangs on decisions that it takes by less than the tolerance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ge_compiler.lowering.from_torch.golden import Golden, golden
from ge_compiler.runtime.accuracy import measure
from ge_compiler.runtime.signature import Array


class Function(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *xs: Tensor) -> Any:
        return self.function(*xs)


def of(function: Callable[[Tensor], Any], x: Tensor) -> Golden:
    return golden(Function(function), (x,))


def marks(found: Golden) -> list[Array]:
    assert all(mask is not None for mask in found.undecided)
    return [np.asarray(mask) for mask in found.undecided]


X = torch.tensor([1.0, 2.0, 3.0, 4.0])


def test_what_derives_from_inputs_alone_is_exact() -> None:
    found = of(lambda x: (x > 2.0, x.argmax(), torch.floor(x), (x + x).to(torch.int32)), X)
    assert found.undecided == [None] * 4


def test_a_number_is_compared_as_the_dtype_holds_it() -> None:
    x = torch.full((3,), 0.1, dtype=torch.float16)
    found = of(lambda x: (x >= 0.1, x == 0.1), x)
    assert found.reference[0].all()
    assert found.reference[1].all()


def third(x: Tensor) -> Tensor:
    """x, computed: off by a rounding in f16."""
    return (x / 3) * 3


DECISIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "argmax": lambda x: third(x).argmax(),
    "cast": lambda x: third(x).to(torch.int32),
    "ceil": lambda x: third(x).ceil(),
    "compare": lambda x: third(x) > 2.0,
    "compare with a tensor": lambda x: third(x) <= x,
    "div floor": lambda x: torch.div(third(x), 1.0, rounding_mode="floor"),
    "sort": lambda x: third(torch.ones_like(x) + x * 2**-13).sort().indices,
}


@pytest.mark.parametrize("name", DECISIONS)
def test_close_decisions_are_left_out(name: str) -> None:
    x = torch.tensor([1.0, 2.0, 2.0, 1.7], dtype=torch.float16)
    found = of(DECISIONS[name], x)
    mask = marks(found)[0]
    assert mask.any()
    other = np.where(mask, 7, found.reference[0]).astype(found.eager[0].dtype)
    metrics = measure(other, found.reference[0], found.eager[0], undecided=mask)
    assert metrics.within
    assert metrics.left_out == mask.sum()


def test_what_depends_on_a_close_decision_is_left_out_too_and_nothing_else() -> None:
    def chosen(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        keep = third(x) > 2.0
        return torch.where(keep, x, -x), torch.where(keep, x, -x).sum(), third(x) * 2

    x = torch.tensor([1.7, 2.0, 3.0], dtype=torch.float16)
    each, total, apart = marks(of(chosen, x))
    assert each.tolist() == [False, True, False]
    assert total
    assert not apart.any()


def test_places_are_left_out_but_not_the_values_there() -> None:
    x = torch.tensor([1.7, 1.7, 5.0], dtype=torch.float16)
    values, places = marks(of(lambda x: tuple(torch.topk(third(x), 3)), x))
    assert not values.any()
    assert places.tolist() == [False, True, True]
