"""The Python API: calling, looking, saving and loading programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from torch import Tensor, nn

import ge_compiler as ge
from ge_compiler.dialects import LEVELS
from ge_compiler.dialects.diagnostics import CompileError


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 6)

    def forward(self, x: Tensor, scale: float = 2.0, *, bias: Tensor | None = None) -> dict[str, Any]:
        y = self.fc(x) * scale
        return {"y": y if bias is None else y + bias, "pair": [torch.relu(y), None]}


@pytest.fixture(scope="module")
def model() -> nn.Module:
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    return Model().half()


@pytest.fixture(scope="module")
def program(model: nn.Module) -> ge.Program:
    return ge.compile(model, args=(torch.zeros(3, 8).half(),), kwargs={"bias": torch.zeros(6).half()})


X, BIAS = torch.randn(3, 8).half(), torch.randn(6).half()


def test_a_call_takes_and_gives_what_the_model_does(model: nn.Module, program: ge.Program) -> None:
    wanted, got = model(X, bias=BIAS), program(X, bias=BIAS)
    torch.testing.assert_close(got["y"], wanted["y"], atol=5e-3, rtol=5e-3)
    torch.testing.assert_close(got["pair"][0], wanted["pair"][0], atol=5e-3, rtol=5e-3)
    assert got["pair"][1] is None
    torch.testing.assert_close(program(bias=BIAS, x=X)["y"], got["y"], atol=0, rtol=0)


def test_arrays_give_arrays(program: ge.Program) -> None:
    y: Any = program(X.numpy(), bias=BIAS.numpy())["y"]
    assert type(y) is np.ndarray
    np.testing.assert_array_equal(y, program(X, bias=BIAS)["y"].numpy())


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((X,), {}, "missing input 'bias'; the program takes x=f16\\[3,8\\], bias=f16\\[6\\]"),
        ((X, 2.0, BIAS), {}, "3 positional inputs given"),
        ((X,), {"x": X, "bias": BIAS}, "input 'x' is given twice"),
        ((X,), {"bias": BIAS, "other": X}, "unexpected input 'other'"),
        ((X[:2],), {"bias": BIAS}, "input 'x' must be x=f16\\[3,8\\], got x=f16\\[2,8\\]"),
        ((X.float(),), {"bias": BIAS}, "got x=f32\\[3,8\\]"),
        ((3,), {"bias": BIAS}, "input 'x' must be a tensor or an array, got int"),
        (([X],), {"bias": BIAS}, "missing input 'x'"),
    ],
)
def test_a_wrong_call_says_what_the_program_takes(args: Any, kwargs: Any, words: str, program: ge.Program) -> None:
    with pytest.raises(TypeError, match=words):
        program(*args, **kwargs)


def test_values_that_the_program_was_compiled_for_are_held_to(model: nn.Module) -> None:
    program = ge.compile(model, args=(X, 3.0))
    torch.testing.assert_close(program(X, 3.0)["y"], model(X, 3.0)["y"], atol=5e-3, rtol=5e-3)
    with pytest.raises(TypeError, match=r"input 'scale' is 4.0, but the program was compiled for 3.0"):
        program(X, 4.0)


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_is_there_and_survives_a_file(level: str, program: ge.Program, tmp_path: Path) -> None:
    program.save(tmp_path / "m.om")
    loaded = ge.load(tmp_path / "m.om")
    assert loaded.levels == program.levels == LEVELS
    assert loaded.text(level) == program.text(level)
    loaded.module(level).verify()
    arrays = [X.numpy(), BIAS.numpy()]
    for wanted, got in zip(program.run(arrays, level), loaded.run(arrays, level), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_a_loaded_program_is_called_in_the_same_way(program: ge.Program, tmp_path: Path) -> None:
    program.save(tmp_path / "m.om")
    loaded = ge.load(tmp_path / "m.om")
    torch.testing.assert_close(loaded(X, bias=BIAS), program(X, bias=BIAS), atol=0, rtol=0)
    loaded.save(tmp_path / "again.om")
    assert (tmp_path / "again.om").read_bytes() == (tmp_path / "m.om").read_bytes()


def test_an_unknown_level_is_told(program: ge.Program) -> None:
    with pytest.raises(CompileError, match=r"no level 'tle' \(did you mean 'tile'\?\)"):
        program.module("tle")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dtype": "f64"}, "dtype must be one of f16, bf16, f32"),
        ({"target": "Ascend"}, "unknown target 'Ascend'"),
        ({"precision_mode": "fast"}, "unknown precision mode 'fast'"),
        ({"tiling": {"None": {"m": 16}}}, "kernel 'None', which does not exist"),
    ],
)
def test_wrong_options_are_told(options: Any, words: str, model: nn.Module) -> None:
    with pytest.raises(CompileError, match=words):
        ge.compile(model, (X,), **options)


def test_a_dtype_converts_the_model_and_the_inputs_of_calls() -> None:
    model = nn.Linear(8, 4)
    program = ge.compile(model, (torch.zeros(2, 8),), dtype="f16")
    y = program(X[:2].float())
    assert y.dtype is torch.float16
    torch.testing.assert_close(y.float(), model(X[:2].float()), atol=5e-3, rtol=5e-3)


def test_results_are_strided_as_in_eager() -> None:
    x = torch.randn(4, 6).half().t()
    wanted = torch.relu(x)
    got = ge.compile(nn.ReLU(), (x,))(x)
    assert got.stride() == wanted.stride() == (1, 6)
    torch.testing.assert_close(got, wanted, atol=0, rtol=0)


def test_a_model_without_inputs() -> None:
    class Constant(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.arange(4).half())

        def forward(self) -> tuple[Tensor, int]:
            return self.weight * 2, 3

    y, three = ge.compile(Constant())()
    torch.testing.assert_close(y, torch.tensor([0, 2, 4, 6]).half(), atol=0, rtol=0)
    assert three == 3


class Counter(nn.Module):
    """Counts its calls, adds up what it gets, and doubles its input in place."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Tensor
        self.total: Tensor
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("total", torch.zeros(4, dtype=torch.float16))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.calls += 1
        self.total += x
        x.mul_(2)
        return x + self.total, self.calls


