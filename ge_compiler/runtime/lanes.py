"""Vector lanes in lock step: a cluster's stream is executed once, its vector work once for every lane.

Registers of a cluster are one list for each lane. A value that is the same in all lanes reads as itself, others as `PerLane`; loops and
grids move either without knowing. What runs once for all lanes runs in the first, and they share its results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Operation

from ge_compiler.dialects.diagnostics import CompileError, Note
from ge_compiler.dialects.memory import Space, mem_of
from ge_compiler.dialects.types import is_shaped

KNOWS_LANES = frozenset({"buf.at", "buf.alloc", "tile.assemble", "npu.copy"})
"""Ops that give every lane its own value in one step, or bring the lanes' values together."""

CUBE_MEMORIES = frozenset({Space.L1, Space.L0A, Space.L0B, Space.L0C})


@dataclass(frozen=True)
class PerLane:
    """A value that differs from lane to lane."""

    values: Sequence[Any]


def per_lane(values: Sequence[Any]) -> Any:
    """One value for each lane; the value itself where there is one lane."""
    return values[0] if len(values) == 1 else PerLane(values)


class LaneRegisters(list[Any]):
    """The registers of a cluster, seen as one list."""

    def __init__(self, registers: Sequence[Any], count: int) -> None:
        super().__init__(registers)
        self.lanes = [[v.values[lane] if isinstance(v, PerLane) else v for v in registers] for lane in range(count)]

    def __getitem__(self, slot: Any) -> Any:
        values = [lane[slot] for lane in self.lanes]
        first = values[0]
        return first if all(v is first or (isinstance(v, int) and v == first) for v in values) else PerLane(values)

    def __setitem__(self, slot: Any, value: Any) -> None:
        for i, lane in enumerate(self.lanes):
            lane[slot] = value.values[i] if isinstance(value, PerLane) else value


def lanes_of(registers: list[Any]) -> Sequence[list[Any]]:
    """The registers of each lane; themselves where there is one."""
    return registers.lanes if isinstance(registers, LaneRegisters) else [registers]


def runs_once(op: Operation) -> bool:
    """Whether `op` runs once for all lanes: it works in the cube's memories, or makes a tensor in global memory, which lanes share."""
    spaces = {mem_of(value.type).space for value in (*op.operands, *op.results) if is_shaped(value.type)}
    return isinstance(op, EmptyOp) or bool(spaces & CUBE_MEMORIES)


def in_lane(error: CompileError, op: Operation, lane: int) -> CompileError:
    """The error with the lane that it arose in."""
    return CompileError(error.message, error.location, (*error.notes, Note(f"on vector lane {lane}", op.location)))
