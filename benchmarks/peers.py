"""Compiling and executing beside peers, on the example MLP, a BERT layer and twelve of them.

Compiling: ours, import to verified npu, against `torch.compile` with inductor, cold and with its caches off, and against torch-mlir + IREE
for this processor, if `pip install -r benchmarks/peers.txt` was run. Every compilation has a process of its own, begins when PyTorch is
imported and the model is made, and counts no tracing: ours and torch-mlir's not torch.export, inductor's not Dynamo. What was compiled
is not run. Executing: our fast mode against eager PyTorch in f32, both on one thread, models on 128 tokens.

The least of alternating runs counts: `wall` on the clock, `cpu` on all processors together. Name models to compare only those.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from common.measure import Time, compile_apart, last_line_of, least, timed
from common.models import bert, mlp

MODELS = ("mlp", "layer", "layers")
TITLES = {"mlp": "MLP", "layer": "BERT layer", "layers": "twelve BERT layers"}
SIDES = {"ours": "ge_compiler", "inductor": "torch.compile, inductor", "iree": "torch-mlir + IREE, llvm-cpu"}
GOALS = {"inductor": 0.25, "iree": 0.15}
"""Our compilation of twelve layers over the peer's."""
EXECUTION_GOAL = 1.25


def model_and_input(name: str) -> tuple[Any, Any]:
    """A model in f16 and an example input."""
    import torch

    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    build, shape = {"mlp": (mlp, (32, 768)), "layer": (bert(1), (1, 128, 768)), "layers": (bert(12), (1, 128, 768))}[name]
    return build().half().eval(), torch.zeros(shape, dtype=torch.float16)


# ---- compiling, each in a process of its own --------------------------------------------------------------------------


def ours(name: str) -> Time:
    model, x = model_and_input(name)
    return compile_apart(model, (x,))[2]


class _Compiled(Exception):
    """The compilation is over."""


def inductor(name: str) -> Time:
    import torch
    from torch._dynamo.backends.registry import lookup_backend

    model, x = model_and_input(name)
    compile_graph, spent = lookup_backend("inductor"), list[Time]()

    def timed_backend(graph: Any, inputs: Any) -> Any:
        spent.append(timed(lambda: compile_graph(graph, inputs))[1])
        return stop

    def stop(*_: Any) -> Any:
        raise _Compiled  # products in f16 would take minutes here

    with torch.no_grad(), suppress(_Compiled):
        torch.compile(model, backend=timed_backend)(x)  # pyright: ignore[reportUnknownMemberType]
    (time,) = spent
    return time


def iree(name: str) -> Time:
    """Weights are arguments, which spares IREE reading and folding them."""
    import torch

    make_importer: Any = import_module("iree.compiler.extras.fx_importer").FxImporter
    compile_text: Any = import_module("iree.compiler.tools").compile_str
    model, x = model_and_input(name)
    weights = dict(model.named_parameters())

    class WithArguments(torch.nn.Module):
        def forward(self, x: Any, *values: Any) -> Any:
            return torch.func.functional_call(model, dict(zip(weights, values, strict=True)), (x,))  # pyright: ignore

    with torch.no_grad():
        traced = torch.export.export(WithArguments(), (x, *weights.values()))
        exported = traced.run_decompositions({})  # pyright: ignore[reportUnknownMemberType]

    def compile_exported() -> bytes:
        importer = make_importer()
        importer.import_program(exported)
        options = ["--iree-llvmcpu-target-cpu=host"]
        return compile_text(str(importer.module), input_type="torch", target_backends=["llvm-cpu"], extra_args=options)

    return timed(compile_exported)[1]


def child(side: str, name: str) -> Time:
    """Runs one side in a new process, with empty caches."""
    with TemporaryDirectory() as directory:
        caches = {"TORCHINDUCTOR_CACHE_DIR": directory, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
        return Time(*json.loads(last_line_of([__file__, "--child", side, name], os.environ | caches)))


def compiling(names: Sequence[str], runs: int) -> None:
    sides = [side for side in SIDES if side != "iree" or find_spec("iree") is not None]
    print(f"{'compiling, beyond tracing':<24}{'':<30}{'wall, s':>9}{'cpu, s':>9}{'ours / it: wall':>17}{'cpu':>7}{'goal':>8}")
    for name in names:
        rounds = [{side: child(side, name) for side in sides} for _ in range(runs)]
        best = {side: least([one[side] for one in rounds]) for side in sides}
        mine = best["ours"]
        for side, time in best.items():
            row = f"{TITLES[name]:<24}{SIDES[side]:<30}{time.wall:>9.2f}{time.cpu:>9.2f}"
            if side != "ours":
                ratio, goal = mine.wall / time.wall, GOALS[side] if name == "layers" else None
                row += f"{ratio:>17.2f}{mine.cpu / time.cpu:>7.2f}"
                row += "" if goal is None else f"{'<= ' + str(goal):>8}{'  MISSED' if ratio > goal else ''}"
            print(row, flush=True)
    if "iree" not in sides:
        print("(torch-mlir + IREE is not installed: pip install -r benchmarks/peers.txt)")


# ---- executing --------------------------------------------------------------------------------------------------------


def executing(names: Sequence[str], runs: int) -> None:
    import torch
    from threadpoolctl import threadpool_limits  # pyright: ignore[reportMissingTypeStubs]

    from ge_compiler.tools.conversions import use_torch_if_loaded

    torch.set_num_threads(1)
    use_torch_if_loaded()
    print(f"\n{'executing, one thread':<24}{'ours, ms':>10}{'eager f32, ms':>15}{'ours / it':>11}{'goal':>9}")
    with threadpool_limits(1), torch.no_grad():
        for name in names:
            mine, eager = execution(name, runs)
            ratio = mine / eager
            row = f"{TITLES[name]:<24}{1e3 * mine:>10.2f}{1e3 * eager:>15.2f}{ratio:>11.2f}{'<= ' + str(EXECUTION_GOAL):>9}"
            print(row + ("  MISSED" if ratio > EXECUTION_GOAL else ""), flush=True)


def execution(name: str, runs: int) -> tuple[float, float]:
    """Seconds of processor time that our fast mode and eager PyTorch in f32 take."""
    import torch

    from ge_compiler.runtime.execute import execute
    from ge_compiler.runtime.lifted import Lifted

    model, x = model_and_input(name)
    x = torch.randn_like(x)
    program, *_ = compile_apart(model, (x,))
    module, array, lifted = program.module(), x.numpy(), Lifted()
    model, x = model.float(), x.float()
    best = [float("inf"), float("inf")]
    for _ in range(runs + 1):  # the first prepares what later ones keep
        for i, run in enumerate((lambda: execute(module, [array], program.weights, lifted=lifted), lambda: model(x))):
            start = process_time()
            run()
            best[i] = min(best[i], process_time() - start)
    return best[0], best[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help=f"of {', '.join(MODELS)}; all by default")
    parser.add_argument("--runs", type=int, default=3, help="how often everything is measured")
    parser.add_argument("--child", metavar="SIDE", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.models or MODELS
    if unknown := set(names) - set(MODELS):
        parser.error(f"no such model: {', '.join(sorted(unknown))}")
    if options.child:
        print(json.dumps({"ours": ours, "inductor": inductor, "iree": iree}[options.child](names[0])))
        return
    compiling(names, options.runs)
    executing(names, max(5, options.runs))


if __name__ == "__main__":
    main()
