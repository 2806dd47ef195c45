"""Kernels for other engines than the AI Cores: they keep their operators at every level, and run by numpy or on the host."""

from __future__ import annotations

import inspect
import json
import math
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.fx import Graph
from torch.utils import _pytree as pytree  # pyright: ignore[reportPrivateUsage]
from xdsl.dialects.builtin import ModuleOp

import ge_compiler as ge
from ge_compiler import dialects
from ge_compiler.dialects import LEVELS
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.semantics import Array
from ge_compiler.lowering import from_torch
from ge_compiler.lowering.from_torch.conversion import Declined
from ge_compiler.lowering.from_torch.dtypes import to_numpy, to_torch
from ge_compiler.lowering.from_torch.host_operators import host_call, run_on_host
from ge_compiler.lowering.pipelines import module_level
from ge_compiler.runtime.execute import Statistics, execute
from ge_compiler.tools.api import Program
from ge_compiler.tools.commands.summary import summary
from ge_compiler.tools.compilation import Options, compile_levels, lower
from ge_compiler.tools.gec import main
from ge_compiler.tools.opt.pass_manager import PassManager

aten: Any = torch.ops.aten
X = torch.arange(20.0).reshape(4, 5)
T = "tensor<4x8xf32>"
EXP = f"""
func.func private @Exp(%x: {T}) -> {T} {{
  %y = ge.Exp %x : ({T}) -> {T}
  func.return %y : {T}
}}
"""
RELU = f"""
func.func private @Relu(%x: {T}) -> {T} {{
  %y = fused.relu %x : {T}
  func.return %y : {T}
}}
"""


def launch(result: str, kernel: str, operand: str, engine: str) -> str:
    where = f"%d{result} = tensor.empty() : {T}\n  %{result} = fused.launch @{kernel}(%{operand}) into (%d{result}) on {engine}"
    return f'  {where} {{ops = ["{kernel}"], op_name = "{result}"}} : ({T}) into ({T}) -> {T}\n'


def module_of(kernels: str, body: str, result: str) -> ModuleOp:
    return parse_module(f"{kernels}\nfunc.func @main(%x: {T}) -> {T} {{\n{body}  func.return %{result} : {T}\n}}", "engines.mlir")


def lowered(module: ModuleOp) -> Iterator[tuple[str, ModuleOp]]:
    """The module at `fused` and at each level below."""
    yield from lower(module, Options())


@pytest.fixture
def x() -> Array:
    return np.random.default_rng(0).standard_normal((4, 8), np.float32)


def test_an_ai_cpu_kernel_between_others_gives_the_same_at_every_level(x: Array) -> None:
    body = launch("a", "Relu", "x", "aicore") + launch("b", "Exp", "a", "aicpu") + launch("c", "Relu", "b", "aicore")
    expected = np.exp(np.maximum(x.astype(np.float64), 0))
    levels = dict(lowered(module_of(EXP + RELU, body, "c")))
    assert list(levels) == list(LEVELS[1:])
    for level, module in levels.items():
        for check in (True, False):
            (y,) = execute(module, [x], {}, check=check)
            np.testing.assert_allclose(y, expected, rtol=1e-6, err_msg=level)


def test_a_kernel_keeps_its_operators_and_tensors(x: Array) -> None:
    module = dict(lowered(module_of(EXP, launch("a", "Exp", "x", "aicpu"), "a")))["npu"]
    assert f"func.func private @Exp(%x: {T}) -> {T}" in str(module)
    assert "fused.launch @Exp(%x) into(%out0) on aicpu" in str(module)
    statistics = Statistics()
    execute(module, [x], {}, statistics=statistics)
    assert statistics.launches == {"Exp": 1}


@pytest.mark.parametrize("level", LEVELS[1:])
def test_without_an_ai_core_kernel_each_pipeline_still_ends(level: str, x: Array) -> None:
    module = module_of(EXP, launch("a", "Exp", "x", "aicpu") + launch("b", "Exp", "a", "aicpu"), "b")
    for step in LEVELS[1 : LEVELS.index(level) + 1]:
        PassManager(f"to-{step}").run(dialects.context(), module)
    PassManager(f"to-{LEVELS[-1]}").run(dialects.context(), module)
    assert module_level(module) == "buf", "launches that take addresses"
    np.testing.assert_allclose(execute(module, [x], {})[0], np.exp(np.exp(x.astype(np.float64))), rtol=1e-6)


