"""A kernel, followed once for each class of its blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import CastOp, ReinterpretCastOp, SubviewOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ge_compiler.dialects import npu, semantics, tile
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.memory import Space, mem_of
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.dialects.types import buffer_type
from ge_compiler.runtime.lifted.indices import Index, NotLifted, Split, collapsed
from ge_compiler.runtime.lifted.instructions import instructions
from ge_compiler.runtime.lifted.order import check_order
from ge_compiler.runtime.lifted.structure import row_major, structure
from ge_compiler.runtime.lifted.tracing import Touched, Tracer
from ge_compiler.runtime.lifted.values import GlobalView, Trace
from ge_compiler.runtime.walk import Frame, Function, Registers, Step

CLASS_LIMIT = 256
"""Classes of one grid."""


@dataclass
class Phase:
    """One grid: its classes of blocks, which all end before the next grid starts."""

    grid: tuple[int, ...]
    cores: int
    """In how many turns the checked executor takes the blocks: those of one core after those of another."""
    written: frozenset[int]
    """Arguments that may change."""
    kept: frozenset[int]
    """Workspaces of which each core uses a part of its own: they are never written."""
    traces: list[Trace] = field(default_factory=list[Trace])

    @property
    def keeps_order(self) -> bool:
        """Whether blocks must run one by one: rows that several store where data says belong to the last."""
        alike = len(self.traces) == 1 and (self.cores == 1 or prod(self.grid) <= self.cores)
        return not alike and any(trace.scatters for trace in self.traces)

    def turn(self, point: Sequence[int]) -> tuple[int, int]:
        """When the checked executor takes the block at `point`."""
        number = sum(p * s for p, s in zip(point, row_major(self.grid), strict=True))
        return number % self.cores, number // self.cores


@dataclass
class Followed:
    """A kernel as steps."""

    phases: list[Phase]
    instructions: Counter[str]
    """What one launch executes, by name."""


Box = tuple[tuple[int, int], ...]
"""First and end in each axis of the grid."""


def follow(kernel: FuncOp, target: NpuTarget, shapes: Sequence[tuple[int, ...]], groups: Sequence[int]) -> Followed:
    """
    The steps of `kernel` on arguments of these shapes; arguments that share memory have the same number in `groups`.

    Raises `NotLifted` for what cannot be expressed, or would be reported by the checked executor.
    """
    follower = _Follower(kernel, target, shapes, groups)
    try:
        return follower.run()
    except CompileError as error:
        raise NotLifted(error.message) from error


class _Follower:
    def __init__(self, kernel: FuncOp, target: NpuTarget, shapes: Sequence[tuple[int, ...]], groups: Sequence[int]) -> None:
        self._target, self._shapes, self._groups = target, shapes, groups
        self._kernel = kernel
        self._tracer: Tracer | None = None
        self._core: Index = 0
        self._phases: list[Phase] = []
        self._points: dict[Operation, list[int]] = {}
        self._trips: dict[Operation, int] = {}
        self._outside: Counter[str] = Counter()
        table = {
            **structure(self._current, lambda: self._core, target),
            **instructions(self._current),
            tile.GridLoopOp: self._grid,
            tile.ForallOp: self._grid,
        }
        self._function = Function(kernel, table, target.vec_per_cube)

    def run(self) -> Followed:
        arguments = [
            GlobalView(i, semantics.dtype_of(buffer_type(a).get_element_type()), shape, row_major(shape), 0)
            for i, (a, shape) in enumerate(zip(self._kernel.body.block.args, self._shapes, strict=True))
        ]
        self._function(*arguments)
        if any(len(self._phases) > 1 and phase.kept for phase in self._phases):
            raise NotLifted("a kernel of several grids keeps something in a workspace of each core")
        return Followed(self._phases, self._function.executed() + self._outside)

    def _current(self) -> Tracer:
        if self._tracer is None:
            raise NotLifted("an instruction stands outside of grids")
        return self._tracer

    def _grid(self, op: tile.GridOp, frame: Frame) -> Step:
        self._points[op], code = frame.slots(op.points), frame.code(op.body.block)
        if isinstance(op, tile.GridLoopOp):
            self._trips[op] = frame.slot(op.trip)
        touched = _touched(op.body.block, self._groups)

        def step(r: Registers) -> None:
            numbers = range(len(self._shapes))
            cores = self._target.cores if isinstance(op, tile.GridLoopOp) else 1
            phase = Phase(
                op.grid,
                cores,
                frozenset(filter(touched.written, numbers)),
                frozenset(i for i in numbers if touched.is_kept(i, self._shapes[i])),
            )
            todo: list[Box] = [tuple((0, n) for n in op.grid)] if 0 not in op.grid else []
            while todo:
                box = todo.pop()
                before = self._function.executed()
                try:
                    phase.traces.append(self._trace(op, box, touched, r, lambda: code.run(r)))
                except Split as split:
                    todo += _pieces(box, split)
                    self._outside.subtract(self._function.executed() - before)
                    if len(todo) + len(phase.traces) > CLASS_LIMIT:
                        raise NotLifted(f"blocks fall into more than {CLASS_LIMIT} classes") from None
                    continue
                once = self._function.executed() - before
                blocks = int(np.prod([last - first for first, last in box], dtype=np.int64))
                self._outside.update({name: count * (blocks - 1) for name, count in once.items()})
            check_order(phase.traces, self._shapes, self._groups)
            self._phases.append(phase)

        return step

    def _trace(self, op: tile.GridOp, box: Box, touched: Touched, r: Registers, run: Callable[[], None]) -> Trace:
        """Sets the registers of a grid to all points of `box` and follows the body."""
        axes = [np.arange(first, last).reshape([-1 if d == e else 1 for e in range(len(box))]) for d, (first, last) in enumerate(box)]
        number = np.asarray(sum(axis * stride for axis, stride in zip(axes, row_major(op.grid), strict=True)))
        self._core = collapsed(number % self._target.cores)
        for slot, axis in zip(self._points[op], axes, strict=True):
            r[slot] = collapsed(axis)
        if isinstance(op, tile.GridLoopOp):
            r[self._trips[op]] = collapsed(number // self._target.cores)
        trace = Trace(tuple(first for first, _ in box), tuple(last - first for first, last in box))
        self._tracer = Tracer(trace, self._shapes, self._core, touched)
        try:
            run()
        finally:
            self._tracer, self._core = None, 0
        return trace


def _pieces(box: Box, split: Split) -> list[Box]:
    first, last = box[split.axis]
    cuts = [first, *(first + c for c in split.cuts), last]
    return [(*box[: split.axis], (a, b), *box[split.axis + 1 :]) for a, b in pairwise(cuts)]


def _touched(block: Block, groups: Sequence[int]) -> Touched:
    reads: set[int] = set()
    writes: set[int] = set()
    core_parts: set[int] | None = None
    shared: set[int] = set()
    for op in block.walk():
        if isinstance(op, npu.InstructionOp):
            for values, found in ((op.reads(), reads), ([op.writes()], writes)):
                for value in values:
                    if mem_of(value.type).space is Space.GM:
                        number, of_core = _root(value)
                        found.add(number)
                        if not of_core:
                            shared.add(number)
    core_parts = (reads & writes) - shared
    return Touched(reads, writes, core_parts, groups)


def _root(value: SSAValue) -> tuple[int, bool]:
    """The argument that a memref is part of, and whether it is the running core's part."""
    of_core = False
    while isinstance(op := value.owner, Operation):
        if isinstance(op, SubviewOp):
            first = op.offsets[0].owner if op.offsets and op.static_offsets.get_values()[0] < 0 else None
            of_core = of_core or isinstance(first, npu.BlockIdxOp)
            value = op.source
        elif isinstance(op, CastOp | ReinterpretCastOp):
            value = op.source
        else:
            raise NotLifted(f"{op.name} makes a memref")
    assert isinstance(value, BlockArgument)
    return value.index, of_core
