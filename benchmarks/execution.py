"""How fast programs execute, against numpy on whole tensors, PyTorch in f32, and the checked executor.

All times are of this process, on one thread, the minimum of interleaved runs; a ratio above its goal is marked. numpy does the same
arithmetic with the same conversions on whole tensors, in place where it can, from weights that are already in f32. Give the numbers of
workloads to run only those, `tiles` for small tiles, and `levels` for the speed of the checked executor at every level.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any, cast

import numpy as np
import torch
from threadpoolctl import threadpool_limits  # pyright: ignore[reportMissingTypeStubs]
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ge_compiler.dialects import fused
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import target_of
from ge_compiler.dialects.types import buffer_type
from ge_compiler.runtime.execute import Statistics, execute
from ge_compiler.runtime.lifted import Lifted
from ge_compiler.runtime.lifted.program import lift
from ge_compiler.tools import api
from ge_compiler.tools.conversions import convert_by_torch, use_torch_if_loaded

RUNS = 5
EXAMPLES = Path(__file__).parents[1] / "examples"
INSTRUCTIONS = 20_000
"""How many instructions the checked executor should execute in a second."""
SMALL_TILES = 10_000_000
"""How many instructions on tiles of 16 x 16 x 16 lifted execution should execute in a second."""
PREPARATION = 0.05
"""Seconds in which a kernel should be prepared."""

Array = np.ndarray[Any, Any]


# ---- numpy on whole tensors -------------------------------------------------------------------------------------------


def _convert(x: Array, dtype: Any) -> Array:
    out = np.empty(x.shape, dtype)
    convert_by_torch(out, x)
    return out


_P = (
    1.1283791065216064,
    0.1896607130765915,
    0.05266730859875679,
    0.0037380948197096586,
    0.00028505807858891785,
    2.0665368083427893e-06,
)
_Q = (1.0, 0.5014151930809021, 0.11381646245718002, 0.01491377130150795, 0.0011573182418942451, 3.827047476079315e-05)


def _polynomial(t: Array, coefficients: Sequence[float]) -> Array:
    value = t * np.float32(coefficients[-1])
    value += np.float32(coefficients[-2])
    for c in coefficients[-3::-1]:
        value *= t
        value += np.float32(c)
    return value


def gelu(x: Array) -> Array:
    """x / 2 · (1 + erf(x / √2)), in place."""
    u = x * np.float32(0.7071067811865476)
    np.clip(u, np.float32(-3.9), np.float32(3.9), out=u)
    t = u * u
    u *= _polynomial(t, _P)
    u /= _polynomial(t, _Q)
    np.clip(u, np.float32(-1), np.float32(1), out=u)
    u += np.float32(1)
    x *= np.float32(0.5)
    x *= u
    return x


def normalised(x: Array, gamma: Array, beta: Array, epsilon: float) -> Array:
    x -= x.mean(axis=-1, keepdims=True)
    variance = (x * x).mean(axis=-1, keepdims=True)
    x /= np.sqrt(variance + np.float32(epsilon))
    x *= gamma
    x += beta
    return x


class Weights:
    """The parameters of a model in f32, matrices as numpy multiplies them fastest."""

    def __init__(self, model: torch.nn.Module) -> None:
        rounded = {name: p.detach().half().float().numpy() for name, p in model.named_parameters()}
        self._arrays = {name: np.ascontiguousarray(a.T) if a.ndim == 2 else a for name, a in rounded.items()}

    def linear(self, x: Array, name: str) -> Array:
        y = np.matmul(x, self._arrays[f"{name}.weight"])
        y += self._arrays[f"{name}.bias"]
        return y

    def norm(self, x: Array, name: str, epsilon: float = 1e-12) -> Array:
        return normalised(x, self._arrays[f"{name}.weight"], self._arrays[f"{name}.bias"], epsilon)


def _rounded(x: Array) -> Array:
    """In f32, rounded to f16: what the next kernel reads."""
    return _convert(_convert(x, np.float16), np.float32)


def feed_forward(w: Weights, x: Array) -> Array:
    return _convert(gelu(w.linear(_convert(x, np.float32), "linear")), np.float16)


def mlp(w: Weights, x: Array) -> Array:
    hidden = _rounded(gelu(w.linear(_convert(x, np.float32), "fc1")))
    return _convert(w.linear(hidden, "fc2"), np.float16)


def bert(w: Weights, x16: Array, heads: int = 12) -> Array:
    x = _convert(x16, np.float32)
    batch, length, hidden = x.shape
    q, k, v = (_rounded(w.linear(x, f"attention.{name}")) for name in ("query", "key", "value"))
    q, k, v = (a.reshape(batch, length, heads, hidden // heads).transpose(0, 2, 1, 3) for a in (q, k, v))
    scores = np.matmul(q, k.swapaxes(-1, -2))
    scores *= np.float32((hidden // heads) ** -0.5)
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    total = scores.sum(axis=-1, keepdims=True)
    attended = np.matmul(_rounded(scores), v)
    attended /= total
    context = _rounded(np.ascontiguousarray(attended.transpose(0, 2, 1, 3))).reshape(batch, length, hidden)
    y = w.linear(context, "attention.output")
    y += x
    y = _rounded(w.norm(_rounded(y), "attention_norm"))
    z = w.linear(_rounded(gelu(w.linear(y, "feed_forward.expand"))), "feed_forward.contract")
    z += y
    return _convert(w.norm(_rounded(z), "output_norm"), np.float16)


# ---- workloads --------------------------------------------------------------------------------------------------------


class FeedForward(torch.nn.Module):
    """A linear layer and a GELU."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs)
        self.gelu = torch.nn.GELU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.gelu(self.linear(x))


