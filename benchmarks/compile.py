"""How long models take to compile, import to verified npu: the MLP against inductor, and twelve equal layers against one.

inductor is `torch.compile`, cold, its caches off. Each compilation runs in a process of its own after PyTorch is imported and the model is
made; the least of alternating runs counts. torch's export, which every importer pays, is listed apart. Layers have weights without bytes;
their times are of the processor.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Any

import torch
from common.measure import Time, compile_apart, last_line_of, least, timed
from common.models import bert, hollow, llama, mlp, shape_alone

RUNS = 3
LIMIT = 0.25
TIME_LIMIT, TEXT_LIMIT = 1.5, 2.0
"""Twelve layers over one."""
MANY = 12


def mlp_and_input() -> tuple[Any, torch.Tensor]:
    return mlp().half().eval(), torch.zeros(32, 768, dtype=torch.float16)


def ours() -> dict[str, Time]:
    """The time of the export, and of the rest of the compilation."""
    # The first export of a process loads what later ones share; it is PyTorch's cost, so it is paid on another model.
    torch.export.export(torch.nn.Linear(2, 2), (torch.zeros(2, 2),)).run_decompositions({})  # pyright: ignore[reportUnknownMemberType]
    model, x = mlp_and_input()
    _, export, rest = compile_apart(model, (x,))
    return {"export": export, "rest": rest}


def inductor() -> dict[str, Time]:
    """The time until the first call of the compiled model returns."""
    model, x = mlp_and_input()
    with torch.no_grad():
        return {"whole": timed(lambda: torch.compile(model)(x))[1]}  # pyright: ignore[reportUnknownMemberType]


def bert_layers(count: int) -> tuple[Any, tuple[torch.Tensor, ...]]:
    return hollow(bert(count)), (shape_alone((2, 128, 768)),)


def llama_layers(count: int) -> tuple[Any, tuple[torch.Tensor, ...]]:
    return hollow(llama(count)), (shape_alone((1, 128, 1024)), torch.zeros(1, dtype=torch.int64))


LAYERS: dict[str, Callable[[int], tuple[Any, tuple[torch.Tensor, ...]]]] = {"BERT": bert_layers, "Llama": llama_layers}


def layers(name: str, count: int) -> tuple[Time, int]:
    """The time of a compilation without the export, and how long the text of its instructions is."""
    program, _, rest = compile_apart(*LAYERS[name](count))
    return rest, len(program.text("npu"))


def child(*arguments: str) -> Any:
    """What one side measures in a new process, with empty caches."""
    with TemporaryDirectory() as directory:
        caches = {"TORCHINDUCTOR_CACHE_DIR": directory, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
        return json.loads(last_line_of([__file__, *arguments], os.environ | caches))


def line(name: str, value: float, ratio: float, limit: float, unit: str = "s") -> None:
    print(f"{name:<52}{value:>8.2f} {unit:<3}{ratio:>8.2f}{limit:>8.2f}{'' if ratio <= limit else '  OVER'}", flush=True)


def against_inductor() -> None:
    rounds = [(child("ours"), child("inductor")) for _ in range(RUNS)]
    export, rest = (min(Time(*mine[part]).wall for mine, _ in rounds) for part in ("export", "rest"))
    base = min(Time(*theirs["whole"]).wall for _, theirs in rounds)
    print(f"{'MLP':<52}{'':>12}{'ratio':>8}{'limit':>8}")
    line("torch.compile, inductor, cold", base, 1.0, 1.0)
    line("torch.export, part of the next line", export, export / base, LIMIT)
    line("ge.compile, import to verified npu", export + rest, (export + rest) / base, LIMIT)
    line("ge.compile without the export", rest, rest / base, LIMIT)


def twelve_against_one() -> None:
    print(f"\n{MANY} layers over one, without the export")
    for name in LAYERS:
        rounds = [[child("layers", name, str(count)) for count in (1, MANY)] for _ in range(RUNS)]
        one, many = (least([Time(*measured[i][0]) for measured in rounds]).cpu for i in (0, 1))
        line(f"{name}: compilation, {one:.2f} s for one", many, many / one, TIME_LIMIT)
        one, many = (rounds[0][i][1] / 1000 for i in (0, 1))
        line(f"{name}: text at npu, {one:.0f} kB for one", many, many / one, TEXT_LIMIT, "kB")


def main() -> None:
    match sys.argv[1:]:
        case ["ours"]:
            print(json.dumps(ours()))
        case ["inductor"]:
            print(json.dumps(inductor()))
        case ["layers", name, count]:
            print(json.dumps(layers(name, int(count))))
        case ["--layers"]:
            twelve_against_one()
        case _:
            against_inductor()
            twelve_against_one()


if __name__ == "__main__":
    main()
