"""What a command says whose output goes nowhere."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ge_compiler.tools.ending import INTERRUPTED, status_of

COMMANDS = {"gec": "operators", "ge-opt": "--show-dialects"}


def outcome(command: str, redirection: str) -> tuple[int, str]:
    path = Path(sys.executable).parent / command
    result = subprocess.run(
        ["/bin/sh", "-c", f"'{path}' {COMMANDS[command]} {redirection}"], stderr=subprocess.PIPE, text=True, check=False
    )
    return result.returncode, result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_an_error(command: str) -> None:
    assert outcome(command, ">/dev/full") == (1, f"{command}: error: cannot write the output: No space left on device\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_output_is_an_error(command: str) -> None:
    assert outcome(command, ">&-") == (1, f"{command}: error: cannot write the output: standard output is closed\n")


def test_a_caller_can_be_interrupted_afterwards() -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    assert status_of("gec", interrupted) == INTERRUPTED
    assert signal.getsignal(signal.SIGINT) == before