def test_states_persist_between_calls(tmp_path: Path) -> None:
    model, eager, x = Counter(), Counter(), torch.tensor([1.0, 2.0, 3.0, 4.0]).half()
    program = ge.compile(model, (x.clone(),))
    for _ in range(2):
        ours, theirs = x.clone(), x.clone()
        torch.testing.assert_close(program(ours), eager(theirs), atol=0, rtol=0)
        torch.testing.assert_close(ours, theirs, atol=0, rtol=0)
    assert program.states["calls"] == 2
    assert int(model.calls) == 0
    program.save(tmp_path / "m.om")
    loaded = ge.load(tmp_path / "m.om")
    assert loaded.states["calls"] == 0
    assert loaded.signature == program.signature
    program.reset()
    torch.testing.assert_close(loaded(x.clone()), program(x.clone()), atol=0, rtol=0)


def test_states_may_be_read_and_written() -> None:
    x = np.ones(4, np.float16)
    program = ge.compile(Counter(), (torch.ones(4).half(),))
    program.states["total"][...] = 5
    y, calls = program(x)
    np.testing.assert_array_equal(y, 8)
    np.testing.assert_array_equal(x, 2)
    calls[...] = 7
    assert program.states["calls"] == 1
    np.testing.assert_array_equal(program.run([x])[0], 12)
    assert program.states["calls"] == 1
    program.states["total"] = np.zeros(3, np.float16)
    with pytest.raises(TypeError, match=r"state 'total' must be total=f16\[4\], got total=f16\[3\]"):
        program(x)


def test_tile_sizes_and_memory(model: nn.Module) -> None:
    program = ge.compile(model, (X,), tiling={"MatMulV2MulsRelu": {"n": 16, "k0": 16}})
    kernel = program.report().kernels[0]
    assert (kernel.schedule["n"], kernel.schedule["k0"]) == (16, 16)
    rows = program.memory()
    assert {row["memory"] for row in rows} == {"l1", "l0a", "l0b", "l0c", "ub", "gm"}
    assert all(0 <= row["bytes"] <= row["capacity"] for row in rows)


def test_bfloat16_crosses_into_numpy_and_back() -> None:
    x = torch.randn(4, 6).bfloat16()
    from ge_compiler.lowering.from_torch.dtypes import to_numpy, to_torch

    array = to_numpy(x)
    assert array.dtype == ml_dtypes.bfloat16
    torch.testing.assert_close(to_torch(array), x, atol=0, rtol=0)