def test_an_ai_cpu_launch_reads_only_what_has_been_written(x: Array) -> None:
    source = str(dict(lowered(module_of(EXP, launch("a", "Exp", "x", "aicpu") + launch("b", "Exp", "a", "aicpu"), "b")))["npu"])
    without = "\n".join(line for line in source.splitlines() if "into(%a)" not in line)
    assert without != source
    with pytest.raises(CompileError, match=r"input #0 reads .* which nothing has written"):
        execute(parse_module(without, "edited.mlir"), [x], {})


# ---- the host ---------------------------------------------------------------------------------------------------------

ROLL = f"""
func.func private @Roll(%x: {T}) -> {T} {{
  %y = ge.AtenFallback %x {{overload = "aten.roll.default", arguments = "{{'self': '%0', 'shifts': [1], 'dims': [1]}}"}} : ({T}) -> {T}
  func.return %y : {T}
}}
"""


def test_a_host_kernel_runs_in_pytorch_at_every_level(x: Array) -> None:
    body = launch("a", "Relu", "x", "aicore") + launch("b", "Roll", "a", "host") + launch("c", "Relu", "b", "aicore")
    for level, module in lowered(module_of(ROLL + RELU, body, "c")):
        (y,) = execute(module, [x], {}, host=run_on_host)
        np.testing.assert_array_equal(y, np.roll(np.maximum(x, 0), 1, axis=1), err_msg=level)


def test_a_host_gets_elements_in_order(x: Array) -> None:
    """What `ge` computes by a view of numpy's, turned or reversed, is contiguous for PyTorch, and as a result."""
    text = f"""func.func @main(%x: {T}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {{
      %t = ge.TransposeD %x {{perm = array<i64: 1, 0>}} : ({T}) -> tensor<8x4xf32>
      %y = ge.AtenFallback %t {{overload = "aten.neg.default", arguments = "{{'self': '%0'}}"}} : (tensor<8x4xf32>) -> tensor<8x4xf32>
      func.return %t, %y : tensor<8x4xf32>, tensor<8x4xf32>
    }}"""
    strides: list[tuple[int, ...]] = []

    def host(overload: str, arguments: str, operands: Sequence[Array]) -> Sequence[Array]:
        strides.extend(operand.strides for operand in operands)
        return run_on_host(overload, arguments, operands)

    turned, negative = execute(parse_module(text, "strides.mlir"), [x], {}, host=host)
    assert strides == [(16, 4)]
    assert turned.flags.c_contiguous
    np.testing.assert_array_equal(negative, -x.T)


def test_without_a_host_the_operator_is_named(x: Array) -> None:
    with pytest.raises(CompileError, match=r"'ge.AtenFallback' op aten.roll.default runs on the host, but no host executes this program"):
        execute(module_of(ROLL, launch("a", "Roll", "x", "host"), "a"), [x], {})


def test_what_a_host_gives_must_have_the_types_that_the_text_says(x: Array) -> None:
    module = module_of(ROLL, launch("a", "Roll", "x", "host"), "a")
    with pytest.raises(CompileError, match=r"aten.roll.default gave 8x4 of float32, but the results are tensor<4x8xf32>"):
        execute(module, [x], {}, host=lambda overload, arguments, operands: [operands[0].T])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("aten.roll.default", "aten.rool.default", r"PyTorch .* has no operator aten.rool.default"),
        ("'shifts': [1]", "'shifts': [1", "arguments of aten.roll.default are not understood"),
        ("'%0'", "'%1'", "arguments of aten.roll.default are not understood"),
        ("'dims': [1]", "'dims': [7]", "PyTorch could not run aten.roll.default: .*out of range"),
    ],
)
def test_a_host_operator_that_cannot_run_is_an_error_at_its_line(old: str, new: str, reason: str, x: Array) -> None:
    assert old in ROLL
    module = module_of(ROLL.replace(old, new), launch("a", "Roll", "x", "host"), "a")
    with pytest.raises(CompileError, match=reason) as caught:
        execute(module, [x], {}, host=run_on_host)
    assert "engines.mlir:3" in str(caught.value)


