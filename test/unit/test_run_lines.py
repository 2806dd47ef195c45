"""Tests that the runner of `.mlir` tests fails where it should: a test runner that passes everything is worse than none."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def _load_runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_lines_under_test", Path(__file__).parents[1] / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


RUNNER = _load_runner()


def run(tmp_path: Path, text: str) -> str:
    """What the runner says about a test file, the empty string where it passes."""
    source = tmp_path / "test.mlir"
    source.write_text(text)
    try:
        for line in RUNNER.run_lines(text):
            RUNNER.execute(line, source, tmp_path / "scratch")
    except RUNNER.RunFailure as failure:
        return str(failure)
    return ""


PROGRAM = "func.func @f() {\n  func.return\n}\n"


@pytest.mark.parametrize(
    ("lines", "failure"),
    [
        ("// RUN: ge-opt %s | filecheck %s\n// CHECK: func.func @f\n", ""),
        ("// RUN: ge-opt %s | filecheck %s\n// CHECK: func.func @g\n", "exit status 1 of: filecheck"),
        ("// RUN: ge-opt %s | filecheck %s --check-prefix=X\n// X: func.func @f\n// CHECK: no\n", ""),
        ("// RUN: ge-opt %s | filecheck %s --check-prefix=X\n// CHECK: func\n", "exit status 2 of: filecheck|exit status 1 of: filecheck"),
        ("// RUN: not ge-opt %s\n", "exit status 1 of: not ge-opt"),
        ("// RUN: ge-opt %s -p nonsense | filecheck %s\n// CHECK: func\n", "exit status 2 of: ge-opt"),
        ("// RUN: not ge-opt %s -p nonsense 2>&1 | filecheck %s\n// CHECK: unknown pass 'nonsense'\n", ""),
        ("// RUN: ge-opt %s \\\n// RUN:   -p cse > %t && cat %t | filecheck %s\n// CHECK: func.func @f\n", ""),
        ("// RUN: ge-opt %s && not cat %s\n", "exit status 1 of: not cat"),
        ("// RUN: mlir-opt %s\n", "unknown command 'mlir-opt'"),
        ("// RUN: ge-opt %s -p 'builtin.module(cse, canonicalize)'\n", ""),
    ],
)
def test_a_run_line_passes_or_fails_as_in_a_shell(tmp_path: Path, lines: str, failure: str) -> None:
    said = run(tmp_path, lines + PROGRAM)
    assert any(said.startswith(start) for start in failure.split("|")) if failure else not said, said


@pytest.mark.parametrize(
    "line",
    [
        "// CHECK-NXT: x",
        "// CHECK_NEXT: x",
        "// CHECK NEXT: x",
        "// CHEKC: x",
        "// CHECK x",
        "// CHECK-NEXT x",
        "// X-NETX: x",
        "// CHECK-COUNT: x",
    ],
)
def test_a_mistyped_directive_is_found(line: str) -> None:
    assert RUNNER.mistyped_directives(f"// RUN: filecheck %s --check-prefix=X\n{line}\n") == [f"line 2: {line}"]


@pytest.mark.parametrize(
    "line",
    [
        "// CHECK: x",
        "// CHECK-NEXT: x",
        "// CHECK-COUNT-3: x",
        "// X-DAG: x",
        "// CHECK{LITERAL}: [[x]]",
        "// RUN: x",
        "// A sentence: with a colon.",
        "// L0C is a memory",
        "// TODO: x",
        "op // CHECK-SAME: x",
    ],
)
def test_what_is_no_mistake_passes(line: str) -> None:
    assert RUNNER.mistyped_directives(f"// RUN: filecheck %s --check-prefixes=CHECK,X\n{line}\n") == []
