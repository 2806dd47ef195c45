"""The report of `gec compile` as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ge_compiler.dialects.fused import Engine
from ge_compiler.dialects.tile.schedule import LEAST, SIZE_KEYS
from ge_compiler.runtime.engines import EngineRow
from ge_compiler.runtime.report import KernelRow, OperatorRow, Report
from ge_compiler.tools.api import Program
from ge_compiler.tools.commands.table import bytes_text, plural, table

AICORE = Engine.AICORE.value
MANY = 16
"""More operators or kernels than this are counted by kind instead of listed."""


def summary(model: str, program: Program, found: Report) -> str:
    """Operators with their Python lines, kernels with their tiles, bytes of each memory, instructions."""
    head = f"{model} for {found.target}: {program.signature.describe_inputs()} -> {', '.join(map(str, program.signature.outputs))}"
    parts = [head, _operators(found.operators), _kernels(found.kernels), _memory(found), engines_text(found.engines)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _operators(rows: Sequence[OperatorRow]) -> str:
    if not rows:
        return ""
    title = f"{plural(len(rows), 'operator')} imported"
    if len(rows) > MANY:
        counts = Counter(row.operator for row in rows)
        first = {row.operator: row.line for row in reversed(rows)}
        lines = [(operator, str(count), first[operator]) for operator, count in counts.most_common()]
        return f"{title}\n" + table(("operator", "count", "first at"), lines, right=(1,))
    return f"{title}\n" + table(("name", "operator", "result", "Python"), [(r.name, r.operator, r.result, r.line) for r in rows])


def _kernels(rows: Sequence[KernelRow]) -> str:
    if not rows:
        return ""
    launches = sum(row.launches for row in rows)
    cells = [
        (
            row.name,
            str(row.launches),
            "" if row.engine == AICORE else row.engine,
            _shortened(row.source),
            _sizes(row.schedule),
            "" if row.blocks is None else str(row.blocks),
            "" if row.instructions is None else str(row.instructions),
        )
        for row in rows[:MANY]
    ]
    more = f"\n  ... and {len(rows) - MANY} more" if len(rows) > MANY else ""
    header = ("kernel", "launches", "engine", "from", "tiles", "blocks", "instructions")
    title = f"{plural(len(rows), 'kernel')} formed, {plural(launches, 'launch')}"
    return f"{title}\n" + table(header, cells, right=(1, 5, 6)) + more


def engines_text(rows: Sequence[EngineRow]) -> str:
    """What does not run on the AI Cores, a row for each operator and reason; empty if all does."""
    if not rows:
        return ""
    launches = sum(row.count for row in rows)
    cells = [(row.engine, row.operator, str(row.count), bytes_text(row.bytes), _shortened(row.lines), row.reason) for row in rows]
    header = ("engine", "operator", "launches", "bytes", "Python", "reason")
    return f"{plural(launches, 'launch')} not on the AI Cores\n" + table(header, cells, right=(2, 3))


def _sizes(schedule: Mapping[str, int]) -> str:
    """The sizes of tiles, and of the rest what is not as simple as can be."""
    return " ".join(f"{key}={value}" for key, value in schedule.items() if key in SIZE_KEYS or value > LEAST.get(key, 1))


def _shortened(source: Sequence[str]) -> str:
    return ", ".join(source[:3]) + (f" and {len(source) - 3} more" if len(source) > 3 else "")


def _memory(found: Report) -> str:
    spaces = [space for space in found.capacities if any(space in row.bytes for row in found.kernels)]
    rows = [
        (row.name, *(f"{row.bytes.get(space, 0)} ({row.bytes.get(space, 0) / found.capacities[space]:.0%})" for space in spaces))
        for row in [row for row in found.kernels if row.engine == AICORE][:MANY]
    ]
    text = "bytes of on-chip memory\n" + table(("kernel", *spaces), rows, right=range(1, len(spaces) + 1)) + "\n\n" if spaces else ""
    held = ", ".join(f"{what} {bytes_text(count)}" for what, count in found.hbm.items() if count)
    text += f"HBM peak {bytes_text(found.hbm_peak)}" + (f": {held}" if held else "")
    return text if found.instructions is None else f"{text}\n{plural(found.instructions, 'instruction')} in all kernels"
