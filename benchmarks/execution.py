"""How fast each level of the example MLP executes: the minimum of some runs, in time of this process, checked and unchecked.

Instructions are those that move or compute; ordering pipes costs nothing here. The goal is 20,000 a second where memory is checked.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from ge_compiler.dialects.parser import parse_module
from ge_compiler.runtime.execute import Statistics, execute
from ge_compiler.tools import api

RUNS = 7
GOAL = 20_000
EXAMPLES = Path(__file__).parents[1] / "examples"


def seconds(program: api.Program, level: str, x: np.ndarray, check: bool) -> tuple[float, int]:
    """The fastest run and how many instructions it executed. The module comes from its text, as from a file."""
    module = parse_module(program.text(level), level)
    best, counted = float("inf"), Statistics()
    for _ in range(RUNS):
        counted = Statistics()
        start = process_time()
        execute(module, [x], program.weights, check=check, statistics=counted)
        best = min(best, process_time() - start)
    names = [(name, count) for counts in counted.instructions.values() for name, count in counts.items()]
    return best, sum(count for name, count in names if name != "npu.pipe_barrier")


def main() -> None:
    sys.path.insert(0, str(EXAMPLES))
    import torch

    x = np.random.default_rng(0).standard_normal((32, 768)).astype(np.float16)
    model: Any = import_module("mlp").SimpleMLP()
    program = api.compile(model, args=(torch.tensor(x),), dtype="f16")
    print(f"{'level':<8}{'checked':<10}{'ms':>8}{'instructions':>14}{'a second':>12}")
    for level in program.levels:
        for check in (True, False):
            time, count = seconds(program, level, x, check)
            slow = "  BELOW GOAL" if check and level in ("buf", "npu") and count / time < GOAL else ""
            print(f"{level:<8}{'yes' if check else 'no':<10}{time * 1e3:>8.1f}{count:>14,}{count / time:>12,.0f}{slow}")


if __name__ == "__main__":
    main()
