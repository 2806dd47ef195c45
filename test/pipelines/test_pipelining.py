"""Slots and skew change when things happen, never a bit: several blocks a core, ragged edges, both chips, every level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.memref import SubviewOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import Operation, SSAValue

from ge_compiler import dialects
from ge_compiler.dialects import buf, fused, tile
from ge_compiler.dialects.memory import Space, mem_of
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import TARGET_ATTRIBUTE
from ge_compiler.runtime.execute import execute
from ge_compiler.tools.opt.pass_manager import PassManager

PROGRAM = """
func.func @main(%a: tensor<210x130xf16>, %b: tensor<100x130xf16>, %c: tensor<100xf16>) -> tensor<210x100xf16> {
  %0 = ge.MatMulV2 %a, %b, %c {transpose_x2} : (tensor<210x130xf16>, tensor<100x130xf16>, tensor<100xf16>) -> tensor<210x100xf16>
  %1 = ge.Swish %0 : (tensor<210x100xf16>) -> tensor<210x100xf16>
  func.return %1 : tensor<210x100xf16>
}
"""
SIZES = {"m": 16, "n": 16, "k": 48, "k0": 16}
UNPIPELINED = {"l1": 1, "l0": 1, "ub": 1, "skew": 0}
PIPELINED: tuple[dict[str, int], ...] = (
    {"l1": 2, "l0": 2, "ub": 2, "skew": 0},
    {"l1": 3, "l0": 3, "ub": 3, "skew": 0},
    {"l1": 2, "l0": 2, "ub": 2, "skew": 1},
    {"l1": 3, "l0": 2, "ub": 3, "skew": 1},
    {"l1": 1, "l0": 3, "ub": 2, "skew": 0},
)
KEYS = {Space.L1: "l1", Space.L0A: "l0", Space.L0B: "l0"}


def _scheduled(chip: str, schedule: dict[str, int]) -> ModuleOp:
    module = parse_module(PROGRAM)
    module.attributes[TARGET_ATTRIBUTE] = StringAttr(chip)
    _lower(module, "fused")
    for kernel in fused.kernels(module):
        kernel.attributes[tile.SCHEDULE_ATTRIBUTE] = tile.ScheduleAttr.of({**SIZES, **schedule})
    return module


def _lower(module: ModuleOp, level: str) -> None:
    PassManager(f"to-{level}").run(dialects.context(), module)


def _bits(module: ModuleOp) -> bytes:
    random = np.random.default_rng(0)
    inputs: list[np.ndarray[Any, Any]] = [random.standard_normal(shape).astype(np.float16) for shape in ((210, 130), (100, 130), (100,))]
    return execute(module, inputs, {})[0].tobytes()


@pytest.mark.parametrize("chip", ["Ascend910A", "Ascend910B2"])
@pytest.mark.parametrize("schedule", PIPELINED, ids=str)
def test_pipelined_levels_have_the_bits_of_the_plain_kernel(chip: str, schedule: dict[str, int]) -> None:
    plain = _scheduled(chip, UNPIPELINED)
    _lower(plain, "tile")
    expected = _bits(plain)
    module = _scheduled(chip, schedule)
    for level in ("tile", "buf", "npu"):
        _lower(module, level)
        assert _bits(module) == expected, level


@pytest.mark.parametrize("schedule", [UNPIPELINED, *PIPELINED], ids=str)
def test_buffers_have_the_slots_of_the_schedule(schedule: dict[str, int]) -> None:
    module = _scheduled("Ascend910A", schedule)
    _lower(module, "buf")
    (kernel,) = fused.kernels(module)
    buffers = [op for op in kernel.walk() if isinstance(op, buf.AtOp)]
    for op in buffers:
        key = KEYS.get(mem_of(op.result.type).space)
        assert key is None or len(op.offsets) == schedule[key], op.label
        assert (op.slot is None) == (len(op.offsets) == 1)
    moved = [_buffer(op.out) for op in kernel.walk() if isinstance(op, tile.LoadOp | tile.MoveOp) and op.out is not None]
    stored = [_buffer(op.tile) for op in kernel.walk() if isinstance(op, tile.StoreOp)]
    unified = {op for op in buffers if mem_of(op.result.type).space is Space.UB}
    border = unified & {*moved, *stored}
    assert len(border) == 3
    assert {len(op.offsets) for op in border} == {schedule["ub"]}
    assert {len(op.offsets) for op in unified - border} == {1}


def _buffer(value: SSAValue) -> Operation:
    """The buffer that a value is a view of."""
    while isinstance(value.owner, SubviewOp):
        value = value.owner.source
    assert isinstance(value.owner, Operation)
    return value.owner


@pytest.mark.parametrize("skew", [0, 1])
def test_a_skewed_loop_refers_to_the_slot_of_the_trip_before(skew: int) -> None:
    module = _scheduled("Ascend910A", {"l1": 2, "l0": 2, "ub": 2, "skew": skew})
    _lower(module, "buf")
    (kernel,) = fused.kernels(module)
    loop = next(op for op in kernel.walk() if isinstance(op, ForOp))
    labels = [op.label.data for op in loop.body.block.ops if isinstance(op, buf.AtOp)]
    assert sorted(labels) == (["a", "a", "b", "b"] if skew else ["a", "b"])
