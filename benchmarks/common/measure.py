"""Times of a process and its children, and of a compilation without torch's export."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from time import perf_counter
from typing import Any, NamedTuple

import ge_compiler as ge


class Time(NamedTuple):
    """Seconds on the clock, and of all processors used."""

    wall: float
    cpu: float

    def __sub__(self, other: Time) -> Time:
        return Time(self.wall - other.wall, self.cpu - other.cpu)


def timed(work: Callable[[], Any]) -> tuple[Any, Time]:
    """What `work` returns, and its time; of child processes, those that have ended count."""

    def cpu() -> float:
        return sum(usage.ru_utime + usage.ru_stime for usage in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))

    wall, before = perf_counter(), cpu()
    result = work()
    return result, Time(perf_counter() - wall, cpu() - before)


def least(times: Sequence[Time]) -> Time:
    return Time(min(time.wall for time in times), min(time.cpu for time in times))


def compile_apart(model: Any, args: Sequence[Any]) -> tuple[ge.Program, Time, Time]:
    """A compiled model; the time of torch's export, and of everything else from there to verified npu."""
    from ge_compiler.lowering.from_torch import importer

    export, traced = importer.export, list[Time]()

    def timed_export(*arguments: Any) -> Any:
        result, time = timed(lambda: export(*arguments))
        traced.append(time)
        return result

    importer.export = timed_export
    try:
        program, whole = timed(lambda: ge.compile(model, args=args))
    finally:
        importer.export = export
    (tracing,) = traced
    return program, tracing, whole - tracing


def last_line_of(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """
    Runs a Python file in a process of its own, with bytecode kept as in any installation.

    Raises `RuntimeError` with what it wrote where it fails: a failure is no measurement.
    """
    inherited = os.environ if environment is None else environment
    kept = {name: value for name, value in inherited.items() if name != "PYTHONDONTWRITEBYTECODE"}
    run = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=kept)
    if run.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{run.stderr}")
    return run.stdout.splitlines()[-1]
