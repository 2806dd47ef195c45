"""Tests of the ops of `tile`: one program on values and on buffers, bit for bit; order of blocks; faults."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.dialects.tile import TILE
from ge_compiler.runtime.execute import execute

Array = npt.NDArray[Any]

PREAMBLE = """
  %share = arith.constant SHARE : index
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c20 = arith.constant 20 : index
  %c32 = arith.constant 32 : index
  %c70 = arith.constant 70 : index
  tile.forall (%b, %i) in (2, 2) {
    %m0 = arith.muli %i, %c16 : index
    %left = arith.subi %c20, %m0 : index
    %m = arith.minsi %left, %c16 : index
    %lane = npu.sub_block_idx
    %skipped = arith.muli %lane, %share : index
    %row = arith.addi %m0, %skipped : index
    %remaining = arith.subi %m, %skipped : index
    %most = arith.minsi %remaining, %share : index
    %part = arith.maxsi %most, %c0 : index
"""
"""Rows `%row` and `%part` more are those of a vector lane, of the rows from `%m0` that a block has."""

CHUNK = """
      %rest = arith.subi %c70, %k : index
      %kk = arith.minsi %rest, %c32 : index
      %first = arith.cmpi eq, %k, %c0 : index
"""

MOVE_VALUE = """
    %a = tile.move %acc[0, 0] valid [%m, 9] : tensor<16x9xf32, #npu.mem<l0c>> to tensor<16x9xf32, #npu.mem<ub>>"""
THROUGH_A_TENSOR = """
    tile.store %acc into %ws[%b, %m0, 0] : tensor<16x9xf32, #npu.mem<l0c>> into tensor<2x20x9xf32>
    %a = tile.load %ws[%b, %row, 0] valid [%part, 9] : tensor<2x20x9xf32> to tensor<16x9xf32, #npu.mem<ub>>"""

VALUES = f"""
func.func private @k(%x: tensor<2x20x70xf16>, %w: tensor<9x70xf16>, %b1: tensor<9xf16>, %out: tensor<2x20x9xf16>) {{
  %ws = tensor.empty() : tensor<2x20x9xf32>
  %bv = tile.view %b1 : tensor<9xf16> to tensor<1x9xf16>
  {PREAMBLE}
    %u = tile.undef : tensor<16x9xf32, #npu.mem<l0c>>
    %acc = scf.for %k = %c0 to %c70 step %c32 iter_args(%c = %u) -> (tensor<16x9xf32, #npu.mem<l0c>>) {{
      {CHUNK}
      %x1 = tile.load %x[%b, %m0, %k] valid [%m, %kk] : tensor<2x20x70xf16> to tensor<16x32xf16, #npu.mem<l1>>
      %w1 = tile.load %w[0, %k] valid [9, %kk] : tensor<9x70xf16> to tensor<9x32xf16, #npu.mem<l1>>
      %x0 = tile.move %x1[0, 0] valid [%m, %kk] : tensor<16x32xf16, #npu.mem<l1>> to tensor<16x32xf16, #npu.mem<l0a>>
      %w0 = tile.move %w1[0, 0] valid [%kk, 9] {{transpose}} : tensor<9x32xf16, #npu.mem<l1>> to tensor<32x9xf16, #npu.mem<l0b>>
      %d = tile.mmad %x0, %w0, %c init %first
        : tensor<16x32xf16, #npu.mem<l0a>>, tensor<32x9xf16, #npu.mem<l0b>>, tensor<16x9xf32, #npu.mem<l0c>>
        -> tensor<16x9xf32, #npu.mem<l0c>>
      scf.yield %d : tensor<16x9xf32, #npu.mem<l0c>>
    }}
    {MOVE_VALUE}
    %b16 = tile.load %bv[0, 0] valid [1, 9] : tensor<1x9xf16> to tensor<1x9xf16, #npu.mem<ub>>
    %b32 = tile.cast %b16 : tensor<1x9xf16, #npu.mem<ub>> to tensor<1x9xf32, #npu.mem<ub>>
    %s = tile.add %a, %b32 : tensor<16x9xf32, #npu.mem<ub>>, tensor<1x9xf32, #npu.mem<ub>> -> tensor<16x9xf32, #npu.mem<ub>>
    %g = tile.gelu %s : tensor<16x9xf32, #npu.mem<ub>> -> tensor<16x9xf32, #npu.mem<ub>>
    %f = tile.full 0.5 : f32 valid [1, 1] to tensor<1x1xf32, #npu.mem<ub>>
    %ff = tile.broadcast %f valid [%part, 9] : tensor<1x1xf32, #npu.mem<ub>> to tensor<16x9xf32, #npu.mem<ub>>
    %p = tile.mul %g, %ff : tensor<16x9xf32, #npu.mem<ub>>, tensor<16x9xf32, #npu.mem<ub>> -> tensor<16x9xf32, #npu.mem<ub>>
    %h = tile.cast %p : tensor<16x9xf32, #npu.mem<ub>> to tensor<16x9xf16, #npu.mem<ub>>
    tile.store %h into %out[%b, %row, 0] : tensor<16x9xf16, #npu.mem<ub>> into tensor<2x20x9xf16>
  }}
  func.return
}}
func.func @main(%x: tensor<2x20x70xf16>, %w: tensor<9x70xf16>, %b: tensor<9xf16>) -> tensor<2x20x9xf16> {{
  %d = tensor.empty() : tensor<2x20x9xf16>
  %y = fused.launch @k(%x, %w, %b) into (%d) on aicore {{ops = ["Add"], op_name = "k"}}
    : (tensor<2x20x70xf16>, tensor<9x70xf16>, tensor<9xf16>) into (tensor<2x20x9xf16>) -> tensor<2x20x9xf16>
  func.return %y : tensor<2x20x9xf16>
}}
"""


def _ragged(name: str, rows: str, columns: str, room: str, element: str, space: str) -> tuple[str, str]:
    """A buffer, and the subview of its valid extents, whose type is returned too."""
    shape = "x".join("?" if extent.startswith("%") else extent for extent in (rows, columns))
    whole = f"memref<{room}x{element}, #npu.mem<{space}>>"
    part = f"memref<{shape}x{element}, strided<[{room.split('x')[1]}, 1]>, #npu.mem<{space}>>"
    text = (
        f'%{name}_ = buf.alloc "{name}" : {whole}\n%{name} = memref.subview %{name}_[0, 0] [{rows}, {columns}] [1, 1] : {whole} to {part}'
    )
    return text, part


ACC, ACC_T = _ragged("acc", "%m", "9", "16x9", "f32", "l0c")
X1, X1_T = _ragged("x1", "%m", "%kk", "16x32", "f16", "l1")
W1, W1_T = _ragged("w1", "9", "%kk", "9x32", "f16", "l1")
X0, X0_T = _ragged("x0", "%m", "%kk", "16x32", "f16", "l0a")
W0, W0_T = _ragged("w0", "%kk", "9", "32x9", "f16", "l0b")
A, A_T = _ragged("a", "%part", "9", "16x9", "f32", "ub")
H, H_T = _ragged("h", "%part", "9", "16x9", "f16", "ub")
B16, B16_T = _ragged("b16", "1", "9", "1x9", "f16", "ub")
B32, B32_T = _ragged("b32", "1", "9", "1x9", "f32", "ub")
F, F_T = _ragged("f", "1", "1", "1x1", "f32", "ub")
FF, FF_T = _ragged("ff", "%part", "9", "16x9", "f32", "ub")

MOVE_BUFFER = f"""
    tile.move %acc[0, 0] valid [%m, 9] into %a : {ACC_T} into {A_T}"""
THROUGH_MEMORY = f"""
    tile.store %acc into %ws[%b, %m0, 0] : {ACC_T} into memref<2x20x9xf32>
    tile.load %ws[%b, %row, 0] valid [%part, 9] into %a : memref<2x20x9xf32> into {A_T}"""

BUFFERS = f"""
func.func private @k(%x: memref<2x20x70xf16>, %w: memref<9x70xf16>, %b1: memref<9xf16>, %out: memref<2x20x9xf16>) {{
  %ws = buf.alloc "ws" : memref<2x20x9xf32>
  %bv = memref.reinterpret_cast %b1 to offset: [0], sizes: [1, 9], strides: [9, 1] : memref<9xf16> to memref<1x9xf16, strided<[9, 1]>>
  {PREAMBLE}
    {ACC}
    scf.for %k = %c0 to %c70 step %c32 {{
      {CHUNK}
      {X1}
      {W1}
      {X0}
      {W0}
      tile.load %x[%b, %m0, %k] valid [%m, %kk] into %x1 : memref<2x20x70xf16> into {X1_T}
      tile.load %w[0, %k] valid [9, %kk] into %w1 : memref<9x70xf16> into {W1_T}
      tile.move %x1[0, 0] valid [%m, %kk] into %x0 : {X1_T} into {X0_T}
      tile.move %w1[0, 0] valid [%kk, 9] into %w0 {{transpose}} : {W1_T} into {W0_T}
      tile.mmad %x0, %w0, %acc init %first : {X0_T}, {W0_T}, {ACC_T}
    }}
    {A}
    {H}
    {B16}
    {B32}
    {F}
    {FF}
    {MOVE_BUFFER}
    tile.load %bv[0, 0] valid [1, 9] into %b16 : memref<1x9xf16, strided<[9, 1]>> into {B16_T}
    tile.cast %b16 into %b32 : {B16_T} into {B32_T}
    tile.add %a, %b32 into %a : {A_T}, {B32_T} into {A_T}
    tile.gelu %a into %a : {A_T} into {A_T}
    tile.full 0.5 : f32 valid [1, 1] into %f into {F_T}
    tile.broadcast %f valid [%part, 9] into %ff : {F_T} into {FF_T}
    tile.mul %a, %ff into %a : {A_T}, {FF_T} into {A_T}
    tile.cast %a into %h : {A_T} into {H_T}
    tile.store %h into %out[%b, %row, 0] : {H_T} into memref<2x20x9xf16>
  }}
  func.return
}}
func.func @main(%x: memref<2x20x70xf16>, %w: memref<9x70xf16>, %b: memref<9xf16>, %out0: memref<2x20x9xf16>)
  attributes {{results = 1 : i64}} {{
  fused.launch @k(%x, %w, %b) into (%out0) on aicore {{ops = ["Add"], op_name = "k"}}
    : (memref<2x20x70xf16>, memref<9x70xf16>, memref<9xf16>) into (memref<2x20x9xf16>)
  func.return
}}
"""


def program(text: str, target: NpuTarget) -> ModuleOp:
    """The module `text` for `target`: its lanes share the rows of a block, and find the accumulator where the cube can put it."""
    if target.is_split:
        text = text.replace(MOVE_VALUE, THROUGH_A_TENSOR).replace(MOVE_BUFFER, THROUGH_MEMORY)
    text = text.replace("SHARE", str(16 // target.vec_per_cube))
    return parse_module(f'module attributes {{ge.target = "{target.name}"}} {{ {text} }}', "k.mlir")


def inputs() -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float16) for shape in ((2, 20, 70), (9, 70), (9,))]


def test_values_and_buffers_give_the_same_bits(target: NpuTarget) -> None:
    x, w, b = (a.astype(np.float64) for a in inputs())
    (values,) = execute(program(VALUES, target), inputs(), {})
    (buffers,) = execute(program(BUFFERS, target), inputs(), {})
    (unchecked,) = execute(program(BUFFERS, target), inputs(), {}, check=False)
    assert values.tobytes() == buffers.tobytes() == unchecked.tobytes()
    s = x @ w.T + b
    expected = 0.25 * s * (1 + np.vectorize(math.erf)(s / math.sqrt(2)))
    assert np.max(np.abs(values - expected)) < 2.0**-9 * np.max(np.abs(s))


@pytest.mark.parametrize("text", [VALUES, BUFFERS])
def test_the_order_of_blocks_does_not_matter(text: str, target: NpuTarget) -> None:
    module = program(text, target)
    (expected,) = execute(module, inputs(), {})
    for seed in range(4):
        assert execute(module, inputs(), {}, block_order=seed)[0].tobytes() == expected.tobytes()


def test_every_op_stands_in_both_programs(target: NpuTarget) -> None:
    once = {"tile.undef", "tile.view"}
    elsewhere = {"tile.grid_loop", "tile.assemble", "tile.reduce", "tile.iota", "tile.transpose", "tile.load_rows", "tile.store_rows"}
    elementwise = {"tile.add", "tile.gelu", "tile.mul"}
    for text, missing in ((VALUES, set[str]()), (BUFFERS, once)):
        used = {op.name for op in program(text, target).walk() if op.dialect_name() == "tile"}
        every = {op.name for op in TILE.operations if "scalar_value" not in dir(op) and not hasattr(op, "FUNCTION")}
        assert used == (every - missing - elsewhere) | elementwise


def fault(body: str) -> CompileError:
    """The error of a kernel on %x: tensor<4x8xf32> and %out of the same type."""
    gm = "tensor<4x8xf32>"
    text = f"""func.func private @k(%x: {gm}, %out: {gm}) {{
{body}
  func.return
}}
func.func @main(%x: {gm}) -> {gm} {{
  %d = tensor.empty() : {gm}
  %y = fused.launch @k(%x) into (%d) on aicore {{ops = ["Add"], op_name = "k"}} : ({gm}) into ({gm}) -> {gm}
  func.return %y : {gm}
}}"""
    with pytest.raises(CompileError) as caught:
        execute(parse_module(text, "k.mlir"), [np.zeros((4, 8), np.float32)], {})
    return caught.value


UB = "tensor<4x8xf32, #npu.mem<ub>>"


def test_a_load_leaves_its_source() -> None:
    error = fault(f"  %c1 = arith.constant 1 : index\n  %t = tile.load %x[%c1, 0] valid [4, 8] : tensor<4x8xf32> to {UB}")
    assert str(error).startswith(
        "k.mlir:3:8: error: 'tile.load' op the source: elements [1, 5) of dimension 0 are out of bounds, it is 4x8"
    )


def test_a_store_leaves_its_destination() -> None:
    body = f"%c = arith.constant 8 : index\n%t = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf32> to {UB}\n"
    error = fault(body + f"tile.store %t into %out[0, %c] : {UB} into tensor<4x8xf32>")
    assert error.message == "'tile.store' op the destination: elements [8, 16) of dimension 1 are out of bounds, it is 4x8"


def test_extents_exceed_the_tile() -> None:
    error = fault(f"%c5 = arith.constant 5 : index\n%t = tile.full 0.0 : f32 valid [%c5, 8] to {UB}")
    assert error.message == "'tile.full' op valid extents 5x8 exceed the tile 4x8"


def test_a_move_reads_valid_elements_only() -> None:
    body = """
  %t = tile.load %x[0, 0] valid [3, 8] : tensor<4x8xf32> to tensor<4x8xf32, #npu.mem<l1>>
  %u = tile.move %t[0, 0] valid [4, 8] : tensor<4x8xf32, #npu.mem<l1>> to tensor<4x8xf32, #npu.mem<l0a>>"""
    assert "the valid elements of the source: elements [0, 4) of dimension 0 are out of bounds, it is 3x8" in fault(body).message


def test_an_accumulator_that_no_iteration_wrote() -> None:
    body = """
  %u = tile.undef : tensor<4x8xf32, #npu.mem<l0c>>
  %t = tile.move %u[0, 0] valid [4, 8] : tensor<4x8xf32, #npu.mem<l0c>> to tensor<4x8xf32, #npu.mem<ub>>"""
    assert "the source is a tile that nothing has written" in fault(body).message


def test_a_contraction_that_does_not_fit() -> None:
    body = """
  %true = arith.constant true
  %a = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf32> to tensor<4x8xf32, #npu.mem<l1>>
  %a0 = tile.move %a[0, 0] valid [4, 8] : tensor<4x8xf32, #npu.mem<l1>> to tensor<4x8xf32, #npu.mem<l0a>>
  %b0 = tile.move %a[0, 0] valid [7, 4] {transpose} : tensor<4x8xf32, #npu.mem<l1>> to tensor<8x4xf32, #npu.mem<l0b>>
  %u = tile.undef : tensor<4x4xf32, #npu.mem<l0c>>
  %m = tile.mmad %a0, %b0, %u init %true
    : tensor<4x8xf32, #npu.mem<l0a>>, tensor<8x4xf32, #npu.mem<l0b>>, tensor<4x4xf32, #npu.mem<l0c>> -> tensor<4x4xf32, #npu.mem<l0c>>"""
    assert fault(body).message == "'tile.mmad' op valid extents differ: a 4x8, b 7x4"


def test_what_no_store_wrote_is_poison() -> None:
    gm = "tensor<2x2xf16>"
    text = f"""
func.func private @k(%out: {gm}) {{
  %t = tile.full 1.0 : f16 valid [1, 2] to tensor<1x2xf16, #npu.mem<ub>>
  tile.store %t into %out[1, 0] : tensor<1x2xf16, #npu.mem<ub>> into {gm}
  func.return
}}
func.func @main() -> ({gm}, {gm}) {{
  %d = tensor.empty() : {gm}
  %y = fused.launch @k() into (%d) on aicore {{ops = ["Add"], op_name = "k"}} : () into ({gm}) -> {gm}
  func.return %y, %d : {gm}, {gm}
}}"""
    y, d = execute(parse_module(text), [], {})
    assert np.array_equal(y, [[np.nan, np.nan], [1, 1]], equal_nan=True)
    assert np.isnan(d).all(), "a destination with other users is copied"


def test_a_grid_loop_counts_the_blocks_of_a_core(target: NpuTarget) -> None:
    text = """
func.func private @k(%out: tensor<70x2xi32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  tile.grid_loop %t (%i, %j) in (35, 2) {
    %row = arith.muli %i, %two : index
    %at = arith.addi %row, %j : index
    scf.for %n = %zero to %t step %one {
      %tile = tile.full 1 : i32 valid [1, 1] to tensor<1x1xi32, #npu.mem<ub>>
      tile.store %tile into %out[%at, 0] : tensor<1x1xi32, #npu.mem<ub>> into tensor<70x2xi32>
    }
    %last = tile.full 2 : i32 valid [1, 1] to tensor<1x1xi32, #npu.mem<ub>>
    tile.store %last into %out[%at, 1] : tensor<1x1xi32, #npu.mem<ub>> into tensor<70x2xi32>
  }
  func.return
}
func.func @main() -> tensor<70x2xi32> {
  %d = tensor.empty() : tensor<70x2xi32>
  %y = fused.launch @k() into (%d) on aicore {ops = ["Add"], op_name = "k"} : () into (tensor<70x2xi32>) -> tensor<70x2xi32>
  func.return %y : tensor<70x2xi32>
}"""
    for order in (None, 5):
        (y,) = execute(program(text, target), [], {}, block_order=order)
        assert (y[:, 1] == 2).all()
        # The first block of each core has no block before it.
        assert (y[: target.cores, 0] == -1).all()
        assert (y[target.cores :, 0] == 1).all()
