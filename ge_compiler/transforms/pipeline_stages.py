"""
Lets the units of a core work on different tiles at the same time, as the kernel's schedule says (`l1`, `l0`, `ub`, `skew`).

    tile.forall (%i, %j) in (4, 8) {
      %x = tile.load %a[%i, %j] ... to tensor<32x64xf32, #npu.mem<ub>>
      %y = tile.exp %x ...
      tile.store %y ...
    // becomes, with ub = 2
    tile.grid_loop %t (%i, %j) in (4, 8) {
      %x = tile.load %a[%i, %j] ... {slots = 2} ...     // the next block is loaded while this one is computed
      %y = tile.exp %x {slots = 2} ...                  // and the one before is stored

With `skew = 1` the loads of a loop over k stand a trip before the products that read them: `pipelining/skew.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, YieldOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.fused import aicore_kernels
from ge_compiler.dialects.locations import located
from ge_compiler.dialects.memory import Space, mem_of
from ge_compiler.dialects.tile import (
    AssembleOp,
    ForallOp,
    GridLoopOp,
    LoadOp,
    LoadRowsOp,
    MoveOp,
    StoreOp,
    StoreRowsOp,
    TileOp,
    schedule_of,
)
from ge_compiler.transforms.pipelining.skew import is_skewed, loads_of, skew
from ge_compiler.transforms.rewriting.constants import Constants

_KEYS = {Space.L1: "l1", Space.L0A: "l0", Space.L0B: "l0", Space.UB: "ub"}
"""Which key of a schedule says how many slots the tiles that are brought into a memory have."""


@dataclass(frozen=True)
class PipelineStagesPass(ModulePass):
    """Makes grids persistent loops, gives tiles their slots, and lets loads run ahead of what reads them."""

    name = "pipeline-stages"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in aicore_kernels(op):
            schedule = schedule_of(kernel)
            values = {} if schedule is None else schedule.values()
            _give_slots(kernel, values)
            if values.get("skew"):
                _skew(kernel)
            for grid in list(kernel.walk()):
                if isinstance(grid, ForallOp):
                    _persist(grid)


_BRINGING = (LoadOp, LoadRowsOp, MoveOp, AssembleOp)


def _give_slots(kernel: FuncOp, schedule: dict[str, int]) -> None:
    """Sets `slots` where the text does not say it itself; what a loop carries on in place has one."""
    for op, space in _at_the_border(kernel):
        slots = schedule.get(_KEYS[space], 1)
        is_carried = space is Space.UB and any(isinstance(use.operation, YieldOp) for use in op.results[0].uses)
        if slots > 1 and op.slots is None and not is_carried:
            op.slots = IntegerAttr(slots, i64)


def _at_the_border(kernel: FuncOp) -> Iterator[tuple[TileOp, Space]]:
    """The ops whose tiles are filled by one unit and read by another: brought into a memory, or stored from it."""
    for op in kernel.walk():
        made = op.tile.owner if isinstance(op, StoreOp | StoreRowsOp) else op if isinstance(op, _BRINGING) else None
        if isinstance(made, TileOp) and made.results and (space := mem_of(made.results[0].type).space) in _KEYS:
            yield made, space


def _skew(kernel: FuncOp) -> None:
    loops = [op for op in kernel.walk() if isinstance(op, ForOp) and loads_of(op)]
    if not loops:
        raise CompileError.at(kernel, f"@{kernel.sym_name.data}: skew = 1, but no loop loads tiles into l1; leave skew out")
    constants = Constants(kernel)
    for loop in loops:
        if not is_skewed(loop):
            skew(loop, constants)


def _persist(grid: ForallOp) -> None:
    """Makes a grid a persistent loop."""
    body = grid.body.block
    new = Block(arg_types=[IndexType()] * (1 + len(body.args)))
    new.args[0].name_hint = "t"
    for old, argument in zip(body.args, new.args[1:], strict=True):
        argument.name_hint = old.name_hint
        old.replace_all_uses_with(argument)
    for op in list(body.ops):
        op.detach()
        new.add_op(op)
    loop = located(GridLoopOp(grid.grid, new), grid.location)
    loop.attributes |= grid.attributes
    block = grid.parent
    assert block is not None
    block.insert_op_before(loop, grid)
    grid.detach()
    grid.erase()
