"""
Runs `.mlir` tests inside pytest.

A file with `// RUN:` lines is a test: pipelines of `ge-opt`, `gec`, `filecheck`, `not` and `cat`, as lit runs them, but without starting
processes, which is sixty times as fast. `lit test` runs the same files as real processes.
Before a file runs, its directives are checked: FileCheck ignores `CHECK-NXT:` in silence.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

import pytest


@dataclass(frozen=True)
class Result:
    """What a command leaves: its exit status and its two outputs."""

    status: int
    out: str
    err: str


Command = Callable[[list[str], str], Result]
"""Arguments, standard input -> result."""


def run_main(main: Callable[[list[str]], int], arguments: list[str], stdin: str = "") -> Result:
    """Runs a tool's `main` as if it were a process, with streams of its own."""
    out, err = io.StringIO(), io.StringIO()
    fake_stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), patch.object(sys, "stdin", fake_stdin):
        try:
            status = main(arguments)
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else 1
    return Result(status, out.getvalue(), err.getvalue())


@pytest.fixture
def ge_opt() -> Callable[..., Result]:
    """`ge_opt("-p", "cse", stdin=text)`: ge-opt in this process."""

    def run(*arguments: str, stdin: str = "") -> Result:
        return _ge_opt(list(arguments), stdin)

    return run


# ---- the commands of RUN lines ----------------------------------------------------------------------------------------


def _ge_opt(arguments: list[str], stdin: str) -> Result:
    from ge_compiler.tools.ge_opt import main

    return run_main(main, arguments, stdin)


def _gec(arguments: list[str], stdin: str) -> Result:
    main: Callable[[list[str]], int] = import_module("ge_compiler.tools.gec").main
    return run_main(main, arguments, stdin)


def _filecheck(arguments: list[str], stdin: str) -> Result:
    from filecheck.finput import FInput
    from filecheck.matcher import Matcher
    from filecheck.options import parse_argv_options
    from filecheck.parser import Parser, pattern_for_opts

    def main(words: list[str]) -> int:
        options = parse_argv_options(["filecheck", *words])
        directives = io.StringIO(Path(options.match_filename).read_text())
        return Matcher(options, FInput("<stdin>", stdin), Parser(options, directives, *pattern_for_opts(options))).run()

    return run_main(main, arguments)


def _not(arguments: list[str], stdin: str) -> Result:
    result = COMMANDS[arguments[0]](arguments[1:], stdin)
    return Result(0 if result.status else 1, result.out, result.err)


def _cat(arguments: list[str], stdin: str) -> Result:
    return Result(0, "".join(Path(name).read_text() for name in arguments) if arguments else stdin, "")


COMMANDS: dict[str, Command] = {"ge-opt": _ge_opt, "gec": _gec, "filecheck": _filecheck, "not": _not, "cat": _cat}


@pytest.fixture
def commands() -> dict[str, Command]:
    """The commands that can be run in this process."""
    return COMMANDS


# ---- RUN lines --------------------------------------------------------------------------------------------------------

_RUN = re.compile(r"//\s*RUN:\s*(.*)")


def run_lines(text: str) -> Iterator[str]:
    """The RUN lines of a text, continued where one ends in a backslash."""
    pending = ""
    for match in _RUN.finditer(text):
        pending += match[1].rstrip()
        if pending.endswith("\\"):
            pending = pending[:-1]
            continue
        yield pending
        pending = ""


class RunFailure(Exception):
    """A RUN line that did not exit with 0."""


def execute(line: str, source: Path, scratch: Path) -> None:
    """Runs one RUN line. Raises `RunFailure` with the outputs of the command that failed."""
    shown = line.replace("%s", str(source)).replace("%S", str(source.parent)).replace("%t", str(scratch))
    for sequence in _split_on(_tokens(shown), "&&"):
        piped = ""
        for command in _split_on(sequence, "|"):
            words, target, merged = _redirections(command)
            if words[0] not in COMMANDS:
                raise RunFailure(f"unknown command '{words[0]}' in: {shown}; known are {', '.join(COMMANDS)}")
            result = COMMANDS[words[0]](words[1:], piped)
            if result.status:
                raise RunFailure(
                    f"exit status {result.status} of: {shlex.join(words)}\nin: {shown}\n{_tail(result.out)}{_tail(result.err)}"
                )
            piped = result.err + result.out if merged else result.out
            if target is not None:
                Path(target).write_text(piped)
                piped = ""


def _tokens(line: str) -> list[str]:
    lexer = shlex.shlex(line.replace("2>&1", " <merge> "), posix=True, punctuation_chars="|&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


def _split_on(tokens: list[str], separator: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == separator:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _redirections(tokens: list[str]) -> tuple[list[str], str | None, bool]:
    merged = "<merge>" in tokens
    words = [token for token in tokens if token != "<merge>"]
    if ">" not in words:
        return words, None, merged
    at = words.index(">")
    return words[:at] + words[at + 2 :], words[at + 1], merged


def _tail(text: str, lines: int = 60) -> str:
    return "".join(text.splitlines(keepends=True)[-lines:])


# ---- directives -------------------------------------------------------------------------------------------------------

_DIRECTIVE = re.compile(r"//\s*([A-Z][A-Z0-9_-]*)((?:\{LITERAL\})?:)?(?=\s|$|:|\{)(.*)")
_SUFFIX = re.compile(r"-(DAG|COUNT-\d+|NOT|EMPTY|NEXT|SAME|LABEL)$")
_OTHER_WORDS = {"RUN", "COM", "TODO", "NOTE"}


def mistyped_directives(text: str) -> list[str]:
    """The lines of a test file that look like directives and are none."""
    prefixes = {"CHECK"} | {name for match in re.finditer(r"--check-prefix(?:es)?[= ]([\w,-]+)", text) for name in match[1].split(",")}
    wrong: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _DIRECTIVE.search(line)
        if match is None or match[1] in _OTHER_WORDS:
            continue
        known = _SUFFIX.sub("", match[1]) in prefixes
        if (known and not match[2]) or (not known and (match[2] or match[1].startswith("CHECK"))):
            wrong.append(f"line {number}: {line.strip()}")
    return wrong


# ---- collection -------------------------------------------------------------------------------------------------------


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".mlir" and _RUN.search(file_path.read_text()):
        return MlirFile.from_parent(parent, path=file_path)  # pyright: ignore[reportUnknownMemberType]
    return None


class MlirFile(pytest.File):
    def collect(self) -> Generator[pytest.Item, None, None]:
        yield MlirTest.from_parent(self, name="RUN")  # pyright: ignore[reportUnknownMemberType]


class MlirTest(pytest.Item):
    def runtest(self) -> None:
        text = self.path.read_text()
        if wrong := mistyped_directives(text):
            raise RunFailure("these look like directives, but FileCheck would ignore them:\n" + "\n".join(wrong))
        scratch = Path(self.config.rootpath, ".pytest_cache", "run", re.sub(r"\W", "_", self.nodeid))
        scratch.parent.mkdir(parents=True, exist_ok=True)
        for line in run_lines(text):
            execute(line, self.path, scratch)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        if isinstance(excinfo.value, RunFailure):
            return str(excinfo.value)
        return str(excinfo.getrepr(style="long"))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, str(self.path)
