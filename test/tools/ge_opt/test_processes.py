"""Tests of ge-opt as real processes: streams, files, signals and exit statuses, which in-process tests cannot see."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

GE_OPT = str(Path(sys.executable).with_name("ge-opt"))
BIG = "".join(f"func.func @f{i}() {{\n  func.return\n}}\n" for i in range(2500))


def ge_opt(*arguments: str, stdin: str = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    environment = None if env is None else {**os.environ, **env}
    return subprocess.run([GE_OPT, *arguments], input=stdin, capture_output=True, text=True, check=False, env=environment)


def test_standard_input_to_standard_output() -> None:
    result = ge_opt(stdin="builtin.module {}")
    assert (result.returncode, result.stdout, result.stderr) == (0, "builtin.module {\n}\n", "")


@pytest.mark.parametrize(("call", "is_rare"), [("main()", True), ("main(['--version'])", False)])
def test_garbage_is_collected_rarely_where_the_process_is_our_own(call: str, is_rare: bool) -> None:
    code = f"import gc\nfrom ge_compiler.tools.ge_opt import main\nusual = gc.get_threshold()\n{call}\nprint(gc.get_threshold() != usual)"
    result = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == str(is_rare)


def test_a_fault_is_one_message_without_a_traceback() -> None:
    result = ge_opt("-", stdin="builtin.module {\n  foo.bar\n}")
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith("<stdin>:2:3: error: unknown operation 'foo.bar'")
    assert result.stderr.endswith("\n  foo.bar\n  ^\n")


def test_a_failing_run_leaves_the_old_output_alone(tmp_path: Path) -> None:
    output = tmp_path / "out.mlir"
    output.write_text("old")
    assert ge_opt("-o", str(output), stdin="func.func @f(").returncode == 1
    assert output.read_text() == "old"
    assert ge_opt("-o", str(output), stdin="").returncode == 0
    assert output.read_text() == "builtin.module {\n}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.mlir"]


def test_unreadable_and_unwritable_files_are_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "none" / "x.mlir")
    for arguments in ([missing], ["-o", missing], [str(tmp_path)], ["-o", str(tmp_path)]):
        result = ge_opt(*arguments)
        assert result.returncode == 1
        assert result.stderr.startswith(("ge-opt: error: cannot open ", "error: cannot write "))
        assert arguments[-1] in result.stderr
        assert result.stderr.count("\n") == 1


def test_a_reader_that_has_enough_is_no_error() -> None:
    with subprocess.Popen([GE_OPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stdin.write(BIG.encode())
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_an_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [GE_OPT, "-o", str(tmp_path / "out.mlir")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stderr
        process.stdin.write(BIG.encode())  # more than a pipe holds: once it is written, ge-opt is reading
        process.stdin.flush()
        while process.poll() is None:  # a signal on the way into a blocking read waits for the next one
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.5)
        assert process.returncode == 130
        assert process.stderr.read() == b"ge-opt: interrupted\n"
    assert list(tmp_path.iterdir()) == []


def test_output_does_not_depend_on_hash_seeds() -> None:
    text = BIG[: BIG.index("func.func @f50")]
    outputs = {ge_opt("-p", "canonicalize,cse", stdin=text, env={"PYTHONHASHSEED": seed}).stdout for seed in ("1", "2")}
    assert len(outputs) == 1


def test_version_and_help_load_no_compiler() -> None:
    loaded = "sorted({'xdsl', 'numpy', 'torch'} & set(sys.modules))"
    code = f"import sys; from ge_compiler.tools.ge_opt import main; main(['--help']); print({loaded})"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.endswith("[]\n")
    assert ge_opt("--version").stdout.startswith("ge-opt ")
