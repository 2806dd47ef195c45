"""Kernels for other engines than the AI Cores: they keep their operators at every level, and run by numpy or on the host."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch.fx import Graph
from torch.utils import _pytree as pytree  # pyright: ignore[reportPrivateUsage]
from xdsl.dialects.builtin import ModuleOp

from ge_compiler import dialects
from ge_compiler.dialects import LEVELS
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.semantics import Array
from ge_compiler.lowering.from_torch.conversion import Declined
from ge_compiler.lowering.from_torch.dtypes import to_numpy, to_torch
from ge_compiler.lowering.from_torch.host_operators import host_call, run_on_host
from ge_compiler.lowering.pipelines import module_level
from ge_compiler.runtime.execute import Statistics, execute
from ge_compiler.tools.compilation import Options, lower
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
