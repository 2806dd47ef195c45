"""The importer: every operator of its table computes what PyTorch computes, and what it refuses it explains."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from xdsl.dialects.builtin import NameLoc

from ge_compiler.dialects import ge
from ge_compiler.dialects.diagnostics import CompileError, location_text
from ge_compiler.lowering.from_torch import graph
from ge_compiler.lowering.from_torch.conversion import Declined
from ge_compiler.lowering.from_torch.dtypes import to_numpy, to_torch
from ge_compiler.lowering.from_torch.golden import golden_of
from ge_compiler.lowering.from_torch.importer import Imported, import_model
from ge_compiler.runtime.accuracy import measure
from ge_compiler.runtime.execute import execute
from ge_compiler.runtime.signature import Array, Signature, nest

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


class Function(nn.Module):
    """A function as a model."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *xs: Tensor) -> Any:
        return self.function(*xs)


def rand(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def run(imported: Imported) -> list[Array]:
    """Executes a `ge` module; its states start from their first contents."""
    buffers = [imported.weights[state.initial] for state in imported.signature.buffers if state.initial is not None]
    return execute(imported.module, [*map(to_numpy, imported.inputs), *buffers], imported.weights)


def check(imported: Imported) -> None:
    golden = golden_of(imported)
    for actual, reference, eager in zip(run(imported), golden.reference, golden.eager, strict=True):
        metrics = measure(actual, reference, eager)
        assert metrics.within, metrics


def promoting(x: Tensor, y: Tensor) -> Tensor:
    return x * y + y


def integers(x: Tensor, y: Tensor) -> Tensor:
    return (x * y - 3).clamp(-9, 99) + y


def lifted_constant(x: Tensor) -> Tensor:
    return x * torch.tensor(2.5)


@pytest.mark.parametrize("other", [torch.int32, torch.float16])
def test_promotion_follows_torch(other: torch.dtype) -> None:
    check(import_model(Function(promoting), (rand(3, 4), (10 * rand(3, 4)).to(other))))
    check(import_model(Function(torch.div), (torch.arange(1, 7), torch.arange(2, 8))))


def test_integers_are_exact() -> None:
    imported = import_model(Function(integers), (torch.arange(-8, 8), torch.arange(16)))
    np.testing.assert_array_equal(run(imported)[0], golden_of(imported).eager[0])


def test_products_of_integers_wrap_around() -> None:
    x = torch.arange(-60, 60, dtype=torch.int8).reshape(10, 12)
    imported = import_model(Function(torch.mm), (x, x.t()))
    np.testing.assert_array_equal(run(imported)[0], torch.mm(x, x.t()).numpy())


def test_zero_dimensional_half_keeps_its_type() -> None:
    imported = import_model(Function(lifted_constant), (rand(3, 4, dtype=torch.float16),))
    assert imported.signature.outputs[0].dtype == "f16"


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4, bias=False)
        self.b.weight = self.a.weight
        self.c = nn.Parameter(torch.randn(4, 6).t())
        self.scale: Tensor
        self.register_buffer("scale", torch.full((4,), 2.0), persistent=False)

    def forward(self, x: Tensor) -> dict[str, Any]:
        y = self.b(self.a(x)) * self.scale
        return {"y": y, "pair": (y @ self.c.t(), None), "x": x}


def test_weights_share_memory_and_tied_ones_are_one() -> None:
    model = Tied()
    imported = import_model(model, (rand(3, 4),))
    assert imported.weights.keys_of == {"a_weight": ("a.weight", "b.weight"), "a_bias": ("a.bias",), "c": ("c",), "scale": ("scale",)}
    assert imported.weights["a_weight"].ctypes.data == model.a.weight.data_ptr()
    assert imported.weights["c"].strides == (4, 24)
    check(imported)


def test_results_nest_as_in_the_model() -> None:
    imported = import_model(Tied(), (rand(3, 4),))
    a, b, c = run(imported)
    result = nest(imported.signature.structure, [a, b, c])
    assert result["y"] is a
    assert result["pair"] == (b, None)
    assert result["x"] is c


