"""What an instruction costs on its pipe, from its op, its extents and the constants of its target.

A pipe that is ready when an instruction arrives first spends `fill`; it is held for the instruction's *occupancy*; what the instruction
wrote is there `latency` later. Only the occupancy of a move through global memory depends on what else is running: on the shares of the
bandwidth, and on how many of the bytes the L2 cache holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import SSAValue

from ge_compiler.dialects import npu
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.memory import BLOCK_BYTES, Space, element_bytes, mem_of
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.dialects.target_timing import Timing
from ge_compiler.dialects.types import buffer_type

_ROUNDING = 2**-20
"""Ticks: more than a quotient of floats is off by, so that what is a whole number stays one."""

REPEAT_BYTES = 256
"""What the vector unit works on at a time."""

Extents = Sequence[int]
"""Rows and columns that are valid."""


@dataclass(frozen=True)
class Shares:
    """Bytes per tick that one move may take of what all cores share."""

    hbm_read: float
    hbm_write: float
    l2: float

    def among(self, part: float) -> Shares:
        """The shares where only a part of those that these are for take some."""
        return Shares(self.hbm_read / part, self.hbm_write / part, self.l2 / part)

    def between(self, other: Shares) -> Shares:
        """The shares halfway to others."""
        return Shares((self.hbm_read + other.hbm_read) / 2, (self.hbm_write + other.hbm_write) / 2, (self.l2 + other.l2) / 2)

    def with_hbm(self, factor: float) -> Shares:
        """The shares if HBM were `factor` times as fast."""
        return Shares(self.hbm_read * factor, self.hbm_write * factor, self.l2)


@dataclass(frozen=True)
class Traffic:
    """The part of a move that goes through global memory."""

    bytes: int
    writes: bool
    rate: float
    """Bytes per tick that the core's own path takes."""
    least: int
    """Ticks that its rows take, however fast the memory is."""
    lines: float = 1.0
    """Lines of L2 that its rows touch over those that they would fill if they started on lines; the time grows with it."""


@dataclass(frozen=True)
class Cost:
    """Ticks of one instruction. `occupancy` is the part that no other core has a say in."""

    fill: int
    occupancy: int
    latency: int
    traffic: Traffic | None = None

    def occupied(self, shares: Shares, misses: float) -> int:
        """Ticks that the pipe is held, where that part of the bytes is not in L2."""
        if self.traffic is None:
            return self.occupancy
        t = self.traffic
        on_chip, off_chip = min(t.rate, shares.l2), min(t.rate, shares.hbm_write if t.writes else shares.hbm_read)
        moved = t.bytes * ((1 - misses) / on_chip + misses / off_chip)
        return self.occupancy + ceil(max(t.least, moved) * t.lines - _ROUNDING)


def timing_of(target: NpuTarget) -> Timing:
    """The constants of `target`. Raises `CompileError` where its table has none."""
    if target.timing is None:
        raise CompileError(f"{target.name} cannot be timed: its table has no [timing]; docs/targets.md says what belongs there")
    return target.timing


def cost_of(op: npu.InstructionOp, extents: Sequence[Extents], target: NpuTarget) -> Cost:
    """
    The cost of `op` whose operands that are read have these valid extents, and last the one that is written.

    Raises `CompileError` at the op where the target's table lacks a constant that it needs.
    """
    try:
        return _cost(op, [tuple(e) for e in extents], timing_of(target))
    except CompileError as error:
        raise CompileError.at(op, error.message) from error


def _cost(op: npu.InstructionOp, extents: list[tuple[int, ...]], timing: Timing) -> Cost:
    if any(0 in e for e in extents):
        return Cost(0, 0, 0)
    match op:
        case npu.MmadOp():
            return _product(op, extents, timing)
        case npu.LoadRowsOp() | npu.StoreRowsOp():
            return _rows(op, extents, timing)
        case npu.VectorOp():
            return _vector(op, extents, timing)
        case _:
            return _move(op, extents, timing)


# ---- the cube ---------------------------------------------------------------------------------------------------------


