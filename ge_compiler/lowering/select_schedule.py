"""
Choose the keys that a kernel's schedule leaves open, and check those that it gives.

    func.func private @MatMulV2(...) attributes {schedule = #tile.schedule<k0 = 64>} { ... }
    // becomes
    func.func private @MatMulV2(...) attributes {schedule = #tile.schedule<m = 32, n = 32, k = 256, k0 = 64, l1 = 2, ...>} { ... }

The rule stands in `tiling/schedules.py`. An illegal schedule is an error with a byte table and the smallest change that makes it legal.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ge_compiler.dialects import fused, tile
from ge_compiler.dialects.diagnostics import CompileError, did_you_mean
from ge_compiler.dialects.target import NpuTarget, target_of
from ge_compiler.lowering.tiling.legality import check
from ge_compiler.lowering.tiling.schedules import Schedule, choose
from ge_compiler.lowering.tiling.shapes import keys_of
from ge_compiler.transforms.iteration.domain import domain_of

_MOST_DIGITS = 20
"""Python refuses to read numbers of thousands of digits."""


def parse_tiling(text: str) -> tuple[str, Schedule]:
    """`MatMulV2Gelu=m:16,n:128` as a kernel's name and its tile sizes. Raises `CompileError` with what is expected."""
    name, _, rest = text.partition("=")
    entries = rest.split(",")
    if not name.strip() or any(":" not in entry for entry in entries):
        raise CompileError(f"tiling '{text}': expected KERNEL=key:size,..., for example MatMulV2Gelu=m:16,n:128")
    schedule: Schedule = {}
    for entry in entries:
        key, value = (part.strip() for part in entry.split(":", 1))
        if key not in tile.SCHEDULE_KEYS:
            keys = ", ".join(tile.SCHEDULE_KEYS)
            raise CompileError(f"tiling '{text}': '{key}' is not a key of a schedule{did_you_mean(key, tile.SCHEDULE_KEYS)}; keys: {keys}")
        if not value.isdecimal() or len(value) > _MOST_DIGITS or not tile.in_range(key, int(value)):
            raise CompileError(f"tiling '{text}': {key} must be {tile.expected_of(key)}, got '{value}'")
        if key in schedule:
            raise CompileError(f"tiling '{text}': {key} is given twice")
        schedule[key] = int(value)
    return name.strip(), schedule


def _given(kernel: FuncOp) -> Schedule:
    attribute = kernel.attributes.get(tile.SCHEDULE_ATTRIBUTE)
    if attribute is not None and not isinstance(attribute, tile.ScheduleAttr):
        raise CompileError.at(kernel, f"@{kernel.sym_name.data}: schedule must be #tile.schedule<...>, got {attribute}")
    return {} if attribute is None else attribute.values()


@dataclass(frozen=True)
class SelectSchedulePass(ModulePass):
    """Chooses the tile sizes of every kernel, and checks those that are given."""

    name = "select-schedule"

    tiling: tuple[str, ...] = ()
    """Tile sizes to use, as "KERNEL=key:size,...", before those in the text."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = fused.aicore_kernels(op)
        overrides: dict[str, Schedule] = {}
        for name, schedule in map(parse_tiling, self.tiling):
            known = [kernel.sym_name.data for kernel in kernels]
            if name not in known:
                raise CompileError(
                    f"tiling names kernel '{name}', which does not exist{did_you_mean(name, known)}; kernels: {', '.join(known)}"
                )
            overrides.setdefault(name, {}).update(schedule)
        target = target_of(op)
        for kernel in kernels:
            given = {**_given(kernel), **overrides.get(kernel.sym_name.data, {})}
            kernel.attributes[tile.SCHEDULE_ATTRIBUTE] = tile.ScheduleAttr.of(_schedule(kernel, given, target))


def _schedule(kernel: FuncOp, given: Schedule, target: NpuTarget) -> Schedule:
    """The complete, legal schedule of a kernel in which the `given` keys stand."""
    domain = domain_of(kernel)
    keys = keys_of(domain)
    unused = [key for key in given if key not in keys]
    if unused:
        kind = "a vector kernel" if domain.anchor is None else "an attention"
        message = f"@{kernel.sym_name.data} is {kind} and does not use {', '.join(unused)}; its keys: {', '.join(keys)}"
        raise CompileError.at(kernel, message)
    if "splits" in keys:
        given = {"splits": 1, **given}
    # Where nothing fits around what is given, the smallest tile shows by how much.
    skew = given.get("skew", 0)
    slots = {"l1": 1 + skew, "l0": 1, "ub": 1, "skew": skew}
    smallest = {"m": 16, "n": 16, "k": given.get("k0", 16), "k0": given.get("k", 16), **slots, **given}
    schedule = choose(domain, given, target) or {key: smallest[key] for key in keys}
    check(domain, kernel, given, schedule, target)
    return schedule
