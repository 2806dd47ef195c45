"""gec as a process: an interrupt, the same bytes whatever the hash seed, and what help imports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

MODELS = Path(__file__).with_name("models.py")
GEC = (sys.executable, "-W", "ignore", "-m", "ge_compiler.tools.gec")


def start(folder: Path, *arguments: str, hash_seed: str = "0") -> subprocess.Popen[str]:
    (folder / "models.py").write_bytes(MODELS.read_bytes())
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    return subprocess.Popen([*GEC, *arguments], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_an_interrupt_ends_it_quietly(tmp_path: Path) -> None:
    process = start(tmp_path, "compile", "models.py:sleeps", "--input", "x=f16[5,24]", "-o", "m.om")
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stderr.readline() == "sleeping\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "gec: interrupted\n")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["models.py"]


def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    written: list[bytes] = []
    for seed in ("1", "2"):
        process = start(tmp_path, "compile", "models.py:Two", "--input", "x=f16[5,8]", "--input", "y=f16[8]", "-o", "m.om", hash_seed=seed)
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        written.append((tmp_path / "m.om").read_bytes())
    assert written[0] == written[1]


def test_help_comes_without_torch_and_numpy() -> None:
    program = (
        "import sys; from ge_compiler.tools.gec import main; main(['--help']); print([m for m in ('torch', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")
