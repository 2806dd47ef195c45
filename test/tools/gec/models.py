"""Models that the tests of gec compile, and factories that fail in each way."""

from __future__ import annotations

import sys
import time

import torch
from torch import Tensor, nn


class Tiny(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(24, 40)
        self.fc2 = nn.Linear(40, 24)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(nn.functional.gelu(self.fc1(x)))


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.fc.weight = nn.Parameter(self.fc.weight.detach().t())

    def forward(self, x: Tensor, y: Tensor) -> dict[str, Tensor]:
        return {"sum": x + y, "product": self.fc(x)}


class Unsupported(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x = torch.polar(x, x).abs()
        return torch.polar(x, x + 1).abs()


def raises() -> nn.Module:
    raise ValueError("no such checkpoint")


def exits() -> nn.Module:
    raise SystemExit(5)


def number() -> int:
    return 3


def needs_argument(width: int) -> nn.Module:
    return nn.Linear(width, width)


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls: Tensor
        self.rows: Tensor
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("rows", torch.zeros(10, 4))

    def forward(self, x: Tensor, row: Tensor) -> Tensor:
        self.calls += 1
        self.rows.index_copy_(0, row, x[None])
        return self.rows.sum(0) * self.calls


class Nested(nn.Module):
    def forward(self, pair: tuple[Tensor, Tensor], named: dict[str, Tensor], *rest: Tensor) -> Tensor:
        return pair[0] @ pair[1] + named["bias"] * rest[0] - rest[1]


class Decides(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(64, 64)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.fc(x)
        return torch.where(y > 0.1, x, -x), y


class Bessel(nn.Module):
    """A function that PyTorch does not have in f16 on the host."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.special.bessel_j0(x)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


class Large(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(1024, 1024)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x)


class LongNames(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        for i in range(12):
            self.add_module(f"a_projection_with_a_rather_long_name_{i}", nn.Linear(16, 16))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.children():
            x = layer(x)
        return x


class Row(nn.Module):
    """Three elements, which two lanes cannot share evenly."""

    def forward(self, x: Tensor) -> Tensor:
        return x + 1


class Sums(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.cumsum(0)


class Deep(nn.Module):
    """Products with long sums, and an operator that no product cores run."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8192, 512)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x).cumsum(0)


def sleeps() -> nn.Module:
    print("sleeping", file=sys.stderr, flush=True)
    time.sleep(60)
    return Tiny()