@dataclass
class Workload:
    name: str
    model: Callable[[], torch.nn.Module]
    shape: tuple[int, ...]
    numpy: Callable[[Weights, Array], Array]
    goal: float
    """Against numpy."""
    is_checked: bool = False
    """Whether the checked executor takes part."""


WORKLOADS = {
    "1": Workload("matmul + bias + GELU 4096x1024x1024", lambda: FeedForward(1024, 1024), (4096, 1024), feed_forward, 1.25),
    "2": Workload("MLP 32x768 -> 3072 -> 768", lambda: import_module("mlp").SimpleMLP(), (32, 768), mlp, 1.4, True),
    "3": Workload("BERT-base layer, 128 tokens", lambda: import_module("bert_layer").BertLayer().eval(), (1, 128, 768), bert, 1.5, True),
    "4": Workload("BERT-Large matmul + GELU, 16,384 rows", lambda: FeedForward(1024, 4096), (16384, 1024), feed_forward, 1.2),
}


def seconds(candidates: dict[str, Callable[[], Any]], runs: int = RUNS) -> dict[str, float]:
    """The fastest run of each, taking turns."""
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(runs):
        for name, run in candidates.items():
            start = process_time()
            run()
            best[name] = min(best[name], process_time() - start)
    return best


def line(what: str, ratio: float, goal: float, *, faster: bool = False) -> None:
    """A measured ratio beside its goal."""
    missed = ratio < goal if faster else ratio > goal
    sign = ">=" if faster else "<="
    print(f"  {what:<52}{ratio:>8.2f} x   goal {sign} {goal:<5}{'  MISSED' if missed else ''}")


def measure(work: Workload, target: str) -> None:
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    model = work.model()
    x = np.random.default_rng(0).standard_normal(work.shape).astype(np.float16)
    program = api.compile(model, args=(torch.tensor(x),), dtype="f16", target=target)
    module, weights, xf = program.module(), Weights(model), torch.tensor(x).float()
    lifted = Lifted()
    (result,) = execute(module, [x], program.weights, lifted=lifted, statistics=(first := Statistics()))
    candidates: dict[str, Callable[[], Any]] = {
        "lifted": lambda: execute(module, [x], program.weights, lifted=lifted),
        "numpy": lambda: work.numpy(weights, x),
        "torch": lambda: model(xf),
    }
    best = seconds(candidates)
    truth = model(xf).detach().numpy()
    for name, value in (("lifted", result), ("numpy", work.numpy(weights, x))):
        error = float(np.max(np.abs(value.astype(np.float32) - truth)))
        assert error < 0.02, f"{name} is wrong by {error}"
    print(f"{work.name}, {target}: " + ", ".join(f"{name} {time * 1e3:.2f} ms" for name, time in best.items()))
    line("against numpy on whole tensors", best["lifted"] / best["numpy"], work.goal)
    line("against PyTorch in f32, one thread", best["lifted"] / best["torch"], 1.25)
    if work.is_checked:
        time = seconds({"checked": lambda: execute(module, [x], program.weights)}, 2)["checked"]
        line("faster than the checked executor", time / best["lifted"], 7, faster=True)
    slowest = max(map(preparation, fused.kernels(module)))
    print(
        f"  prepared in {1e3 * slowest:.0f} ms a kernel at most (goal {PREPARATION * 1e3:.0f}){'  MISSED' if slowest > PREPARATION else ''}"
    )
    scratch = lifted.scratch_bytes / 2**20
    print(
        f"  scratch {scratch:.1f} MB (goal 8){'  MISSED' if scratch > 8 else ''}, shadows of weights {lifted.shadows.bytes / 2**20:.1f} MB"
    )
    print(f"  lifted {sum(first.lifted.values())} of {sum(first.launches.values())} launches {first.not_lifted or ''}")


