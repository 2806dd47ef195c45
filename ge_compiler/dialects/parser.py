"""Text to module: every op gets its place in the file, every fault of the text is one located `CompileError`."""

from __future__ import annotations

import os

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError, VerifyException

from ge_compiler import dialects
from ge_compiler.dialects.diagnostics import CompileError, Note, did_you_mean, readable_failure
from ge_compiler.dialects.verifier import verify_module
from ge_compiler.dialects.xdsl_shim import LocatingParser, UnknownName


def parse_module(text: str | bytes, filename: str = "<text>", context: Context | None = None, *, verify: bool = True) -> ModuleOp:
    """
    Reads a module; an empty text is an empty module, and ops outside a module are put into one.

    `filename` names the text in locations and messages. `context` decides which dialects the text may use
    (all of ours by default). Raises `CompileError` where the text is malformed or, with `verify`, where the module is invalid.
    """
    source = decode(text, filename) if isinstance(text, bytes) else text
    parser: LocatingParser | None = None
    try:
        parser = LocatingParser(dialects.context() if context is None else context, source, filename)
        module = ModuleOp([]) if parser.at_end() else parser.parse_module()
    except CompileError:
        raise
    except Exception as error:
        # Attribute constructors and verifiers raise whatever they like on malformed text; all of it is the text's fault.
        if os.environ.get("GE_DEBUG"):
            raise
        raise _located(error, parser, filename) from error
    if isinstance(module.location, UnknownLoc):  # ops outside of a module
        module.location = _place(filename, 1, 1)
    if verify:
        verify_module(module)
    return module


def decode(text: bytes, filename: str) -> str:
    """The text of a file. Raises `CompileError` at the first byte that is not UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        before = text[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - (before.rfind(b"\n") + 1) + 1
        raise CompileError("this is not UTF-8 text", _place(filename, line, column)) from error


def _place(filename: str, line: int, column: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr(filename), IntAttr(line), IntAttr(column))


def _located(error: Exception, parser: LocatingParser | None, filename: str) -> CompileError:
    match error:
        case UnknownName():
            return _unknown_name(error, parser)
        case MultipleSpansParseError():
            notes = tuple(Note(message or error.ref_text or "", _place(*span.get_location())) for span, message in error.refs)
            return CompileError(error.msg, _place(*error.span.get_location()), notes)
        case ParseError() if parser is not None and (undefined := parser.undefined_values()) and "not defined" in error.msg:
            places = [(name, parser.location_at(span.start)) for name, span in undefined.items()]
            notes = tuple(Note(f"and value '%{name}'", place) for name, place in places[1:])
            return CompileError(f"use of undefined value '%{places[0][0]}'", places[0][1], notes)
        case ParseError():
            return CompileError(_clearer(error.msg, error.span.text), _place(*error.span.get_location()))
        case VerifyException() if parser is not None and (op := parser.current_op()) is not None:
            # Operands are checked against their declaration while an op is read.
            return CompileError(f"'{op[0]}' op {readable_failure(error)}", op[1])
        case RecursionError():
            message = "the text is nested too deeply"
        case _:
            message = " ".join(str(error).split()) or type(error).__name__
    return CompileError(message, _place(filename, 1, 1) if parser is None else parser.location_at(parser.pos))


def _clearer(message: str, found: str) -> str:
    if message == "Could not parse entire input!":
        return f"expected an operation, found {found!r}" if found else "expected an operation"
    if message.startswith(" in block"):
        return "expected an operation or '}'"
    return message[:1].lower() + message[1:] if message[:2].istitle() or message[1:2].islower() else message


def _unknown_name(error: UnknownName, parser: LocatingParser | None) -> CompileError:
    dialect, _, rest = error.name.partition(".")
    if not rest or dialect not in dialects.DIALECTS:
        hint = did_you_mean(dialect if rest else error.name, dialects.DIALECTS) or f"; the dialects are {', '.join(dialects.DIALECTS)}"
        return CompileError(f"{error} of no known dialect{hint}", error.location)
    loaded = dialects.load_dialect(dialect)
    members = loaded.operations if error.kind == "operation" else loaded.attributes
    return CompileError(f"{error}{did_you_mean(error.name, (member.name for member in members))}", error.location)
