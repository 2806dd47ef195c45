"""
`torch.compile(model, backend="npu")`: the values, strides, aliases and changes of eager PyTorch.

The name is found by the entry point of the package. What does not depend on the lowering is tested at `ge`, which compiles fast.
"""

from __future__ import annotations

import copy
import importlib
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._dynamo.exc import BackendCompilerFailed
from torch.utils import _pytree as pytree  # pyright: ignore[reportPrivateUsage]

from ge_compiler.dialects import LEVELS
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.runtime.execute import execute
from ge_compiler.tools.backend.options import BackendOptions
from ge_compiler.tools.backend.tracing import name_of_source

ROOT = Path(__file__).parents[2]
TORCH: Any = torch
"""Without the types of `torch.compile`, which are not whole."""


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    TORCH.manual_seed(0)
    TORCH._dynamo.reset()
    with torch.no_grad():
        yield
    TORCH._dynamo.reset()


def compiled(model: Callable[..., Any], dynamic: bool | None = None, **options: Any) -> Callable[..., Any]:
    """`model` for the NPU; a graph break is an error."""
    return TORCH.compile(model, backend="npu", options=options or None, dynamic=dynamic, fullgraph=True)


def leaves(value: Any) -> list[Any]:
    return pytree.tree_leaves(value)


def check_like_eager(model: Callable[..., Any], *arguments: Any, calls: int = 1, tolerance: float = 1e-5, **options: Any) -> Any:
    """Compares results, their strides, aliases, and what becomes of inputs and buffers; the compiled results."""
    eager, expected_arguments = copy.deepcopy((model, arguments))
    fast = compiled(model, **options)
    results = expected = None
    for _ in range(calls):
        results, expected = fast(*arguments), eager(*expected_arguments)
    assert pytree.tree_structure(results) == pytree.tree_structure(expected)
    given, wanted = [*arguments, *leaves(results)], [*expected_arguments, *leaves(expected)]
    if isinstance(model, nn.Module) and isinstance(eager, nn.Module):
        given, wanted = [*given, *model.buffers()], [*wanted, *eager.buffers()]
    for got, want in zip(given, wanted, strict=True):
        if not isinstance(want, Tensor):
            assert got == want
            continue
        assert got.stride() == want.stride()
        torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)
    assert aliases(given) == aliases(wanted), "results share memory as eager's do"
    return results


def aliases(values: list[Any]) -> list[int]:
    """For each tensor the first that shares its memory."""
    storages = [value.untyped_storage().data_ptr() if isinstance(value, Tensor) and value.numel() else None for value in values]
    return [i if storage is None else storages.index(storage) for i, storage in enumerate(storages)]


# ---- models -----------------------------------------------------------------------------------------------------------


