"""The time of a program, with its launches placed in time, and what each kernel does with its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ge_compiler.dialects import fused
from ge_compiler.dialects.target import NpuTarget, target_of
from ge_compiler.dialects.target_timing import TICKS, Confidence
from ge_compiler.dialects.tile.schedule import schedule_of
from ge_compiler.runtime.report import sources
from ge_compiler.runtime.timing import KernelTime, LaunchTime, ModuleTime, time_module

GRAPH, HOST = "graph", "host"
LAUNCHES = (GRAPH, HOST)
"""Who launches: the device a whole graph, or a host one operator at a time."""


@dataclass(frozen=True)
class Task:
    """A launch in time, in ticks from the start of the program."""

    time: LaunchTime
    ready: int
    """When the device could start it: the one before is done, and its gap has passed, or the host has come to it."""
    cores: int
    """When its cores start."""
    end: int
    waited: int
    """From the end of the one before."""

    @property
    def kernel(self) -> KernelTime:
        return self.time.kernel


@dataclass(frozen=True, eq=False)
class Profile:
    """A program's time under one way of launching."""

    name: str
    module: ModuleOp
    time: ModuleTime
    launch: str
    tasks: tuple[Task, ...]

    @property
    def target(self) -> NpuTarget:
        return target_of(self.module)

    @property
    def ticks(self) -> int:
        """From the first launch to the last result."""
        return self.time.graph_ticks if self.launch == GRAPH else self.time.host_ticks

    @property
    def kernels(self) -> dict[str, FuncOp]:
        return {kernel.sym_name.data: kernel for kernel in fused.kernels(self.module)}

    def microseconds(self, ticks: int) -> float:
        return self.time.timing.microseconds(ticks)

    def uses(self) -> list[Use]:
        """What takes how long, most first: launches of one kernel that find the same in L2 are one."""
        found: dict[tuple[str, int, int], list[Task]] = {}
        for task in self.tasks:
            found.setdefault((task.kernel.name, task.kernel.ticks, task.kernel.hbm_bytes), []).append(task)
        rows = [Use(tuple(tasks)) for tasks in found.values()]
        return sorted(rows, key=lambda use: -use.ticks)


@dataclass(frozen=True)
class Use:
    """Launches of a kernel that take the same time."""

    tasks: tuple[Task, ...]

    @property
    def kernel(self) -> KernelTime:
        return self.tasks[0].kernel

    @property
    def ticks(self) -> int:
        """Of all these launches, what launching takes included."""
        return sum(task.time.ticks for task in self.tasks)

    @property
    def source(self) -> tuple[str, ...]:
        """`fc1 (mlp.py:14)` of every operator of the first launch."""
        return source_of(self.tasks[0])


def profile_of(name: str, module: ModuleOp, launch: str = GRAPH) -> Profile:
    """
    The profile of a module of instructions. Executes nothing.

    Raises `CompileError` where its target's table lacks a constant of time.
    """
    time = time_module(module)
    gap, host = (time.timing.ticks_of_microseconds(f"launch.{key}") for key in ("graph_gap", "host"))
    tasks, end = list[Task](), 0
    for number, one in enumerate(time.launches):
        ready = max(end, (number + 1) * host) if launch == HOST else end + (gap if number else 0)
        tasks.append(Task(one, ready, ready + one.kernel.launch_ticks, ready + one.ticks, ready - end))
        end = ready + one.ticks
    return Profile(name, module, time, launch, tuple(tasks))


def source_of(task: Task) -> tuple[str, ...]:
    """`fc1 (mlp.py:14)` of every operator of a launch."""
    return tuple(f"{name} ({line})" if name and line else name or line for name, line in sources(task.time.op.location))


def tiles_of(kernel: FuncOp) -> Mapping[str, int]:
    """The sizes that a kernel's schedule gives; empty without one."""
    schedule = schedule_of(kernel)
    return {} if schedule is None else schedule.values()


def critical_parts(kernel: KernelTime) -> list[tuple[str, int]]:
    """What a kernel spends its ticks on, the most first: its critical path, and what is not the doing of one cluster."""
    parts = _merged(kernel.critical.ticks)
    rest = kernel.ticks - sum(parts.values())
    if rest > 0:
        parts["barriers of all cores" if kernel.outcome.board.held else "memory that all cores share"] = rest
    elif rest < 0:
        parts = _scaled(parts, kernel.ticks)
    return sorted(((label, ticks) for label, ticks in parts.items() if ticks), key=lambda part: (-part[1], part[0]))


