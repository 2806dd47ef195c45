"""
The model's times beside those that vendors have published: calibration.csv, row by row.

    python benchmarks/calibration.py [--markdown]

Each row is built as a program (published/programs.py; what the row leaves open is said in published/rows.py) and timed with the tables
that ship. A row is `predicted`, or it `fixes` a constant that no other row constrains; the latter say nothing about the model and count in
no median. Then each source is left out in turn: constants that rested on it take the value that other sources give them, and its rows are
predicted again, without those that a constant matters for which no other source determines.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from statistics import median

from published import programs
from published.attention import attention
from published.rows import AHEAD, CASES, PARAMETERS, TITLES, UNIT, Case, Parameter

from ge_compiler.dialects.target import NpuTarget, load_target
from ge_compiler.dialects.target_timing import Constant

ROWS = Path(__file__).with_name("calibration.csv")
LIMIT, LARGE, LEFT_OUT_LIMIT = 0.10, 0.25, 0.20
"""Goals: the median of predicted rows, any of them without a reason, and the median where a source is left out."""
_NUDGE, _MATTERS = Fraction(6, 5), 0.02
"""A constant matters for a row if so much of it moves the row's time by more than this."""


@dataclass(frozen=True)
class Row:
    """A published timing."""

    op: str
    shape: str
    dtype: str
    chip: str
    measured: float
    unit: str
    source: str

    @property
    def case(self) -> Case:
        return CASES[self.op, self.shape, self.chip]

    @property
    def predicted(self) -> bool:
        return not self.case.fixes

    def error(self, modelled: float) -> float:
        return modelled / self.measured - 1


@dataclass(frozen=True)
class Absence:
    """What is left when a source is left out."""

    source: str
    errors: Mapping[Row, float]
    """Of the rows that can still be predicted."""
    undetermined: Sequence[str]
    """Parameters that no other source determines."""


def read_rows() -> list[Row]:
    with ROWS.open(encoding="utf-8") as file:
        return [
            Row(r["op"], r["shape"], r["dtype"], r["chip"], float(r["measured_us_or_tflops"]), r["unit"], r["source"])
            for r in csv.DictReader(file)
        ]


def changed(target: NpuTarget, values: Mapping[tuple[str, str], Fraction]) -> NpuTarget:
    """The chip with other numbers in its table, by constant and unit."""
    assert target.timing is not None
    constants: dict[str, Constant] = dict(target.timing.constants)
    for (key, unit), value in values.items():
        constants[key] = replace(constants[key], values={**constants[key].values, unit: value})
    return replace(target, timing=replace(target.timing, constants=constants))


def applies(parameter: Parameter, target: NpuTarget) -> bool:
    """Whether a chip's table takes the number over; the 950PR has rates and rows of its own."""
    assert target.timing is not None
    base = load_target("Ascend910B2").timing
    assert base is not None
    return all(target.timing.value(key, unit) == base.value(key, unit) for key, unit in parameter.entries)


def modelled(row: Row, values: Mapping[tuple[str, str], Fraction] | None = None) -> float:
    target = load_target(row.case.target)
    return row.case.model(changed(target, values) if values else target)


def without(source: str, rows: Sequence[Row]) -> Absence:
    """The rows of a source, predicted from the other sources alone."""
    values: dict[tuple[str, str], Fraction] = {}
    open_: list[Parameter] = []
    for parameter in PARAMETERS:
        if parameter.evidence[0].source == source:
            others = [e for e in parameter.evidence if e.source != source]
            values |= {entry: Fraction(str(others[0].value)) for entry in parameter.entries} if others else {}
            open_ += [] if others else [parameter]
    own = [row for row in rows if row.source == source and row.predicted]
    errors: dict[Row, float] = {}
    for row in own:
        target = load_target(row.case.target)
        kept = {entry: v for p in PARAMETERS if applies(p, target) for entry in p.entries if (v := values.get(entry)) is not None}
        time = modelled(row, kept)
        if not any(_matters(p, row, kept, time) for p in open_ if applies(p, target)):
            errors[row] = row.error(time)
    return Absence(source, errors, [parameter.name for parameter in open_])