def test_another_dtype_leaves_the_callers_model_alone() -> None:
    model = nn.Linear(4, 4).train()
    imported = import_model(model, (rand(2, 4),), dtype="bf16")
    assert model.weight.dtype is torch.float32
    assert model.training
    assert imported.weights["weight"].dtype.name == "bfloat16"
    np.testing.assert_array_equal(to_torch(imported.weights["weight"]).float(), model.weight.detach().bfloat16().float())


def line_with(text: str, function: Callable[..., Any]) -> int:
    lines, start = inspect.getsourcelines(function)
    return start + next(i for i, line in enumerate(lines) if text in line)


def test_each_op_carries_its_python_line_and_module() -> None:
    imported = import_model(Tied(), (rand(3, 4),))
    op = next(op for op in imported.module.walk() if isinstance(op, ge.MatMulV2Op))
    assert isinstance(op.location, NameLoc)
    assert op.location.desc.data == "a"
    path, line, _ = location_text(op.location).rsplit(":", 2)
    assert Path(path).name == Path(__file__).name
    assert int(line) == line_with("self.b(self.a(x))", Tied.forward)


class Unsupported(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.polar(x, x).abs() + torch.polar(x, x + 1).abs()
        return torch.view_as_complex(y).abs()


def test_all_unsupported_operators_are_told_at_once() -> None:
    with pytest.raises(CompileError) as caught:
        import_model(Unsupported(), (rand(3, 2),))
    text = str(caught.value)
    line = line_with("torch.polar", Unsupported.forward)
    assert "2 operators are not supported" in text
    assert f"UnsupportedOp aten.polar.default ×2 at {location_text(caught.value.location)}" in text
    assert "its result has dtype complex64" in text
    assert f":{line}:" in location_text(caught.value.location)
    assert "aten.view_as_complex.default ×1" in text


class Refused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count: Tensor
        self.register_buffer("count", torch.zeros(3))
        self.same: Tensor
        self.register_buffer("same", self.count)

    def ends(self, x: Tensor) -> Tensor:
        raise SystemExit(0)

    def branches(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x

    def shares(self, x: Tensor) -> Tensor:
        self.count.add_(1)
        return x + self.same

    def to_double(self, x: Tensor) -> Tensor:
        return x.double() * 2

    def nonzero(self, x: Tensor) -> Tensor:
        return torch.nonzero(x)

    def nothing(self, x: Tensor) -> None:
        del x


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("branches", "torch.export could not trace Refused"),
        ("ends", "torch.export could not trace Refused: SystemExit: 0"),
        ("nonzero", "a shape depends on the data"),
        ("nothing", "returns no tensor"),
        ("shares", r"buffers in place that share their memory \('count', 'same'\); give each"),
        ("to_double", "output 'y' has dtype float64"),
    ],
)
def test_what_is_refused_is_explained(method: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Refused, "forward", getattr(Refused, method))
    with pytest.raises(CompileError, match=words):
        import_model(Refused(), (rand(3, 3),))


def test_what_is_left_to_the_host_says_why() -> None:
    imported = import_model(nn.Sequential(nn.Conv2d(2, 2, 1), nn.ReLU()), (rand(1, 2, 3, 3),))
    op = next(op for op in imported.module.walk() if isinstance(op, ge.AtenFallbackOp))
    assert op.overload.data == "aten.conv2d.default"
    assert op.reason is not None
    assert op.reason.data == "no conversion"
    assert isinstance(op.location, NameLoc)
    assert op.location.desc.data == "0"


