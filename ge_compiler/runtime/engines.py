"""What a program does not execute on the AI Cores: which operators, why, from which Python lines, and the bytes that go there and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from xdsl.dialects.builtin import LocationAttr, ModuleOp, StringAttr

from ge_compiler.dialects import fused, ge
from ge_compiler.dialects.diagnostics import CompileError, Note, Remark, location_text, source_location
from ge_compiler.dialects.memory import bytes_of
from ge_compiler.dialects.types import shaped_type

NO_LOWERING = "no-lowering"
"""The code of the remark that says why an operator does not run on the AI Cores."""

_REASONS = {
    fused.Engine.AICPU: "it has no lowering to the AI Cores yet",
    fused.Engine.HOST: "no operator of ge expresses it",
}


@dataclass(frozen=True)
class EngineRow:
    """Launches of one operator on one engine, for one reason."""

    engine: str
    operator: str
    """CANN's name, or the overload of an operator of PyTorch."""
    count: int
    reason: str
    places: tuple[LocationAttr, ...]
    """Where the model calls it, each place once."""
    bytes: int
    """Of all operands and results of these launches."""

    @property
    def lines(self) -> tuple[str, ...]:
        """`model.py:14` of each place that names a file."""
        found = (source_location(place) for place in self.places)
        return tuple(dict.fromkeys(f"{PurePath(at.filename.data).name}:{at.line.data}" for at in found if at is not None))

    def to_json(self) -> dict[str, Any]:
        figures = {"engine": self.engine, "operator": self.operator, "count": self.count, "bytes": self.bytes}
        return figures | {"reason": self.reason, "lines": list(self.lines)}


def engine_rows(module: ModuleOp, remarks: Iterable[Remark] = ()) -> list[EngineRow]:
    """The launches of `module`, at `fused` or below, on other engines than the AI Cores; `remarks` tell reasons."""
    reasons = {remark.location: remark.message.rpartition(" AI CPU: ")[2] for remark in remarks if remark.code == NO_LOWERING}
    launches: dict[tuple[str, str, str], list[fused.LaunchOp]] = {}
    for op in module.walk():
        if isinstance(op, fused.LaunchOp) and op.engine.data is not fused.Engine.AICORE:
            operator, reason = _operator(op)
            reason = reason or reasons.get(op.location) or _REASONS[op.engine.data]
            launches.setdefault((op.engine.data.value, operator, reason), []).append(op)
    return [
        EngineRow(engine, operator, len(ops), reason, tuple(dict.fromkeys(op.location for op in ops)), sum(map(_bytes, ops)))
        for (engine, operator, reason), ops in launches.items()
    ]


def _operator(launch: fused.LaunchOp) -> tuple[str, str | None]:
    """The operator that a launch executes, and why it is left to a host if its text says so."""
    kernel = launch.kernel()
    ops = () if kernel is None else kernel.body.block.ops
    fallback = next((op for op in ops if isinstance(op, ge.AtenFallbackOp)), None)
    if fallback is None:
        return ", ".join(name.data for name in launch.ops), None
    reason = fallback.properties.get("reason")
    return fallback.overload.data, reason.data if isinstance(reason, StringAttr) else None


def _bytes(launch: fused.LaunchOp) -> int:
    return sum(bytes_of(shaped_type(value)) for value in (*launch.inputs, *launch.destinations))


def refuse(rows: Sequence[EngineRow]) -> None:
    """Raises `CompileError` that lists `rows`, unless there are none."""
    if not rows:
        return
    count = len({row.operator for row in rows})
    what = "1 operator does" if count == 1 else f"{count} operators do"
    notes = [Note(f"{row.operator} ×{row.count} on {row.engine} at {_shown(row.places)}: {row.reason}", row.places[0]) for row in rows]
    raise CompileError(f"{what} not run on the AI Cores, which fallback=error forbids", rows[0].places[0], tuple(notes))


def _shown(places: Sequence[LocationAttr]) -> str:
    known = list(dict.fromkeys(location_text(place) for place in places if source_location(place) is not None))
    return (", ".join(known[:6]) + (f" and {len(known) - 6} more" if len(known) > 6 else "")) or "<unknown>"
