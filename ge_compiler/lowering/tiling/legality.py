"""Refusing illegal schedules: which rule is broken, who holds the bytes, and the smallest change that makes the schedule legal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from xdsl.dialects.func import FuncOp

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.fused import AttentionOp
from ge_compiler.dialects.memory import round_up
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.dialects.tile import SIZE_KEYS
from ge_compiler.lowering.tiling.attention_shape import broken_rule
from ge_compiler.lowering.tiling.footprint import Held, by_space, footprint
from ge_compiler.lowering.tiling.schedules import Schedule, choose, overflow, peaks, requests_of, step_of
from ge_compiler.lowering.tiling.shapes import clip, keys_of
from ge_compiler.transforms.iteration.domain import Domain
from ge_compiler.transforms.planning.byte_table import Row, byte_table
from ge_compiler.transforms.planning.planner import most_held


def check(domain: Domain, kernel: FuncOp, given: Schedule, schedule: Schedule, target: NpuTarget) -> None:
    """Raise `CompileError` with a byte table and the smallest fix if a complete schedule, in which `given` stands, is not legal."""
    name = kernel.sym_name.data
    rule = _broken_rule(domain, given, schedule)
    if rule is not None:
        raise CompileError.at(kernel, f"@{name}: {rule}")
    space = overflow(domain, schedule, target)
    if space is None:
        return
    held = by_space(footprint(domain, clip(domain, schedule, target)), target)[space]
    limit = target.capacity(space)
    need = peaks(domain, schedule, target)[space]
    raise CompileError.at(
        kernel,
        f"@{name}: the schedule needs {need} bytes of {space}, {target.name} has {limit}\n"
        f"{byte_table(_at_peak(held), limit)}\n{_fix(domain, given, schedule, target)}",
    )


def _broken_rule(domain: Domain, given: Schedule, schedule: Schedule) -> str | None:
    """What is wrong with a schedule whatever the sizes of memories, and what to do."""
    if domain.anchor is None:
        return None
    if isinstance(domain.anchor, AttentionOp):
        return broken_rule(domain, schedule, step_of(domain))
    step, k0, k = step_of(domain), schedule["k0"], schedule["k"]
    if k0 > k:
        return f"k0 = {k0} must not exceed k = {k}; lower k0 to {k}"
    if k0 % step and k0 < min(k, domain.contraction):
        return f"k0 = {k0} must be a multiple of {step}; use {min(round_up(k0, step), given.get('k', k0 + step))}"
    if schedule["skew"] >= schedule["l1"]:
        return "with skew = 1 loads run ahead into a slot of their own; use l1 = 2, or leave skew out"
    return None


def _at_peak(held: list[Held]) -> list[Row]:
    """The buffers that are held when the most bytes are."""
    at_peak = [held[i] for i in most_held(requests_of(held, 1))]
    return [Row(h.label, h.space, h.shape, h.element, slots=h.slots) for h in at_peak]


def _fix(domain: Domain, given: Schedule, schedule: Schedule, target: NpuTarget) -> str:
    """The smallest change that makes the schedule legal: of one key, or else the fewest keys to leave out."""
    for change in sorted(_changes(domain, given, schedule, target), key=lambda change: _size(change, schedule)):
        if _is_legal(domain, {**given, **change}, target):
            return "smallest fix: " + " and ".join(f"{key} = {value}" for key, value in change.items())
    for count in (1, 2, len(given)):
        for dropped in combinations(given, min(count, len(given))):
            if _is_legal(domain, {key: value for key, value in given.items() if key not in dropped}, target):
                return f"smallest fix: leave {' and '.join(dropped)} out, so that a size that fits is chosen"
    return "no schedule fits: the kernel holds too many tiles at once"


def _is_legal(domain: Domain, given: Schedule, target: NpuTarget) -> bool:
    """Whether a legal schedule is chosen around the `given` keys."""
    schedule = choose(domain, given, target)
    return schedule is not None and _broken_rule(domain, given, schedule) is None


def _changes(domain: Domain, given: Schedule, schedule: Schedule, target: NpuTarget) -> Iterator[Schedule]:
    """For each key, its largest smaller value with which everything fits; a k0 that the user gave shrinks with k."""
    for key in keys_of(domain):
        step = step_of(domain) if key in ("k", "k0") else 16 if key in SIZE_KEYS else 1
        for value in range((schedule[key] - 1) // step * step, 0, -step):
            change = {key: value}
            if key == "k" and schedule["k0"] > value:
                change["k0"] = value
            trial = {**schedule, **change}
            if _broken_rule(domain, given, trial) is None and overflow(domain, trial, target) is None:
                yield {k: v for k, v in change.items() if k == key or k in given}
                break


def _size(change: Schedule, schedule: Schedule) -> float:
    """How much a change takes away."""
    factor = 1.0
    for key, value in change.items():
        factor *= schedule[key] / value
    return factor
