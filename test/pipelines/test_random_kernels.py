"""Random operators, shapes, element types and schedules: all levels agree as the equality rule demands, straight and through text."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from ge_compiler import dialects
from ge_compiler.dialects import fused, tile
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.parser import parse_module
from ge_compiler.lowering.tiling.shapes import keys_of
from ge_compiler.runtime.accuracy import identical, measure
from ge_compiler.runtime.execute import Statistics, execute
from ge_compiler.runtime.lifted import Lifted
from ge_compiler.tools.compilation import text_of
from ge_compiler.tools.opt.pass_manager import PassManager
from ge_compiler.transforms.iteration.domain import domain_of

Array = np.ndarray[Any, Any]
LEVELS = ("fused", "tile", "buf", "npu")
DTYPES: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "i32": np.int32}
OWN_CHIP = str(Path(__file__).parents[2] / "examples" / "my_npu.toml")
CHIPS = {"Ascend910A": ("f16",), "Ascend910B2": ("f16", "bf16", "f32"), OWN_CHIP: ("f16", "bf16", "f32")}
"""Targets, and the floats that their cubes multiply."""


def _erf(x: Array) -> Array:
    return np.array([math.erf(v) for v in x.reshape(-1)], np.float64).reshape(x.shape)


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _relu(x: Array) -> Array:
    return np.maximum(x, 0)


def _swish(x: Array) -> Array:
    return x * _sigmoid(x)


def _gelu(x: Array) -> Array:
    return x / 2 * (1 + _erf(x / math.sqrt(2)))


UNARY: dict[str, Callable[[Array], Array]] = {
    "Abs": np.abs,
    "Exp": np.exp,
    "Neg": np.negative,
    "Relu": _relu,
    "Sigmoid": _sigmoid,
    "Square": np.square,
    "Swish": _swish,
    "Tanh": np.tanh,
    "Erf": _erf,
    "GeluV2": _gelu,
}
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
}
INTEGER = ("Neg", "Relu", "Square")
"""Operators that are exact on integers."""


@dataclass
class Program:
    """The text of `@main`, its inputs, and the f64 value of everything in it."""

    chip: str
    dtype: str
    lines: list[str] = field(default_factory=list[str])
    inputs: list[Array] = field(default_factory=list[Array])
    truth: dict[str, Array] = field(default_factory=dict[str, Array])

    def input(self, shape: tuple[int, ...], draw: Any, scale: float = 1.0) -> str:
        generator = np.random.default_rng(draw(st.integers(0, 2**16)))
        values = generator.standard_normal(shape) * scale
        array = (values * 5).astype(np.int32) if self.dtype == "i32" else values.astype(DTYPES[self.dtype])
        self.inputs.append(array)
        name = f"%in{len(self.inputs)}"
        # Integers wrap around, as they do in PyTorch; floats are compared with what they would be in f64.
        self.truth[name] = array if self.dtype == "i32" else array.astype(np.float64)
        return name

    def type(self, shape: tuple[int, ...]) -> str:
        return f"tensor<{''.join(f'{d}x' for d in shape)}{self.dtype}>"

    def apply(self, op: str, operands: list[str], value: Array, attributes: str = "") -> str:
        name = f"%v{len(self.lines)}"
        types = ", ".join(self.type(self.truth[x].shape) for x in operands)
        self.lines.append(f"  {name} = ge.{op} {', '.join(operands)} {attributes} : ({types}) -> {self.type(value.shape)}")
        self.truth[name] = value
        return name

    def text(self, result: str) -> str:
        arguments = ", ".join(f"%in{i + 1}: {self.type(x.shape)}" for i, x in enumerate(self.inputs))
        type_ = self.type(self.truth[result].shape)
        head = [f'module attributes {{ge.target = "{self.chip}"}} {{', f"func.func @main({arguments}) -> {type_} {{"]
        return "\n".join([*head, *self.lines, f"  func.return {result} : {type_}", "}", "}"])


SIZES = st.one_of(st.integers(0, 4), st.integers(5, 40), st.sampled_from([16, 31, 32, 33, 48, 64, 65, 100, 130]))


def _broadcastable(draw: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to `shape`: leading dimensions left out, others set to 1."""
    kept = shape[draw(st.integers(0, len(shape))) :]
    return tuple(1 if draw(st.integers(0, 2)) == 0 else d for d in kept)


def _elementwise_chain(draw: Any, program: Program, value: str, length: int) -> str:
    """Up to `length` operators on `value`, some with a second operand that broadcasts."""
    for _ in range(length):
        x = program.truth[value]
        if draw(st.booleans()):
            op = draw(st.sampled_from(INTEGER if program.dtype == "i32" else sorted(UNARY)))
            value = program.apply(op, [value], UNARY[op](x))
        else:
            op = draw(st.sampled_from(sorted(BINARY)))
            other = value if draw(st.integers(0, 4)) == 0 else program.input(_broadcastable(draw, x.shape), draw)
            pair = [value, other] if draw(st.booleans()) else [other, value]
            value = program.apply(op, pair, BINARY[op](*(program.truth[v] for v in pair)))
    return value


@st.composite
def elementwise_programs(draw: Any) -> tuple[Program, str]:
    chip = draw(st.sampled_from(sorted(CHIPS)))
    program = Program(chip, draw(st.sampled_from(sorted({*CHIPS[chip], "f32", "i32"}))))
    shape = tuple(draw(st.lists(SIZES, max_size=4)))
    while math.prod(shape) > 20_000:
        shape = shape[1:]
    with np.errstate(all="ignore"):
        value = _elementwise_chain(draw, program, program.input(shape, draw), draw(st.integers(1, 4)))
    return program, value


