"""The time of a program: its launches in order, on the device alone and with a host that launches them one at a time."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import SSAValue

from ge_compiler.dialects import fused
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.instruction_costs import timing_of
from ge_compiler.dialects.memory import bytes_of
from ge_compiler.dialects.target import NpuTarget, target_of
from ge_compiler.dialects.target_timing import Timing
from ge_compiler.dialects.types import buffer_type
from ge_compiler.runtime.timing.kernel import KernelTime, KernelTimes, times_of

IDLE = "idle"
"""Stands for an engine where a launch has nothing to do."""


@dataclass(frozen=True)
class LaunchTime:
    """One launch of a kernel: which operators of the model it is for, and its time."""

    name: str
    operators: tuple[str, ...]
    location: LocationAttr
    """Where the model asks for it."""
    kernel: KernelTime
    op: fused.LaunchOp

    @property
    def ticks(self) -> int:
        """The kernel with its launch, as a profiler's task time."""
        return self.kernel.ticks + self.kernel.launch_ticks


@dataclass(frozen=True)
class ModuleTime:
    """The time of a program. `untimed` counts the launches on other engines and those that are `IDLE`, which no figure includes."""

    target: str
    timing: Timing
    launches: tuple[LaunchTime, ...]
    untimed: dict[str, int]

    @property
    def kernel_ticks(self) -> int:
        """The kernels alone, without launches and gaps."""
        return sum(launch.kernel.ticks for launch in self.launches)

    @property
    def graph_ticks(self) -> int:
        """From the first launch to the last result where the whole graph was handed to the device."""
        gaps = max(0, len(self.launches) - 1) * self.timing.ticks_of_microseconds("launch.graph_gap")
        return sum(launch.ticks for launch in self.launches) + gaps

    @property
    def host_ticks(self) -> int:
        """The same where a host launches one operator at a time: a launch cannot start before the host has come to it."""
        host, end = self.timing.ticks_of_microseconds("launch.host"), 0
        for number, launch in enumerate(self.launches, 1):
            end = max(end, number * host) + launch.ticks
        return end

    @property
    def microseconds(self) -> float:
        return self.timing.microseconds(self.graph_ticks)

    @property
    def host_microseconds(self) -> float:
        return self.timing.microseconds(self.host_ticks)

    @property
    def hbm_bytes(self) -> int:
        return sum(launch.kernel.hbm_bytes for launch in self.launches)

    @property
    def achieved(self) -> float:
        """The ideal time of all kernels over the time of the graph."""
        return sum(launch.kernel.ideal_ticks for launch in self.launches) / max(1, self.graph_ticks)

    def by_kernel(self) -> dict[str, list[LaunchTime]]:
        """The launches of each kernel, by its name, in the order of their first launch."""
        found: dict[str, list[LaunchTime]] = {}
        for launch in self.launches:
            found.setdefault(launch.kernel.name, []).append(launch)
        return found


def time_module(module: ModuleOp, target: NpuTarget | None = None) -> ModuleTime:
    """
    The time of a module of instructions on `target`, by default its own; L2 is empty when it starts.

    Raises `CompileError` where the target's table lacks a constant, and at ops whose time cannot be known.
    """
    target = target_of(module) if target is None else target
    try:
        timing = timing_of(target)
    except CompileError as error:
        raise CompileError.at(module, error.message) from error
    cache = _Cache(int(timing.value("l2.size", "bytes")))
    launches, untimed = list[LaunchTime](), Counter[str]()
    kernels: dict[str, KernelTimes] = {}
    for op in fused.launches(module):
        if op.engine.data is not fused.Engine.AICORE:
            untimed[op.engine.data.value] += 1
            continue
        kernel = op.kernel()
        if kernel is None:
            raise CompileError.at(op, f"launches @{op.kernel_name}, which the module does not have")
        if op.kernel_name not in kernels:
            kernels[op.kernel_name] = times_of(kernel, target)
        times, values = kernels[op.kernel_name], [*op.inputs, *op.destinations]
        if times.is_idle:
            untimed[IDLE] += 1
            continue
        time = times.time(cache.held(values))
        launches.append(LaunchTime(_name(op), _operators(op), op.location, time, op))
        cache.touch([values[i] for i in sorted(time.traffic.whole)])
    return ModuleTime(target.name, timing, tuple(launches), dict(untimed))


def _name(op: fused.LaunchOp) -> str:
    return op.op_name.data or op.kernel_name


def _operators(op: fused.LaunchOp) -> tuple[str, ...]:
    return tuple(operator.data for operator in op.ops)


class _Cache:
    """Which tensors L2 holds between launches: those that a launch has moved the whole of, the last ones."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._tensors: OrderedDict[SSAValue, int] = OrderedDict()

    def held(self, values: Sequence[SSAValue]) -> list[int]:
        """Which of a kernel's arguments are in L2."""
        return [i for i, value in enumerate(values) if value in self._tensors]

    def touch(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            self._tensors.pop(value, None)
            self._tensors[value] = bytes_of(buffer_type(value))
        while sum(self._tensors.values()) > self._capacity:
            self._tensors.popitem(last=False)