def preparation(kernel: FuncOp) -> float:
    """Seconds until the steps of a kernel are known."""
    shapes = [buffer_type(a.type).get_shape() for a in kernel.body.block.args]
    target = target_of(cast(ModuleOp, kernel.get_toplevel_object()))
    return seconds({"": lambda: lift(kernel, target, shapes, range(len(shapes)), (), None)}, 2)[""]


def small_tiles() -> None:
    """A product in tiles of 16 x 16 x 16: how many instructions that move or compute are executed in a second."""
    x = np.random.default_rng(0).standard_normal((512, 512)).astype(np.float16)
    sizes = {"m": 16, "n": 16, "k": 128, "k0": 16}
    program = api.compile(torch.nn.Linear(512, 512, bias=False), (torch.tensor(x),), dtype="f16", tiling={"MatMulV2": sizes})
    module, lifted = program.module(), Lifted()
    execute(module, [x], program.weights, lifted=lifted, statistics=(counted := Statistics()))
    moves = ("npu.load", "npu.load2d", "npu.mmad", "npu.fixpipe", "npu.store", "npu.v")
    count = sum(n for counts in counted.instructions.values() for name, n in counts.items() if name.startswith(moves))
    time = seconds({"": lambda: execute(module, [x], program.weights, lifted=lifted)})[""]
    missed = "" if count / time >= SMALL_TILES else "  MISSED"
    print(f"tiles of 16x16x16: {count / time / 1e6:.1f} million instructions a second (goal {SMALL_TILES / 1e6:.0f}){missed}")


def levels() -> None:
    """The example MLP at each level. Instructions are those that move or compute; ordering pipes costs nothing here."""
    x = np.random.default_rng(0).standard_normal((32, 768)).astype(np.float16)
    program = api.compile(WORKLOADS["2"].model(), args=(torch.tensor(x),), dtype="f16")
    print(f"{'level':<8}{'checked':<10}{'ms':>8}{'instructions':>14}{'a second':>12}")
    for level in program.levels:
        module = parse_module(program.text(level), level)
        for check in (True, False):
            execute(module, [x], program.weights, check=check, statistics=(counted := Statistics()))
            time = seconds({level: lambda m=module, c=check: execute(m, [x], program.weights, check=c)})[level]
            names = [pair for counts in counted.instructions.values() for pair in counts.items()]
            count = sum(n for name, n in names if name != "npu.pipe_barrier")
            slow = "  MISSED" if check and level in ("buf", "npu") and count / time < INSTRUCTIONS else ""
            print(f"{level:<8}{'yes' if check else 'no':<10}{time * 1e3:>8.1f}{count:>14,}{count / time:>12,.0f}{slow}")
    print(f"(goal: {INSTRUCTIONS:,} instructions a second at buf and npu, checked)")


def main() -> None:
    sys.path.insert(0, str(EXAMPLES))
    torch.set_num_threads(1)
    use_torch_if_loaded()
    asked = sys.argv[1:] or [*WORKLOADS, "tiles", "levels"]
    with threadpool_limits(1), torch.no_grad():
        for name in asked:
            if name in ("levels", "tiles"):
                levels() if name == "levels" else small_tiles()
                continue
            for target in ("Ascend910A", "Ascend910B2") if name in "23" else ("Ascend910B2",):
                measure(WORKLOADS[name], target)
                gc.collect()


if __name__ == "__main__":
    main()
