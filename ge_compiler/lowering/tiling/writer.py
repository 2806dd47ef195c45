"""Writes ops at the end of a block, and index arithmetic that constants shorten."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import UNKNOWN_LOC, IndexType, IntegerAttr, LocationAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ge_compiler.dialects.locations import located
from ge_compiler.dialects.memory import MemAttr, Space
from ge_compiler.dialects.types import Tensor

Index = SSAValue | int
"""An index that may be known."""


def on_chip(shape: Sequence[int], element: Attribute, space: Space) -> Tensor:
    """The type of a tile."""
    return TensorType(element, shape, MemAttr.of(space))


@dataclass
class Writer:
    """Appends ops to a block, all at the location of the op that they stem from."""

    block: Block
    entry: Block
    """Where constants go, each once."""
    location: LocationAttr = UNKNOWN_LOC
    constants: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])

    def add(self, op: Operation) -> Operation:
        self.block.add_op(located(op, self.location))
        return op

    def value(self, op: Operation, name: str | None = None) -> SSAValue:
        """The result of a new op, called `name` in the text."""
        result = self.add(op).results[0]
        result.name_hint = name
        return result

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Write to another block meanwhile."""
        outer, self.block = self.block, block
        yield
        self.block = outer

    def index(self, value: Index) -> SSAValue:
        if isinstance(value, SSAValue):
            return value
        if value not in self.constants:
            with self.inside(self.entry):
                self.constants[value] = self.value(arith.ConstantOp(IntegerAttr(value, IndexType())), f"c{value}")
        return self.constants[value]

    def multiply(self, x: Index, factor: int, name: str) -> Index:
        return x * factor if isinstance(x, int) else self.value(arith.MuliOp(x, self.index(factor)), name)

    def clipped(self, size: int, total: Index, offset: Index, name: str) -> Index:
        """min(size, total - offset): the valid extent of a tile at `offset`, a multiple of `size`."""
        if isinstance(total, int) and total % size == 0:
            return size
        if isinstance(total, int) and isinstance(offset, int):
            return min(size, total - offset)
        left = self.value(arith.SubiOp(self.index(total), self.index(offset)))
        return self.value(arith.MinSIOp(self.index(size), left), name)

    def plus(self, x: Index, y: Index) -> Index:
        """x + y."""
        if isinstance(x, int) and isinstance(y, int):
            return x + y
        return x if y == 0 else y if x == 0 else self.value(arith.AddiOp(self.index(x), self.index(y)))

    def share(self, size: int, count: int, total: Index, start: Index, name: str) -> Index:
        """How much of `total` the share of at most `size` that begins at `start` holds, one of `count`: none if it begins behind."""
        if total == size * count:
            return size
        left = self.value(arith.SubiOp(self.index(total), self.index(start)))
        return self.value(arith.MaxSIOp(self.value(arith.MinSIOp(self.index(size), left)), self.index(0)), name)