def _matters(parameter: Parameter, row: Row, values: Mapping[tuple[str, str], Fraction], time: float) -> bool:
    value = Fraction(str(parameter.evidence[0].value))
    nudged = [modelled(row, {**values, **dict.fromkeys(parameter.entries, v)}) for v in (value * _NUDGE, value / _NUDGE)]
    return any(abs(other / time - 1) > _MATTERS for other in nudged)


# ---- output -----------------------------------------------------------------------------------------------------------


def table(header: Sequence[str], lines: Sequence[Sequence[str]], markdown: bool) -> str:
    if markdown:
        return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *lines])
    widths = [max(len(cells[i]) for cells in [header, *lines]) for i in range(len(header))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)).rstrip() for cells in [header, *lines])


def row_lines(rows: Sequence[Row], times: Mapping[Row, float]) -> list[list[str]]:
    lines: list[list[str]] = []
    for row in rows:
        kind = f"fixes {row.case.fixes}" if row.case.fixes else "predicted"
        name, unit = f"{row.op} {row.shape} {row.dtype}, {row.chip}", "cycles" if row.unit == "cycles" else "µs"
        numbers = [f"{row.measured:g} {unit}", f"{times[row]:.5g}", f"{100 * row.error(times[row]):+.1f} %"]
        lines.append([name, *numbers, kind, row.case.assumed])
    return lines


def verdict(name: str, value: float, limit: float) -> str:
    return f"{name}: {100 * value:.1f} % (at most {100 * limit:.0f} %){'' if value <= limit else '  MISSED'}"


def report(markdown: bool) -> str:
    """The rows, the medians, and what is left of them without each source."""
    rows = read_rows()
    times = {row: modelled(row) for row in rows}
    predicted = {row: row.error(times[row]) for row in rows if row.predicted}
    large = [row for row, error in predicted.items() if abs(error) > LARGE]
    absences = [without(source, rows) for source in TITLES]
    all_left_out = [abs(error) for absence in absences for error in absence.errors.values()]
    parts = [
        table(["row", "measured", "modelled", "error", "kind", "assumed"], row_lines(rows, times), markdown),
        f"{len(predicted)} of {len(rows)} rows are predicted.",
        verdict("median error of predicted rows", median(map(abs, predicted.values())), LIMIT),
        verdict("  of those of kernels, without the unit tests", median(abs(e) for r, e in predicted.items() if r.source != UNIT), LIMIT),
        verdict("largest without a reason", max(abs(e) for r, e in predicted.items() if not r.case.reason), LARGE),
        *(f"{row.op} {row.shape}: {100 * row.error(times[row]):+.1f} %, since {row.case.reason}" for row in rows if row.case.reason),
        table(["left out", "rows still predicted", "median", "largest", "not determined then"], [_absence(a) for a in absences], markdown),
        verdict("median where each source is left out", median(all_left_out), LEFT_OUT_LIMIT),
    ]
    assert all(row.case.reason for row in large), [row.op for row in large if not row.case.reason]
    return "\n\n".join(parts)


def _absence(absence: Absence) -> list[str]:
    errors = [abs(error) for error in absence.errors.values()]
    numbers = [f"{100 * f(errors):.1f} %" if errors else "-" for f in (median, max)]
    return [TITLES[absence.source], str(len(errors)), *numbers, ", ".join(absence.undetermined) or "-"]


def main() -> None:
    parser = argparse.ArgumentParser(description="the model's times beside published ones")
    parser.add_argument("--markdown", action="store_true", help="tables in Markdown, as in docs/timing-model.md")
    print(report(parser.parse_args().markdown))
    target = load_target("Ascend910B2")
    own = programs.task_time(programs.attention(target, 16384, 128, {}))
    ahead = [programs.task_time(programs.time_kernel(attention(16384, n, target.cores), target)) for n in range(AHEAD + 1)]
    print(f"\nflash_attn with the cube 0, 1, ... blocks of keys ahead: {', '.join(f'{time:.0f}' for time in ahead)} µs")
    print(f"the compiler's own attention of that size, in which cube and lanes take turns: {own:.0f} µs")


if __name__ == "__main__":
    main()
