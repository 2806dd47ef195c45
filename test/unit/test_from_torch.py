"""The importer: every operator of its table computes what PyTorch computes, and what it refuses it explains."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from xdsl.dialects.builtin import NameLoc
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ge_compiler.dialects import ge
from ge_compiler.dialects.diagnostics import CompileError, location_text
from ge_compiler.dialects.ge import semantics
from ge_compiler.lowering.from_torch.conversion import CONVERTERS
from ge_compiler.lowering.from_torch.dtypes import to_numpy, to_torch
from ge_compiler.lowering.from_torch.golden import golden_of
from ge_compiler.lowering.from_torch.importer import Imported, import_model
from ge_compiler.runtime.accuracy import measure
from ge_compiler.runtime.signature import Array, nest

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
    """Executes a `ge` module op by op."""
    main = next(op for op in imported.module.body.block.ops if isinstance(op, FuncOp))
    values: dict[SSAValue, Array] = dict(zip(main.body.block.args, map(to_numpy, imported.inputs), strict=True))
    for op in main.body.block.ops:
        if isinstance(op, ge.LoadWeightOp):
            values[op.y] = imported.weights[op.weight.root_reference.data]
        elif isinstance(op, ge.GeOp):
            values.update(zip(op.results, semantics.evaluate(op, [values[x] for x in op.operands]), strict=True))
    assert main.body.block.last_op is not None
    return [values[x] for x in main.body.block.last_op.operands]


def check(imported: Imported) -> None:
    golden = golden_of(imported)
    for actual, reference, eager in zip(run(imported), golden.reference, golden.eager, strict=True):
        metrics = measure(actual, reference, eager)
        assert metrics.within, metrics


POSITIVE: dict[str, Callable[[Tensor], Tensor]] = {
    "log": torch.log,
    "pow -0.5": lambda x: x**-0.5,
    "pow -1": lambda x: x**-1,
    "pow 0.5": lambda x: x**0.5,
    "reciprocal": lambda x: 1 / x,
    "rsqrt": torch.rsqrt,
    "sqrt": torch.sqrt,
}
UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "abs": torch.abs,
    "add scalar": lambda x: x + 3.7,
    "cast": lambda x: x.to(torch.float32) + x.to(torch.float16),
    "clamp": lambda x: x.clamp(-0.5, 0.7),
    "clamp above": lambda x: x.clamp(max=0.1),
    "clamp below": lambda x: torch.clamp_min(x, -0.25),
    "clamp_max": lambda x: torch.clamp_max(x, 0.25),
    "div scalar": lambda x: x / 3,
    "div power of two": lambda x: x / -4,
    "erf": torch.erf,
    "exp": torch.exp,
    "gelu": nn.functional.gelu,
    "gelu tanh": lambda x: nn.functional.gelu(x, approximate="tanh"),
    "identities": lambda x: nn.functional.dropout(x.detach().clone().contiguous(), training=False) + 1,
    "lifted constant": lambda x: x * torch.tensor(2.5),
    "mul scalar": lambda x: 0.3 * x,
    "neg": lambda x: -x,
    "pow 1": lambda x: x**1,
    "pow 2": lambda x: x**2,
    "pow 3": lambda x: x**3,
    "relu": torch.relu,
    "rsub": lambda x: 2.5 - x,
    "sigmoid": torch.sigmoid,
    "silu": nn.functional.silu,
    "square": torch.square,
    "sub scalar": lambda x: x - 0.4,
    "tanh": torch.tanh,
}
BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "add alpha": lambda x, y: torch.add(x, y, alpha=0.5),
    "div": lambda x, y: x / (y.abs() + 1),
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "mul": torch.mul,
    "sub": torch.sub,
    "sub alpha": lambda x, y: torch.sub(x, y, alpha=3),
}


def scaled_addmm(c: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return torch.addmm(c, a, b, beta=0.5, alpha=2)


def addmm_without_addend(c: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return torch.addmm(c, a, b, beta=0)


def product_of_transposes(a: Tensor, b: Tensor) -> Tensor:
    return a.transpose(1, 2) @ b.mT


def product_with_transpose(a: Tensor, b: Tensor) -> Tensor:
    return a @ b.t()


def promoting(x: Tensor, y: Tensor) -> Tensor:
    return x * y + y


def integers(x: Tensor, y: Tensor) -> Tensor:
    return (x * y - 3).clamp(-9, 99) + y


PRODUCTS: dict[str, tuple[Callable[..., Tensor], tuple[tuple[int, ...], ...]]] = {
    "addmm": (torch.addmm, ((5,), (4, 6), (6, 5))),
    "addmm beta alpha": (scaled_addmm, ((4, 5), (4, 6), (6, 5))),
    "addmm without addend": (addmm_without_addend, ((4, 5), (4, 6), (6, 5))),
    "baddbmm": (torch.baddbmm, ((3, 4, 5), (3, 4, 6), (3, 6, 5))),
    "bmm": (torch.bmm, ((3, 4, 6), (3, 6, 5))),
    "bmm of transposes": (product_of_transposes, ((3, 6, 4), (3, 5, 6))),
    "empty sum": (torch.mm, ((4, 0), (0, 5))),
    "linear": (nn.functional.linear, ((4, 6), (5, 6), (5,))),
    "linear of a stack": (nn.functional.linear, ((2, 3, 4, 6), (5, 6), (5,))),
    "linear without bias": (nn.functional.linear, ((4, 6), (5, 6))),
    "matmul broadcasts": (torch.matmul, ((2, 1, 4, 6), (3, 6, 5))),
    "mm": (torch.mm, ((4, 6), (6, 5))),
    "mm of a transpose": (product_with_transpose, ((4, 6), (5, 6))),
}


def all_cases() -> tuple[dict[str, tuple[Callable[..., Tensor], slice]], list[Tensor]]:
    """Every function with its part of one list of inputs: one export serves them all."""
    x, y, z = rand(7, 33), rand(4, 1, 6), rand(5, 1)
    inputs = [x, x.abs() + 0.1, y, z]
    cases: dict[str, tuple[Callable[..., Tensor], slice]] = {name: (f, slice(0, 1)) for name, f in UNARY.items()}
    cases |= {name: (f, slice(1, 2)) for name, f in POSITIVE.items()}
    cases |= {name: (f, slice(2, 4)) for name, f in BINARY.items()}
    for name, (f, shapes) in PRODUCTS.items():
        cases[name] = f, slice(len(inputs), len(inputs) + len(shapes))
        inputs += [rand(*shape) for shape in shapes]
    return cases, inputs


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operator_computes_what_torch_computes(dtype: str) -> None:
    cases, inputs = all_cases()
    imported = import_model(Function(lambda *xs: [f(*xs[part]) for f, part in cases.values()]), inputs, dtype=dtype)
    golden = golden_of(imported)
    results = zip(cases, run(imported), golden.reference, golden.eager, strict=True)
    metrics = {name: measure(actual, reference, eager) for name, actual, reference, eager in results}
    assert not {name: m.failures for name, m in metrics.items() if not m.within}
    missing = set(CONVERTERS) - {str(node.target) for node in imported.exported.graph.nodes}
    assert missing <= NEVER_EXPORTED


NEVER_EXPORTED = {
    "aten.add.Scalar",
    "aten.alias.default",
    "aten.contiguous.default",
    "aten.div.Scalar",
    "aten.dropout.default",
    "aten.lift_fresh_copy.default",
    "aten.mul.Scalar",
    "aten.sub.Scalar",
}
"""What `torch.export` writes in another way today; the torch.compile path and other versions have them."""


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
    imported = import_model(Function(UNARY["lifted constant"]), (rand(3, 4, dtype=torch.float16),))
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
        y = torch.cos(x) + torch.cos(x + 1)
        y = torch.cumsum(y, 0)
        return y @ torch.ones(3) + y**2.5


def test_all_unsupported_operators_are_told_at_once() -> None:
    with pytest.raises(CompileError) as caught:
        import_model(Unsupported(), (rand(3, 3),))
    text = str(caught.value)
    line = line_with("torch.cos", Unsupported.forward)
    assert "4 operators" not in text
    assert f"UnsupportedOp aten.cos.default ×2 at {location_text(caught.value.location)}" in text
    assert f":{line}:" in location_text(caught.value.location)
    assert "aten.cumsum.default ×1" in text
    assert "exponent 2.5" in text


class Refused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count: Tensor
        self.register_buffer("count", torch.zeros(3))

    def ends(self, x: Tensor) -> Tensor:
        raise SystemExit(0)

    def counts(self, x: Tensor) -> Tensor:
        self.count.add_(1)
        return x + self.count

    def branches(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x

    def vector(self, x: Tensor) -> Tensor:
        return x @ torch.ones(3)

    def to_double(self, x: Tensor) -> Tensor:
        return x.double() * 2

    def view(self, x: Tensor) -> Tensor:
        return x.t() + 1

    def boolean(self, x: Tensor) -> Tensor:
        return x.bool()

    def nonzero(self, x: Tensor) -> Tensor:
        return torch.nonzero(x)

    def norm(self, x: Tensor) -> Tensor:
        return nn.functional.batch_norm(x, self.count, self.count)

    def nothing(self, x: Tensor) -> None:
        del x


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("boolean", "cast to booleans"),
        ("branches", "torch.export could not trace Refused"),
        ("counts", "changes its buffer 'count' in place"),
        ("ends", "torch.export could not trace Refused: SystemExit: 0"),
        ("nonzero", "a shape depends on the data"),
        ("norm", r"1 operator is not supported\n.*batch_norm_legit_no_training.default ×1 at .*: no conversion$"),
        ("nothing", "returns no tensor"),
        ("to_double", "dtype float64"),
        ("vector", "rank 2 and 1"),
        ("view", "transposed tensor"),
    ],
)
def test_what_is_refused_is_explained(method: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Refused, "forward", getattr(Refused, method))
    with pytest.raises(CompileError, match=words):
        import_model(Refused(), (rand(3, 3),))


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


def test_an_operator_without_a_line_is_told_by_its_module() -> None:
    with pytest.raises(CompileError, match=r"batch_norm_legit_no_training.default ×1 at '1': no conversion"):
        import_model(nn.Sequential(nn.ReLU(), nn.BatchNorm1d(3)), (rand(3, 3),))


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
