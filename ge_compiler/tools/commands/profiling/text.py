"""The profile as text: what takes how long and why, what each kernel does with its time, and what the numbers rest on."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ge_compiler.dialects.target_timing import TICKS
from ge_compiler.runtime.timing.module import IDLE
from ge_compiler.tools.commands.profiling.profile import (
    GRAPH,
    Profile,
    Use,
    achieved,
    confidences,
    critical_parts,
    engine_totals,
    pipe_title,
)
from ge_compiler.tools.commands.table import bytes_text, plural, table

MANY = 16
"""More rows than this are left out."""
_ELSEWHERE = {IDLE: " with nothing to do"}
_PARTS = 4
_LEAST = 0.02
"""Smaller parts of a critical path are not named."""


def profile_text(profile: Profile) -> str:
    """All of it."""
    kernels = [kernels_text(profile), _use_text(profile), _path_text(profile)] if profile.tasks else []
    return "\n\n".join([total_text(profile), *kernels, _constants(profile)]) + "\n"


def total_text(profile: Profile) -> str:
    """Two lines: the whole time, and how it would be under the other way of launching."""
    us, time, count = profile.microseconds, profile.time, len(profile.tasks)
    launch_ticks = sum(task.kernel.launch_ticks for task in profile.tasks)
    kernels, launching, rest = us(time.kernel_ticks), us(launch_ticks), us(profile.ticks - time.kernel_ticks - launch_ticks)
    how = "launched as a graph" if profile.launch == GRAPH else "launched by a host, one at a time"
    waits = "gaps" if profile.launch == GRAPH else "gaps and waiting for the host"
    other, ticks = ("launched by a host, one at a time", time.host_ticks) if profile.launch == GRAPH else ("as a graph", time.graph_ticks)
    parts = f"kernels {kernels:.2f} µs, launching {launching:.2f} µs, {waits} {rest:.2f} µs"
    lines = [f"{profile.name} on {time.target}, {how}: {us(profile.ticks):.2f} µs = {parts}"]
    hbm, limit = bytes_text(time.hbm_bytes), achieved(profile)
    lines.append(f"{plural(count, 'launch')}, {hbm} through HBM, {limit:.1%} of the roofline; {other}: {us(ticks):.2f} µs")
    if untimed := untimed_text(profile):
        lines.append(f"not in these figures: {untimed}")
    return "\n".join(lines)


def untimed_text(profile: Profile) -> str:
    """How many launches there are that no figure includes, and where; empty without one."""
    return ", ".join(plural(n, "launch") + _ELSEWHERE.get(engine, f" on {engine}") for engine, n in engine_totals(profile).items())


def kernels_text(profile: Profile) -> str:
    """A row for each kernel: its time, and what binds it."""
    uses, us = profile.uses(), profile.microseconds
    whole = max(1, profile.ticks)
    rows = [
        (
            use.kernel.name,
            str(len(use.tasks)),
            _shortened(use.source),
            f"{use.kernel.ticks / TICKS:.0f}",
            f"{use.kernel.microseconds:.2f}",
            f"{us(use.kernel.launch_ticks):.2f}",
            f"{use.ticks / whole:.0%}",
            use.kernel.bound,
        )
        for use in uses[:MANY]
    ]
    header = ("kernel", "launches", "from", "cycles", "µs", "+ launch", "of all", "bound by")
    return "time of one launch\n" + table(header, rows, right=(1, 3, 4, 5, 6)) + _more(uses)


def _use_text(profile: Profile) -> str:
    uses = profile.uses()
    pipes = [pipe for pipe in profile.target.units if any(use.kernel.busy.get(pipe) for use in uses)]
    rows = [
        (
            use.kernel.name,
            *(f"{use.kernel.busy.get(pipe, 0):.0%}" for pipe in pipes),
            str(use.kernel.cores),
            bytes_text(use.kernel.hbm_bytes),
            f"{use.kernel.achieved:.1%}",
            f"{-use.kernel.sensitivity:+.2f}%" if use.kernel.sensitivity else "0",
        )
        for use in uses[:MANY]
    ]
    header = ("kernel", *map(pipe_title, pipes), "clusters", "HBM", "of roofline", "HBM +1%")
    title = "busy pipes of the slowest cluster; what HBM one percent faster would change"
    return f"{title}\n" + table(header, rows, right=range(1, len(header))) + _more(uses)


def _path_text(profile: Profile) -> str:
    uses = profile.uses()
    rows = [(use.kernel.name, *_parts(use)) for use in uses[:MANY]]
    return "what the critical path consists of\n" + table(("kernel", ""), rows) + _more(uses)


def _parts(use: Use) -> tuple[str]:
    parts = [(label, ticks / use.kernel.ticks) for label, ticks in critical_parts(use.kernel)]
    named = [(label, part) for label, part in parts[:_PARTS] if part >= _LEAST]
    rest = 1 - sum(part for _, part in named)
    return (", ".join([f"{label} {part:.0%}" for label, part in named] + ([f"others {rest:.0%}"] if rest >= 0.005 else [])),)


def _constants(profile: Profile) -> str:
    """Which constants the numbers rest on, and how well they are known."""
    lines = [f"constants of {profile.time.target}, by what they rest on"]
    for kind, keys in confidences(profile).items():
        text = f"{kind} ({len(keys)}): {_grouped(keys)}"
        lines += textwrap.wrap(text, 138, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(lines)


def _grouped(keys: Sequence[str]) -> str:
    """`cube.gap, vector.{add, sub}`: keys of one group together."""
    groups: dict[str, list[str]] = {}
    for key in keys:
        group, _, name = key.rpartition(".")
        groups.setdefault(group, []).append(name)
    found: list[str] = []
    for group, names in groups.items():
        together = names if not group else [f"{group}.{names[0]}"] if len(names) == 1 else [f"{group}.{{{', '.join(names)}}}"]
        found += together
    return ", ".join(found) or "none"


def _shortened(source: Sequence[str]) -> str:
    return ", ".join(source[:2]) + (f" and {len(source) - 2} more" if len(source) > 2 else "")


def _more(uses: Sequence[Use]) -> str:
    return f"\n  ... and {len(uses) - MANY} more" if len(uses) > MANY else ""
