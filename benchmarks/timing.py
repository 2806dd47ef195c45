"""How long it takes to time programs, against the event simulation and against goals in milliseconds.

Models are compiled from the examples at the sizes named, with weights that have shapes but no bytes. Times are processor time, the
minimum of several runs. `timed` is the time of all distinct kernels, read already; `read` is what reading them from their instructions
takes; `cold` is the whole of `time_module` in a process that has seen none of them, and `again` in one that has seen all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

import torch
from common.models import bert, hollow, llama, shape_alone
from xdsl.dialects.builtin import ModuleOp

import ge_compiler as ge
from ge_compiler.dialects.fused import kernels
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import target_of
from ge_compiler.runtime.timing import KernelTime, time_module
from ge_compiler.runtime.timing.extract import read_kernel
from ge_compiler.runtime.timing.fold import Folding
from ge_compiler.runtime.timing.reference import simulate
from ge_compiler.runtime.timing.scoreboard import Board
from ge_compiler.runtime.timing.sharing import Sharing
from ge_compiler.tools.compilation import Options, lower

RUNS = 5
TARGET = "Ascend910B2"
SHARING = Path(__file__).parents[1] / "test/runtime/timing/test_sharing.py"
MATMUL = """\
func.func @main(%x: tensor<{m}x{k}xf16>, %w: tensor<{k}x{n}xf16>) -> tensor<{m}x{n}xf16> {{
  %0 = ge.MatMulV2 %x, %w : (tensor<{m}x{k}xf16>, tensor<{k}x{n}xf16>) -> tensor<{m}x{n}xf16>
  func.return %0 : tensor<{m}x{n}xf16>
}}
"""


def seconds(work: Callable[[], object], runs: int = RUNS) -> float:
    best = float("inf")
    for _ in range(runs):
        start = process_time()
        work()
        best = min(best, process_time() - start)
    return best


def line(what: str, value: float, sign: str, goal: float, unit: str = "ms") -> None:
    """A measured value beside its goal, and the one over the other."""
    missed = value > goal if sign == "<=" else value < goal
    print(f"  {what:<40}{value:>9.2f} {unit:<3} goal {sign} {goal:<6g}{value / goal:>7.2f} of it{'  MISSED' if missed else ''}")


def product(m: int, n: int, k: int) -> ModuleOp:
    *_, (_, module) = lower(parse_module(MATMUL.format(m=m, n=n, k=k)), Options(target=TARGET))
    return module


def bert_large() -> ModuleOp:
    return ge.compile(hollow(bert(24, 1024, 16, 4096)), (shape_alone((32, 512, 1024)),), target=TARGET).module()


def llama_step() -> ModuleOp:
    """Llama-7B: one token behind 511, with room for 512."""
    arguments = shape_alone((1, 1, 4096)), torch.tensor([511])
    return ge.compile(hollow(llama(32, 4096, 32, 32, 11008)), arguments, target=TARGET).module()


def timed(times: Sequence[KernelTime]) -> None:
    for time in times:
        Sharing(time.program, time.timing, time.traffic).run()


def measure(name: str, module: ModuleOp, goal: float) -> list[KernelTime]:
    """Prints how long timing a module takes. `goal` is in milliseconds."""
    start = process_time()
    program = time_module(module)
    cold = process_time() - start
    times = list({id(launch.kernel): launch.kernel for launch in program.launches}.values())
    functions, target = kernels(module), target_of(module)
    read = seconds(lambda: [read_kernel(kernel, target) for kernel in functions])
    again = seconds(lambda: time_module(module))
    launches = f"{len(program.launches)} launches of {len(times)} kernels"
    print(f"{name}: {launches}, {program.microseconds:,.0f} µs on {program.target}")
    line("timed", 1e3 * seconds(lambda: timed(times)), "<=", goal)
    print(f"  read {1e3 * read:.1f} ms, cold {1e3 * cold:.1f} ms, again {1e3 * again:.1f} ms")
    return times


def against_simulation(time: KernelTime) -> None:
    """The recurrence with folding, against the event simulation: the same cluster under the same costs, to the same tick."""
    cluster, costs, queue = time.outcome.board.cluster, time.outcome.phases[0].costs, time.program.overheads.queue
    board = Board(cluster, costs, queue, Folding())
    board.run()
    assert simulate(cluster, costs, queue) == board.end
    folded = seconds(lambda: Board(cluster, costs, queue, Folding()).run())
    simulated = seconds(lambda: simulate(cluster, costs, queue), 2)
    items = sum(stream.body.length for stream in cluster.streams)
    print(f"  one cluster folded {1e3 * folded:.1f} ms, simulated {1e3 * simulated:.0f} ms; evaluated {board.evaluated} of {items} items")
    line("faster than the event simulation", simulated / folded, ">=", 100, "x")


def along_k() -> None:
    """How the number of evaluated items grows with K."""
    evaluated = [time_module(product(3072, 256, k)).launches[0].kernel.outcome.board.evaluated for k in (4096, 262144)]
    print("matmul 3072x256, K = 4,096 and 262,144")
    line("evaluated items", evaluated[1] / evaluated[0], "<=", 2, "x")


def sharing() -> None:
    """Phase-static shares against fluid ones, on the kernels of the tests."""
    sys.path.insert(0, str(SHARING.parent))
    fluid: Any = import_module(SHARING.stem)
    part = fluid.Fraction
    cases = {
        "products and decoding": (
            0.02,
            [fluid.matmul(c, m) for c in ([(24, 40)], [(8, 30), (16, 20)], [(5, 24)]) for m in (part(1), part(3, 10), part(0))],
        ),
        "elementwise, two slots": (0.02, [fluid.elementwise(48, 60, 2, v) for v in (54, 600, 1200)]),
        "elementwise, one slot": (0.06, [fluid.elementwise(48, 60, 1, v) for v in (54, 600)]),
        "attention": (0.06, [fluid.attention(24, 40)]),
    }
    print("shares that are constant in a phase, against fluid ones")
    for name, (goal, made) in cases.items():
        line(name, 100 * max(abs(fluid.compare(one)) for one in made), "<=", 100 * goal, "%")


def main() -> None:
    (matmul,) = measure("matmul 8192x8192x8192", product(8192, 8192, 8192), 5)
    against_simulation(matmul)
    measure("BERT-Large, batch 32, 512 tokens, 24 layers", bert_large(), 50)
    measure("Llama-7B, a decoding step, 32 layers", llama_step(), 30)
    along_k()
    sharing()


if __name__ == "__main__":
    main()
