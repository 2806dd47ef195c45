"""Random loops that carry tiles: whatever `bufferize-tile` accepts computes the same bits in buffers, with memory planned tightly."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from ge_compiler import dialects
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.parser import parse_module
from ge_compiler.runtime.execute import execute
from ge_compiler.tools.opt.pass_manager import PassManager

TO_BUF = "multi-buffer,plan-memory,verify-memory"
TO_NPU = "convert-buf-to-npu,insert-sync{mode=flags},remove-redundant-sync,allocate-events,verify-sync"

TYPES = {shape: f"tensor<{shape}xf32, #npu.mem<ub>>" for shape in ("8x8", "8x1")}
Value = tuple[str, str]
"""The name and the shape of a tile."""


@dataclass
class Program:
    """Writes lines; loops carry two or three tiles and may hold a loop that carries one of theirs on."""

    random: random.Random
    lines: list[str] = field(default_factory=list[str])
    count: int = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def add(self, shape: str, text: str) -> Value:
        name = self.name()
        self.lines.append(f"{name} = {text}")
        return name, shape

    def start(self, shape: str) -> Value:
        rows, columns = shape.split("x")
        return self.add(shape, f"tile.full {self.random.randint(-2, 2)}.5 : f32 valid [{rows}, {columns}] to {TYPES[shape]}")

    def op(self, values: list[Value]) -> Value:
        """An op on some of `values`."""
        x, shape = self.random.choice(values[-4:])
        y, other = self.random.choice(values)
        t, u = TYPES[shape], TYPES[other]
        match self.random.randrange(6):
            case 0:
                return self.add("8x1", f"tile.reduce <max> {x} along 1 : {t} to {TYPES['8x1']}")
            case 1:
                return self.add(shape, f"tile.broadcast {x} valid [8, {shape[2:]}] : {t} to {t}")
            case 2:
                return self.add("8x8", f"tile.transpose {x} : {t} to {t}") if shape == "8x8" else self.op(values)
            case _:
                wide = max(shape, other, key=lambda s: int(s[2:]))
                return self.add(wide, f"tile.{self.random.choice(['add', 'sub', 'max'])} {x}, {y} : {t}, {u} -> {TYPES[wide]}")

    def loop(self, starts: list[Value], depth: int) -> list[Value]:
        """A loop that carries `starts` on."""
        results, carried = [self.name() for _ in starts], [(self.name(), shape) for _, shape in starts]
        types = ", ".join(TYPES[shape] for _, shape in starts)
        pairs = ", ".join(f"{name} = {start}" for (name, _), (start, _) in zip(carried, starts, strict=True))
        i = self.name()
        self.lines.append(f"{', '.join(results)} = scf.for {i} = %c0 to %c{3 - depth} step %c1 iter_args({pairs}) -> ({types}) {{")
        values = list(carried)
        values.append(self.add("8x8", f"tile.load %x[{i}, 0] valid [8, 8] : tensor<16x8xf32> to {TYPES['8x8']}"))
        for _ in range(self.random.randint(2, 6)):
            if depth < 2 and self.random.random() < 0.15:
                values += self.loop([self.random.choice(values)], depth + 1)
            else:
                values.append(self.op(values))
        # A copy behind everything may always be carried on; what is made last often may.
        yielded: list[Value] = []
        for name, shape in carried:
            last = next((value for value in reversed(values[len(carried) :]) if value[1] == shape and value not in yielded), None)
            if last is None or self.random.random() < 0.3:
                last = self.add(shape, f"tile.broadcast {(last or (name,))[0]} valid [8, {shape[2:]}] : {TYPES[shape]} to {TYPES[shape]}")
            yielded.append(last)
        self.lines.append(f"scf.yield {', '.join(name for name, _ in yielded)} : {types}")
        self.lines.append("}")
        return [(name, shape) for name, (_, shape) in zip(results, starts, strict=True)]

    def text(self) -> str:
        starts = [self.start(shape) for shape in self.random.choices(["8x8", "8x1"], k=self.random.randint(2, 3))]
        results = self.loop(starts, 0)
        total = self.start("8x8")
        for name, shape in results:
            total = self.add("8x8", f"tile.add {total[0]}, {name} : {TYPES['8x8']}, {TYPES[shape]} -> {TYPES['8x8']}")
        self.lines.append(f"tile.store {total[0]} into %y[0, 0] : {TYPES['8x8']} into tensor<8x8xf32>")
        constants = "\n".join(f"%c{i} = arith.constant {i} : index" for i in range(4))
        body = "\n".join(self.lines)
        return f"""
module attributes {{ge.target = "Ascend910A"}} {{
  func.func private @k(%x: tensor<16x8xf32>, %y: tensor<8x8xf32>) {{
    {constants}
    tile.grid_loop %t (%block) in (1) {{
      {body}
    }}
    func.return
  }}
  func.func @main(%x: tensor<16x8xf32>) -> tensor<8x8xf32> {{
    %e = tensor.empty() : tensor<8x8xf32>
    %y = fused.launch @k(%x) into (%e) on aicore {{ops = ["k"], op_name = "k"}}
      : (tensor<16x8xf32>) into (tensor<8x8xf32>) -> tensor<8x8xf32>
    func.return %y : tensor<8x8xf32>
  }}
}}
"""


def _bits(text: str) -> Iterator[bytes]:
    """The result at `tile`, and further down if `bufferize-tile` takes the program."""
    x = np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32)
    module = parse_module(text)
    yield execute(module, [x], {})[0].tobytes()
    try:
        PassManager("bufferize-tile").run(dialects.context(), module)
    except CompileError as error:
        if any(part in error.message for part in ("used again", "a tile in another buffer")):
            return
        raise
    for steps in (TO_BUF, TO_NPU):
        PassManager(steps).run(dialects.context(), module)
        yield execute(module, [x], {})[0].tobytes()


@pytest.mark.parametrize("part", range(2))
def test_random_loops(part: int) -> None:
    accepted = 0
    for seed in range(part * 30, part * 30 + 30):
        text = Program(random.Random(seed)).text()
        bits = list(_bits(text))
        assert len(set(bits)) == 1, f"seed {seed}:\n{text}"
        accepted += len(bits) == 3
    assert accepted >= 5, "enough programs to say something"
