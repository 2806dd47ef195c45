"""Tests of the package as a whole: what an import costs and which spellings it accepts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("floor", ["dialects", "lowering", "runtime", "tools", "transforms"])
def test_a_floor_refuses_its_bare_name(floor: str) -> None:
    result = run_python(f"import {floor}")
    assert result.returncode == 1
    assert f"ImportError: write ge_compiler.{floor}" in result.stderr


def test_the_package_loads_no_heavy_library() -> None:
    result = run_python("import ge_compiler, sys; print(sorted({'numpy', 'torch', 'xdsl'} & set(sys.modules)))")
    assert result.stdout == "[]\n", result.stderr


def test_an_unknown_public_name_lists_what_there_is() -> None:
    result = run_python("import ge_compiler as ge; ge.compyle")
    assert "has no attribute 'compyle'; it offers CompileError, Program, compile, load" in result.stderr
