"""What the checks report: faults with both places, and what was covered."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

from ge_compiler.dialects.diagnostics import CompileError, Note

NOTES = 20
"""How many further faults an error tells."""

ORDER = (
    "lane-varying",
    "bounds",
    "deadlock",
    "race",
    "barrier",
    "cores",
    "set-twice",
    "unmatched",
    "uninitialised",
    "stale",
)
"""Codes of faults; the first fault of the first code is the error, the others are notes."""


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong."""

    code: str
    op: Operation
    message: str
    notes: tuple[Note, ...] = ()


@dataclass
class Faults:
    """Collects faults; the same fault in a later iteration is one fault."""

    found: list[Fault] = field(default_factory=list[Fault])
    context: str = ""
    """What every message ends with: where the check is."""
    _seen: set[Hashable] = field(default_factory=set[Hashable])

    def add(self, code: str, op: Operation, message: str, *notes: Note, key: Hashable = None) -> None:
        """Reports a fault once for each `code`, `op` and `key`."""
        seen = (code, op, key)
        if seen not in self._seen:
            self._seen.add(seen)
            self.found.append(Fault(code, op, message + self.context, notes))

    def sorted(self) -> list[Fault]:
        return sorted(self.found, key=lambda fault: ORDER.index(fault.code))


@dataclass
class Coverage:
    """What a check has run."""

    kernel: str
    cores: int = 0
    streams: int = 0
    """Programs that differ in order or in what they touch on chip; equal cores share one."""
    instructions: int = 0
    synchronisations: int = 0
    shortened: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """Loops that were not run whole -> which iterations were."""
    trips: tuple[int, ...] = ()
    """Trip counts that loops were also run with."""

    def __str__(self) -> str:
        text = (
            f"@{self.kernel}: {self.instructions} instructions and {self.synchronisations} synchronisations visited on {self.cores} cores "
            f"({self.streams} different), global memory of all cores compared"
        )
        if self.shortened:
            text += "; loops run in part: " + ", ".join(self.shortened.values())
        if self.trips:
            text += f"; every loop also with {', '.join(map(str, self.trips))} iterations"
        return text


@dataclass(frozen=True)
class Report:
    """The faults of a kernel and what was covered."""

    faults: Sequence[Fault]
    coverage: Coverage

    def error(self) -> CompileError | None:
        """The first fault with the others as notes; `None` if there is none."""
        if not self.faults:
            return None
        first, *others = self.faults
        notes = [note for fault in others[:NOTES] for note in (Note(f"{fault.op.name}: {fault.message}", fault.op.location), *fault.notes)]
        if len(others) > NOTES:
            notes.append(Note(f"and {len(others) - NOTES} more faults", first.op.location))
        return CompileError.at(first.op, first.message, *first.notes, *notes)
