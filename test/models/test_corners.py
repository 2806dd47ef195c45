# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
"""Small functions whose kernels have corners: computed tables, repeated matrices, results that repeat, several blocks into one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ge_compiler as ge


class Function(nn.Module):
    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Tensor:
        return self.function(*args)


class Cache(nn.Module):
    cache: Tensor

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(1, heads, 512, 64))

    def forward(self, x: Tensor, position: Tensor) -> Tensor:
        self.cache.index_copy_(2, position + torch.arange(x.shape[2]), x)
        return self.cache * 1


def normal(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


ROWS = torch.tensor([1, 2])
CASES: dict[str, tuple[Callable[..., Tensor], tuple[Any, ...]]] = {
    "computed table": (lambda x: x.neg()[ROWS], (normal(3, 4),)),
    "table minus its mean": (lambda x: (x - x.mean(0, keepdim=True))[ROWS], (normal(3, 16),)),
    "last of a norm": (lambda x, i: F.layer_norm(x, (16,))[:, i], (normal(2, 5, 16), torch.tensor([4]))),
    "constant table": (lambda i: torch.zeros(5, 6)[i], (ROWS,)),
    "largest of gathered rows": (lambda x, t, i: (x + t[i]).amax(), (normal(6, 6), normal(9, 6), torch.tensor([8, 0, 3, 3, 1, 2]))),
    "gathered rows against their sum": (lambda x, i: x[i] - x[i].sum((0, 1)), (normal(9, 40), torch.tensor([8, 0, 3]))),
    "converted table": (lambda x, i: x.half()[i], (normal(20, 16), ROWS)),
    "repeated contraction": (lambda x, y: x.expand(33, 8) @ y, (normal(33, 1), normal(8, 4))),
    "repeated rows": (lambda x: x.repeat(2, 1, 2) @ x.repeat(2, 1, 2).mT, (normal(1, 33, 1),)),
    "repeated queries": (lambda q, k: F.scaled_dot_product_attention(q.repeat(2, 1, 2), k, k), (normal(1, 33, 1), normal(2, 5, 2))),
    "repeated values": (lambda q, v: F.scaled_dot_product_attention(q, q, v.repeat(2, 1, 2)), (normal(2, 33, 2), normal(1, 33, 1))),
    "expanded result": (lambda x: (x * 2).expand(3, 4), (normal(1, 4),)),
    "expanded input": (lambda x: x.expand(3, 4), (normal(1, 4),)),
    "stack of one column": (lambda a, w: a.mT @ w, (normal(3, 2, 2), normal(2, 1))),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_gives_what_pytorch_gives(name: str) -> None:
    function, args = CASES[name]
    expected = function(*args)
    result = ge.compile(Function(function).eval(), args=args)(*args)
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-5)
    assert result.stride() == expected.stride()


@pytest.mark.parametrize(("heads", "length"), [(1, 32), (4, 128), (4, 1)])
def test_many_rows_go_into_a_cache(heads: int, length: int) -> None:
    x, position = normal(1, heads, length, 64), torch.tensor([3])
    expected = Cache(heads)(x, position)
    assert torch.equal(ge.compile(Cache(heads), args=(x, position))(x, position), expected)
