"""The transformer layers of the examples, small, at every level, by the rule of tolerances; a prompt and the tokens after it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import ge_compiler as ge
from ge_compiler.dialects import LEVELS
from ge_compiler.lowering.from_torch.dtypes import to_numpy, torch_dtype
from ge_compiler.lowering.from_torch.golden import golden_of
from ge_compiler.lowering.from_torch.importer import import_model
from ge_compiler.runtime.accuracy import identical, measure
from ge_compiler.tools.api import compile_module, make_options

EXAMPLES = Path(__file__).parents[2] / "examples"
CHIPS = pytest.mark.parametrize(
    ("target", "dtype"),
    [
        ("Ascend910B2", "f16"),
        ("Ascend910B2", "bf16"),
        ("Ascend910B2", "f32"),
        ("Ascend910A", "f16"),
        pytest.param(str(EXAMPLES / "my_npu.toml"), "f16", id="a table file"),
    ],
)


def example(name: str) -> Any:
    """A module of the examples."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    return module


def normal(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))


def check(model: nn.Module, args: tuple[Tensor, ...], target: str, dtype: str) -> ge.Program:
    """Holds every level against the rule, outputs and states; the whole model runs on the AI Cores."""
    imported = import_model(model.eval(), args, dtype=dtype)
    program = compile_module(imported.module, imported.weights, make_options(target, None, None, "error"), imported.signature, dtype)
    truth = golden_of(imported)
    results = {level: program.run(list(map(to_numpy, imported.inputs)), level) for level in LEVELS}
    for level, tensors in results.items():
        for spec, actual, reference, eager in zip(program.signature.results, tensors, truth.reference, truth.eager, strict=True):
            metrics = measure(actual, reference, eager)
            assert metrics.within, (level, spec.name, metrics)
    for above, below in (("tile", "buf"), ("buf", "npu")):
        assert all(map(identical, results[below], results[above])), below
    return program


@CHIPS
def test_bert(target: str, dtype: str) -> None:
    check(example("bert_layer").BertLayer(hidden=48, heads=3, intermediate=80), (normal(2, 19, 48),), target, dtype)


def test_bert_with_a_mask_and_outliers() -> None:
    x = normal(2, 9, 48)
    x[0, 3] *= 300
    x[1, 5] = 2.0
    mask = torch.zeros(2, 1, 1, 9)
    mask[0, ..., 6:] = torch.finfo(torch.float16).min
    model = example("bert_layer").BertLayer(hidden=48, heads=3, intermediate=80)
    check(model, (x, mask), "Ascend910B2", "f16")
    check(model, (x, mask == 0), "Ascend910B2", "f16")


@CHIPS
def test_a_prompt_and_the_next_tokens(target: str, dtype: str) -> None:
    model = example("llama_layer").LlamaLayer(hidden=64, heads=4, kv_heads=2, intermediate=96, positions=32)
    prefill = check(model, (normal(1, 19, 64), torch.tensor([0])), target, dtype)
    decode = check(model, (normal(1, 1, 64), torch.tensor([19])), target, dtype)
    own = torch_dtype(dtype)
    eager = example("llama_layer").LlamaLayer(hidden=64, heads=4, kv_heads=2, intermediate=96, positions=32).to(own).eval()
    x = normal(1, 21, 64).to(own)
    with torch.no_grad():
        wanted = [eager(x[:, :19], torch.tensor([0])), eager(x[:, 19:20], torch.tensor([19])), eager(x[:, 20:], torch.tensor([20]))]
    got = [prefill(x[:, :19], torch.tensor([0]))]
    decode.states.update(prefill.states)
    got += [decode(x[:, i : i + 1], torch.tensor([i])) for i in (19, 20)]
    for ours, theirs in zip(got, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=32 * torch.finfo(own).eps)
    assert decode.states["attention.key_cache"][0, :, :21].any(axis=-1).all()
    assert not decode.states["attention.key_cache"][0, :, 21:].any()
