"""The constants of time of a chip: the `[timing]` tables of its file.

Each constant says what it is (`calibrated` on measurements of the chip, `derived` from cited numbers, or `assumed`) and where it comes
from, so that a report can say what its numbers rest on. Times are kept in ticks, rates in bytes per tick, both exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, cast

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.functions import NATIVE
from ge_compiler.dialects.target_table import Table

TICKS = 64
"""Ticks of a cycle."""


class Confidence(StrEnum):
    """How far a constant can be trusted."""

    CALIBRATED = "calibrated"
    """Fitted to measurements of this chip."""
    DERIVED = "derived"
    """Arithmetic on cited numbers."""
    ASSUMED = "assumed"
    """A guess, or taken over from another chip."""


@dataclass(frozen=True)
class Constant:
    """An entry of the table: its numbers by their units, and what they rest on."""

    key: str
    values: Mapping[str, Fraction]
    confidence: Confidence
    source: str


@dataclass(frozen=True)
class Timing:
    """The constants that a chip's file gives; asking for one that it does not give is an error that says what is missing."""

    target: str
    constants: Mapping[str, Constant]

    def value(self, key: str, unit: str) -> Fraction:
        """A number of the table as it is written. Raises `CompileError` where the table lacks it."""
        constant = self.constants.get(key)
        if constant is None:
            raise CompileError(f"{self.target} cannot be timed here: its table has no timing.{key}; give it with its {unit}")
        return constant.values.get(unit, Fraction(0))

    def ticks(self, key: str, unit: str = "cycles") -> int:
        """A time in ticks, rounded."""
        return round(self.value(key, unit) * TICKS)

    def rate(self, key: str, unit: str = "rate") -> Fraction:
        """A rate of one core in bytes per tick."""
        return self.value(key, unit) / TICKS

    def shared_rate(self, key: str) -> Fraction:
        """A rate of the whole chip, given in GB/s, in bytes per tick."""
        return self.value(key, "gb_s") * 1000 / (self.value("clock", "mhz") * TICKS)

    def microseconds(self, ticks: int) -> float:
        """A time in microseconds."""
        return float(ticks / (self.value("clock", "mhz") * TICKS))

    def ticks_of_microseconds(self, key: str) -> int:
        """A time that the table gives in microseconds, in ticks."""
        return round(self.value(key, "us") * self.value("clock", "mhz") * TICKS)

    def by_confidence(self) -> Mapping[Confidence, tuple[Constant, ...]]:
        """The constants in three groups, each sorted by key: what a report has to say about its numbers."""
        ordered = sorted(self.constants.values(), key=lambda constant: constant.key)
        return {kind: tuple(c for c in ordered if c.confidence is kind) for kind in Confidence}


_CYCLES, _RATE = ("cycles",), ("gb_s",)
_MOVE = ("fixed", "row", "rate", "latency")
_VECTOR = ("head", "slope", "tail")
_VECTOR_ONLY = ("conv", "brc", "dup", "iota", "transpose", "reduce_sum", "reduce_max", "reduce_min", "masked")

SCHEMA: Mapping[str, tuple[str, ...]] = {
    "clock": ("mhz",),
    "queue": ("entries",),
    **{f"scalar.{name}": _CYCLES for name in ("issue", "flag", "loop")},
    **{f"sync.{name}": _CYCLES for name in ("event", "cross_core", "all")},
    "l2.size": ("bytes",),
    "l2.line": ("bytes",),
    **{f"{name}": _RATE for name in ("l2.total", "hbm.read", "hbm.mixed")},
    **{f"moves.{path}": _MOVE for path in ("gm_l1", "gm_ub", "l1_l0a", "l1_l0b", "l0c_gm", "l0c_ub", "ub_gm", "ub_l1")},
    "cube.step": ("f16", "bf16", "f32", "i8"),
    "cube.gap": _CYCLES,
    "cube.fill": _CYCLES,
    **{f"vector.{name}": _VECTOR for name in (*NATIVE, *_VECTOR_ONLY)},
    **{f"launch.{name}": ("us",) for name in ("base", "block", "mixed", "graph_gap", "host")},
}
"""Every constant by its dotted key, with its numbers: cycles, bytes per cycle (`rate`), and what the names say."""

_OPTIONAL = frozenset({"row", "latency", "bf16", "f32", "i8"})


def taken_over(table: Mapping[str, Any], chip: str) -> dict[str, Any]:
    """The tables of another chip's constants as assumptions: `as Ascend910B2: ...`."""
    found: dict[str, Any] = {}
    for key, entry in table.items():
        kind = next((kind for kind in Confidence if kind in entry), None)
        if kind is None:
            found[key] = taken_over(entry, chip)
        else:
            numbers = {unit: value for unit, value in entry.items() if unit != kind}
            found[key] = {**numbers, Confidence.ASSUMED.value: f"as {chip}: {entry[kind]}"}
    return found


def read_timing(table: Table, target: str) -> Timing:
    """The constants in the table `[timing]` of a chip's file. Raises `CompileError` at the line of what is wrong with one."""
    return Timing(target, {constant.key: constant for constant in _constants(table, "")})


def _constants(table: Table, prefix: str) -> Iterator[Constant]:
    """The constants of a table and of the tables in it."""
    groups = {key.split(".")[0] for key in SCHEMA if "." in key}
    known = [key.removeprefix(prefix) for key in SCHEMA if key.startswith(prefix) and "." not in key.removeprefix(prefix)]
    table.only(*known, *(sorted(groups) if not prefix else ()))
    for key in table.values:
        if not prefix and key in groups:
            yield from _constants(table.table(key), f"{key}.")
        else:
            yield _constant(table, key, f"{prefix}{key}")


def _constant(table: Table, key: str, path: str) -> Constant:
    entry = cast(dict[str, Any], table.get(key, dict))
    units, kinds = SCHEMA[path], [kind for kind in Confidence if kind.value in entry]
    for name in entry:
        if name not in units and name not in list(Confidence):
            table.fail(key, f"has {name}, which means nothing here; give {', '.join(units)} and one of {', '.join(Confidence)}")
    if len(kinds) != 1 or not isinstance(entry[kinds[0]], str):
        table.fail(key, f'must say what it rests on, by one of {", ".join(Confidence)}, as in {{ ..., assumed = "why" }}')
    for unit in units:
        if unit not in entry and unit not in _OPTIONAL:
            table.fail(key, f"lacks {unit}")
    values = {unit: _number(table, key, unit, entry[unit]) for unit in units if unit in entry}
    return Constant(path, values, kinds[0], entry[kinds[0]])


def _number(table: Table, key: str, unit: str, value: Any) -> Fraction:
    positive = unit in ("mhz", "rate", "gb_s", "entries", "bytes")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15 or (positive and value == 0):
        table.fail(key, f"must have a {'positive ' if positive else ''}number as {unit}, got {value!r}")
    return Fraction(str(value))
