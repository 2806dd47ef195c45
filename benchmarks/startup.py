"""How long ge-opt takes to start, against xdsl-opt on the same empty module: the minimum of alternating runs of real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

RUNS = 15
BIN = Path(sys.executable).parent
EMPTY = "builtin.module {\n}\n"
THREE_OPS = """\
func.func @main(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %0 = ge.Relu %x : (tensor<4x8xf16>) -> tensor<4x8xf16>
  %1 = ge.Add %0, %x : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x8xf16>
  %2 = ge.Relu %1 : (tensor<4x8xf16>) -> tensor<4x8xf16>
  func.return %2 : tensor<4x8xf16>
}
"""


def with_bytecode(directory: str) -> dict[str, str]:
    """The environment, with bytecode kept in `directory`: xDSL's is installed with it, but a tree that is edited may have none."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "PYTHONPYCACHEPREFIX": directory}


def seconds(command: list[str], environment: dict[str, str]) -> float:
    """Wall time of one run. Raises `CalledProcessError` where it fails: a failure is no measurement."""
    start = perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return perf_counter() - start


def main() -> None:
    with TemporaryDirectory() as directory:
        empty, three = Path(directory, "empty.mlir"), Path(directory, "three.mlir")
        empty.write_text(EMPTY)
        three.write_text(THREE_OPS)
        commands = {
            "xdsl-opt, empty module": [str(BIN / "xdsl-opt"), str(empty)],
            "ge-opt, empty module": [str(BIN / "ge-opt"), str(empty)],
            "ge-opt -p to-fused, three ops": [str(BIN / "ge-opt"), str(three), "-p", "to-fused"],
        }
        environment = with_bytecode(directory)
        best = dict.fromkeys(commands, float("inf"))
        for _ in range(RUNS):
            for name, command in commands.items():
                best[name] = min(best[name], seconds(command, environment))
    limits = dict(zip(commands, (1.0, 1.2, 2.0), strict=True))
    base = best["xdsl-opt, empty module"]
    print(f"{'':<32}{'ms':>8}{'ratio':>8}{'limit':>8}")
    for name, time in best.items():
        print(f"{name:<32}{time * 1e3:>8.1f}{time / base:>8.2f}{limits[name]:>8.1f}{'' if time <= limits[name] * base else '  OVER'}")


if __name__ == "__main__":
    main()
