"""
Diagnostics that a test file expects, in comments as mlir-opt has them:

    // expected-error@+1 {{part of the message}}
    // expected-note-re@below 2 {{a regular expression}}

`@+N`, `@-N` count lines; `@above` and `@below` mean the nearest line without such a comment; `@unknown` means no place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr

from ge_compiler.dialects.diagnostics import CompileError, Remark, source_location

_EXPECTED = re.compile(
    r"expected-(?P<severity>error|warning|note|remark)(?P<regex>-re)?\s*"
    r"(?:@(?P<where>[+-]\d+|above|below|unknown))?\s*(?P<count>\d+)?\s*\{\{(?P<text>.*?)\}\}"
)
_LOOKS_EXPECTED = re.compile(r"//.*expected-(error|warning|note|remark)")


@dataclass(frozen=True)
class Emitted:
    """A diagnostic as it was emitted."""

    severity: str
    message: str
    location: LocationAttr

    @property
    def line(self) -> int | None:
        place = source_location(self.location)
        return None if place is None else place.line.data


@dataclass
class Expectation:
    """One expected diagnostic, and where its comment stands."""

    severity: str
    text: str
    is_regex: bool
    line: int | None
    """The line of the diagnostic, None for one without a place."""
    place: FileLineColLoc

    def matches(self, emitted: Emitted) -> bool:
        if (self.severity, self.line) != (emitted.severity, emitted.line):
            return False
        return bool(re.search(self.text, emitted.message)) if self.is_regex else self.text in emitted.message


def diagnostics_of(error: CompileError | None, remarks: Sequence[Remark]) -> list[Emitted]:
    """Everything that was emitted for one module."""
    emitted = [Emitted("remark", f"[{remark.pass_name}] {remark.code}: {remark.message}", remark.location) for remark in remarks]
    if error is not None:
        emitted.append(Emitted("error", error.message, error.location))
        emitted += [Emitted("note", note.message, note.location) for note in error.notes]
    return emitted


def expectations(text: str, filename: str) -> list[Expectation]:
    """The expectations of a text. Raises `CompileError` for a comment that looks like one and cannot be read."""
    lines = text.split("\n")
    return [expectation for number in range(1, len(lines) + 1) for expectation in _on_line(lines, number, filename)]


def _on_line(lines: list[str], number: int, filename: str) -> Iterator[Expectation]:
    line = lines[number - 1]
    if not _LOOKS_EXPECTED.search(line):
        return
    matches = list(_EXPECTED.finditer(line))
    place = FileLineColLoc(StringAttr(filename), IntAttr(number), IntAttr(line.index("expected-") + 1))
    if not matches:
        raise CompileError("cannot read this expectation; write it like: expected-error@+1 {{part of the message}}", place)
    for match in matches:
        for _ in range(int(match["count"] or 1)):
            yield Expectation(match["severity"], match["text"], bool(match["regex"]), _target_line(match["where"], lines, number), place)


def _target_line(where: str | None, lines: list[str], number: int) -> int | None:
    match where:
        case None:
            return number
        case "unknown":
            return None
        case "above" | "below":
            step = -1 if where == "above" else 1
            number += step
            while 0 < number <= len(lines) and _LOOKS_EXPECTED.search(lines[number - 1]):
                number += step
            return number
        case _:
            return number + int(where)


def mismatches(expected: Sequence[Expectation], emitted: Sequence[Emitted]) -> list[CompileError]:
    """What was expected and not emitted, and what was emitted and not expected; remarks may be emitted freely."""
    open_expectations = list(expected)
    found: list[CompileError] = []
    for diagnostic in emitted:
        match = next((expectation for expectation in open_expectations if expectation.matches(diagnostic)), None)
        if match is not None:
            open_expectations.remove(match)
        elif diagnostic.severity != "remark":
            found.append(CompileError(f"unexpected {diagnostic.severity}: {diagnostic.message}", diagnostic.location))
    missing = (CompileError(f'expected {wanted.severity} "{wanted.text}" was not produced', wanted.place) for wanted in open_expectations)
    return [*found, *missing]
