"""Strided windows of a contiguous tensor: which of its elements a view shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.types import Tensor


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of a contiguous tensor of `shape`."""
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


@dataclass(frozen=True)
class Window:
    """The element at (i, j, ...) of a view is element `offset + i * strides[0] + j * strides[1] ...` of the tensor."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def __str__(self) -> str:
        return f"offset {self.offset}, shape {list(self.shape)}, strides {list(self.strides)}"

    @property
    def last(self) -> int:
        """The highest element that is shown, `offset - 1` where there is none."""
        if 0 in self.shape:
            return self.offset - 1
        return self.offset + sum((size - 1) * stride for size, stride in self._steps())

    @property
    def is_contiguous(self) -> bool:
        """Whether elements stand one after the other, in order."""
        wanted = row_major(self.shape)
        return 0 in self.shape or all(size == 1 or have == want for size, have, want in zip(self.shape, self.strides, wanted, strict=True))

    @property
    def may_overlap_itself(self) -> bool:
        """Whether an element may be shown twice: told from each stride being longer than what the smaller ones reach."""
        reach = 0
        for size, stride in sorted(self._steps(), key=lambda step: (step[1], step[0])):
            if size > 1 and stride <= reach:
                return True
            reach += (size - 1) * stride
        return False

    def verify_inside(self, tensor: Tensor) -> None:
        """Raises `VerifyException` unless all elements that are shown are elements of `tensor`, which has a static shape."""
        if self.offset < 0 or min(self.strides, default=0) < 0:
            raise VerifyException(f"has no negative offset or strides, got {self}")
        if 0 not in self.shape and self.last >= tensor.element_count():
            raise VerifyException(f"reaches element {self.last} of {tensor}, which has {tensor.element_count()}: {self}")

    def _steps(self) -> list[tuple[int, int]]:
        return list(zip(self.shape, self.strides, strict=True))
