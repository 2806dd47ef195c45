"""The time of a kernel: how long it takes, what it waits for, and how far it is from what its chip could do."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from fractions import Fraction
from io import StringIO

from xdsl.dialects.func import FuncOp
from xdsl.printer import Printer

from ge_compiler.dialects import npu
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.instruction_costs import timing_of
from ge_compiler.dialects.target import CUBE, VECTOR, NpuTarget
from ge_compiler.dialects.target_timing import TICKS, Timing
from ge_compiler.runtime.timing.critical import CriticalPath, critical_path
from ge_compiler.runtime.timing.extract import read_kernel
from ge_compiler.runtime.timing.program import KernelProgram, work_counts
from ge_compiler.runtime.timing.scoreboard import Board
from ge_compiler.runtime.timing.sharing import Maker, Outcome, Sharing
from ge_compiler.runtime.timing.traffic import Traffic, tensor_bytes, traffic_of

BOUND = Fraction(19, 20)
"""A pipe that accounts for this part of the critical path is what a kernel is bound by."""


@dataclass(frozen=True, eq=False)
class KernelTime:
    """
    How long a kernel takes on its cores, its launch not included. Numbers are exact for the model, and the same in every process.

    `program`, `outcome` and `traffic` hold everything that the figures were made of: `outcome.board` is the cluster that takes longest,
    with its jumps; `record` runs all clusters again on boards that see more, as those of `timeline` do. An instruction at t inside a jump
    comes again at t plus each multiple of the jump's period.
    """

    name: str
    timing: Timing = field(repr=False)
    program: KernelProgram = field(repr=False)
    traffic: Traffic = field(repr=False)
    outcome: Outcome = field(repr=False)
    _again: Callable[[float], int] = field(repr=False)
    record: Callable[[Maker], list[Board]] = field(repr=False)
    """Runs a cluster of each kind again, in the order of the program's, on boards that the given function makes."""

    @property
    def ticks(self) -> int:
        return self.outcome.ticks

    @property
    def cycles(self) -> float:
        return self.ticks / TICKS

    @property
    def microseconds(self) -> float:
        return self.timing.microseconds(self.ticks)

    @property
    def cores(self) -> int:
        """How many clusters have work."""
        return sum(cluster.count for cluster in self.program.clusters)

    @property
    def is_mixed(self) -> bool:
        """Whether cube and vector cores work together."""
        kinds = {stream.kind for cluster in self.program.clusters for stream in cluster.streams}
        return {CUBE, VECTOR} <= kinds

    @property
    def launch_ticks(self) -> int:
        """What launching takes beside the cores' time."""
        t = self.timing.ticks_of_microseconds
        return t("launch.base") + self.cores * t("launch.block") + (t("launch.mixed") if self.is_mixed else 0)

    @functools.cached_property
    def busy(self) -> dict[str, float]:
        """The part of the time in which each pipe of the slowest cluster is held, by the pipe's name."""
        found: dict[str, float] = {}
        for core in self.outcome.board.cores:
            for pipe, ticks in zip(core.stream.pipes, core.busy, strict=True):
                found[pipe] = max(found.get(pipe, 0.0), ticks / self.ticks)
        return found

    @functools.cached_property
    def critical(self) -> CriticalPath:
        """Where the slowest cluster's time goes."""
        board = self.outcome.board
        return critical_path(board.cluster, self.outcome.phases[0].costs, self.program.overheads.queue, self.program.pipes)

    @property
    def bound(self) -> str:
        """
        `MTE2-bound`, `HBM-bound`, `scalar-bound`; or `sync-bound: MTE2 77%, flag ... and flag ...`: what takes most of the critical path,
        and the flags that are most often on it.
        """
        floor = max(self.outcome.floors, key=lambda name: self.outcome.floors[name])
        if self.outcome.floors[floor] >= self.ticks:
            return f"{floor.upper()}-bound"
        path = self.critical
        (what, name), most = max(_by_resource(path).items(), key=lambda item: (item[0][0] in ("pipe", "scalar"), item[1], item[0]))
        unit = name.rpartition(".")[2].upper()
        if most >= BOUND * path.total:
            return f"{unit}-bound"
        flags = sorted(path.crossings, key=lambda flag: (-path.crossings[flag], flag))[:2]
        mostly = [f"{unit} {100 * most // path.total}%"] if what in ("pipe", "scalar") else []
        found = [*mostly, *([" and ".join(flags)] if flags else [])]
        return f"sync-bound: {', '.join(found)}" if found else "sync-bound"

    @property
    def hbm_bytes(self) -> int:
        return self.traffic.hbm_bytes

    @functools.cached_property
    def ideal_ticks(self) -> int:
        """What the kernel would take if nothing ever waited: its bytes once through HBM and L2, or its products on all cubes."""
        rate, t = self.timing.shared_rate, self.traffic
        memory = max(t.needed / rate("hbm.read"), (t.needed + t.hbm_written) / rate("hbm.mixed"), t.once / rate("l2.total"))
        total = sum(
            count * cluster.count * (cost.occupancy - self.timing.ticks("cube.gap"))
            for cluster in self.program.clusters
            for stream in cluster.streams
            for work, count in work_counts(stream.body).items()
            if isinstance(self.program.works[work].op, npu.MmadOp) and (cost := self.program.works[work].cost).occupancy
        )
        return max(1, int(memory), total // self.program.cores)

    @property
    def achieved(self) -> float:
        """The ideal time over the time: 1 is the chip's limit for the kernel."""
        return self.ideal_ticks / self.ticks

    @functools.cached_property
    def sensitivity(self) -> float:
        """By how many percent the time falls if HBM gets one percent faster."""
        faster = self._again(1.01)
        return 100 * (self.ticks - faster) / self.ticks


def _by_resource(path: CriticalPath) -> dict[tuple[str, str], int]:
    """The ticks of the path by pipe, and by core kind what its scalar unit takes."""
    found: dict[tuple[str, str], int] = {}
    for (what, name), ticks in path.ticks.items():
        key = ("pipe", name) if what == "busy" else ("scalar", "scalar") if what in ("issue", "loop") else (what, name)
        found[key] = found.get(key, 0) + ticks
    return found or {("scalar", "scalar"): 0}


@dataclass(eq=False)
class KernelTimes:
    """A kernel as the cores of a target run it, and its times by what is in L2 when it starts."""

    kernel: FuncOp
    target: NpuTarget
    program: KernelProgram
    sizes: tuple[int, ...]
    """Bytes of each argument."""
    _known: dict[frozenset[int], KernelTime] = field(default_factory=dict[frozenset[int], KernelTime])

    @property
    def is_idle(self) -> bool:
        """Whether no core has anything to do, as for tensors without elements."""
        return not self.program.clusters

    def time(self, resident: Collection[int]) -> KernelTime:
        """The time where the arguments in `resident` are in L2. Raises `CompileError` for flags that never come."""
        key = frozenset(resident)
        if key not in self._known:
            try:
                self._known[key] = self._time(key)
            except CompileError as error:
                raise CompileError.at(self.kernel, f"@{self.program.name} cannot be timed: {error.message}") from error
        return self._known[key]

    def _time(self, resident: frozenset[int]) -> KernelTime:
        timing, program = timing_of(self.target), self.program
        traffic = traffic_of(program, self.sizes, timing, resident)
        sharing = Sharing(program, timing, traffic)
        outcome = sharing.run()
        again, record = functools.partial(sharing.with_hbm, outcome), functools.partial(sharing.recorded, outcome)
        return KernelTime(program.name, timing, program, traffic, outcome, again, record)


_KNOWN: dict[tuple[str, int], KernelTimes] = {}
_KEPT = 512


def times_of(kernel: FuncOp, target: NpuTarget) -> KernelTimes:
    """The times of `kernel`, a function of instructions, on `target`, kept by the text of the kernel. Raises as `time_kernel` does."""
    stream = StringIO()
    Printer(stream).print_op(kernel)
    key = (stream.getvalue(), id(target))
    if key not in _KNOWN or _KNOWN[key].target is not target:
        if len(_KNOWN) >= _KEPT:
            _KNOWN.clear()
        _KNOWN[key] = KernelTimes(kernel, target, read_kernel(kernel, target), tensor_bytes(kernel))
    return _KNOWN[key]


def time_kernel(kernel: FuncOp, target: NpuTarget, resident: Collection[int] = ()) -> KernelTime:
    """
    The time of `kernel`, a function of instructions, on `target`; the arguments in `resident` are in L2 when it starts.

    Needs no data and executes nothing. Raises `CompileError` where the target's table lacks a constant, where an extent is not known
    without data, and for flags that never come.
    """
    times = times_of(kernel, target)
    if times.is_idle:
        raise CompileError.at(kernel, f"@{kernel.sym_name.data} has no instructions to time")
    return times.time(resident)
