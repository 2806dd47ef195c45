"""Every mistake of a user is one clear message and the right exit status: no traceback, no file left behind."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ge_compiler.tools.commands import compile as compile_command

Gec = Callable[..., Any]

TINY = "models.py:Tiny --input x=f16[5,24]"

MISTAKES = {
    "no command": ("", 2, "the following arguments are required: COMMAND"),
    "unknown command": ("comple", 2, r"unknown command 'comple' \(did you mean 'compile'\?\)"),
    "unknown option": ("compile TINY --targt x", 2, r"unrecognized arguments: --targt x \(did you mean '--target'\?\)"),
    "no model": ("compile", 2, "the following arguments are required: MODEL"),
    "not a model": ("compile models.txt", 2, "'models.txt' is not understood; a model is FILE.py:NAME"),
    "no name": ("compile models.py", 2, "'models.py' is not understood"),
    "no file": ("compile none.py:Tiny --input x=f16[1]", 1, "cannot read none.py: No such file or directory"),
    "no such name": ("compile models.py:Tinny", 1, r"models.py has no class or function 'Tinny' \(did you mean 'Tiny'\?\)"),
    "factory raises": (
        "compile models.py:raises",
        1,
        r"models.py:\d+:\d+: error: raises\(\) raised ValueError: no such checkpoint\n    raise",
    ),
    "factory exits": ("compile models.py:exits", 1, r"exits\(\) raised SystemExit: 5"),
    "no module": ("compile models.py:number", 1, "models.py:number gives int, not a torch.nn.Module"),
    "needs an argument": ("compile models.py:needs_argument", 1, r"needs_argument\(\) raised TypeError: .*missing 1 required"),
    "broken file": ("compile broken.py:x", 1, r"broken.py:2:\d+: error: "),
    "file raises": ("compile raising.py:x", 1, r"raising.py:1:\d+: error: raising.py raised ModuleNotFoundError: .*no_such_module"),
    "no input": ("compile models.py:Tiny", 2, r"the inputs of forward\(x\) are missing; .*--input 'x=f16\[32,768\]'"),
    "unknown input": ("compile models.py:Tiny --input z=f16[5,24]", 2, "forward has no parameter 'z'; its parameters: x"),
    "input twice": ("compile TINY --input x=f16[5,24]", 2, "--input x is given twice"),
    "missing input": ("compile models.py:Two --input x=f16[5,8]", 1, r"do not fit Two.forward\(x, y\): missing a required argument: 'y'"),
    "malformed input": ("compile models.py:Tiny --input 'x=f16[5;24]'", 2, "is not understood; write NAME="),
    "nameless input": ("compile models.py:Tiny --input f16[5,24]", 2, "is not understood; write NAME="),
    "missing size": ("compile models.py:Tiny --input x=f16[5,,24]", 2, "a size is missing"),
    "too many sizes": (f"compile models.py:Tiny --input x=f16[{'1,' * 64}1]", 2, "is too large: at most 64 dimensions"),
    "too many elements": ("compile models.py:Tiny --input x=f16[1099511627777]", 2, r"is too large: at most .* 2\^40 elements"),
    "too large a seed": (f"compile TINY --seed {1 << 64}", 2, f"argument --seed: must be from 0 to 2\\^64 - 1, got '{1 << 64}'"),
    "long size": (f"compile models.py:Tiny --input x=f16[{'9' * 5000}]", 2, r"is too large: at most .* 2\^40 elements"),
    "long seed": (f"compile TINY --seed {'9' * 5000}", 2, r"argument --seed: must be from 0 to 2\^64 - 1, got '9"),
    "long seed of an input": (f"compile models.py:Tiny --input x=f16[5,24]=rand:{'9' * 5000}", 2, "a seed has at most 20 digits"),
    "space in a size": ("compile models.py:Tiny --input 'x=f16[5 2,24]'", 2, "is not understood; write NAME="),
    "long limit": (f"run m.om --shadow-limit {'9' * 5000}", 2, "argument --shadow-limit: expected a number of bytes such as 64M, got '9"),
    "no limit": ("run m.om --shadow-limit 1.5G", 2, "argument --shadow-limit: expected a number of bytes such as 64M, got '1.5G'"),
    "long tile": (f"compile TINY --tiling MatMulV2=m:{'9' * 5000}", 1, "tiling .*: m must be "),
    "unknown dtype": ("compile models.py:Tiny --input x=bf61[5,24]", 2, r"unknown dtype 'bf61' \(did you mean 'bf16'\?\)"),
    "several dtypes": ("compile models.py:Two --input x=f16[5,8] --input y=f32[8]", 2, r"several floating dtypes \(f16, f32\)"),
    "wrong shape": ("compile models.py:Tiny --input x=f16[5,23]", 1, r"models.py:\d+:\d+: error: torch.export could not trace Tiny"),
    "no array file": ("compile models.py:Tiny --input x=@none.npy", 1, "cannot read none.npy: No such file or directory"),
    "not an array file": ("compile models.py:Tiny --input x=@models.py", 1, "models.py is not an array file"),
    "double array": ("compile models.py:Tiny --input x=@double.npy", 1, "double.npy holds float64, which is not supported"),
    "unknown target": ("compile TINY --target Ascend910", 2, r"unknown target 'Ascend910' \(did you mean 'Ascend910A'\?\)"),
    "unknown mode": ("compile TINY --precision-mode fast", 2, "argument --precision-mode: invalid choice: 'fast'"),
    "unknown level": ("compile TINY --emit tle", 2, "argument --emit: invalid choice: 'tle'"),
    "f32": (
        "compile models.py:Tiny --input x=f32[5,24] --target Ascend910A",
        1,
        "the cube of Ascend910A takes f16, int8; .*--precision-mode=allow_fp32_to_fp16",
    ),
    "bf16": (
        "compile models.py:Tiny --input x=bf16[5,24] --target Ascend910A",
        1,
        r"models.py:\d+:\d+: error: 'ge.MatMulV2' op multiplies bf16, .*f16, int8",
    ),
    "tiling without keys": ("compile TINY --tiling MatMulV2Gelu", 1, "expected KERNEL=key:size"),
    "tiling of no kernel": (
        "compile TINY --tiling MatMulV2Gel=m:16",
        1,
        r"'MatMulV2Gel', which does not exist \(did you mean 'MatMulV2Gelu'",
    ),
    "tiling with a wrong key": ("compile TINY --tiling MatMulV2Gelu=mm:16", 1, "'mm' is not a key of a schedule"),
    "tiling as it is printed": (
        "compile TINY --tiling MatMulV2Gelu=m=16",
        1,
        "expected KERNEL=key:size,..., for example MatMulV2Gelu=m:16",
    ),
    "tiling beyond all bounds": (f"compile TINY --tiling MatMulV2Gelu=m:{1 << 70}", 1, r"m must be a positive integer below 2\^31, got"),
    "compare a text": ("compare m.mlir", 2, r"FILE.py:NAME \(a class or a function\) or, to compile, FILE.mlir"),
    "unsupported": (
        "compile models.py:Unsupported --input x=f32[5,24]",
        1,
        r"UnsupportedOp aten.polar.default ×2 at models.py:\d+:\d+, models.py",
    ),
    "star input without a number": (
        "compile models.py:Nested --input pair.0=f16[2,4] --input pair.1=f16[4,3] --input named.bias=f16[3] --input rest=f16[3]",
        2,
        r"forward takes \*rest; name them rest.0, rest.1",
    ),
    "star inputs alone": (
        "compile models.py:Nested --input rest.0=f16[3]",
        2,
        "input 'pair' is missing; it stands before",
    ),
    "input as a whole and in parts": ("compile TINY --input x.0=f16[3]", 2, "--input x.0: the same input is given as a whole and in parts"),
    "input of another type than its file": ("compile models.py:Tiny --input x=f16[5,24]=@f32.npy", 2, r"f32.npy holds x=f32\[5,24\]"),
    "no folder": ("compile TINY -o none/m.om", 1, "cannot write none/m.om: there is no folder none"),
    "a folder": ("compile TINY -o .", 1, "cannot write .: Is a directory"),
    "the source": ("compile TINY -o models.py", 2, "would overwrite a source"),
    "no module file": ("compile none.mlir", 1, "cannot read none.mlir: No such file or directory"),
    "input of a module": ("compile m.mlir --input x=f16[1]", 2, "leave --input and --dtype out"),
    "malformed module": ("compile malformed.mlir", 1, "malformed.mlir:2:1: error: "),
    "no main": ("compile empty.mlir", 1, "has no function @main"),
    "no weights": (
        "compile m.mlir",
        1,
        "m.mlir:1:1: error: 'ge.weight' op the bytes of weight @w are missing: there is no file m.safetensors; from Python, ",
    ),
    "no program": ("run none.om", 1, "cannot read none.om: No such file or directory"),
    "foreign program": ("run models.py", 1, "models.py is not an .om file"),
    "compare unknown level": ("compare TINY --levels ge,tle", 2, r"unknown level 'tle' \(did you mean 'tile'\?\)"),
}
"""Command line (TINY stands for a model and its input), exit status, and what the message says."""


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("x = 1\ndef f(:\n")
    (tmp_path / "raising.py").write_text("import no_such_module\n")
    (tmp_path / "malformed.mlir").write_text("func.func @main(%x: tensor<2xf16>\n")
    (tmp_path / "empty.mlir").write_text("")
    (tmp_path / "m.mlir").write_text(
        "ge.weight @w : tensor<2xf16>\n"
        "func.func @main(%x: tensor<2xf16>) -> tensor<2xf16> {\n"
        "  %w = ge.load_weight @w : tensor<2xf16>\n"
        "  %y = ge.Add %x, %w : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>\n"
        "  func.return %y : tensor<2xf16>\n"
        "}\n"
    )
    np.save(tmp_path / "double.npy", np.zeros((5, 24)))
    np.save(tmp_path / "f32.npy", np.zeros((5, 24), np.float32))


def check(outcome_status: int, out: str, err: str, status: int, words: str) -> None:
    assert re.search(words, err, re.DOTALL), err
    assert outcome_status == status
    assert out == ""
    assert "Traceback" not in err
    assert err.count("error: ") == 1


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_one_message(case: str, gec: Gec, tmp_path: Path) -> None:
    command, status, words = MISTAKES[case]
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    outcome = gec(*shlex.split(command.replace("TINY", TINY)))
    check(outcome.status, outcome.out, outcome.err, status, words)
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_an_interrupt_is_quiet_and_leaves_nothing(gec: Gec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(compile_command, "program_of_factory", interrupted)
    outcome = gec("compile", *TINY.split(), "-o", "m.om")
    assert (outcome.status, outcome.out, outcome.err) == (130, "", "gec: interrupted\n")
    assert not (tmp_path / "m.om").exists()


def test_too_little_memory_is_no_fault_of_ours(gec: Gec, monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(*_: object) -> None:
        raise MemoryError("Unable to allocate 364. TiB")

    monkeypatch.setattr(compile_command, "program_of_factory", greedy)
    outcome = gec("compile", *TINY.split())
    assert (outcome.status, outcome.err) == (1, "gec: error: there is not enough memory: Unable to allocate 364. TiB\n")


def test_our_own_fault_asks_for_a_report(gec: Gec, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("surprise")

    monkeypatch.setattr(compile_command, "program_of_factory", broken)
    outcome = gec("compile", *TINY.split())
    assert outcome.status == 1
    assert "gec: internal error: RuntimeError: surprise; please report it (GE_DEBUG=1" in outcome.err
