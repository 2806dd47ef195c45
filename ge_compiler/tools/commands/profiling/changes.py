"""Two programs side by side: which launches take another time, and what is different about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ge_compiler.dialects.target import CUBE, VECTOR
from ge_compiler.runtime.timing import KernelTime
from ge_compiler.tools.commands.profiling.profile import Profile, Task, critical_parts, rounded, tiles_of, to_json
from ge_compiler.tools.commands.profiling.text import total_text
from ge_compiler.tools.commands.table import bytes_text, plural, table

_PARTS = 3
_LEAST = 0.005
"""Microseconds below which a part of the critical path has not changed."""


@dataclass(frozen=True)
class Change:
    """Launches that changed in the same way; one side is missing where a launch is new or gone."""

    before: Task | None
    after: Task | None
    names: tuple[str, ...]
    """Of the launches, as in the model."""
    difference: float
    """Microseconds by which each takes longer."""
    reasons: tuple[str, ...]


def changes_of(before: Profile, after: Profile) -> list[Change]:
    """What changed, the largest difference first; launches that take the same time are left out unless something else is different."""
    groups: dict[tuple[Any, ...], list[tuple[Task | None, Task | None]]] = {}
    for pair in _pairs(before, after):
        key = tuple(None if task is None else (task.kernel.name, task.time.ticks, task.kernel.hbm_bytes) for task in pair)
        groups.setdefault(key, []).append(pair)
    found: list[Change] = []
    for pairs in groups.values():
        old, new = pairs[0]
        reasons = _reasons(before, after, old, new)
        names = tuple(next(task.time.name for task in pair if task is not None) for pair in pairs)
        took = [0.0 if task is None else side.microseconds(task.time.ticks) for task, side in ((old, before), (new, after))]
        if reasons:
            found.append(Change(old, new, names, took[1] - took[0], reasons))
    return sorted(found, key=lambda change: -abs(change.difference) * len(change.names))


def _pairs(before: Profile, after: Profile) -> list[tuple[Task | None, Task | None]]:
    """Launches for the same place of the model, then those of one program only."""
    old = {(task.time.name, number): task for number, task in _numbered(before.tasks)}
    new = {(task.time.name, number): task for number, task in _numbered(after.tasks)}
    both: list[tuple[Task | None, Task | None]] = [(old.get(key), task) for key, task in new.items()]
    return both + [(task, None) for key, task in old.items() if key not in new]


def _numbered(tasks: Sequence[Task]) -> list[tuple[int, Task]]:
    """Each launch with how many of its name come before it."""
    seen: dict[str, int] = {}
    found: list[tuple[int, Task]] = []
    for task in tasks:
        seen[task.time.name] = seen.get(task.time.name, -1) + 1
        found.append((seen[task.time.name], task))
    return found


def _reasons(before: Profile, after: Profile, old: Task | None, new: Task | None) -> tuple[str, ...]:
    if old is None or new is None:
        task, where = (new, "is a launch only in") if new is not None else (old, "was a launch in")
        assert task is not None
        return (f"{where} {after.name if new is not None else before.name}: {', '.join(task.time.operators)}",)
    a, b = old.kernel, new.kernel
    pairs = [
        ("operators", ", ".join(old.time.operators), ", ".join(new.time.operators)),
        ("clusters at work", str(a.cores), str(b.cores)),
        ("through HBM", bytes_text(a.hbm_bytes), bytes_text(b.hbm_bytes)),
        ("bound", _binding(a), _binding(b)),
        ("launching", *(f"{side.microseconds(k.launch_ticks):.2f} µs" for side, k in ((before, a), (after, b)))),
    ]
    found = [f"{what} {x} → {y}" for what, x, y in pairs if x != y]
    tiles = [tiles_of(side.kernels[k.name]) for side, k in ((before, a), (after, b))]
    found += [f"{key} {tiles[0].get(key, '-')} → {tiles[1].get(key, '-')}" for key in _different(*tiles)]
    return (*found, *_path_changes(before, after, old, new))


def _binding(kernel: KernelTime) -> str:
    """What binds a kernel, without by how much and the flags, of which any change of the program gives others."""
    what, _, where = kernel.bound.partition(": ")
    return f"{what}: {where.split(' ')[0]}" if where else what


def _different(before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
    return [key for key in {**before, **after} if before.get(key) != after.get(key)]


def _path_changes(before: Profile, after: Profile, old: Task, new: Task) -> list[str]:
    """What the critical path spends more or less on. Between chips with other core kinds, units are the same by their names alone."""
    own = before.target.is_split == after.target.is_split
    parts: list[dict[str, float]] = [{}, {}]
    for found, side, task in zip(parts, (before, after), (old, new), strict=True):
        for label, ticks in critical_parts(task.kernel):
            name = label if own else label.replace(f"{CUBE}.", "").replace(f"{VECTOR}.", "")
            found[name] = found.get(name, 0.0) + side.microseconds(ticks)
    differences = {label: parts[1].get(label, 0.0) - parts[0].get(label, 0.0) for label in {**parts[0], **parts[1]}}
    ordered = sorted(differences.items(), key=lambda item: (-abs(item[1]), item[0]))[:_PARTS]
    return [f"critical path: {label} {difference:+.2f} µs" for label, difference in ordered if abs(difference) >= _LEAST]


def changes_text(before: Profile, after: Profile) -> str:
    """The totals of both, and a row for each kind of change with its reasons."""
    changes = changes_of(before, after)
    whole = before.microseconds(before.ticks)
    difference = after.microseconds(after.ticks) - whole
    parts = [total_text(before), total_text(after), f"{difference:+.2f} µs" + (f" ({difference / whole:+.1%})" if whole else "")]
    if targets := _targets(before, after):
        parts.append(targets)
    rows = [
        (
            change.names[0] + (f" and {len(change.names) - 1} more" if len(change.names) > 1 else ""),
            *(
                "-" if task is None else f"{side.microseconds(task.time.ticks):.2f}"
                for side, task in ((before, change.before), (after, change.after))
            ),
            f"{change.difference * len(change.names):+.2f}",
            first,
        )
        if not i
        else ("", "", "", "", first)
        for change in changes
        for i, first in enumerate(change.reasons)
    ]
    same = len(after.tasks) - sum(len(change.names) for change in changes if change.after is not None)
    if rows:
        parts.append(table(("launch", "µs before", "µs after", "in all", "what changed"), rows, right=(1, 2, 3)))
    parts.append(f"{plural(same, 'launch')} as before")
    return "\n\n".join(parts) + "\n"


def _targets(before: Profile, after: Profile) -> str:
    """How the chips differ."""
    a, b = before.time.timing.constants, after.time.timing.constants
    keys = sorted(key for key in {**a, **b} if key not in a or key not in b or a[key].values != b[key].values)
    if before.time.target == after.time.target and not keys:
        return ""
    head = f"chip: {before.time.target} → {after.time.target}, clusters {before.target.cores} → {after.target.cores}"
    named = ", ".join(keys[:8]) + (f" and {len(keys) - 8} more" if len(keys) > 8 else "")
    return head + (f"; constants of time that differ: {named}" if keys else "")


def changes_json(before: Profile, after: Profile) -> dict[str, Any]:
    """The other program's figures and all changes."""
    us = [profile.microseconds(profile.ticks) for profile in (before, after)]
    return {
        "before": to_json(before)["total"] | {"program": before.name, "target": before.time.target},
        "difference_us": rounded(us[1] - us[0]),
        "changes": [
            {
                "launches": list(change.names),
                "before_us": None if change.before is None else rounded(before.microseconds(change.before.time.ticks)),
                "after_us": None if change.after is None else rounded(after.microseconds(change.after.time.ticks)),
                "reasons": list(change.reasons),
            }
            for change in changes_of(before, after)
        ],
    }