CALLS: Sequence[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (aten.topk.default, (X, 2), {"dim": 0}),
    (aten.full_like.default, (X, math.inf), {"dtype": torch.float16, "memory_format": torch.contiguous_format}),
    (aten.full.default, ([2, 3], -math.inf), {"device": torch.device("cpu"), "layout": torch.strided}),
    (aten.gelu.default, (X,), {"approximate": "tanh"}),
    (aten.stack.default, ([X, X],), {"dim": 1}),
    (aten.index.Tensor, (X, [None, torch.tensor([2, 0])]), {}),
    (aten.split.Tensor, (X, 3, 1), {}),
    (aten.roll.default, (X.to(torch.bfloat16), [1], [0]), {}),
]


@pytest.mark.parametrize(("overload", "args", "kwargs"), CALLS, ids=lambda value: str(value) if callable(value) else "")
def test_a_call_survives_as_text(overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    graph, tensors = Graph(), list[torch.Tensor]()

    def node_of(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        tensors.append(value)
        return graph.placeholder(f"x{len(tensors)}")

    call = host_call(graph.call_function(overload, pytree.tree_map(node_of, args), pytree.tree_map(node_of, kwargs)))
    given = dict(zip(graph.nodes, tensors, strict=False))
    results = run_on_host(call.overload, call.arguments, [to_numpy(given[node]) for node in call.operands])
    expected: Any = overload(*args, **kwargs)
    for y, wanted in zip(results, [expected] if isinstance(expected, torch.Tensor) else expected, strict=True):
        assert torch.equal(to_torch(y), wanted)


def test_an_operator_that_looks_at_strides_is_declined() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    x.meta["val"] = X.t()
    with pytest.raises(Declined, match="not contiguous"):
        host_call(graph.call_function(aten.as_strided.default, (x, [2], [1])))


# ---- compiling a model ------------------------------------------------------------------------------------------------


class Mixed(nn.Module):
    """Two operators that only the host has, and one that no AI Core kernel is written for."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.erfinv(torch.sigmoid(self.fc(x)) - 0.5)
        x = torch.erfinv(torch.sigmoid(x) * 0.5)
        return torch.cumsum(x, 0)


LINE = Mixed.forward.__code__.co_firstlineno


@pytest.fixture(scope="module")
def mixed() -> tuple[Mixed, torch.Tensor, Program]:
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    model, inputs = Mixed(), torch.randn(4, 8)
    return model, inputs, ge.compile(model, args=(inputs,))


def test_a_model_runs_on_three_engines(mixed: tuple[Mixed, torch.Tensor, Program]) -> None:
    model, inputs, program = mixed
    with torch.no_grad():
        torch.testing.assert_close(program(inputs), model(inputs), rtol=1e-5, atol=1e-6)


def test_the_table_says_who_runs_what_and_why(mixed: tuple[Mixed, torch.Tensor, Program]) -> None:
    _, _, program = mixed
    host, aicpu = program.report().engines
    assert (host.engine, host.operator, host.count, host.bytes) == ("host", "aten.erfinv.default", 2, 2 * 2 * 4 * 32)
    assert host.lines == (f"test_engines.py:{LINE + 1}", f"test_engines.py:{LINE + 2}")
    assert (aicpu.engine, aicpu.operator, aicpu.count, aicpu.bytes) == ("aicpu", "CumsumD", 1, 2 * 4 * 32)
    assert host.reason.startswith("no conversion")
    assert aicpu.reason == "it is not written in primitives yet"
    text = summary("mixed", program, program.report())
    assert "3 launches not on the AI Cores" in text
    table = text.split("not on the AI Cores\n")[1]
    assert re.search(rf"host +aten.erfinv.default +2 +512 B +test_engines.py:{LINE + 1}, test_engines.py:{LINE + 2} +no conversion", table)
    on_chip = text.split("bytes of on-chip memory\n")[1].split("\n\n")[0]
    assert "CumsumD" not in on_chip, "it uses none"
    assert program.report().to_json()["engines"][0]["lines"] == list(host.lines)


def test_a_file_with_host_operators_runs_where_pytorch_is(mixed: tuple[Mixed, torch.Tensor, Program], tmp_path: Path) -> None:
    _, inputs, program = mixed
    program.save(tmp_path / "mixed.om")
    loaded = ge.load(tmp_path / "mixed.om")
    assert torch.equal(loaded(inputs), program(inputs))
    assert [row.operator for row in loaded.report().engines] == ["aten.erfinv.default", "CumsumD"]


def test_without_pytorch_a_host_operator_says_what_to_install(
    mixed: tuple[Mixed, torch.Tensor, Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, inputs, program = mixed
    monkeypatch.delattr(from_torch, "host_operators")
    monkeypatch.delitem(sys.modules, "ge_compiler.lowering.from_torch.host_operators")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        CompileError, match=r"aten.erfinv.default runs on the host, which needs PyTorch: pip install 'ge-compiler\[torch\]'"
    ):
        program.run([inputs.numpy()])


def test_fallbacks_can_be_forbidden() -> None:
    with pytest.raises(CompileError, match="2 operators do not run on the AI Cores, which fallback=error forbids") as caught:
        ge.compile(Mixed(), args=(torch.randn(4, 8),), fallback="error")
    notes = [note.message for note in caught.value.notes]
    assert re.fullmatch(
        rf"aten.erfinv.default ×2 on host at \S*test_engines.py:{LINE + 1}:\d+, \S*:{LINE + 2}:\d+: no conversion.*", notes[0]
    )
    assert re.fullmatch(rf"CumsumD ×1 on aicpu at \S*test_engines.py:{LINE + 3}:\d+: it is not written in primitives yet", notes[1])


def test_what_runs_on_the_ai_cores_is_not_forbidden() -> None:
    model, inputs = nn.Linear(8, 8).eval(), torch.randn(4, 8)
    program = ge.compile(model, args=(inputs,), fallback="error")
    assert program.report().engines == ()
    assert "not on the AI Cores" not in summary("linear", program, program.report())


def test_gec_forbids_and_tells_fallbacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mixed.py").write_text("import torch\nfrom torch import nn\n\n\n" + inspect.getsource(Mixed))
    command = ["compile", f"{tmp_path}/mixed.py:Mixed", "--input", "x=f32[4,8]"]
    assert main([*command, "--format", "json"]) == 0
    assert [row["operator"] for row in json.loads(capsys.readouterr().out)["engines"]] == ["aten.erfinv.default", "CumsumD"]
    assert main([*command, "--fallback", "error"]) == 1
    assert "error: 2 operators do not run on the AI Cores" in capsys.readouterr().err
    assert main([*command, "--fallback", "never"]) == 2


def test_an_unknown_fallback_is_refused() -> None:
    with pytest.raises(CompileError, match="fallback must be one of allow, error, got 'eror'"):
        ge.compile(nn.Linear(2, 2), args=(torch.randn(1, 2),), fallback="eror")


def test_a_state_is_updated_in_place_by_the_ai_cpu(x: Array) -> None:
    text = f"""func.func @main(%x: {T}, %s: {T} {{ge.updated_by = 1 : i64}}) -> ({T}, {T}) {{
      %a = ge.Add %s, %x : ({T}, {T}) -> {T}
      %y = ge.CumsumD %s {{axis = 0 : i64}} : ({T}) -> {T}
      func.return %a, %y : {T}, {T}
    }}"""
    s = x[::-1].copy()
    for level, module in lower(parse_module(text, "state.mlir"), Options()):
        total, new = execute(module, [x, s], {})
        np.testing.assert_array_equal(total, s + x, err_msg=level)
        np.testing.assert_allclose(new, np.cumsum(s, 0), rtol=1e-6, err_msg=level)
        if level == "npu":
            assert "@CumsumD(%s) into(%s) on aicpu" in str(module)


def test_a_text_below_ge_is_held_to_the_same() -> None:
    module = module_of(EXP, launch("a", "Exp", "x", "aicpu"), "a")
    with pytest.raises(CompileError, match="1 operator does not run on the AI Cores") as caught:
        compile_levels(module, Options(fallback="error"))
    assert caught.value.notes[0].message.startswith("Exp ×1 on aicpu at engines.mlir:")
