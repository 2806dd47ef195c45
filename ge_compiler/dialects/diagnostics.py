"""
What a user is told: located errors, notes and remarks.

A fault of the user's input is a `CompileError`; its text reads `file:line:col: error: 'ge.MatMulV2' op ...`.
A rewrite that declines leaves a `remark`, kept by the innermost `collect_remarks()`.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NoReturn

from xdsl.dialects.builtin import UNKNOWN_LOC, ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, LocationAttr, NameLoc, UnregisteredOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

from ge_compiler.dialects import xdsl_shim


@dataclass(frozen=True)
class Note:
    """A further fact of an error, with its own place."""

    message: str
    location: LocationAttr = UNKNOWN_LOC


class CompileError(Exception):
    """A fault of the user's input: one readable paragraph, a place, and notes."""

    message: str
    location: LocationAttr
    notes: tuple[Note, ...]
    op: Operation | None = None
    """The op that the error is about, where there is one."""

    def __init__(self, message: str, location: LocationAttr = UNKNOWN_LOC, notes: tuple[Note, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.notes = notes

    @classmethod
    def at(cls, op: Operation, message: str, *notes: Note) -> CompileError:
        """The error `'dialect.op' op message` at the location of `op`."""
        prefix = f"'{_op_name(op)}' op "
        error = cls(message if message.startswith(prefix) else prefix + message, op.location, notes)
        error.op = op
        return error

    def __str__(self) -> str:
        lines = [_line(self.location, "error", self.message), *(_line(note.location, "note", note.message) for note in self.notes)]
        return "\n".join(lines)


@dataclass(frozen=True)
class Remark:
    """What a pass has to say about an op: a code to filter by, and a message with the values that decided."""

    pass_name: str
    op_name: str
    code: str
    message: str
    location: LocationAttr

    def __str__(self) -> str:
        return _line(self.location, "remark", f"[{self.pass_name}] {self.code}: {self.message}")


_collected: ContextVar[list[Remark] | None] = ContextVar("collected remarks", default=None)


@contextmanager
def collect_remarks() -> Generator[list[Remark], None, None]:
    """Collects the remarks of the passes that run inside, in order."""
    remarks: list[Remark] = []
    token = _collected.set(remarks)
    try:
        yield remarks
    finally:
        _collected.reset(token)


def remark(pass_name: str, op: Operation, code: str, message: str) -> None:
    """Records a remark of pass `pass_name` about `op`; without a collector it is dropped."""
    remarks = _collected.get()
    if remarks is not None:
        remarks.append(Remark(pass_name, _op_name(op), code, message, op.location))


def source_location(location: Attribute) -> FileLineColLoc | None:
    """The first place in a file that `location` names, None when it names none."""
    match location:
        case FileLineColLoc():
            return location
        case CallSiteLoc():
            return source_location(location.callee) or source_location(location.caller)
        case NameLoc():
            return source_location(location.location)
        case FusedLoc(locations=ArrayAttr(data=parts)):
            return next((place for part in parts if (place := source_location(part)) is not None), None)
        case _:
            return None


def location_text(location: LocationAttr) -> str:
    """`file:line:col`; the first part of a fused location; `<unknown>` where there is none."""
    place = source_location(location)
    return "<unknown>" if place is None else f"{place.filename.data}:{place.line.data}:{place.column.data}"


def format_diagnostic(error: CompileError, sources: Mapping[str, str] | None = None) -> str:
    """
    The message, the source line with a caret, then the notes likewise.

    `sources` maps the names of inputs that are not files (standard input) to their text; other lines are read from disk.
    """
    texts = dict[str, str]() if sources is None else sources
    parts = [_line(error.location, "error", error.message), *_excerpt(error.location, texts)]
    for note in error.notes:
        parts += [_line(note.location, "note", note.message), *_excerpt(note.location, texts)]
    return "\n".join(parts)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)` with the known name nearest to a misspelt one, the empty string where none is near."""
    from difflib import get_close_matches

    by_lower = {candidate.lower(): candidate for candidate in sorted(known)}
    near = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.7)
    return f" (did you mean '{by_lower[near[0]]}'?)" if near else ""


def _excerpt(location: LocationAttr, sources: Mapping[str, str]) -> list[str]:
    place = source_location(location)
    if place is None:
        return []
    name, number, column = place.filename.data, place.line.data, place.column.data
    if name in sources:
        lines = sources[name].split("\n")
        line = lines[number - 1] if 0 < number <= len(lines) else ""
    else:
        line = linecache.getline(name, number)
    if not (line := line.rstrip()):
        return []
    # Tabs stay tabs, so that the caret stands right whatever their width.
    indent = "".join("\t" if character == "\t" else " " for character in line[: max(column - 1, 0)])
    return [line, indent.ljust(max(column - 1, 0)) + "^"]


def _line(location: LocationAttr, severity: str, message: str) -> str:
    place = source_location(location)
    return f"{severity}: {message}" if place is None else f"{location_text(place)}: {severity}: {message}"


def _op_name(op: Operation) -> str:
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


_KIND_EXPECTED = re.compile(r"(?s)(.*) should be of base attribute (\S+)")


def readable_failure(cause: Exception) -> str:
    """What a verifier says, as one line."""
    lines = [line.strip().rstrip(":") for line in str(cause).splitlines() if line.strip()]
    return "; ".join(_KIND_EXPECTED.sub(r"expected \2, got \1", line) for line in lines)


def _raise_located(op: Operation, message: str, cause: Exception) -> NoReturn:
    """What xDSL's verifier and pattern drivers call: the user's fault gets the op's location, our own faults pass through."""
    if not isinstance(cause, DiagnosticException):
        raise cause
    raise CompileError.at(op, readable_failure(cause)) from cause


xdsl_shim.set_op_error_handler(_raise_located)
