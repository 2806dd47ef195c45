"""
The documentation shows what the commands do now.

A block of `sh` is run, a block of `text` or `mlir` after it is an excerpt of what its last command prints (`...` stands for anything left
out; spaces and numbers with a fraction, which differ between machines, are not compared), a block of `python` is executed, and every path
that is named exists. Commands of a page run in order in one directory.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
STATUS = re.compile(r"#\s*exit status (\d+)")
PATH = re.compile(r"(?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:md|py|toml|mlir)")
IN_RECIPES = ("ge_compiler/transforms/drop_double_negation.py", "test/transforms/drop_double_negation.mlir")
"""Files that a reader is told to write."""

NOT_RUN = ("make", "source")
"""What a reader types, but a test does not: these would run the tests."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@dataclass(frozen=True)
class Block:
    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(*match.groups()) for match in FENCE.finditer(page.read_text())]


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text())


def run(line: str, commands: Mapping[str, Any]) -> str:
    """What the pipeline `line` prints on both streams. Fails unless the last command ends as the comment says, else with 0."""
    expected = STATUS.search(line)
    printed, piped, status = "", "", 0
    for part in " ".join(shlex.split(line, comments=True, posix=False)).split(" | "):
        words, _, target = part.partition(" > ")
        first, *rest = shlex.split(words)
        if first in commands:
            result = commands[first](rest, piped)
            piped, printed, status = result.out, printed + result.err, result.status
        else:
            process = subprocess.run([first, *rest], input=piped, capture_output=True, text=True, check=False)
            piped, printed, status = process.stdout, printed + process.stderr, process.returncode
        if target:
            Path(target).write_text(piped)
            piped = ""
    assert status == (int(expected[1]) if expected else 0), f"{line}\n{printed}{piped}"
    return printed + piped


def comparable(text: str) -> list[str]:
    return [re.sub(r"\d+\.\d+(e[+-]\d+)?", "#", " ".join(line.split())) for line in text.splitlines()]


def missing(excerpt: str, output: str) -> list[str] | None:
    """The first lines of the excerpt that do not stand together in the output, after those before them."""
    lines, start = comparable(output), 0
    for part in "\n".join(comparable(excerpt)).split("\n...\n"):
        wanted = [re.compile(re.escape(line).replace(r"\.\.\.", ".*")) for line in part.removeprefix("...\n").split("\n") if line != "..."]
        places = range(start, len(lines) - len(wanted) + 1)
        found = next((at for at in places if all(w.fullmatch(x) for w, x in zip(wanted, lines[at:], strict=False))), None)
        if found is None:
            return [w.pattern for w in wanted]
        start = found + len(wanted)
    return None


def shell_lines(block: Block) -> list[str]:
    joined = block.text.replace("\\\n", " ").splitlines()
    return [line for line in joined if line.strip() and not line.startswith("#")]


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory in which a reader of the documentation works: what the commands read, and what they write."""
    for folder in ("examples", "test/pipelines", "test/npu"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return tmp_path


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_print_what_the_page_shows(page: Path, commands: Mapping[str, Any]) -> None:
    output = ""
    for block in blocks(page):
        if block.language == "sh":
            lines = shell_lines(block)
            output = "".join(run(line, commands) for line in lines if line.split()[0] not in NOT_RUN)
        elif block.language == "python":
            exec(compile(block.text, name_of(page), "exec"), {"__name__": "__main__"})
        elif block.language in ("text", "mlir") and output:
            assert missing(block.text, output) is None, f"the page shows lines that are not printed; the output is\n{output}"


@pytest.mark.parametrize(
    ("excerpt", "is_there"),
    [
        ("b\nc", True),
        ("b  1.5e-03\n", False),
        ("a\n...\n  c", True),
        ("a\nc", False),
        ("c\n...\na", False),
        ("d 2.50 ...", True),
        ("d ... 5", False),
    ],
)
def test_an_excerpt_is_compared(excerpt: str, is_there: bool) -> None:
    assert (missing(excerpt, "a\nb\nc\nd  1.25e-03   4\n") is None) == is_there


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_paths_exist(page: Path) -> None:
    named = {path for code in re.findall(r"`([^`\n]+)`", prose(page)) for path in PATH.findall(code) if PATH.fullmatch(code)}
    linked = {link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)) if "://" not in link}
    assert [path for path in named if path not in IN_RECIPES and not (ROOT / path).exists()] == []
    assert [link for link in linked if link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shell = [line for block in blocks(page) if block.language == "sh" for line in shell_lines(block)]
    words = [line.split() for line in shell] + [code.split() for code in re.findall(r"`(make [^`]+)`", prose(page))]
    assert {line[1] for line in words if line[0] == "make"} <= targets
