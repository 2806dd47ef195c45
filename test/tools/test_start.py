"""The commands as processes of their own, interrupted while they start."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

INTERRUPTED = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from ge_compiler.tools.start import {command}
sys.exit({command}())
"""


@pytest.mark.parametrize(
    ("command", "module"), [("ge_opt", "ge_compiler.tools.ge_opt"), ("gec", "ge_compiler.tools.gec"), ("ge_opt", "xdsl.dialects.builtin")]
)
def test_an_interrupt_while_modules_are_imported_prints_no_traceback(command: str, module: str) -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED.format(command=command, module=module)], capture_output=True, text=True)
    assert done.returncode in (-signal.SIGINT, 130)
    assert "Traceback" not in done.stderr
