"""Which cores do the same in a kernel, so that one of them stands for all."""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects.scf import ForOp
from xdsl.ir import SSAValue

from ge_compiler.dialects.buf import AtOp
from ge_compiler.dialects.npu import BlockIdxOp, SyncOp
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.dialects.tile import GridOp
from ge_compiler.transforms.synchronization.arithmetic import Values, evaluate
from ge_compiler.transforms.synchronization.structure import Structure, blocks_of


def different_cores(structure: Structure, target: NpuTarget) -> list[int]:
    """The first of all cores that run equally many blocks, in the same loops and slots and with the same flags."""
    deciding = _deciding(structure)
    if deciding is None:
        return list(range(target.cores))
    kinds: dict[Hashable, int] = {}
    for core in range(target.cores):
        kinds.setdefault(_kind(structure, target, core, deciding), core)
    return list(kinds.values())


def _deciding(structure: Structure) -> list[SSAValue] | None:
    """The values by which a core may differ from another, as far as they are computed outside of loops; `None` if others are."""
    of_core: set[SSAValue] = set()
    deciding: dict[SSAValue, None] = {}
    for op in structure.positions:
        if isinstance(op, GridOp):
            of_core.update(op.points)
        used = [operand for operand in op.operands if operand in of_core]
        if isinstance(op, BlockIdxOp) or used:
            of_core.update(op.results)
        if used and isinstance(op, ForOp):
            of_core.update(op.body.block.args)
        if isinstance(op, AtOp | SyncOp | ForOp):
            deciding.update(dict.fromkeys(used))
    outside = all(_is_outside(structure, value) for value in deciding)
    return list(deciding) if outside else None


def _is_outside(structure: Structure, value: SSAValue) -> bool:
    return value.owner in structure.bodies[structure.kernel.body.block]


def _kind(structure: Structure, target: NpuTarget, core: int, deciding: list[SSAValue]) -> Hashable:
    values: Values = {}
    for op in structure.bodies[structure.kernel.body.block]:
        evaluate(op, values)
        if isinstance(op, BlockIdxOp):
            values[op.result] = core
    blocks = tuple(blocks_of(op, target, core) for op in structure.positions if isinstance(op, GridOp))
    return blocks, tuple(values.get(value) for value in deciding)
