"""Kernels for other engines than the AI Cores: they keep their operators at every level, and run by numpy or on the host."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ge_compiler import dialects
from ge_compiler.dialects import LEVELS
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.semantics import Array
from ge_compiler.lowering.pipelines import module_level
from ge_compiler.runtime.execute import Statistics, execute
from ge_compiler.tools.compilation import Options, lower
from ge_compiler.tools.opt.pass_manager import PassManager

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
