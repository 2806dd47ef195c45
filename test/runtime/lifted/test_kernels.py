"""Lifted execution gives the bits of the checked executor: models on every chip, in rectangles of any size, on one thread and on two."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from xdsl.dialects.builtin import ModuleOp

import ge_compiler as ge
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import available_targets
from ge_compiler.lowering.from_torch.dtypes import to_numpy
from ge_compiler.runtime.accuracy import identical
from ge_compiler.runtime.execute import Statistics, execute
from ge_compiler.runtime.lifted import Lifted, arithmetic
from ge_compiler.tools.conversions import convert_by_torch

ROOT = Path(__file__).parents[3]
Array = np.ndarray[Any, Any]
DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
WAYS: Sequence[dict[str, int]] = ({"width": 1}, {"width": 3}, {"width": 10**6}, {}, {"width": 5, "workers": 2}, {"workers": 2})


def assert_same(module: ModuleOp, inputs: Sequence[Array], weights: Any = {}, ways: Sequence[dict[str, int]] = WAYS) -> Statistics:  # noqa: B006
    """Everything lifted, twice (the second time from what was prepared), against the checked executor."""
    checked, counts = Statistics(), Statistics()
    expected = execute(module, inputs, weights, statistics=checked)
    for way in ways:
        lifted = Lifted(**way)
        for _ in range(2):
            counts = Statistics()
            results = execute(module, inputs, weights, lifted=lifted, statistics=counts)
            assert all(map(identical, results, expected)), way
            assert counts.instructions == checked.instructions
            assert counts.launches == checked.launches
    return counts


def assert_lifted(model: nn.Module, args: Sequence[torch.Tensor], target: str, dtype: str = "f16") -> None:
    program = ge.compile(model.eval(), tuple(args), dtype=dtype, target=target)
    inputs = [to_numpy(x.to(DTYPES[dtype]) if x.is_floating_point() else x) for x in args]
    counts = assert_same(program.module(), [*inputs, *program.states.values()], program.weights)
    assert counts.not_lifted == {}
    assert counts.lifted == counts.launches


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


chips = pytest.mark.parametrize("target", [*available_targets()[:2], pytest.param(str(ROOT / "examples" / "my_npu.toml"), id="own")])


@chips
def test_mlp(target: str) -> None:
    assert_lifted(example("mlp").SimpleMLP(), [normal(32, 768)], target)


@chips
@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 70, 33), (37, 1, 100), (130, 257, 300)], ids=str)
def test_ragged_products(target: str, sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    assert_lifted(nn.Sequential(nn.Linear(k, n), nn.Tanh(), nn.LayerNorm(n)), [normal(m, k)], target)


@chips
def test_bert_layer_with_a_mask(target: str) -> None:
    mask = torch.rand(2, 1, 37, 37, generator=torch.Generator().manual_seed(0)) > 0.3
    assert_lifted(example("bert_layer").BertLayer(64, 4, 96), [normal(2, 37, 64), mask], target)


@chips
@pytest.mark.parametrize("length", [1, 19], ids=["decode", "prefill"])
def test_llama_layer_with_a_cache(target: str, length: int) -> None:
    layer = example("llama_layer").LlamaLayer(hidden=64, heads=4, kv_heads=2, intermediate=96, positions=32)
    assert_lifted(layer, [normal(1, length, 64), torch.tensor([3])], target)


class Attention(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@chips
def test_causal_attention_whose_trips_depend_on_the_block(target: str) -> None:
    assert_lifted(Attention(), [normal(1, 3, 300, 64), normal(1, 3, 300, 64), normal(1, 3, 300, 64)], target)


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_other_floats(dtype: str) -> None:
    assert_lifted(example("bert_layer").BertLayer(64, 4, 96), [normal(1, 21, 64)], "Ascend910B2", dtype)
    assert_lifted(Attention(), [normal(1, 2, 70, 32), normal(1, 2, 70, 32), normal(1, 2, 70, 32)], "Ascend910B2", dtype)


def test_outliers() -> None:
    """Large, infinite and undefined values pass through as they do one by one; rows of them do not leak into others."""
    x = normal(40, 100)
    x[3], x[7, 5], x[8, 6], x[9, 9] = 300.0, float("inf"), float("-inf"), float("nan")
    assert_lifted(nn.Sequential(nn.Linear(100, 90), nn.GELU(), nn.Softmax(-1)), [x], "Ascend910B2")


def test_rows_of_zero_and_one_element() -> None:
    assert_lifted(nn.Sequential(nn.Linear(8, 6), nn.ReLU()), [normal(0, 8)], "Ascend910B2")
    assert_lifted(nn.Embedding(10, 1), [torch.tensor([[3, 3, 9]])], "Ascend910A")


def test_an_index_without_a_row_is_reported_as_by_the_checked_executor() -> None:
    program = ge.compile(nn.Embedding(10, 8), (torch.tensor([[3, 4]]),), dtype="f16")
    wrong = [np.array([[3, 11]])]
    with pytest.raises(CompileError, match=r"index 11 .*out of bounds") as checked:
        program.run(wrong, check=True)
    with pytest.raises(CompileError) as fast:
        program.run(wrong)
    assert str(fast.value) == str(checked.value)


def test_split_contraction_in_two_grids() -> None:
    """What the first grid leaves in a workspace is read by another one, by other cores."""
    module = parse_module((ROOT / "test" / "npu" / "split_k.mlir").read_text(), "split_k.mlir")
    text = str(module).replace(
        "func.return\n  }\n}",
        """func.return
  }
  func.func @main(%x: memref<16x128xf16>, %w: memref<128x32xf16>, %y: memref<16x32xf32>) attributes {results = 1 : i64} {
    %ws = buf.at "ws" [0] : memref<4x16x32xf32>
    fused.launch @split_k(%x, %w) into(%y, %ws) on aicore {ops = ["MatMulV2"], op_name = "mm"}
      : (memref<16x128xf16>, memref<128x32xf16>) into(memref<16x32xf32>, memref<4x16x32xf32>)
    func.return
  }
}""",
    )
    inputs = [to_numpy(normal(16, 128).half()), to_numpy(normal(128, 32).half())]
    counts = assert_same(parse_module(text, "split_k.mlir"), inputs)
    assert counts.lifted == {"split_k": 1}


def test_weights_have_a_bounded_shadow() -> None:
    program = ge.compile(example("mlp").SimpleMLP(), (normal(32, 768),), dtype="f16")
    x = to_numpy(normal(32, 768).half())
    expected = execute(program.module(), [x], program.weights)
    all_, none = Lifted(), Lifted(shadow_limit=0)
    for lifted in (all_, none):
        for _ in range(2):
            assert identical(execute(program.module(), [x], program.weights, lifted=lifted)[0], expected[0])
    assert all_.shadows.bytes == 4 * (2 * 768 * 3072 + 3072 + 768)
    assert none.shadows.bytes == 0


def test_scratch_does_not_grow_with_the_grid() -> None:
    sizes: list[int] = []
    for rows in (256, 2048):
        program = ge.compile(nn.Sequential(nn.Linear(64, 512), nn.GELU()), (normal(rows, 64),), dtype="f16")
        execute(program.module(), [to_numpy(normal(rows, 64).half())], program.weights, lifted=(lifted := Lifted()))
        sizes.append(lifted.scratch_bytes)
    assert max(sizes) <= 8 * 2**20


def test_torch_converts_with_the_bits_of_numpy() -> None:
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    singles = np.random.default_rng(0).integers(0, 2**32, 200_000, np.uint32).view(np.float32)  # pyright: ignore[reportUnknownMemberType]
    edges = np.array([0.0, -0.0, np.inf, -np.inf, 65504, 65519.996, 65520, 2**-24, 2**-25, 2**-25 * 1.0001, 6.1e-5], np.float32)
    for x, dtype in ((halves, np.float32), (singles, np.float16), (np.tile(edges, 10), np.float16)):
        ours, numpy = np.empty(x.shape, dtype), np.empty(x.shape, dtype)
        x.flags.writeable = False
        convert_by_torch(ours, x)
        with np.errstate(all="ignore"):
            np.copyto(numpy, x, casting="unsafe")
        numbers = ~np.isnan(numpy)
        assert (np.isnan(ours) == ~numbers).all()
        assert identical(ours[numbers], numpy[numbers])


def test_execution_with_conversions_by_torch() -> None:
    program = ge.compile(example("bert_layer").BertLayer(64, 4, 96), (normal(1, 21, 64),), dtype="f16")
    x = to_numpy(normal(1, 21, 64).half())
    expected = execute(program.module(), [x], program.weights)
    try:
        arithmetic.use_converter(convert_by_torch)
        assert identical(execute(program.module(), [x], program.weights, lifted=Lifted())[0], expected[0])
    finally:
        arithmetic.use_converter(None)