@st.composite
def matmul_programs(draw: Any) -> tuple[Program, str]:
    chip = draw(st.sampled_from(sorted(CHIPS)))
    program = Program(chip, draw(st.sampled_from(CHIPS[chip])))
    m, n, k = draw(SIZES), draw(SIZES), draw(SIZES)
    batch = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    swap_a, swap_b = draw(st.booleans()), draw(st.booleans())
    a = program.input((*(batch if draw(st.booleans()) else _broadcastable(draw, batch)), *((k, m) if swap_a else (m, k))), draw)
    b = program.input((*(_broadcastable(draw, batch) if draw(st.booleans()) else ()), *((n, k) if swap_b else (k, n))), draw, 0.3)
    x, y = (program.truth[v].swapaxes(-1, -2) if s else program.truth[v] for v, s in ((a, swap_a), (b, swap_b)))
    value, operands = np.matmul(x, y), [a, b]
    if draw(st.booleans()):
        bias = program.input((n,), draw)
        value, operands = value + program.truth[bias], [*operands, bias]
    flags = ", ".join(flag for flag, given_ in (("transpose_x1", swap_a), ("transpose_x2", swap_b)) if given_)
    result = program.apply("BatchMatMulV2", operands, value, f"{{{flags}}}" if flags else "")
    with np.errstate(all="ignore"):
        return program, _elementwise_chain(draw, program, result, draw(st.integers(0, 3)))


@st.composite
def schedules(draw: Any) -> dict[str, int]:
    """Some keys of a schedule; the others are chosen."""
    k0, skew = 16 * draw(st.integers(1, 4)), draw(st.integers(0, 1))
    slots = {key: draw(st.integers(1, 3)) for key in ("l1", "l0", "ub")}
    sizes = {"m": draw(st.integers(1, 80)), "n": draw(st.integers(1, 80)), "k": k0 * draw(st.integers(1, 3)), "k0": k0}
    whole = {**sizes, **slots, "splits": draw(st.integers(1, 4))}
    chosen = {key: whole[key] for key in draw(st.sets(st.sampled_from(sorted(whole))))}
    return {**chosen, "skew": 1, "l1": max(2, slots["l1"])} if skew else chosen


def _schedule_kernels(module: ModuleOp, schedule: dict[str, int]) -> None:
    for kernel in fused.kernels(module):
        known = {key: schedule[key] for key in keys_of(domain_of(kernel)) if key in schedule}
        kernel.attributes[tile.SCHEDULE_ATTRIBUTE] = tile.ScheduleAttr.of(known)


def _reparsed(module: ModuleOp) -> ModuleOp:
    return parse_module(text_of(module), "again.mlir")


def check_levels(program: Program, result: str, schedule: dict[str, int]) -> None:
    """Execute a program at every level and compare; go down a second time through the text of each level."""
    context = dialects.context()
    module = parse_module(program.text(result), "random.mlir")
    eager = execute(module, program.inputs, {})[0]
    through_text = _reparsed(module)
    values: dict[str, Array] = {}
    for level in LEVELS:
        for one in (module, through_text):
            PassManager(f"to-{level}").run(context, one)
            if level == "fused":
                _schedule_kernels(one, schedule)
        through_text = _reparsed(through_text)
        values[level] = execute(module, program.inputs, {})[0]
    assert text_of(module) == text_of(through_text)
    for level in ("fused", "tile"):
        metrics = measure(values[level], program.truth[result], eager)
        assert metrics.within, (level, metrics.failures, program.text(result))
    assert identical(values["tile"], values["buf"])
    assert identical(values["buf"], values["npu"])
    for way in ({"width": 1}, {"width": 3, "workers": 2}, {}):
        lifted = execute(module, program.inputs, {}, lifted=Lifted(**way), statistics=(counts := Statistics()))[0]
        assert identical(lifted, values["npu"]), (way, program.text(result))
        assert counts.lifted == counts.launches, counts.not_lifted


UNHURRIED = [HealthCheck.too_slow, HealthCheck.data_too_large]
FEW = settings(max_examples=40, deadline=None, suppress_health_check=UNHURRIED)
MANY = settings(max_examples=1000, deadline=None, suppress_health_check=UNHURRIED)


@FEW
@given(elementwise_programs(), schedules())
def test_elementwise_kernels_agree_at_every_level(drawn: tuple[Program, str], schedule: dict[str, int]) -> None:
    check_levels(*drawn, schedule)


@FEW
@given(matmul_programs(), schedules())
def test_matmul_kernels_agree_at_every_level(drawn: tuple[Program, str], schedule: dict[str, int]) -> None:
    check_levels(*drawn, schedule)


@pytest.mark.slow
@MANY
@given(st.one_of(elementwise_programs(), matmul_programs()), schedules())
def test_many_kernels_agree_at_every_level(drawn: tuple[Program, str], schedule: dict[str, int]) -> None:
    check_levels(*drawn, schedule)


def test_a_schedule_that_does_not_fit_is_refused() -> None:
    program = Program("Ascend910A", "f16")
    program.inputs = [np.zeros((512, 512), np.float16), np.zeros((512, 512), np.float16)]
    program.truth = {f"%in{i + 1}": x for i, x in enumerate(program.inputs)}
    result = program.apply("MatMulV2", ["%in1", "%in2"], np.zeros((512, 512)))
    with pytest.raises(CompileError, match="smallest fix"):
        check_levels(program, result, {"m": 512, "n": 512, "k": 512, "k0": 512})
