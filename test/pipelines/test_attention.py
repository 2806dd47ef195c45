"""Attention of all kinds: every level agrees as the equality rule demands, on every chip, with the sizes that are chosen or any others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ge_compiler import dialects
from ge_compiler.dialects import fused, tile
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.parser import parse_module
from ge_compiler.runtime.accuracy import identical, measure
from ge_compiler.runtime.checks.mutation_score import score
from ge_compiler.runtime.execute import execute
from ge_compiler.runtime.interpreters.buffers import arena_bytes
from ge_compiler.tools.compilation import text_of
from ge_compiler.tools.opt.pass_manager import PassManager

Array = np.ndarray[Any, Any]
LEVELS = ("ge", "fused", "tile", "buf", "npu")
DTYPES: dict[str, tuple[Any, torch.dtype]] = {
    "f16": (np.float16, torch.float16),
    "bf16": (ml_dtypes.bfloat16, torch.bfloat16),
    "f32": (np.float32, torch.float32),
}
OWN_CHIP = str(Path(__file__).parents[2] / "examples" / "my_npu.toml")
CHIPS = {"Ascend910A": ("f16",), "Ascend910B2": ("f16", "bf16", "f32"), OWN_CHIP: ("f16", "bf16", "f32")}


@dataclass(frozen=True)
class Case:
    """An attention; `mask` is `None`, `bool`, or the element type of a float mask, and `repeated` its dimensions that are 1."""

    chip: str = "Ascend910B2"
    dtype: str = "f16"
    batch: int = 2
    heads: int = 2
    shared: int = 1
    """Query heads that share a key head."""
    sq: int = 20
    sk: int = 20
    d: int = 16
    dv: int = 16
    mask: str | None = None
    repeated: tuple[int, ...] = ()
    causal: bool = False
    scale: float = 0.25
    size: float = 1.0
    """How large queries are."""
    blocked: float = -np.inf
    """What a float mask adds where it blocks."""
    seed: int = 0
    layout: str = "plain"
    """`plain`, `beside` (heads lie beside each other, as projections leave them) or `turned` (queries and keys are columns)."""

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        b, h, kv = self.batch, self.heads * self.shared, self.heads
        return (b, h, self.sq, self.d), (b, kv, self.sk, self.d), (b, kv, self.sk, self.dv)

    def inputs(self) -> list[Array]:
        random, dtype = np.random.default_rng(self.seed), DTYPES[self.dtype][0]
        made = [random.standard_normal(shape).astype(np.float32) for shape in self.shapes]
        made[0] *= self.size
        arrays: list[Array] = [np.ascontiguousarray(self.stored(x.astype(dtype))) for x in made]
        if self.mask is not None:
            b, h, *_ = self.shapes[0]
            shape = [1 if i in self.repeated else n for i, n in enumerate((b, h, self.sq, self.sk))]
            keep = random.random(shape) < 0.6
            if len(shape) and shape[2] > 1:
                keep[:, :, 0] = False  # a query without any key
            added = np.where(keep, random.standard_normal(shape), self.blocked)
            arrays.append(keep if self.mask == "bool" else added.astype(DTYPES[self.mask][0]))
        return arrays

    def stored(self, x: Array) -> Array:
        """An array as it lies in memory."""
        if self.layout == "beside":
            return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])
        return x.swapaxes(2, 3) if self.layout == "turned" else x

    def viewed(self, x: Array, shape: tuple[int, ...]) -> Array:
        """A stored array as heads of rows."""
        b, h, s, d = shape
        if self.layout == "beside":
            return x.reshape(b, s, h, d).swapaxes(1, 2)
        return x.swapaxes(2, 3) if self.layout == "turned" else x

    def views(self, name: str, shape: tuple[int, ...]) -> list[str]:
        """The operators that make heads of rows of a stored array."""
        b, h, s, d = shape
        stored, heads, made = _type((b, s, h * d), self.dtype), _type((b, s, h, d), self.dtype), _type(shape, self.dtype)
        if self.layout == "beside":
            return [
                f"  %{name}2 = ge.Reshape %{name} : ({stored}) -> {heads}",
                f"  %{name}1 = ge.TransposeD %{name}2 {{perm = array<i64: 0, 2, 1, 3>}} : ({heads}) -> {made}",
            ]
        columns = _type((b, h, d, s), self.dtype)
        return [f"  %{name}1 = ge.TransposeD %{name} {{perm = array<i64: 0, 1, 3, 2>}} : ({columns}) -> {made}"]

    def text(self) -> str:
        types = [_type(shape, self.dtype) for shape in self.shapes]
        names = ["%q", "%k", "%v"]
        lines: list[str] = []
        given = list(types)
        if self.layout != "plain":
            given = [_type(self.stored(np.empty(shape)).shape, self.dtype) for shape in self.shapes]
            lines = [line for name, shape in zip("qkv", self.shapes, strict=True) for line in self.views(name, shape)]
        operands = [name if self.layout == "plain" else f"{name}1" for name in names]
        if self.mask is not None:
            mask = self.inputs()[3]
            names.append("%mask")
            operands.append("%mask")
            for all_types in (types, given):
                all_types.append(_type(mask.shape, "i1" if self.mask == "bool" else self.mask))
        result = _type((*self.shapes[0][:-1], self.dv), self.dtype)
        arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, given, strict=True))
        flags = f"scale_value = {self.scale} : f32{', is_causal' if self.causal else ''}"
        views = "\n".join(lines)
        return f"""module attributes {{ge.target = "{self.chip}"}} {{
func.func @main({arguments}) -> {result} {{
{views}
  %0 = ge.FlashAttentionScore {", ".join(operands)} {{{flags}}} : ({", ".join(types)}) -> {result}
  func.return %0 : {result}
}}
}}"""

    def seen(self, arrays: list[Array]) -> tuple[Array | None, Array | None]:
        """Which keys are seen, and what is added to their scores, as far as there is anything."""
        keep: Array | None = None
        added: Array | None = None
        if self.mask == "bool":
            keep = arrays[3]
        elif self.mask is not None:
            added = arrays[3]
        if self.causal:
            triangle = np.tril(np.ones((self.sq, self.sk), np.bool_))
            keep = triangle if keep is None else keep & triangle
        return keep, added

    def truth(self, arrays: list[Array]) -> Array:
        """In f64, with the whole matrix of scores."""
        q, k, v = (self.viewed(x.astype(np.float64), shape) for x, shape in zip(arrays, self.shapes, strict=False))
        k, v = (np.repeat(x, self.shared, axis=1) for x in (k, v))
        scores = q @ k.swapaxes(-1, -2) * np.float64(np.float32(self.scale))
        keep, added = self.seen(arrays)
        with np.errstate(all="ignore"):
            scores = scores if added is None else scores + added.astype(np.float64)
            scores = scores if keep is None else np.where(keep, scores, -np.inf)
            largest = np.max(scores, axis=-1, keepdims=True, initial=np.finfo(np.float64).min)
            weights = np.exp(scores - largest)
            total = weights.sum(axis=-1, keepdims=True)
            return weights @ v / np.where(total == 0, 1, total)

    def eager(self, arrays: list[Array]) -> Array:
        """PyTorch, on the CPU, in the dtype of the case."""
        dtype = DTYPES[self.dtype][1]
        q, k, v = (_tensor(self.viewed(x, shape)).to(dtype) for x, shape in zip(arrays, self.shapes, strict=False))
        keep, added = self.seen(arrays)
        mask = None if keep is None else torch.tensor(keep.tolist(), dtype=torch.bool).reshape(keep.shape)
        if added is not None:
            bias = _tensor(added).to(dtype)
            mask = bias if mask is None else bias.masked_fill(~mask, float("-inf"))
        k, v = (x.repeat_interleave(self.shared, dim=1) for x in (k, v))
        result = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=self.scale)
        return result.float().numpy().astype(DTYPES[self.dtype][0])


def _type(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{''.join(f'{d}x' for d in shape)}{element}>"


def _tensor(array: Array) -> torch.Tensor:
    return torch.from_numpy(array.astype(np.float32))  # pyright: ignore[reportUnknownMemberType]


def _schedule_kernels(module: ModuleOp, schedule: dict[str, int]) -> None:
    for kernel in fused.aicore_kernels(module):
        if any(isinstance(op, fused.AttentionOp) for op in kernel.walk()):
            kernel.attributes[tile.SCHEDULE_ATTRIBUTE] = tile.ScheduleAttr.of(schedule)


def check_levels(case: Case, schedule: dict[str, int] | None = None) -> None:
    """Execute a case at every level and compare; go down through the text of each level."""
    context, arrays = dialects.context(), case.inputs()
    module = parse_module(case.text(), "attention.mlir")
    values: dict[str, Array] = {}
    for level in LEVELS:
        if level != "ge":
            PassManager(f"to-{level}").run(context, module)
        if level == "fused":
            _schedule_kernels(module, schedule or {})
        module = parse_module(text_of(module), "again.mlir")
        values[level] = execute(module, arrays, {})[0]
    truth, eager = case.truth(arrays), case.eager(arrays)
    for level in ("ge", "fused", "tile"):
        metrics = measure(values[level], truth, eager)
        assert metrics.within, (level, metrics.failures, case)
    assert identical(values["tile"], values["buf"])
    assert identical(values["buf"], values["npu"])


@st.composite
def cases(draw: Any) -> Case:
    chip = draw(st.sampled_from(sorted(CHIPS)))
    dtype = draw(st.sampled_from(CHIPS[chip]))
    lengths = st.one_of(st.integers(1, 4), st.integers(5, 40), st.sampled_from([16, 31, 32, 33, 64, 100]))
    heads = st.one_of(st.integers(1, 20), st.sampled_from([16, 32, 64, 80, 128, 256]))
    d = draw(heads)
    return Case(
        chip,
        dtype,
        batch=draw(st.integers(1, 3)),
        heads=draw(st.integers(1, 3)),
        shared=draw(st.sampled_from([1, 1, 2, 4])),
        sq=draw(lengths),
        sk=draw(st.one_of(lengths, st.just(0))),
        d=d,
        dv=draw(st.one_of(st.just(d), heads)),
        mask=draw(st.sampled_from([None, "bool", dtype, "f32"])),
        repeated=tuple(draw(st.sets(st.integers(0, 3)))),
        causal=draw(st.booleans()),
        # Scores far beyond 10 make each weight hang on the last bits of a score: then PyTorch's own error is a matter of luck.
        scale=draw(st.sampled_from([4.0 * d**-0.5, 0.5 * d**-0.5, d**-0.5])),
        size=draw(st.sampled_from([1.0, 1.0, 10.0])),
        blocked=draw(st.sampled_from([-np.inf, -1e4])),
        seed=draw(st.integers(0, 2**16)),
        layout=draw(st.sampled_from(["plain", "beside", "turned"])),
    )


@st.composite
def schedules(draw: Any) -> dict[str, int]:
    """Some keys of a schedule; the others are chosen."""
    sizes = {"m": draw(st.integers(1, 64)), "n": draw(st.integers(1, 64)), "k0": 16 * draw(st.integers(1, 4))}
    whole = {**sizes, **{key: draw(st.integers(1, 3)) for key in ("l1", "l0", "ub")}}
    return {key: whole[key] for key in draw(st.sets(st.sampled_from(sorted(whole))))}


UNHURRIED = [HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(max_examples=12, deadline=None, suppress_health_check=UNHURRIED)
@given(cases(), schedules())
def test_attention_agrees_at_every_level(case: Case, schedule: dict[str, int]) -> None:
    check_levels(case, schedule)


@pytest.mark.slow
@settings(max_examples=600, deadline=None, suppress_health_check=UNHURRIED)
@given(cases(), schedules())
def test_many_attentions_agree_at_every_level(case: Case, schedule: dict[str, int]) -> None:
    check_levels(case, schedule)


def test_a_schedule_that_does_not_fit_is_refused() -> None:
    with pytest.raises(CompileError, match="smallest fix"):
        check_levels(Case(sq=512, sk=2048, d=256, dv=256), {"m": 512, "n": 2048})


ORDINARY = {
    "one query": Case(sq=1, sk=100),
    "one query of grouped heads": Case(sq=1, sk=70, shared=4, heads=1, batch=3),
    "one key": Case(sk=1),
    "nothing but one": Case(batch=1, heads=1, sq=1, sk=1, d=1, dv=1),
    "no keys": Case(sk=0, sq=3),
    "no keys and a mask": Case(sk=0, sq=3, mask="bool"),
    "more keys than queries": Case(sq=5, sk=70, causal=True),
    "more queries than keys": Case(sq=70, sk=5, causal=True),
    "odd heads": Case(d=3, dv=7, mask="bool", causal=True),
    "the largest heads": Case(sq=33, sk=65, d=256, dv=256),
    "values of another size": Case(d=8, dv=80),
    "a mask for each key": Case(mask="bool", repeated=(0, 1, 2)),
    "a mask for each query": Case(mask="f16", repeated=(0, 1, 3)),
    "a mask of one element": Case(mask="f32", repeated=(0, 1, 2, 3)),
    "a mask for each head": Case(mask="bool", repeated=(0, 2, 3)),
    "the lowest finite mask": Case(mask="f16", blocked=float(np.finfo(np.float16).min)),
    "the lowest finite mask in f32": Case(dtype="f32", mask="f32", blocked=float(np.finfo(np.float32).min)),
    "large scores": Case(size=300.0),
    "large scores in bf16": Case(dtype="bf16", size=300.0, causal=True),
    "equal scores": Case(size=0.0),
    "a negative scale": Case(scale=-0.5),
    "no scale": Case(scale=0.0),
    "no queries": Case(sq=0),
    "no values": Case(dv=0, layout="beside"),
    "heads of nothing": Case(d=0, causal=True, layout="beside"),
    "heads beside each other": Case(layout="beside", heads=3, shared=2, causal=True),
    "queries and keys as columns": Case(layout="turned", sk=40, dv=24),
}


@pytest.mark.parametrize("name", ORDINARY)
@pytest.mark.parametrize("chip", ["Ascend910A", "Ascend910B2"])
def test_an_attention(name: str, chip: str) -> None:
    case = ORDINARY[name]
    if case.dtype in CHIPS[chip]:
        check_levels(replace(case, chip=chip), {"m": 16, "n": 32})


def test_flags_hold_where_later_blocks_see_more_keys() -> None:
    """The first blocks of a core have one block of keys, the last ones two."""
    case = Case(OWN_CHIP, "f32", heads=3, shared=4, sq=64, sk=64, d=32, mask="f32", causal=True, layout="beside")
    check_levels(case, {"m": 20, "n": 42, "k0": 64})


@pytest.mark.parametrize("name", ["q", "k", "v", "mask"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_stays_where_it_belongs(name: str, value: float) -> None:
    """NaN and infinities reach the results that they reach in PyTorch, in every block of keys."""
    case = Case(batch=1, sq=9, sk=40, mask="f16", blocked=-1.0)
    arrays = case.inputs()
    arrays[["q", "k", "v", "mask"].index(name)][0, 0, 5, 3] = value
    module = parse_module(case.text())
    PassManager("to-fused").run(dialects.context(), module)
    _schedule_kernels(module, {"n": 16})
    PassManager("to-npu").run(dialects.context(), module)
    metrics = measure(execute(module, arrays, {})[0], case.truth(arrays), case.eager(arrays))
    assert metrics.misplaced == 0


@pytest.mark.parametrize("chip", ["Ascend910A", "Ascend910B2", OWN_CHIP])
def test_no_memory_grows_with_the_square_of_the_length(chip: str) -> None:
    peaks: list[int] = []
    for length in (1024, 4096):
        module = parse_module(Case(chip=chip, heads=12, sq=length, sk=length, d=64, dv=64).text())
        PassManager("to-buf").run(dialects.context(), module)
        main = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
        peaks.append(arena_bytes(main))
    assert peaks[1] <= 1.1 * peaks[0]
    assert (peaks[0] == 0) == (chip == "Ascend910A")


@pytest.mark.slow
@pytest.mark.parametrize("chip", ["Ascend910A", "Ascend910B2"])
@pytest.mark.parametrize("slots", [1, 2])
def test_every_flag_is_needed_and_no_harm_is_missed(chip: str, slots: int) -> None:
    case = Case(chip, sq=20, sk=40, causal=True, mask="bool")
    module = parse_module(case.text())
    PassManager("to-fused").run(dialects.context(), module)
    _schedule_kernels(module, {"m": 16, "n": 16, "k0": 16, "l1": slots, "l0": slots, "ub": slots})
    PassManager("to-npu").run(dialects.context(), module)
    (kernel,) = fused.aicore_kernels(module)
    result = score(module, kernel.sym_name.data, orders=10)
    for kind, row in result.rows.items():
        assert row.harmful_reported == row.harmful, (kind, row.unreported)
    assert result.rows["removed"].reported == result.rows["removed"].made == result.synchronisations
