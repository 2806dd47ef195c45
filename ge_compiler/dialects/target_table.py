"""Reads a target's table file. What is wrong with it is an error at the line that says it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar, cast

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from ge_compiler.dialects.diagnostics import CompileError, did_you_mean

T = TypeVar("T")
_KINDS = {"int": "an integer", "str": "a string", "bool": "true or false", "list": "a list", "dict": "a table"}


@dataclass(frozen=True)
class Table:
    """A table of the file and the way to it, such as `spaces.l1` or `paths.0`."""

    values: Mapping[str, Any]
    filename: str
    text: str
    where: str = ""

    @staticmethod
    def parse(text: str, filename: str) -> Table:
        """The whole file. Raises `CompileError` where it is not TOML."""
        try:
            return Table(tomllib.loads(text), filename, text)
        except tomllib.TOMLDecodeError as error:
            place = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
            line, column = (int(n) for n in place.groups()) if place else (text.count("\n") + 1, 1)
            message = re.sub(r" \(at .*\)$", "", str(error))
            raise CompileError(f"not a table file: {message}", _location(filename, line, column)) from error

    def over(self, base: Table) -> Table:
        """This table, with the entries of `base` that it does not have; an entry that both have is this table's, whole."""
        own = {key: value for key, value in self.values.items() if key not in ("based_on", "same_cores")}
        return Table(_merged(base.values, own), self.filename, self.text, self.where)

    def fail(self, key: str, message: str) -> NoReturn:
        """Report what is wrong with an entry, at its line."""
        path = f"{self.where}.{key}" if self.where else key
        raise CompileError(f"{path} {message}", _location(self.filename, _line_of(self.text, self.where, key), 1))

    def only(self, *known: str) -> None:
        """Refuse keys that mean nothing."""
        for key in self.values:
            if key not in known:
                self.fail(key, f"means nothing here{did_you_mean(key, known)}; keys: {', '.join(known)}")

    def get(self, key: str, kind: type[T], default: T | None = None) -> T:
        """The entry `key`, which must be of `kind`."""
        if key not in self.values:
            if default is not None:
                return default
            self.fail(key, "is missing")
        value = self.values[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.fail(key, f"must be {_KINDS[kind.__name__]}, got {value!r}")
        return value

    def number(self, key: str, least: int = 1, default: int | None = None) -> int:
        """An integer of at least `least`."""
        value = self.get(key, int, default)
        if value < least:
            self.fail(key, f"must be at least {least}, got {value}")
        return value

    def word(self, key: str, known: Mapping[str, T]) -> T:
        """One of the `known` words."""
        return self.choice(key, self.get(key, str), known)

    def choice(self, key: str, value: Any, known: Mapping[str, T]) -> T:
        """What a word in the entry `key` stands for."""
        if value not in known:
            near = did_you_mean(value, known) if isinstance(value, str) else ""
            self.fail(key, f"does not know {value!r}{near}; known: {', '.join(known)}")
        return known[value]

    def strings(self, key: str) -> list[str]:
        """A list of strings."""
        values = cast(list[Any], self.get(key, list))
        for value in values:
            if not isinstance(value, str):
                self.fail(key, f"must hold strings only, got {value!r}")
        return values

    def table(self, key: str) -> Table:
        """The table `key`."""
        values = cast(dict[str, Any], self.get(key, dict))
        return Table(values, self.filename, self.text, f"{self.where}.{key}" if self.where else key)

    def tables(self, key: str, read: Callable[[Table], T]) -> list[T]:
        """Every table of the list `[[key]]`, read by `read`."""
        found: list[T] = []
        for i, values in enumerate(cast(list[Any], self.get(key, list))):
            if not isinstance(values, dict):
                self.fail(key, f"must hold tables only, got {values!r}")
            found.append(read(Table(cast(dict[str, Any], values), self.filename, self.text, f"{key}.{i}")))
        return found


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Tables of tables are joined; any other entry replaces that of the base."""

    def value(key: str) -> Any:
        both = key in base and isinstance(base[key], dict) and any(isinstance(entry, dict) for entry in own[key].values())
        return _merged(base[key], own[key]) if both else own[key]

    return {**base, **{key: value(key) if isinstance(own[key], dict) else own[key] for key in own}}


def _location(filename: str, line: int, column: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr(filename), IntAttr(line), IntAttr(column))


def _line_of(text: str, where: str, key: str) -> int:
    """The line of an entry; that of its table, or the first, where the entry is not there."""
    here, counts, header = "", dict[str, int](), 0
    for number, line in enumerate(text.splitlines(), 1):
        if opened := re.match(r"\s*(\[\[?)\s*([^\]]+?)\s*\]", line):
            here = opened.group(2).replace('"', "")
            if opened.group(1) == "[[":
                counts[here] = counts.get(here, -1) + 1
                here = f"{here}.{counts[here]}"
            header = number if here == where else header
            if key and here == (f"{where}.{key}" if where else key):
                return number
        elif here == where and re.match(rf'\s*"?{re.escape(key)}"?\s*=', line):
            return number
    outer, dot, inner = where.partition(".")
    # A table that has no header of its own is written inside its parent.
    return header or (_line_of(text, outer, inner) if dot else 1)
