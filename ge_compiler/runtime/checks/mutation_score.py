"""How many mutants of a kernel the checks report, and how many do harm when they are replayed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ge_compiler.dialects import npu, tile
from ge_compiler.dialects.semantics import Array, dtype_of
from ge_compiler.dialects.target import NpuTarget, target_of
from ge_compiler.dialects.types import buffer_type
from ge_compiler.runtime.checks.mutation import Mutant, kernel_named, mutants
from ge_compiler.runtime.checks.replay import Replay
from ge_compiler.runtime.checks.sync import check_sync, written_arguments

ORDERS = 20


@dataclass
class Row:
    """The mutants of one kind."""

    made: int = 0
    reported: int = 0
    harmful: int = 0
    """Those that change a byte, read poison or get stuck in one of the orders."""
    harmful_reported: int = 0
    unreported: list[str] = field(default_factory=list[str])
    """What was changed in the mutants without a report."""


@dataclass
class Score:
    """What became of the mutants of one kernel, by kind."""

    kernel: str
    target: str
    synchronisations: int
    rows: dict[str, Row]


def score(module: ModuleOp, kernel: str, *, orders: int = ORDERS, kinds: Iterable[str] = ()) -> Score:
    """
    Checks and replays every mutant of a kernel (of `kinds`, if any), whose own program must be without faults.

    Raises `AssertionError` if the kernel itself has a fault, or gives different bytes in different orders.
    """
    target = target_of(module)
    original = kernel_named(module, kernel)
    report = check_sync(original, target)
    assert not report.faults, report.error()
    bench = Bench(original, target, orders)
    assert not bench.is_harmful(original), "the intact kernel depends on the order"
    rows: defaultdict[str, Row] = defaultdict(Row)
    wanted = set(kinds)
    for mutant in mutants(module, kernel):
        if not wanted or mutant.kind in wanted:
            _count(rows[mutant.kind], mutant, bool(check_sync(mutant.kernel, target).faults), bench.is_harmful(mutant.kernel))
    sync = sum(isinstance(op, npu.SyncOp) and not op.results for op in original.walk())
    return Score(kernel, target.name, sync, dict(rows))


def _count(row: Row, mutant: Mutant, reported: bool, harmful: bool) -> None:
    row.made += 1
    row.reported += reported
    row.harmful += harmful
    row.harmful_reported += harmful and reported
    if not reported:
        row.unreported.append(f"{mutant.kind}: {mutant.what}{' (HARMFUL)' if harmful else ''}")


class Bench:
    """A kernel's inputs, and what it makes of them in the order of its program."""

    def __init__(self, kernel: FuncOp, target: NpuTarget, orders: int) -> None:
        self.target, self.orders = target, orders
        self.clusters = range(_busy_clusters(kernel, target))
        self.arguments = _random_arguments(kernel)
        self.expected = self._replay(kernel).run(None)
        assert self.expected.written is not None, self.expected.problem

    def is_harmful(self, kernel: FuncOp) -> bool:
        """Whether some order of `kernel` gives something else."""
        replay = self._replay(kernel)
        return any(replay.run(seed) != self.expected for seed in range(self.orders))

    def _replay(self, kernel: FuncOp) -> Replay:
        return Replay(kernel, self.target, self.arguments, self.clusters)


def _busy_clusters(kernel: FuncOp, target: NpuTarget) -> int:
    """How many clusters to run: without a barrier of all cores, what one does says nothing about another."""
    if not any(isinstance(op, npu.SyncAllOp) for op in kernel.walk()):
        return 1
    return min(target.cores, max((math.prod(op.grid) for op in kernel.walk() if isinstance(op, tile.GridOp)), default=1))


def _random_arguments(kernel: FuncOp) -> list[Array | None]:
    generator = np.random.default_rng(0)
    written = written_arguments(kernel)

    def values(number: int) -> Array | None:
        type_ = buffer_type(kernel.body.block.args[number])
        if number in written:
            return None
        return generator.standard_normal(type_.get_shape()).astype(dtype_of(type_.get_element_type()))

    return [values(i) for i in range(len(kernel.body.block.args))]
