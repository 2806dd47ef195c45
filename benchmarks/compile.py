"""How long the MLP takes to compile, import to verified npu, against torch.compile: inductor, cold, its caches off.

Each compilation runs in a process of its own after PyTorch is imported and the model is made; the least of alternating runs counts.
torch's export, which every importer pays, is listed apart.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

RUNS = 3
LIMIT = 0.25
EXAMPLES = Path(__file__).parents[1] / "examples"


def timed(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def ours() -> dict[str, float]:
    """Seconds that export and the whole compilation take."""
    import torch
    from mlp import SimpleMLP  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

    import ge_compiler as ge

    model, x = SimpleMLP().half().eval(), torch.zeros(32, 768, dtype=torch.float16)  # pyright: ignore
    # The first export of a process loads what later ones share; it is PyTorch's cost, so it is paid on another model.
    torch.export.export(torch.nn.Linear(2, 2), (torch.zeros(2, 2),)).run_decompositions({})  # pyright: ignore
    export = timed(lambda: torch.export.export(model, (x,)).run_decompositions({}))  # pyright: ignore
    return {"export": export, "compile": timed(lambda: ge.compile(model, args=(x,)))}  # pyright: ignore


def inductor() -> dict[str, float]:
    """Seconds until the first call of the compiled model returns."""
    import torch
    from mlp import SimpleMLP  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

    model, x = SimpleMLP().half().eval(), torch.zeros(32, 768, dtype=torch.float16)  # pyright: ignore
    with torch.no_grad():
        return {"compile": timed(lambda: torch.compile(model)(x))}  # pyright: ignore


def child(name: str) -> dict[str, float]:
    """Run one side in a new process, with empty caches."""
    with TemporaryDirectory() as directory:
        caches = {"TORCHINDUCTOR_CACHE_DIR": directory, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
        environment = os.environ | caches | {"PYTHONPATH": str(EXAMPLES)}
        command = [sys.executable, __file__, name]
        return json.loads(subprocess.run(command, check=True, capture_output=True, env=environment).stdout.splitlines()[-1])


def main() -> None:
    results = [(child("ours"), child("inductor")) for _ in range(RUNS)]
    export = min(mine["export"] for mine, _ in results)
    whole = min(mine["compile"] for mine, _ in results)
    apart = min(mine["compile"] - mine["export"] for mine, _ in results)
    base = min(theirs["compile"] for _, theirs in results)
    print(f"{'':<44}{'s':>8}{'ratio':>8}{'limit':>8}")
    rows = {
        "torch.compile, inductor, cold": (base, 1.0),
        "torch.export, part of the next line": (export, LIMIT),
        "ge.compile, import to verified npu": (whole, LIMIT),
        "ge.compile without the export": (apart, LIMIT),
    }
    for name, (seconds, limit) in rows.items():
        print(f"{name:<44}{seconds:>8.2f}{seconds / base:>8.2f}{limit:>8.2f}{'' if seconds <= limit * base else '  OVER'}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps({"ours": ours, "inductor": inductor}[sys.argv[1]]()))
    else:
        main()
