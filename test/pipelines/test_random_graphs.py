"""Random kernels of `fused` primitives (views, reductions, broadcasts, selects, indexing), tiled by random schedules: all levels agree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ge_compiler import dialects
from ge_compiler.dialects import fused, tile
from ge_compiler.dialects.parser import parse_module
from ge_compiler.runtime.accuracy import identical, measure
from ge_compiler.runtime.execute import Statistics, execute
from ge_compiler.runtime.lifted import Lifted
from ge_compiler.runtime.lifted.tracing import STEP_LIMIT
from ge_compiler.tools.opt.pass_manager import PassManager
from ge_compiler.transforms.iteration.accesses import NoDomain
from ge_compiler.transforms.iteration.domain import domain_of

Array = np.ndarray[Any, Any]
CHIPS = ("Ascend910A", "Ascend910B2", str(Path(__file__).parents[2] / "examples" / "my_npu.toml"))
UNARY: dict[str, Callable[[Array], Array]] = {"neg": np.negative, "abs": np.abs, "relu": lambda x: np.maximum(x, 0), "exp": np.exp}
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}
COMPARE: dict[str, Callable[[Array, Array], Array]] = {"lt": np.less, "ge": np.greater_equal}
REDUCE: dict[str, Callable[..., Array]] = {"sum": np.sum, "max": np.max, "min": np.min}
LARGEST = 30.0
"""What `exp` is applied to stays below."""


def _type(x: Array) -> str:
    elements = {"b": "i1", "i": "i64", "f": "f32"}[x.dtype.kind]
    return f"tensor<{''.join(f'{d}x' for d in x.shape)}{elements}>"


@dataclass
class Kernel:
    """The text of a kernel, the arguments that it has asked for, and the f64 value of everything in it."""

    draw: Any
    lines: list[str] = field(default_factory=list[str])
    arguments: list[Array] = field(default_factory=list[Array])
    values: dict[str, Array] = field(default_factory=dict[str, Array])

    def argument(self, shape: tuple[int, ...]) -> str:
        generator = np.random.default_rng(self.draw(st.integers(0, 2**16)))
        array = generator.standard_normal(shape).astype(np.float32)
        return self.given(array, array.astype(np.float64))

    def given(self, array: Array, value: Array) -> str:
        name = f"%a{len(self.arguments)}"
        self.arguments.append(array)
        self.values[name] = value
        return name

    def apply(self, text: str, value: Array) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        self.values[name] = value
        return name

    def type(self, name: str) -> str:
        return _type(self.values[name])

    # ---- steps: each makes a value of another one

    def unary(self, x: str) -> str:
        name = self.draw(st.sampled_from(sorted(UNARY)))
        largest = float(np.max(np.abs(self.values[x]), initial=0.0))
        if name == "exp" and not largest < LARGEST:
            name = "neg"
        return self.apply(f"fused.{name} {x} : {self.type(x)}", UNARY[name](self.values[x]))

    def binary(self, x: str) -> str:
        name, other = self.draw(st.sampled_from(sorted(BINARY))), self.partner(x)
        if not float(np.max(np.abs(self.values[x]), initial=0.0)) < 1e6:
            name = "max"
        return self.apply(f"fused.{name} {x}, {other} : {self.type(x)}", BINARY[name](self.values[x], self.values[other]))

    def partner(self, x: str) -> str:
        """A value of the same shape: a known one, or an argument that is repeated."""
        alike = [v for v, known in self.values.items() if known.shape == self.values[x].shape and known.dtype.kind == "f"]
        if self.draw(st.booleans()):
            return self.draw(st.sampled_from(alike))
        shape = self.values[x].shape
        kept = sorted(self.draw(st.sets(st.integers(0, len(shape) - 1)))) if shape else []
        return self.repeated(self.argument(tuple(shape[d] for d in kept)), shape, kept)

    def repeated(self, x: str, shape: tuple[int, ...], kept: list[int]) -> str:
        value = np.broadcast_to(self.values[x].reshape([n if d in kept else 1 for d, n in enumerate(shape)]), shape)
        return self.apply(f"fused.broadcast {x} along {kept} : {self.type(x)} to {_type(value)}", value)

    def chosen(self, x: str) -> str:
        name, other = self.draw(st.sampled_from(sorted(COMPARE))), self.partner(x)
        # Without arithmetic between them, f64 and f32 compare alike.
        left, right = self.argument(self.values[x].shape), self.argument(self.values[x].shape)
        condition = np.asarray(COMPARE[name](self.values[left], self.values[right]))
        mask = self.apply(f"fused.{name} {left}, {right} : {self.type(left)} to {_type(condition)}", condition)
        value = np.where(condition, self.values[x], self.values[other])
        return self.apply(f"fused.select {mask}, {x}, {other} : {self.type(mask)}, {_type(value)}", value)

    def reshape(self, x: str) -> str:
        shape = list(self.values[x].shape)
        if len(shape) > 1 and self.draw(st.booleans()):
            at = self.draw(st.integers(0, len(shape) - 2))
            shape[at : at + 2] = [shape[at] * shape[at + 1]]
        elif shape:
            at = self.draw(st.integers(0, len(shape) - 1))
            inner = self.draw(st.sampled_from([d for d in range(1, shape[at] + 1) if shape[at] % d == 0] or [1]))
            shape[at : at + 1] = [shape[at] // inner, inner]
        else:
            shape = [1]
        return self.apply(f"fused.reshape {x} : {self.type(x)} to {_type(self.values[x].reshape(shape))}", self.values[x].reshape(shape))

    def transpose(self, x: str) -> str:
        order = self.draw(st.permutations(range(self.values[x].ndim)))
        value = self.values[x].transpose(order)
        return self.apply(f"fused.transpose {x} permutation {list(order)} : {self.type(x)} to {_type(value)}", value)

    def slice(self, x: str) -> str:
        cuts: list[slice] = []
        for size in self.values[x].shape:
            first = self.draw(st.integers(0, max(size - 1, 0)))
            cuts.append(slice(first, self.draw(st.integers(first, size)), self.draw(st.integers(1, 2))))
        value = self.values[x][tuple(cuts)]
        offsets, strides = [c.start for c in cuts], [c.step for c in cuts]
        return self.apply(f"fused.slice {x} offsets {offsets} strides {strides} : {self.type(x)} to {_type(value)}", value)

    def normalised(self, x: str) -> str:
        """A value against a reduction of itself, repeated: a softmax or a norm in small."""
        shape = self.values[x].shape
        if not shape:
            return x
        axes = sorted(self.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
        reduced = self.reduce(x, axes)
        kept = [d for d in range(len(shape)) if d not in axes]
        other = self.repeated(reduced, shape, kept)
        return self.apply(f"fused.sub {x}, {other} : {self.type(x)}", self.values[x] - self.values[other])

    def reduce(self, x: str, axes: list[int]) -> str:
        kind = self.draw(st.sampled_from(sorted(REDUCE)))
        if 0 in [self.values[x].shape[d] for d in axes]:
            kind = "sum"
        value = np.asarray(REDUCE[kind](self.values[x], axis=tuple(axes)))
        return self.apply(f"fused.reduce <{kind}> {x} along {axes} : {self.type(x)} to {_type(value)}", value)

    def reduced(self, x: str) -> str:
        shape = self.values[x].shape
        return self.reduce(x, sorted(self.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))) if shape else x

    def gathered(self, x: str) -> str:
        """Rows of a table, added to what they are as many as."""
        shape = self.values[x].shape
        if not shape or 0 in shape:
            return x
        table = self.argument((self.draw(st.integers(1, 9)), *shape[1:]))
        generator = np.random.default_rng(self.draw(st.integers(0, 99)))
        rows = cast(Array, generator.integers(0, self.values[table].shape[0], shape[0], np.int64))  # pyright: ignore[reportUnknownMemberType]
        indices = self.given(rows, rows)
        value = self.values[table][rows]
        found = self.apply(f"fused.gather {table}, {indices} : {self.type(table)}, {self.type(indices)} to {_type(value)}", value)
        return self.apply(f"fused.add {x}, {found} : {self.type(x)}", self.values[x] + value)

    def text(self, result: str, chip: str) -> str:
        types = [_type(x) for x in self.arguments]
        signature = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
        made, names = self.type(result), ", ".join(f"%a{i}" for i in range(len(types)))
        launch = f'fused.launch @kernel({names}) into (%d) on aicore {{ops = ["Random"], op_name = "random"}}'
        return "\n".join(
            [
                f'module attributes {{ge.target = "{chip}"}} {{',
                f"func.func private @kernel({signature}) -> {made} {{",
                *self.lines,
                f"  func.return {result} : {made}",
                "}",
                f"func.func @main({signature}) -> {made} {{",
                f"  %d = tensor.empty() : {made}",
                f"  %r = {launch} : ({', '.join(types)}) into ({made}) -> {made}",
                f"  func.return %r : {made}",
                "}",
                "}",
            ]
        )


STEPS = (
    Kernel.unary,
    Kernel.binary,
    Kernel.chosen,
    Kernel.reshape,
    Kernel.transpose,
    Kernel.slice,
    Kernel.normalised,
    Kernel.reduced,
    Kernel.gathered,
)
SIZES = st.one_of(st.integers(0, 5), st.integers(6, 40), st.sampled_from([64, 65, 130]))


@st.composite
def kernels(draw: Any) -> tuple[Kernel, str]:
    kernel = Kernel(draw)
    shape = tuple(draw(st.lists(SIZES, max_size=4)))
    while math.prod(shape) > 10_000:
        shape = shape[1:]
    value = kernel.argument(shape)
    for step in draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=6)):
        value = step(kernel, value)
    if value in [f"%a{i}" for i in range(len(kernel.arguments))]:
        value = kernel.unary(value)
    return kernel, value


SCHEDULES = st.dictionaries(st.sampled_from(["m", "n", "ub"]), st.integers(1, 3) | st.integers(4, 40), max_size=3)


def check_levels(kernel: Kernel, result: str, chip: str, schedule: dict[str, int]) -> None:
    """Execute a kernel at every level and compare."""
    context, text = dialects.context(), kernel.text(result, chip)
    module = parse_module(text, "random.mlir")
    (function,) = fused.kernels(module)
    try:
        domain_of(function)
    except NoDomain:
        assume(False)
    if "ub" in schedule:
        schedule["ub"] = min(schedule["ub"], 3)
    function.attributes[tile.SCHEDULE_ATTRIBUTE] = tile.ScheduleAttr.of(schedule)
    values = {"fused": execute(module, kernel.arguments, {})[0]}
    for level in ("tile", "buf", "npu"):
        PassManager(f"to-{level}").run(context, module)
        values[level] = execute(module, kernel.arguments, {})[0]
    for level in ("fused", "tile"):
        truth = kernel.values[result].astype(np.float64)
        metrics = measure(values[level], truth, values["fused"])
        # Where sums cancel, one order of adding is closer by chance: as far as f32 can tell from what was added.
        scale = max((float(np.max(np.abs(v), initial=0.0)) for v in kernel.values.values() if v.dtype.kind == "f"), default=0.0)
        assert metrics.within or metrics.max_abs <= 64 * scale * 2**-23, (level, metrics.failures, text)
    assert identical(values["tile"], values["buf"]), text
    assert identical(values["buf"], values["npu"]), text
    for way in ({"width": 1}, {"width": 3, "workers": 2}, {}):
        lifted = execute(module, kernel.arguments, {}, lifted=Lifted(**way), statistics=(counts := Statistics()))[0]
        assert identical(lifted, values["npu"]), (way, text)
        # Only one block that goes through its tiles one column at a time may take longer to prepare than to execute.
        too_long = f"a block has more than {STEP_LIMIT} steps"
        assert counts.lifted == counts.launches or counts.not_lifted == {"kernel": too_long}, counts.not_lifted


UNHURRIED = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@settings(max_examples=80, deadline=None, suppress_health_check=UNHURRIED)
@given(kernels(), st.sampled_from(CHIPS), SCHEDULES)
def test_kernels_of_any_primitives_agree_at_every_level(drawn: tuple[Kernel, str], chip: str, schedule: dict[str, int]) -> None:
    check_levels(*drawn, chip, schedule)


@pytest.mark.slow
@settings(max_examples=1500, deadline=None, suppress_health_check=UNHURRIED)
@given(kernels(), st.sampled_from(CHIPS), SCHEDULES)
def test_many_kernels_of_any_primitives_agree_at_every_level(drawn: tuple[Kernel, str], chip: str, schedule: dict[str, int]) -> None:
    check_levels(*drawn, chip, schedule)
