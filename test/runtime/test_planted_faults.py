"""Faults planted into compiled programs: the checked executor reports them, or they change no bit. None is wrong in silence."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

from ge_compiler import dialects
from ge_compiler.dialects import buf, npu
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.memory import mem_of
from ge_compiler.dialects.parser import parse_module
from ge_compiler.runtime.execute import execute
from ge_compiler.tools.opt.pass_manager import PassManager

Array = npt.NDArray[Any]

PROGRAM = """
ge.weight @w1 : tensor<40x70xf16>
ge.weight @b1 : tensor<40xf16>
ge.weight @w2 : tensor<24x40xf16>
func.func @main(%x: tensor<20x70xf16>) -> tensor<20x24xf16> {
  %w1 = ge.load_weight @w1 : tensor<40x70xf16>
  %b1 = ge.load_weight @b1 : tensor<40xf16>
  %w2 = ge.load_weight @w2 : tensor<24x40xf16>
  %0 = ge.MatMulV2 %x, %w1, %b1 {transpose_x2} : (tensor<20x70xf16>, tensor<40x70xf16>, tensor<40xf16>) -> tensor<20x40xf16>
  %1 = ge.GeluV2 %0 : (tensor<20x40xf16>) -> tensor<20x40xf16>
  %2 = ge.MatMulV2 %1, %w2 {transpose_x2} : (tensor<20x40xf16>, tensor<24x40xf16>) -> tensor<20x24xf16>
  %3 = ge.Tanh %2 : (tensor<20x24xf16>) -> tensor<20x24xf16>
  func.return %3 : tensor<20x24xf16>
}
"""
RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 70)).astype(np.float16)
WEIGHTS = {name: RNG.standard_normal(s).astype(np.float16) for name, s in (("w1", (40, 70)), ("b1", (40,)), ("w2", (24, 40)))}


def run(module: ModuleOp) -> Array | CompileError:
    try:
        return execute(module, [X], WEIGHTS)[0]
    except CompileError as error:
        return error


@pytest.fixture(scope="module", params=["buf", "npu"])
def program(request: pytest.FixtureRequest) -> ModuleOp:
    module = parse_module(PROGRAM, "program.mlir")
    PassManager(f"to-{request.param}").run(dialects.context(), module)
    return module


def rivals(program: ModuleOp) -> list[tuple[buf.AtOp, buf.AtOp]]:
    """Pairs of buffers of one memory in one block, with as many slots each, at different addresses."""
    buffers = [op for op in program.walk() if isinstance(op, buf.AtOp)]
    return [
        (op, other)
        for op, other in itertools.permutations(buffers, 2)
        if other.parent is op.parent
        and mem_of(other.result.type) == mem_of(op.result.type)
        and len(other.offsets) == len(op.offsets)
        and other.offsets != op.offsets
    ]


def test_two_buffers_at_one_address(program: ModuleOp) -> None:
    expected = execute(program, [X], WEIGHTS)[0]
    found = 0
    for op, other in random.Random(0).sample(rivals(program), 60):
        own = op.offsets
        op.properties["offsets"] = other.offsets
        result = run(program)
        op.properties["offsets"] = own
        if isinstance(result, CompileError):
            assert "last written through buffer" in result.message
            found += 1
        else:
            assert result.tobytes() == expected.tobytes(), f"{op.label.data} over {other.label.data} is wrong in silence"
    assert found > 10


def test_a_missing_instruction() -> None:
    module = parse_module(PROGRAM, "program.mlir")
    PassManager("to-npu").run(dialects.context(), module)
    dropped: set[str] = set()
    for op in [op for op in module.walk() if isinstance(op, npu.InstructionOp)]:
        # One that writes its own operand leaves an older value of the same buffer: no history can tell.
        if op.writes() in op.reads():
            continue
        block, following = op.parent, op.next_op
        assert block is not None
        op.detach()
        result = run(module)
        assert isinstance(result, CompileError), f"without {op} the program seems right"
        assert "nothing has written" in result.message or "last written through buffer" in result.message
        if following is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, following)
        dropped.add(op.name)
    assert dropped >= {"npu.load", "npu.load2d", "npu.mmad", "npu.fixpipe", "npu.store", "npu.vconv", "npu.vadd"}
    assert not isinstance(run(module), CompileError)