def _product(op: npu.MmadOp, extents: list[tuple[int, ...]], timing: Timing) -> Cost:
    (m, k), (_, n) = extents[:2]
    element = buffer_type(op.a).get_element_type()
    across = BLOCK_BYTES // element_bytes(element)
    # Operands lie in squares of 16 x 16 at least, which the cube works through whole.
    steps = -(-m // 16) * -(-n // 16) * -(-k // max(16, across)) * max(1, 16 // across)
    step = timing.ticks("cube.step", str(element))
    if step == 0:
        raise CompileError(f"{timing.target} cannot be timed here: its table has no {element} in timing.cube.step")
    return Cost(timing.ticks("cube.fill"), steps * step + timing.ticks("cube.gap"), 0)


# ---- moves ------------------------------------------------------------------------------------------------------------


def _move(op: npu.InstructionOp, extents: list[tuple[int, ...]], timing: Timing) -> Cost:
    source, out = op.reads()[0], op.writes()
    there = source if mem_of(source.type).space is Space.GM else out
    rows, columns = extents[-1]
    size = element_bytes(buffer_type(there).get_element_type())
    key = f"moves.{mem_of(source.type).space}_{mem_of(out.type).space}"
    return _bursts(key, rows, columns * size, _is_unaligned(there), there, out is there, timing)


def _rows(op: npu.LoadRowsOp | npu.StoreRowsOp, extents: list[tuple[int, ...]], timing: Timing) -> Cost:
    """Every row is an instruction of its own to the memory: its address is data."""
    loads = isinstance(op, npu.LoadRowsOp)
    tile = op.out if isinstance(op, npu.LoadRowsOp) else op.tile
    rows, columns = extents[-1] if loads else extents[0]
    key = "moves.gm_ub" if loads else "moves.ub_gm"
    row_bytes = columns * element_bytes(buffer_type(tile).get_element_type())
    one = _bursts(key, 1, row_bytes, False, op.table, not loads, timing)
    assert one.traffic is not None
    t = one.traffic
    return Cost(one.fill, one.occupancy * rows, one.latency, Traffic(t.bytes * rows, t.writes, t.rate, t.least * rows))


def _bursts(key: str, rows: int, row_bytes: int, unaligned: bool, there: SSAValue, writes: bool, timing: Timing) -> Cost:
    fixed, row, rate = timing.ticks(key, "fixed"), timing.ticks(key, "row"), timing.rate(key)
    latency, moved = timing.ticks(key, "latency"), rows * row_bytes
    if mem_of(there.type).space is not Space.GM:
        return Cost(0, fixed + max(rows * row, ceil(moved / rate)), latency)
    line = timing.value("l2.line", "bytes")
    lines = float((1 + row_bytes / line) / ceil(row_bytes / line)) if unaligned else 1.0
    return Cost(0, fixed, latency, Traffic(moved, writes, float(rate), rows * row, lines))


def _is_unaligned(value: SSAValue) -> bool:
    """Whether rows in global memory do not start on blocks, as far as the stride between them tells."""
    type_ = buffer_type(value)
    if mem_of(type_).space is not Space.GM or len(type_.get_shape()) < 2:
        return False
    strides = _strides(type_)
    return strides is not None and strides[-2] * element_bytes(type_.get_element_type()) % BLOCK_BYTES != 0


def _strides(type_: MemRefType) -> Sequence[int] | None:
    if isinstance(type_.layout, NoneAttr):
        return [*type_.get_shape()[1:], 1]
    found = type_.layout.get_strides() if isinstance(type_.layout, StridedLayoutAttr) else None
    return None if found is None or None in found else [stride for stride in found if stride is not None]


# ---- the vector unit --------------------------------------------------------------------------------------------------


def _vector(op: npu.VectorOp, extents: list[tuple[int, ...]], timing: Timing) -> Cost:
    match op:
        case npu.VreduceOp():
            return _reduction(op, extents, timing)
        case npu.VectorElementwiseOp():
            name = op.FUNCTION
        case _:
            name = op.name.removeprefix("npu.v")
    operands = [*op.reads(), op.writes()]
    widest = max(element_bytes(buffer_type(x).get_element_type()) for x in operands)
    repeats, masked = _repeats(extents, widest, timing)
    slope = timing.ticks(f"vector.{name}", "slope")
    return Cost(timing.ticks(f"vector.{name}", "head"), repeats * slope + masked, timing.ticks(f"vector.{name}", "tail"))


def _repeats(extents: list[tuple[int, ...]], size: int, timing: Timing) -> tuple[int, int]:
    """How many times the unit works, and what an incomplete last time costs; a tile in one piece is one row."""
    rows, columns = extents[-1]
    row_bytes = columns * size
    if row_bytes % BLOCK_BYTES == 0 and all(tuple(e) == (rows, columns) for e in extents):
        rows, row_bytes = 1, rows * row_bytes
    masked = timing.ticks("vector.masked", "head") if row_bytes % REPEAT_BYTES else 0
    return rows * -(-row_bytes // REPEAT_BYTES), masked


def _reduction(op: npu.VreduceOp, extents: list[tuple[int, ...]], timing: Timing) -> Cost:
    """Along a row: the row is folded to 256 bytes, then those to one element. Along a column: row is added to row."""
    (rows, columns), size = extents[0], element_bytes(buffer_type(op.x).get_element_type())
    kind, fold = op.kind.kind.data, "add" if op.kind.kind.data == "sum" else op.kind.kind.data
    per_row = -(-columns * size // REPEAT_BYTES)
    folding, name = timing.ticks(f"vector.{fold}", "slope"), f"vector.reduce_{kind}"
    if op.dimension == 0:
        occupied, tail = max(1, rows - 1) * per_row * folding, timing.ticks(f"vector.{fold}", "tail")
    else:
        occupied, tail = rows * ((per_row - 1) * folding + timing.ticks(name, "slope")), timing.ticks(name, "tail")
    masked = timing.ticks("vector.masked", "head") if columns * size % REPEAT_BYTES else 0
    return Cost(timing.ticks(name, "head"), occupied + masked, tail)


# ---- order ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Overheads:
    """Ticks of what is no instruction: issue, flags, loops; and the length of a pipe's queue."""

    issue: int
    flag: int
    loop: int
    event: int
    cross_core: int
    all_cores: int
    queue: int


def overheads_of(target: NpuTarget) -> Overheads:
    """What order costs on `target`. Raises `CompileError` where its table does not say."""
    timing = timing_of(target)
    keys = ["scalar.issue", "scalar.flag", "scalar.loop", "sync.event"]
    values = [timing.ticks(key) for key in keys]
    values += [timing.ticks("sync.cross_core") if target.is_split else 0, timing.ticks("sync.all")]
    return Overheads(*values, queue=int(timing.value("queue", "entries")))