def powers(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.var(0), x.max(0).values


def test_what_nothing_uses_is_not_imported() -> None:
    imported = import_model(Function(powers), (rand(3, 4),))
    assert not [op for op in imported.module.walk() if isinstance(op, ge.ArgMaxDOp)]


class Stateful(nn.Module):
    """Changes a counter, a buffer through a view, and its input; one buffer is only read, one is written what it holds."""

    def __init__(self) -> None:
        super().__init__()
        self.count: Tensor
        self.rows: Tensor
        self.offset: Tensor
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("rows", torch.zeros(3, 4), persistent=False)
        self.register_buffer("offset", torch.ones(4))

    def forward(self, x: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        self.count += 1
        self.rows.index_copy_(0, row, x[None])
        self.rows[:, 0] = 7.0
        x.mul_(2)
        return x + self.rows.sum(0) + self.offset, self.count


def test_what_the_model_changes_becomes_states() -> None:
    model = Stateful()
    imported = import_model(model, (rand(4), torch.tensor([1])))
    signature = imported.signature
    assert [spec.name for spec in signature.inputs] == ["x", "row"]
    assert [(s.tensor.name, s.argument, s.result, s.initial) for s in signature.states] == [
        ("count", 2, 2, "count"),
        ("rows", 3, 3, "rows"),
        ("x", 0, 4, None),
    ]
    text = str(imported.module)
    assert "%x: tensor<4xf32> {ge.updated_by = 4 : i64}, %row: tensor<1xi64>, %count: tensor<i64> {ge.updated_by = 2" in text
    assert set(imported.weights) == {"count", "rows", "offset"}
    assert imported.weights["rows"].ctypes.data != model.rows.data_ptr()
    check(imported)
    assert int(model.count) == 0
    assert not model.rows.any()


def test_a_state_of_a_signature_survives_json() -> None:
    signature = import_model(Stateful(), (rand(4), torch.tensor([1]))).signature
    assert Signature.from_json(json.loads(json.dumps(signature.to_json()))) == signature


def test_what_torch_writes_about_a_fault_is_not_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(Refused, "forward", Refused.branches)
    with pytest.raises(CompileError):
        import_model(Refused(), (rand(3, 3),))
    assert capsys.readouterr() == ("", "")


def test_what_a_model_writes_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def forward(_: Refused, x: Tensor) -> Tensor:
        sys.stderr.write("in forward\n")
        return x + 1

    monkeypatch.setattr(Refused, "forward", forward)
    import_model(Refused(), (rand(3, 3),))
    assert "in forward\n" in capsys.readouterr().err


def test_an_operator_without_a_line_is_told_by_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    def decline(_: Any) -> None:
        raise Declined("it is too large")

    monkeypatch.setattr(graph, "host_call", decline)
    with pytest.raises(CompileError, match=r"conv1d.default ×1 at '1': no conversion; nor can the host run it: it is too large"):
        import_model(nn.Sequential(nn.ReLU(), nn.Conv1d(3, 3, 1)), (rand(3, 3),))


class Sparse(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.eye(3).to_sparse())

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.w


def test_a_sparse_parameter_is_explained() -> None:
    with pytest.raises(CompileError, match=r"parameter 'w' is sparse; make it dense"):
        import_model(Sparse(), (rand(3, 3),))
    with pytest.raises(CompileError, match="Sparse cannot be copied to convert it to f16"):
        import_model(Sparse(), (rand(3, 3),), dtype="f16")


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_a_scripted_module_is_explained() -> None:
    with pytest.raises(CompileError, match="the model is a ScriptModule"):
        import_model(torch.jit.script(nn.ReLU()), (rand(3, 3),))  # pyright: ignore[reportUnknownMemberType]


class Accented(nn.Module):
    def forward(self, größe: Tensor) -> Tensor:
        return größe + 1


def test_what_is_no_module_is_explained() -> None:
    with pytest.raises(CompileError, match=r"a model is a torch\.nn\.Module, got type"):
        import_model(cast("nn.Module", nn.ReLU), (rand(3, 3),))


def test_a_name_that_the_text_cannot_hold_is_changed() -> None:
    imported = import_model(Accented(), (rand(3, 3),))
    assert imported.signature.inputs[0].name == "größe"
    assert "%gr__e: tensor<3x3xf32>" in str(imported.module)


def test_wrong_call_is_explained() -> None:
    with pytest.raises(CompileError, match=r"do not fit Tied.forward\(x\)"):
        import_model(Tied(), (), {"z": rand(3, 4)})


def test_double_input_is_explained() -> None:
    with pytest.raises(CompileError, match="input 'x' has dtype float64"):
        import_model(Tied(), (rand(3, 4).double(),))
