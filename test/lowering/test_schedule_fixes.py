"""An illegal schedule is refused with the smallest fix, and the fix works."""

from __future__ import annotations

import random
import re

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ge_compiler.dialects import fused, tile
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.parser import parse_module
from ge_compiler.lowering.select_schedule import SelectSchedulePass

KERNELS = {
    "matmul": """
        func.func private @k(%a: tensor<300x5000xf16>, %w: tensor<5000x4000xf16>) -> tensor<300x4000xf32> {
          %0 = fused.matmul %a, %w : (tensor<300x5000xf16>, tensor<5000x4000xf16>) -> tensor<300x4000xf32>
          %1 = fused.gelu %0 : tensor<300x4000xf32>
          func.return %1 : tensor<300x4000xf32>
        }""",
    "integers": """
        func.func private @k(%a: tensor<2x900x3000xi8>, %w: tensor<900x4000xi8>) -> tensor<2x3000x4000xi32> {
          %0 = fused.matmul %a, %w {transpose_a} : (tensor<2x900x3000xi8>, tensor<900x4000xi8>) -> tensor<2x3000x4000xi32>
          func.return %0 : tensor<2x3000x4000xi32>
        }""",
    "vector": """
        func.func private @k(%x: tensor<3000x4000xf32>, %y: tensor<4000xf32>) -> tensor<3000x4000xf32> {
          %0 = fused.tanh %x : tensor<3000x4000xf32>
          %1 = fused.broadcast %y along [1] : tensor<4000xf32> to tensor<3000x4000xf32>
          %2 = fused.add %0, %1 : tensor<3000x4000xf32>
          func.return %2 : tensor<3000x4000xf32>
        }""",
}
SIZES = (1, 5, 16, 17, 48, 64, 100, 128, 256, 300, 512, 1000, 2048, 4096)


def kernel_of(module: ModuleOp) -> FuncOp:
    (kernel,) = fused.kernels(module)
    return kernel


def refusal(text: str, schedule: dict[str, int]) -> str | None:
    """Why the schedule is refused, `None` if it is legal; keys that are given stay as they are."""
    module = parse_module(text, "k.mlir")
    kernel_of(module).attributes[tile.SCHEDULE_ATTRIBUTE] = tile.ScheduleAttr.of(schedule)
    try:
        SelectSchedulePass().apply(Context(), module)
    except CompileError as error:
        return str(error)
    chosen = tile.schedule_of(kernel_of(module))
    assert chosen is not None
    assert schedule.items() <= chosen.values().items()
    return None


FIX = re.compile(r"smallest fix: (\w+) = (\d+)(?: and (\w+) = (\d+))?|lower (k0) to (\d+)|multiple of \d+; (use) (\d+)|use (l1) = (\d+)")


def fixed(schedule: dict[str, int], message: str) -> dict[str, int]:
    """The schedule with what the message proposes."""
    if (dropped := re.search(r"leave (\w+(?: and \w+)*) out, so", message)) is not None:
        return {key: value for key, value in schedule.items() if key not in dropped[1].split(" and ")}
    match = FIX.search(message)
    assert match is not None, message
    words = [word for word in match.groups() if word is not None]
    changes = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    if "use" in changes:
        changes["k0"] = changes.pop("use")
    return schedule | changes


def drawn(rng: random.Random, kernel: str) -> dict[str, int]:
    keys = ("m", "n") if kernel == "vector" else ("m", "n", "k", "k0")
    given = [key for key in keys if rng.random() < 0.8] or ["m"]
    return {key: rng.choice(SIZES) for key in given}


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_smallest_fix_works(kernel: str) -> None:
    rng = random.Random(kernel)
    refused = 0
    for _ in range(15):
        schedule = drawn(rng, kernel)
        message = refusal(KERNELS[kernel], schedule)
        if message is None:
            continue
        refused += 1
        assert message.startswith("k.mlir:2:"), "the place of the kernel"
        seen: list[str] = []
        # A broken rule comes before a full memory; the fix of the latter leaves nothing to say.
        while message is not None:
            assert not seen or "smallest fix" not in seen[-1], f"{seen[-1]}\nled to {schedule}:\n{message}"
            assert len(seen) < 3, f"{seen}\nled to {schedule}:\n{message}"
            seen.append(message)
            schedule = fixed(schedule, message)
            message = refusal(KERNELS[kernel], schedule)
    assert refused > 2, "the draw is too tame to test anything"
