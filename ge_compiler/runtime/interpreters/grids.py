"""Grids: which blocks run, in which order, and how long on-chip memory lives."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import NamedTuple

from ge_compiler.dialects import tile
from ge_compiler.runtime.machine import Machine
from ge_compiler.runtime.walk import Frame, Registers, Step, Table, noting


class _Block(NamedTuple):
    number: int
    """Counted in row-major order."""
    point: tuple[int, ...]


def _blocks(op: tile.GridOp) -> list[_Block]:
    return [_Block(number, point) for number, point in enumerate(itertools.product(*map(range, op.grid)))]


def grid_table(machine: Machine, shuffler: random.Random | None) -> Table:
    """
    The meanings of grids on `machine`.

    A *life* is a run of blocks between which on-chip memory is kept: one block of a `tile.forall`, all blocks of a core in a
    `tile.grid_loop`. Lives are independent; with `shuffler` their order is random.
    """

    def forall(op: tile.ForallOp, frame: Frame) -> Step:
        return grid(op, frame, [[block] for block in _blocks(op)], None)

    def grid_loop(op: tile.GridLoopOp, frame: Frame) -> Step:
        blocks, cores = _blocks(op), machine.target.cores
        return grid(op, frame, [blocks[core::cores] for core in range(min(cores, len(blocks)))], frame.slot(op.trip))

    def grid(op: tile.GridOp, frame: Frame, lives: Sequence[Sequence[_Block]], trip: int | None) -> Step:
        slots, code = frame.slots(op.points), frame.code(op.body.block)

        def step(r: Registers) -> None:
            order = list(lives)
            if shuffler is not None:
                shuffler.shuffle(order)
            for life in order:
                machine.start(life[0].number % machine.target.cores)
                for count, block in enumerate(life):
                    for slot, index in zip(slots, block.point, strict=True):
                        r[slot] = index
                    if trip is not None:
                        r[trip] = count
                    with noting(op, lambda block=block: f"in block {block.point} of this grid"):
                        code.run(r)

        return step

    return {tile.ForallOp: forall, tile.GridLoopOp: grid_loop}
