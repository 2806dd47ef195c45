"""The profile as a table with the columns of `op_summary`, as msprof writes it: a row for each launch, in order.

Times of a kind of core are means over the cores that run the kernel, cycles their sums. What is not modelled is `N/A`.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import StringIO

from xdsl.dialects.builtin import bf16, f16, f32, i1, i8, i16, i32, i64
from xdsl.ir import Attribute, SSAValue

from ge_compiler.dialects import fused
from ge_compiler.dialects.target import CUBE, UNIFIED, VECTOR
from ge_compiler.dialects.target_timing import TICKS
from ge_compiler.dialects.types import buffer_type
from ge_compiler.runtime.timing import KernelTime
from ge_compiler.runtime.timing.fold import Folding
from ge_compiler.runtime.timing.program import Cluster
from ge_compiler.runtime.timing.scoreboard import Board, Costs
from ge_compiler.tools.commands.profiling.profile import Profile, Task

HEADER = (
    "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us),"
    "Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,"
    "Context ID,aicore_time(us),aic_total_cycles,aic_mac_time(us),aic_mac_ratio,aic_scalar_time(us),aic_scalar_ratio,aic_mte1_time(us),"
    "aic_mte1_ratio,aic_mte2_time(us),aic_mte2_ratio,aic_fixpipe_time(us),aic_fixpipe_ratio,aic_icache_miss_rate,aiv_time(us),"
    "aiv_total_cycles,aiv_vec_time(us),aiv_vec_ratio,aiv_scalar_time(us),aiv_scalar_ratio,aiv_mte2_time(us),aiv_mte2_ratio,"
    "aiv_mte3_time(us),aiv_mte3_ratio,aiv_icache_miss_rate,cube_utilization(%)"
)
COLUMNS: tuple[str, ...] = tuple(HEADER.split(","))

_NONE = "N/A"
_UNITS = {
    CUBE: {"mac": "m", "scalar": "scalar", "mte1": "mte1", "mte2": "mte2", "fixpipe": "fix"},
    VECTOR: {"vec": "v", "scalar": "scalar", "mte2": "mte2", "mte3": "mte3"},
}
"""The unit that each column is about."""
_TYPES: Mapping[Attribute, str] = {
    f16: "FLOAT16",
    bf16: "DT_BF16",
    f32: "FLOAT",
    i1: "BOOL",
    i8: "INT8",
    i16: "INT16",
    i32: "INT32",
    i64: "INT64",
}
_ELSEWHERE = {fused.Engine.AICPU: "AI_CPU", fused.Engine.HOST: "HOST"}


@dataclass
class CoreUse:
    """All cores of a kind that run a kernel."""

    cores: int = 0
    ticks: int = 0
    """The sum of their times."""
    busy: dict[str, int] = field(default_factory=dict[str, int])
    """Unit without its core kind -> the sum of the ticks in which it is held; `scalar` hands out."""


def op_summary(profile: Profile) -> str:
    """The table as text."""
    stream = StringIO()
    writer = csv.DictWriter(stream, COLUMNS, restval=_NONE, lineterminator="\n")
    writer.writeheader()
    tasks = {task.time.op: task for task in profile.tasks}
    of_cores = {kernel: core_uses(kernel) for kernel in {task.kernel for task in profile.tasks}}
    for number, op in enumerate(fused.launches(profile.module)):
        row: dict[str, str | int] = {"Task ID": number, **_described(op)}
        if op in tasks:
            row.update(_timed(profile, tasks[op], of_cores[tasks[op].kernel]))
        writer.writerow(row)
    return stream.getvalue()


def _described(op: fused.LaunchOp) -> Mapping[str, str | int]:
    row: dict[str, str | int] = {
        "Device_id": 0,
        "Model ID": 0,
        "Stream ID": 0,
        "Op Name": op.op_name.data or op.kernel_name,
        "OP Type": op.kernel_name,
        "OP State": "static",
        "Task Type": _ELSEWHERE.get(op.engine.data, "AI_CORE"),
        "HF32 Eligible": "NO",
    }
    # Workspaces are the compiler's own.
    outputs = [value for value in op.destinations if value.name_hint is None or not value.name_hint.startswith("workspace")]
    for side, values in (("Input", list(op.inputs)), ("Output", outputs)):
        row |= {f"{side} Shapes": ";".join(map(_shape, values)), f"{side} Data Types": ";".join(map(_dtype, values))}
        row[f"{side} Formats"] = ";".join("ND" for _ in values)
    return row


def _shape(value: SSAValue) -> str:
    return ",".join(map(str, buffer_type(value).get_shape()))


def _dtype(value: SSAValue) -> str:
    element = buffer_type(value).get_element_type()
    return _TYPES.get(element, str(element))


def _timed(profile: Profile, task: Task, uses: Mapping[str, CoreUse]) -> Mapping[str, str | int]:
    us, kernel = profile.microseconds, task.kernel
    cube, lanes = uses.get(CUBE, uses.get(UNIFIED, CoreUse())), uses.get(VECTOR, uses.get(UNIFIED, CoreUse()))
    only_lanes = not cube.cores
    duration = task.time.ticks
    row: dict[str, str | int] = {
        "Task Type": "MIX_AIC" if kernel.is_mixed else "AI_VECTOR_CORE" if only_lanes else "AI_CORE",
        "Task Start Time(us)": f"{us(task.ready):.3f}",
        "Task Duration(us)": f"{us(duration):.3f}",
        "Task Wait Time(us)": f"{us(task.waited):.3f}",
        "Block Num": lanes.cores if only_lanes else cube.cores,
        "Mix Block Num": lanes.cores if kernel.is_mixed else 0,
        "aicore_time(us)": f"{us(cube.ticks) / max(1, cube.cores):.3f}",
        "aiv_time(us)": f"{us(lanes.ticks) / max(1, lanes.cores):.3f}",
        "cube_utilization(%)": f"{100 * cube.ticks / (profile.target.cores * duration):.3f}",
    }
    for kind, use in ((CUBE, cube), (VECTOR, lanes)):
        row[f"{kind}_total_cycles"] = use.ticks // TICKS
        for column, unit in _UNITS[kind].items():
            busy = use.busy.get(unit, 0)
            row[f"{kind}_{column}_time(us)"] = f"{us(busy) / max(1, use.cores):.3f}"
            row[f"{kind}_{column}_ratio"] = f"{busy / max(1, use.ticks):.3f}"
    return row


def core_uses(kernel: KernelTime) -> dict[str, CoreUse]:
    """What the cores of each kind do, `aic` and `aiv`, or `ai` where they are one."""

    def make(cluster: Cluster, costs: Costs, depth: int) -> Board:
        return Board(cluster, costs, depth, Folding(), events=[])

    found: dict[str, CoreUse] = {}
    for board in kernel.record(make):
        for core in board.cores:
            number = board.cluster.count * core.stream.copies
            use = found.setdefault(core.stream.kind, CoreUse())
            use.cores += number
            use.ticks += number * core.end
            units = [pipe.rpartition(".")[2] for pipe in core.stream.pipes]
            for unit, ticks in (*zip(units, core.busy, strict=True), ("scalar", core.stream.body.scalar)):
                use.busy[unit] = use.busy.get(unit, 0) + number * ticks
    return found
