"""What the emission of a kernel writes its tiles to: IR, or a measure of what they hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, BlockArgument, Operation

from ge_compiler.transforms.iteration.domain import Window

Scalar = FloatAttr[Any] | IntegerAttr[Any]

ROWS, COLUMNS = 0, 1
"""The axes of a tile."""


Follows = tuple[bool, bool]
"""Whether a tile differs from row to row, and from column to column."""


class TileSink(Protocol):
    """Where the tiles of a kernel go. A handle stands for a tile in the unified buffer; `follows` says along which axes it has room."""

    def at(self, op: Operation) -> None:
        """What follows stems from `op`."""
        ...

    def load(self, argument: BlockArgument, window: Window, follows: Follows) -> Any:
        """The tile of an argument."""
        ...

    def load_rows(self, argument: BlockArgument, window: Window, indices: Any, follows: Follows) -> Any:
        """The rows of a table that a tile of indices names."""
        ...

    def iota(self, element: Attribute, offset: int, strides: tuple[int, ...], follows: Follows) -> Any:
        """Numbers that grow along each group of the domain."""
        ...

    def accumulator(self) -> Any:
        """The finished tile of the anchor."""
        ...

    def partial(self, part: int) -> Any:
        """The tile of the anchor over one part of the contraction, which an earlier grid has left in global memory."""
        ...

    def function(self, name: str, operands: list[Any], scalar: Scalar | None) -> Any:
        """A function of the table, on operands that repeat where they are single rows, columns or elements."""
        ...

    def cast(self, x: Any, element: Attribute) -> Any:
        """The tile in another element type."""
        ...

    def full(self, value: Scalar) -> Any:
        """A tile of one element."""
        ...

    def broadcast(self, x: Any, follows: Follows) -> Any:
        """A tile repeated along an axis."""
        ...

    def initial(self, kind: str, element: Attribute, follows: Follows) -> Any:
        """What a reduction starts with, for each row and column that it is kept for."""
        ...

    def reduce(self, kind: str, x: Any, axis: int) -> Any:
        """Combine the rows (0) or the columns (1) of a tile."""
        ...

    def loops(self, groups: Sequence[int], carried: list[Any], body: Callable[[list[Any]], list[Any]]) -> list[Any]:
        """Run `body` for each chunk of the groups; what it gives is what it gets the next time, and the result."""
        ...

    def store(self, x: Any, result: int, window: Window) -> None:
        """Write a tile to a window of a result."""
        ...

    def store_rows(self, x: Any, indices: Any, result: int, window: Window) -> None:
        """Write the rows of a tile to the entries that a tile of indices names."""
        ...
