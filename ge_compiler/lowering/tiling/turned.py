"""Tiles whose rows, and not columns, lie one behind the other in global memory: they are transposed on chip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from ge_compiler.transforms.iteration.domain import Window

T = TypeVar("T")


def is_turned(window: Window) -> bool:
    """Whether a window's rows lie one behind the other, and its columns do not."""
    return window.strides[-2] == 1 and window.strides[-1] > 1


def turned(values: Sequence[T]) -> list[T]:
    """Rows and columns, the last two, change places."""
    *points, rows, columns = values
    return [*points, columns, rows]
