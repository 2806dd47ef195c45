"""The traces of a kernel that stand for all of its executions."""

from __future__ import annotations

from math import lcm

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from ge_compiler.dialects.target import NpuTarget
from ge_compiler.transforms.synchronization.accesses import Instruction, instructions
from ge_compiler.transforms.synchronization.structure import Structure
from ge_compiler.transforms.synchronization.trace import Trace, Unprovable, Unrolling, record_all

_MORE_TRIPS = 2
"""Trips of a loop beyond its slots: the first finds everything free, the last what the one before it left."""


def unrolled(kernel: FuncOp, target: NpuTarget) -> list[Trace]:
    """One trace for each way in which the loops can follow each other. Raises `Unprovable` if what they do is not known beforehand."""
    structure = Structure(kernel)
    if structure.irregular is not None:
        raise Unprovable(structure.irregular, "no-loop", "holds instructions and is no loop")
    found: dict[Operation, Instruction] = {instruction.op: instruction for instruction in instructions(kernel, target)}
    slots = [len(access.place.ranges) for instruction in found.values() for access in instruction.accesses]
    unrolling = Unrolling(max(slots, default=1) + _MORE_TRIPS, lcm(*slots))
    return record_all(structure, target, found, unrolling)
