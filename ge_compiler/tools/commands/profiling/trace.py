"""
The profile as a trace in the Trace Event Format, which ui.perfetto.dev opens.

The device has a row of launches; then each core kind of each kind of cluster has a row for every pipe. A slice's times are in whole
nanoseconds, rounded down, so that slices of a row never overlap; its `cycles` are exact. Two events with one `id` are the ends of an arrow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ge_compiler.dialects.target import CUBE, UNIFIED, VECTOR
from ge_compiler.dialects.target_timing import TICKS
from ge_compiler.runtime.files import write_beside
from ge_compiler.runtime.report import line_text
from ge_compiler.runtime.timing import KernelTime
from ge_compiler.runtime.timing.timeline import Kind, Row, Slice, Timeline, timeline
from ge_compiler.tools.commands.profiling.profile import HOST, Profile, Task, confidences, source_of
from ge_compiler.tools.commands.table import plural

Event = dict[str, Any]

_HOST, _DEVICE, _FIRST_CORE = 1, 2, 10
_ROWS = 100
"""A process has fewer rows."""
_CORES = {UNIFIED: "core", CUBE: "cube core", VECTOR: "vector lane"}


def write_trace(path: Path, profile: Profile, full: bool = False) -> None:
    """
    Writes the trace of a profile to a file; with `full`, each iteration of steady loops by itself.

    Raises `CompileError` where the file cannot be written, or would be too large.
    """
    with write_beside(path) as file:
        file.write(b'{"displayTimeUnit": "ns", "otherData": ' + _json(_about(profile)) + b', "traceEvents": [\n')
        for number, event in enumerate(trace_events(profile, full)):
            file.write((b",\n" if number else b"") + _json(event))
        file.write(b"\n]}\n")


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _about(profile: Profile) -> Mapping[str, Any]:
    constants = {kind.value: ", ".join(keys) for kind, keys in confidences(profile).items()}
    return {"program": profile.name, "target": profile.time.target, "launch": profile.launch, "model": "simulated", **constants}


def trace_events(profile: Profile, full: bool = False) -> list[Event]:
    """The events of a profile: the names of processes and rows first, then slices and arrows, launch by launch."""
    known: dict[KernelTime, list[Timeline]] = {}
    writer = _Writer(profile)
    for number, task in enumerate(profile.tasks):
        if task.kernel not in known:
            found = timeline(task.kernel, profile.kernels[task.kernel.name], full)
            known[task.kernel] = sorted(found, key=lambda one: -one.end)
        writer.launch(number, task)
        for place, one in enumerate(known[task.kernel]):
            writer.cluster(task, place, one)
    return writer.names() + writer.events


class _Place(NamedTuple):
    """A row."""

    pid: int
    tid: int


@dataclass
class _Writer:
    profile: Profile
    events: list[Event] = field(default_factory=list[Event])
    _processes: dict[int, str] = field(default_factory=dict[int, str])
    _rows: dict[_Place, str] = field(default_factory=dict[_Place, str])
    _arrows: int = 0

    def names(self) -> list[Event]:
        """How viewers are told the names and the order of rows."""
        found: list[Event] = []
        for pid, name in sorted(self._processes.items()):
            found.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}})
            found.append({"ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": pid}})
        for place, name in sorted(self._rows.items()):
            found.append({"ph": "M", "name": "thread_name", **place._asdict(), "args": {"name": name}})
            found.append({"ph": "M", "name": "thread_sort_index", **place._asdict(), "args": {"sort_index": place.tid}})
        return found

    # ---- launches -----------------------------------------------------------------------------------------------------

    def launch(self, number: int, task: Task) -> None:
        """A launch on the device, and the host's part in it."""
        device, name, kernel = self._row(_DEVICE, self.profile.time.target, 1, "launches"), task.time.name, task.kernel
        about = {"kernel": kernel.name, "operators": ", ".join(task.time.operators), "from": ", ".join(source_of(task))}
        figures = {"bound": kernel.bound, "HBM bytes": kernel.hbm_bytes, "of roofline": round(kernel.achieved, 6)}
        launching = self._slice(device, task.ready, task.cores, f"launching {name}", "launch", about)
        self._slice(device, task.cores, task.end, name, "kernel", about | figures)
        if self.profile.launch == HOST:
            host = self._row(_HOST, "host", 1, "launches")
            each = self.profile.time.timing.ticks_of_microseconds("launch.host")
            asked = self._slice(host, number * each, (number + 1) * each, f"launch {name}", "launch", about)
            self._arrow("launch", asked, launching)

    # ---- cores --------------------------------------------------------------------------------------------------------

    def cluster(self, task: Task, place: int, one: Timeline) -> None:
        """What a cluster does in a launch; `place` tells its kind from others, the slowest first."""
        rows = [self._core_row(place, one, row) for row in one.rows]
        lanes = max(row.stream.copies for row in one.rows)
        alike = f"{task.time.name} on {plural(one.cluster.count, 'cluster')}" + (f" with {lanes} lanes alike" if lanes > 1 else "")
        summary = self._row(rows[0].pid, self._processes[rows[0].pid], 0, "clusters alike")
        self._slice(summary, task.cores, task.cores + one.end, alike, "kernel", {"blocks of each": one.cluster.blocks})
        written = [
            [
                self._slice(at, task.cores + part.start, task.cores + part.end, _title(part), part.kind.value, _details(task, part))
                for part in row.slices
            ]
            for at, row in zip(rows, one.rows, strict=True)
        ]
        for arrow in one.arrows:
            source, target = (written[end.row][end.slice] for end in (arrow.source, arrow.target))
            self._arrow(arrow.flag, source, target)

    def _core_row(self, place: int, one: Timeline, row: Row) -> _Place:
        streams = list(dict.fromkeys(other.stream for other in one.rows))
        lane = [stream for stream in streams if stream.kind == VECTOR].index(row.stream) if row.stream.kind == VECTOR else -1
        name = f"cluster {place + 1}, {_CORES[row.stream.kind]}" + (f" {lane + 1}" if lane >= 0 else "")
        return self._row(_FIRST_CORE * (place + 1) + lane + 1, name, row.stream.pipes.index(row.pipe) + 1, row.pipe)

    # ---- events -------------------------------------------------------------------------------------------------------

    def _row(self, pid: int, process: str, number: int, name: str) -> _Place:
        place = _Place(pid, pid * _ROWS + number)  # viewers tell rows apart by this number alone
        self._processes[pid], self._rows[place] = process, name
        return place

    def _slice(self, at: _Place, start: int, end: int, name: str, category: str, details: Mapping[str, Any]) -> Event:
        first, last = self._nanoseconds(start), self._nanoseconds(end)
        args = {"cycles": (end - start) / TICKS, **details}
        event = {"ph": "X", "name": name, "cat": category, **at._asdict(), "ts": first / 1000, "dur": (last - first) / 1000, "args": args}
        self.events.append(event)
        return event

    def _arrow(self, name: str, source: Event, target: Event) -> None:
        """An arrow from the last nanosecond of a slice to the first of another; none where there is no such nanosecond."""
        if not source["dur"] or not target["dur"]:
            return
        self._arrows += 1
        for phase, at, ts in (("s", source, round(source["ts"] + source["dur"] - 0.001, 3)), ("f", target, target["ts"])):
            event: Event = {"ph": phase, "name": name, "cat": "flag", "id": self._arrows, "pid": at["pid"], "tid": at["tid"], "ts": ts}
            self.events.append(event | ({"bp": "e"} if phase == "f" else {}))

    def _nanoseconds(self, ticks: int) -> int:
        return int(ticks * 1000 / (self.profile.time.timing.value("clock", "mhz") * TICKS))


def _title(part: Slice) -> str:
    if part.kind is not Kind.STEADY:
        return part.name
    return f"{part.trips[1] - part.trips[0] + 1} trips, {part.busy / part.period:.0%} busy"


def _details(task: Task, part: Slice) -> Mapping[str, Any]:
    if part.kind is Kind.STEADY:
        return {"what": f"steady {part.name}", "period in cycles": part.period / TICKS, "busy": round(part.busy / part.period, 6)}
    if part.work is None:
        return {}
    work = task.kernel.program.works[part.work]
    line = line_text(work.op.location)
    moved = {} if work.cost.traffic is None else {"bytes": work.cost.traffic.bytes}
    return moved | ({"from": line} if line else {})