class Mlp(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(F.gelu(self.fc1(x)))


class Gpt2Block(nn.Module):
    """As Hugging Face writes it: weights the other way round, and the tanh formula of GELU spelled out."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.Parameter(torch.randn(width, 3 * width) / 8)
        self.attn_bias = nn.Parameter(torch.randn(3 * width) / 8)
        self.proj = nn.Parameter(torch.randn(width, width) / 8)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        qkv = torch.addmm(self.attn_bias, self.ln_1(x).view(-1, width), self.attn).view(batch, length, 3 * width)
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in torch.tensor_split(qkv, 3, dim=2))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, width)
        x = x + attended @ self.proj
        h = self.up(self.ln_2(x))
        h = 0.5 * h * (1.0 + torch.tanh(0.7978845608 * (h + 0.044715 * torch.pow(h, 3.0))))
        return x + self.down(h)


class Gpt2(nn.Module):
    """Two blocks between an embedding and its transpose, tied."""

    def __init__(self, vocabulary: int = 40, width: int = 32, heads: int = 2, positions: int = 16) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(Gpt2Block(width, heads) for _ in range(2))
        self.ln_f = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, ids: Tensor) -> Tensor:
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))


class Counter(nn.Module):
    """Counts its calls, and keeps the rows that it has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Tensor
        self.seen: Tensor
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("seen", torch.zeros(4, 3))

    def forward(self, x: Tensor, row: Tensor) -> Tensor:
        self.calls += 1
        self.seen.index_copy_(0, row, x)
        return self.seen.sum(0) + self.calls


# ---- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_an_mlp(dtype: torch.dtype) -> None:
    check_like_eager(Mlp().to(dtype), torch.randn(5, 16).to(dtype), tolerance=2e-2 if dtype is torch.bfloat16 else 2e-3)


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_can_be_executed(level: str) -> None:
    check_like_eager(Mlp(), torch.randn(3, 16), level=level, check=True)


def test_a_small_gpt2() -> None:
    check_like_eager(Gpt2(), torch.randint(0, 40, (2, 9)), tolerance=1e-4)


@pytest.mark.parametrize("count", [1, 2])
def test_entries_of_more_than_one_row(count: int) -> None:
    def function(table: Tensor, cache: Tensor, x: Tensor, places: Tensor) -> Tensor:
        cache.index_copy_(2, places, x * 2)
        return table[places] + 1

    places = torch.tensor([4, 1])[:count]
    check_like_eager(function, torch.randn(6, 3, 8), torch.zeros(1, 2, 5, 8), torch.randn(1, 2, count, 8), places)


def test_a_llama_layer_prefills_and_decodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    layer: Any = importlib.import_module("examples.llama_layer").LlamaLayer
    model = layer(hidden=16, heads=4, kv_heads=2, intermediate=24, positions=8).eval()
    eager, fast = copy.deepcopy(model), compiled(model, fallback="error")
    for position, length in ((0, 5), (5, 1), (6, 1)):
        x = torch.randn(1, length, 16)
        torch.testing.assert_close(fast(x, torch.tensor([position])), eager(x, torch.tensor([position])), rtol=1e-4, atol=1e-5)
    for got, want in zip(model.buffers(), eager.buffers(), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


def test_a_bert_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    layer: Any = importlib.import_module("examples.bert_layer").BertLayer
    check_like_eager(layer(hidden=32, heads=2, intermediate=64).eval(), torch.randn(2, 5, 32), tolerance=1e-4, fallback="error")


def test_the_unified_chip() -> None:
    check_like_eager(Mlp(), torch.randn(3, 16), tolerance=2e-3, target="Ascend910A", precision_mode="allow_fp32_to_fp16")


def test_tile_sizes_and_fallbacks() -> None:
    check_like_eager(Mlp(), torch.randn(3, 16), tiling={"MatMulV2": {"m": 16}}, fallback="error")
    with pytest.raises(BackendCompilerFailed, match="tiling names kernel 'MatMul', which does not exist"):
        compiled(Mlp(), tiling={"MatMul": {"m": 16}})(torch.randn(3, 16))


# ---- results ----------------------------------------------------------------------------------------------------------


def nested(x: Tensor) -> Any:
    return {"sum": x + 1, "none": None, "three": 3, "pair": (x * 2, [x - 1])}


def transposed(x: Tensor) -> Tensor:
    return (x * 2).permute(1, 0)


def views_of_an_input(x: Tensor) -> Any:
    return x.t(), x[1:], x.unsqueeze(0), x * 2


def views_of_a_result(x: Tensor) -> Any:
    y = x * 2
    return y, y.t(), y[0], y, y.unbind(1)[2]


def copies(x: Tensor) -> Any:
    y = x * 2
    return y, y.clone(), y.contiguous(), x.clone(), y.flip(0)[:1]


def the_input(x: Tensor) -> Any:
    return x, x + 1


def nothing_computed(x: Tensor) -> Any:
    return x[0]


@pytest.mark.parametrize("level", ["ge", "npu"])
@pytest.mark.parametrize("function", [nested, transposed, views_of_an_input, views_of_a_result, copies, the_input, nothing_computed])
def test_results_nest_stride_and_alias_as_in_eager(function: Callable[..., Any], level: str) -> None:
    check_like_eager(function, torch.randn(2, 3), level=level)


def relu(x: Tensor) -> Tensor:
    return torch.relu(x)


def test_inputs_may_have_any_strides() -> None:
    check_like_eager(relu, torch.randn(6, 4).t()[::2])


def two() -> Tensor:
    return torch.ones(3) + 1


def test_without_inputs() -> None:
    check_like_eager(two)


def test_a_result_may_be_written_to() -> None:
    x = torch.randn(2, 3)
    y = compiled(relu)(x)
    y.add_(1)
    torch.testing.assert_close(y, torch.relu(x) + 1)


def test_tensors_of_no_elements() -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        return x + 1, x.sum(0)

    check_like_eager(function, torch.randn(0, 3))


# ---- what changes -----------------------------------------------------------------------------------------------------


def test_changed_buffers_persist() -> None:
    model = Counter()
    check_like_eager(model, torch.randn(1, 3), torch.tensor([2]), calls=2)
    assert model.calls == 2


def changes_its_input(x: Tensor) -> Tensor:
    x.add_(1)
    return x[0]


def overwrites_its_input(x: Tensor) -> Tensor:
    x[:, 1] = 5
    return x * 2


def changes_a_view(x: Tensor) -> Tensor:
    x.view(-1)[2:4].mul_(3)
    return x.sum()


@pytest.mark.parametrize("function", [changes_its_input, overwrites_its_input, changes_a_view])
def test_a_changed_input_is_the_callers(function: Callable[..., Any]) -> None:
    check_like_eager(function, torch.randn(3, 4), calls=2)


def test_a_changed_input_keeps_its_strides() -> None:
    check_like_eager(changes_its_input, torch.randn(4, 3).t())


class Swap(nn.Module):
    """Each buffer becomes what the other was."""

    def __init__(self) -> None:
        super().__init__()
        self.first: Tensor
        self.second: Tensor
        self.register_buffer("first", torch.zeros(3))
        self.register_buffer("second", torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        before = self.first.clone()
        self.first.copy_(self.second)
        self.second.copy_(before)
        return x + self.first


def test_buffers_that_change_places() -> None:
    check_like_eager(Swap(), torch.randn(3), calls=3)


def test_running_statistics() -> None:
    check_like_eager(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), torch.randn(8, 4), calls=2)


def test_inputs_that_overlap_and_change() -> None:
    memory = torch.randn(8)

    def function(x: Tensor, y: Tensor) -> Tensor:
        x.add_(1)
        return x + y

    check_like_eager(function, memory[:4], memory[2:6])


def test_weights_are_the_models_own_and_its_changes_are_seen() -> None:
    model, x = Mlp(), torch.randn(3, 16)
    fast = compiled(model)
    before = fast(x)
    model.fc1.weight.mul_(3)
    torch.testing.assert_close(fast(x), model(x), rtol=1e-5, atol=1e-5)
    assert not torch.allclose(fast(x), before)
    model.load_state_dict(Mlp().state_dict())
    torch.testing.assert_close(fast(x), model(x), rtol=1e-5, atol=1e-5)


def test_weights_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, Any]] = []

    def spy(module: Any, inputs: Any, weights: dict[str, Any], **keywords: Any) -> Any:
        given.append(weights)
        return execute(module, inputs, weights, **keywords)

    monkeypatch.setattr("ge_compiler.tools.backend.compiled.execute", spy)
    model = Mlp().to(torch.bfloat16)
    compiled(model, level="ge")(torch.randn(3, 16).to(torch.bfloat16))
    assert set(given[0]) == {"fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"}
    assert given[0]["fc1_weight"].__array_interface__["data"][0] == model.fc1.weight.data_ptr()


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


