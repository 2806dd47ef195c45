"""gec in process: arguments in, exit status and output out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ge_compiler.tools.gec import main

MODELS = Path(__file__).with_name("models.py")


@dataclass(frozen=True)
class Outcome:
    """What one run left."""

    status: int
    out: str
    err: str


Gec = Callable[..., Outcome]


@pytest.fixture
def gec(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gec:
    """Runs gec in an empty folder that holds `models.py`."""
    (tmp_path / "models.py").write_bytes(MODELS.read_bytes())
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Outcome:
        capsys.readouterr()
        status = main(list(arguments))
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return run