def _scaled(parts: Mapping[str, int], ticks: int) -> dict[str, int]:
    """
    Parts in the same proportions whose sum is `ticks`.

    The path is that of a kernel's first phase. In later ones, clusters that are done leave bandwidth to the others, which take less time
    than the path says.
    """
    whole = sum(parts.values())
    scaled = {label: part * ticks // whole for label, part in parts.items()}
    largest = max(scaled, key=lambda label: (scaled[label], label))
    return scaled | {largest: scaled[largest] + ticks - sum(scaled.values())}


def _merged(ticks_by_label: Mapping[tuple[str, str], int]) -> dict[str, int]:
    merged: dict[str, int] = {}
    for (what, name), ticks in ticks_by_label.items():
        label = _LABELS.get(what, "{0}").format(name) or what
        merged[label] = merged.get(label, 0) + ticks
    return merged


_LABELS = {"fill": "filling {0}", "latency": "latency of {0}", "issue": "issuing", "loop": "loops"}


def pipe_title(pipe: str) -> str:
    """How a pipe is called in a heading: the units that compute by what they are."""
    return {"m": "cube", "v": "vector"}.get(pipe.rpartition(".")[2], pipe)


def engine_totals(profile: Profile) -> Mapping[str, int]:
    """Launches on other engines, which no figure includes."""
    return dict(sorted(profile.time.untimed.items()))


def confidences(profile: Profile) -> Mapping[Confidence, Sequence[str]]:
    """The constants that the numbers rest on."""
    return {kind: [constant.key for constant in found] for kind, found in profile.time.timing.by_confidence().items()}


# ---- as JSON ----------------------------------------------------------------------------------------------------------


def to_json(profile: Profile) -> dict[str, Any]:
    """Everything, in microseconds, cycles, bytes and parts of one."""
    time, us = profile.time, profile.microseconds
    total = {
        "launch": profile.launch,
        "us": rounded(us(profile.ticks)),
        "graph_us": rounded(time.microseconds),
        "host_us": rounded(time.host_microseconds),
        "kernels_us": rounded(us(time.kernel_ticks)),
        "ideal_us": rounded(us(sum(task.kernel.ideal_ticks for task in profile.tasks))),
        "achieved": rounded(achieved(profile)),
        "launches": len(profile.tasks),
        "untimed": dict(engine_totals(profile)),
        "hbm_bytes": time.hbm_bytes,
    }
    return {
        "program": profile.name,
        "target": time.target,
        "total": total,
        "kernels": [_use_json(profile, use) for use in profile.uses()],
        "launches": [_task_json(profile, task) for task in profile.tasks],
        "constants": {kind.value: [c.key for c in constants] for kind, constants in time.timing.by_confidence().items()},
    }


def achieved(profile: Profile) -> float:
    """The ideal time of all kernels over the time of the program."""
    return sum(task.kernel.ideal_ticks for task in profile.tasks) / max(1, profile.ticks)


def _use_json(profile: Profile, use: Use) -> dict[str, Any]:
    kernel, us = use.kernel, profile.microseconds
    return {
        "name": kernel.name,
        "launches": len(use.tasks),
        "source": list(use.source),
        "tiles": dict(tiles_of(profile.kernels[kernel.name])),
        "cycles": rounded(kernel.ticks / TICKS),
        "us": rounded(kernel.microseconds),
        "launch_us": rounded(us(kernel.launch_ticks)),
        "total_us": rounded(us(use.ticks)),
        "clusters": kernel.cores,
        "bound": kernel.bound,
        "critical_path": {label: rounded(ticks / kernel.ticks) for label, ticks in critical_parts(kernel)},
        "flags_on_it": dict(sorted(kernel.critical.crossings.items())),
        "steady_cycle": _steady_json(kernel),
        "busy": {pipe: rounded(part) for pipe, part in kernel.busy.items()},
        "hbm_bytes": kernel.hbm_bytes,
        "ideal_us": rounded(us(kernel.ideal_ticks)),
        "achieved": rounded(kernel.achieved),
        "percent_per_percent_of_hbm": rounded(kernel.sensitivity),
    }


def _steady_json(kernel: KernelTime) -> dict[str, Any] | None:
    """One period of the longest steady loop: its cycles, and the parts of the critical path in it."""
    path = kernel.critical
    if not path.period:
        return None
    parts = sorted(_merged(path.steady).items(), key=lambda part: (-part[1], part[0]))
    return {"cycles": rounded(path.period / TICKS), "parts": {label: rounded(ticks / path.period) for label, ticks in parts if ticks}}


def _task_json(profile: Profile, task: Task) -> dict[str, Any]:
    us = profile.microseconds
    return {
        "name": task.time.name,
        "kernel": task.kernel.name,
        "operators": list(task.time.operators),
        "source": list(source_of(task)),
        "start_us": rounded(us(task.ready)),
        "us": rounded(us(task.time.ticks)),
        "kernel_us": rounded(task.kernel.microseconds),
    }


def rounded(value: float) -> float:
    """Six digits after the point: less than a tick of a microsecond is no difference."""
    return round(value, 6)