def test_a_parameter_of_rank_0_is_no_constant() -> None:
    model, x = Scaled(), torch.randn(4)
    fast = compiled(model)
    torch.testing.assert_close(fast(x), x * 2)
    model.scale.fill_(5)
    torch.testing.assert_close(fast(x), x * 5)


# ---- several graphs ---------------------------------------------------------------------------------------------------


def test_two_models_and_other_dtypes() -> None:
    first, second = Mlp(), Mlp(8)
    fast = compiled(first, level="ge"), compiled(second, level="ge")
    for x, y in ((torch.randn(3, 16), torch.randn(2, 8)), (torch.randn(2, 16), torch.randn(5, 8))):
        torch.testing.assert_close(fast[0](x), first(x), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(fast[1](y), second(y), rtol=1e-5, atol=1e-5)
    half = first.half()
    torch.testing.assert_close(fast[0](x.half()), half(x.half()), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_each_size_is_compiled_for_itself(dynamic: bool | None) -> None:
    model = Mlp()

    def function(x: Tensor) -> Tensor:
        return model(x) * x.shape[0]

    fast = compiled(function, dynamic, level="ge")
    for size in (3, 5, 1, 5, 4):
        x = torch.randn(size, 16)
        torch.testing.assert_close(fast(x), model(x) * size, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("numbers", [(2, 3, 5), (2.5, 3.5, 1.0)])
def test_numbers_among_the_inputs(numbers: tuple[float, ...]) -> None:
    def function(x: Tensor, number: float) -> Tensor:
        return x * number + 1

    fast, x = compiled(function), torch.randn(4)
    for number in numbers:
        torch.testing.assert_close(fast(x, number), x * number + 1)


def test_a_graph_break_makes_two_programs() -> None:
    def function(x: Tensor) -> Tensor:
        x = x + 1
        return x * 2 if x.sum() > 0 else x - 1

    fast = TORCH.compile(function, backend="npu")
    torch.testing.assert_close(fast(torch.ones(3)), torch.full((3,), 4.0))
    torch.testing.assert_close(fast(-torch.ones(3)), torch.full((3,), -1.0))


def test_sizes_that_a_caller_marks_as_dynamic() -> None:
    model = Mlp()
    fast = compiled(model, level="ge")
    for size in (3, 7):
        x = torch.randn(size, 16)
        TORCH._dynamo.mark_dynamic(x, 0)
        torch.testing.assert_close(fast(x), model(x), rtol=1e-5, atol=1e-5)


def test_inference_mode_and_autocast() -> None:
    model, x = Mlp(), torch.randn(3, 16)
    fast = compiled(model, level="ge")
    with torch.inference_mode():
        torch.testing.assert_close(fast(x), model(x), rtol=1e-5, atol=1e-5)
    with torch.autocast("cpu", torch.bfloat16):
        assert fast(x).dtype is torch.bfloat16
        torch.testing.assert_close(fast(x), model(x), rtol=2e-2, atol=2e-2)


def test_the_same_tensor_twice() -> None:
    x = torch.randn(4)
    check_like_eager(torch.add, x, x)


def test_a_parameter_with_strides_of_its_own() -> None:
    model = nn.Linear(4, 3, bias=False)
    model.weight = nn.Parameter(torch.randn(4, 3).t())
    check_like_eager(model, torch.randn(2, 4))


def test_channels_last() -> None:
    model: Any = nn.Conv2d(2, 3, 3)
    model.to(memory_format=torch.channels_last)
    check_like_eager(model, torch.randn(1, 2, 5, 5).to(memory_format=torch.channels_last))


def test_a_dynamic_graph_that_changes_a_buffer() -> None:
    model = Counter()
    fast, eager = compiled(model, True, level="ge"), copy.deepcopy(model)
    for rows in ([0], [1, 3], [2, 0, 1]):
        x, row = torch.randn(len(rows), 3), torch.tensor(rows)
        torch.testing.assert_close(fast(x, row), eager(x, row))
    torch.testing.assert_close(model.seen, eager.seen)


# ---- gradients --------------------------------------------------------------------------------------------------------


def test_gradients_are_never_lost() -> None:
    model, x = Mlp(), torch.randn(3, 16)
    eager = copy.deepcopy(model)
    with torch.enable_grad():
        with pytest.warns(UserWarning, match="gradients are wanted, so this graph runs in PyTorch"):
            compiled(model)(x).sum().backward()
        eager(x).sum().backward()
    for got, want in zip(model.parameters(), eager.parameters(), strict=True):
        assert want.grad is not None
        torch.testing.assert_close(got.grad, want.grad)


def test_gradients_that_the_model_asks_for_itself() -> None:
    model = Mlp()

    def function(x: Tensor) -> Tensor:
        with torch.enable_grad():
            return model(x)

    with pytest.warns(UserWarning, match="gradients are wanted"):
        y = compiled(function)(torch.randn(3, 16))
    with torch.enable_grad():
        y.sum().backward()
    assert model.fc1.weight.grad is not None


def test_after_training_the_npu_runs() -> None:
    model, x = Mlp(), torch.randn(3, 16)
    fast = compiled(model)
    with torch.enable_grad(), pytest.warns(UserWarning, match="gradients are wanted"):
        assert fast(x).requires_grad
    assert not fast(x).requires_grad
    torch.testing.assert_close(fast(x), model(x), rtol=1e-5, atol=1e-5)


def test_inputs_without_gradients_run_on_the_npu_in_any_mode() -> None:
    with torch.enable_grad():
        y = compiled(relu)(torch.randn(3))
    assert not y.requires_grad


def test_gradients_that_are_wanted_later() -> None:
    model, x = Mlp().requires_grad_(False), torch.randn(3, 16)
    fast = compiled(model, level="ge")
    with torch.enable_grad():
        assert not fast(x).requires_grad
        with pytest.warns(UserWarning, match="gradients are wanted"):
            assert fast(x.clone().requires_grad_()).requires_grad
        assert not fast(x).requires_grad
        model.fc1.weight.requires_grad_(True)
        with pytest.warns(UserWarning, match="gradients are wanted"):
            fast(x).sum().backward()
    assert model.fc1.weight.grad is not None


# ---- options and faults -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"taget": "Ascend910A"}, r"unknown option 'taget' \(did you mean 'target'\?\); options: check, fallback, level"),
        ({"level": "til"}, r"unknown level 'til' \(did you mean 'tile'\?\)"),
        ({"target": "Ascend910"}, "unknown target 'Ascend910'"),
        ({"fallback": "never"}, "fallback must be one of allow, error, got 'never'"),
        ({"precision_mode": "fast"}, "unknown precision mode 'fast'"),
        ({"check": 1}, "option 'check' must be True or False, got 1"),
    ],
)
def test_an_option_that_there_is_not(options: dict[str, Any], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        BackendOptions.of(options)


def test_a_fault_is_told_with_the_models_line() -> None:
    def function(x: Tensor) -> Tensor:
        return torch.cumsum(x, 0)

    line = function.__code__.co_firstlineno + 1
    with pytest.raises(BackendCompilerFailed, match=rf"test_torch_backend.py:{line}:\d+: error: 1 operator does not run on the AI Cores"):
        compiled(function, fallback="error")(torch.randn(3))


def test_operators_on_other_engines_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    def function(x: Tensor) -> Tensor:
        return torch.erfinv(x * 0.5)

    with caplog.at_level(logging.WARNING, logger="ge_compiler"):
        check_like_eager(function, torch.rand(3))
    assert "1 launch not on the AI Cores" in caplog.text
    assert "aten.erfinv.default" in caplog.text


def test_a_mode_is_refused() -> None:
    with pytest.raises(BackendCompilerFailed, match="has no mode 'max-autotune'; use options"):
        TORCH.compile(Mlp(), backend="npu", mode="max-autotune")(torch.randn(2, 16))


def test_shapes_that_depend_on_the_data_are_refused() -> None:
    def function(x: Tensor) -> Tensor:
        return x.nonzero() + 1

    line = function.__code__.co_firstlineno + 1
    message = rf"test_torch_backend.py:{line}:\d+: error: a shape depends on the data"
    with TORCH._dynamo.config.patch(capture_dynamic_output_shape_ops=True), pytest.raises(BackendCompilerFailed, match=message):
        compiled(function)(torch.ones(3))


def test_sizes_among_the_results() -> None:
    def function(x: Tensor) -> tuple[int, Tensor, int]:
        return x.shape[0], x + 1, x.numel()

    fast = compiled(function, True, level="ge")
    for size in (3, 4):
        first, y, last = fast(torch.ones(size, 2))
        assert (first, y.shape, last) == (size, (size, 2), 2 * size)


def test_an_index_out_of_bounds_is_told() -> None:
    fast = compiled(nn.Embedding(10, 4))
    assert fast(torch.tensor([1, 9])).shape == (2, 4)
    with pytest.raises(CompileError, match=r"index 10 in row \d+ is out of bounds: the table has 10 rows"):
        fast(torch.tensor([1, 10]))


def test_only_the_cpu_has_tensors() -> None:
    with pytest.raises(BackendCompilerFailed, match="'x' is on device 'meta'; move the model and its inputs to the CPU first"):
        compiled(changes_its_input)(torch.ones(3, 4, device="meta"))


def test_a_dtype_that_programs_do_not_have() -> None:
    def function(x: Tensor) -> Tensor:
        return x.real + 1

    with pytest.raises(BackendCompilerFailed, match="'x' has dtype complex64, which is not supported; convert it first"):
        compiled(function)(torch.ones(3, dtype=torch.complex64))


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("L['self']._modules['fc1']._parameters['weight']", "fc1.weight"),
        ("L['self']._modules['blocks']._modules['0'].attn", "blocks.0.attn"),
        ("L['x']", "x"),
        ("L['inputs'][1]", "inputs.1"),
    ],
)
def test_names_are_the_models(source: str, name: str) -> None:
    node = torch.fx.Graph().placeholder("p")
    node._dynamo_source = type("Source", (), {"name": source})()  # pyright: ignore
    assert name_of_source(node) == name
