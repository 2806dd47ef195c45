"""
Pipelines as text: `canonicalize,insert-sync{mode=barrier-all},func.func(cse)`.

    pipeline ::= element (`,` element)*
    element  ::= name options? | anchor `(` pipeline? `)`
    options  ::= `{` (key (`=` value)?)* `}`        separated by spaces
    value    ::= anything without spaces, commas joining a tuple; quotes and brackets hold spaces
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from ge_compiler.dialects.diagnostics import did_you_mean
from ge_compiler.tools.opt.registry import UsageError, load_pass

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

_NAME = re.compile(r"\s*([A-Za-z0-9_.-]+)\s*")
_OPTION = re.compile(r"""\s*([A-Za-z0-9_-]+)(?:=((?:"[^"]*"|\[[^\]]*\]|\{[^}]*\}|[^\s{}"\[\]])*))?""")
_ITEM = re.compile(r'(?:"[^"]*"|[^",])+')
"""An item of a list; inside quotes a comma does not end it."""
_ANCHORS = ("builtin.module", "any")


@dataclass(frozen=True)
class PassCall:
    """One element of a pipeline: a pass, or a named pipeline, with its options as they were written."""

    name: str
    options: Mapping[str, str | None]
    """None for an option without a value."""

    def __str__(self) -> str:
        written = " ".join(key if value is None else f"{key}={value}" for key, value in self.options.items())
        return f"{self.name}{{{written}}}" if written else self.name


def parse_pipeline(text: str) -> list[PassCall]:
    """The calls of a pipeline text, nesting in `builtin.module(...)` removed. Raises `UsageError` with the place of a fault."""
    if not text.strip():
        return []
    calls, end = _parse_elements(text, 0)
    if end != len(text):
        _fail(text, end, "expected ',' or the end")
    return calls


def _parse_elements(text: str, position: int) -> tuple[list[PassCall], int]:
    calls: list[PassCall] = []
    while True:
        match = _NAME.match(text, position)
        if match is None:
            _fail(text, position, "expected the name of a pass")
        name, position = match[1], match.end()
        if text[position : position + 1] == "(":
            nested, position = _parse_nested(text, position, name)
            calls += nested
        else:
            options, position = _parse_options(text, position)
            calls.append(PassCall(name, options))
        position += len(text[position:]) - len(text[position:].lstrip())
        if text[position : position + 1] != ",":
            return calls, position
        position += 1


def _parse_nested(text: str, position: int, anchor: str) -> tuple[list[PassCall], int]:
    if anchor not in _ANCHORS:
        _fail(text, position, f"passes run on the whole module, so only 'builtin.module(...)' may nest them, not '{anchor}(...)'")
    if text[position:].replace(" ", "").startswith("()"):
        return [], text.index(")", position) + 1
    calls, position = _parse_elements(text, position + 1)
    if text[position : position + 1] != ")":
        _fail(text, position, f"expected ',' or the ')' that closes '{anchor}('")
    return calls, position + 1


def _parse_options(text: str, position: int) -> tuple[dict[str, str | None], int]:
    options: dict[str, str | None] = {}
    if text[position : position + 1] != "{":
        return options, position
    position += 1
    while (match := _OPTION.match(text, position)) is not None:
        options[match[1]] = match[2]
        position = match.end()
    position += len(text[position:]) - len(text[position:].lstrip())
    if text[position : position + 1] != "}":
        _fail(text, position, "expected an option 'key=value', a space between options, or the closing '}'")
    return options, position + 1


def _fail(text: str, position: int, message: str) -> NoReturn:
    raise UsageError(f"in the pipeline at column {position + 1}: {message}\n  {text}\n  {' ' * position}^")


def build_pass(call: PassCall) -> ModulePass:
    """The pass that a call describes. Raises `UsageError` for an unknown pass or option, or a value of the wrong type."""
    pass_class = load_pass(call.name)
    known = {field.name: field for field in fields(pass_class)}
    types = get_type_hints(pass_class)
    values: dict[str, Any] = {}
    for key, text in call.options.items():
        name = key.replace("-", "_")
        if name not in known:
            listing = f"its options are {', '.join(known)}" if known else "it takes no options"
            raise UsageError(f"pass '{call.name}' has no option '{key}'{did_you_mean(name, known)}; {listing}".replace("_", "-"))
        try:
            values[name] = _convert(text, types[name])
        except ValueError as error:
            raise UsageError(f"option '{key}' of pass '{call.name}' takes {error}, got '{'' if text is None else text}'") from None
    for name, field in known.items():
        if name not in values and field.default is MISSING and field.default_factory is MISSING:
            raise UsageError(f"pass '{call.name}' needs its option '{name.replace('_', '-')}'")
    try:
        return pass_class(**values)
    except ValueError as error:
        raise UsageError(f"pass '{call.name}': {error}") from None


def _convert(text: str | None, wanted: Any) -> Any:
    """The value of an option's text. Raises `ValueError` that says what is wanted."""
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin in (Union, UnionType):
        if text in (None, "none") and NoneType in arguments:
            return None
        return _first_that_fits(text, tuple(kind for kind in arguments if kind is not NoneType))
    if origin is Literal:
        if text not in arguments:
            raise ValueError("one of " + ", ".join(str(choice) for choice in arguments) + did_you_mean(text or "", map(str, arguments)))
        return text
    if origin is tuple:
        return tuple(_convert(part.strip(), arguments[0]) for part in _ITEM.findall((text or "").strip("[]")))
    return _convert_scalar(text, wanted)


def _first_that_fits(text: str | None, kinds: tuple[Any, ...]) -> Any:
    messages: list[str] = []
    for kind in kinds:
        try:
            return _convert(text, kind)
        except ValueError as error:
            messages.append(str(error))
    raise ValueError(" or ".join(messages))


def _convert_scalar(text: str | None, wanted: type) -> int | float | bool | str:
    if wanted is bool:
        truths = {None: True, "true": True, "1": True, "false": False, "0": False}
        if text not in truths:
            raise ValueError("true or false")
        return truths[text]
    if text is None:
        raise ValueError("a value")
    if wanted is str:
        return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
    try:
        return int(text, 0) if wanted is int else float(text)
    except ValueError:
        raise ValueError("an integer" if wanted is int else "a number") from None
