"""Vector kernels written at `tile`: the same bits at `tile`, `buf` and `npu` on every chip, near an f64 reference, for any extents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ge_compiler import dialects
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import load_target
from ge_compiler.runtime.execute import execute
from ge_compiler.tools.opt.pass_manager import PassManager

Array = npt.NDArray[Any]

OWN_CHIP = str(Path(__file__).parents[2] / "examples" / "my_npu.toml")
CHIPS = ("Ascend910A", "Ascend910B2", OWN_CHIP)

STEPS = (
    "expand-math,verify-stage{stage=tile}",
    "bufferize-tile,multi-buffer,plan-memory,verify-memory,verify-stage{stage=buf}",
    "convert-buf-to-npu,insert-sync{mode=flags},remove-redundant-sync,allocate-events,verify-sync,verify-stage{stage=npu}",
)

NAMES = {"float16": "f16", "float32": "f32", "bool": "i1", "int32": "i32", "int64": "i64"}

SHARE = 16
"""Rows that a lane takes of a block."""

EXTENTS = [1, 16, 37, 100]
"""Rows: with fewer than lanes can share, some have none."""


def tensor(shape: Sequence[int], kind: str, space: str = "") -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}{kind}{f', #npu.mem<{space}>' if space else ''}>"


def in_gm(array: Array) -> str:
    return tensor(array.shape, NAMES[array.dtype.name])


def ub(columns: int, kind: str, rows: int = SHARE) -> str:
    return tensor((rows, columns), kind, "ub")


LANES = """
      %share = arith.constant SHARE : index
      %rows = arith.constant ROWS : index
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %lanes = arith.constant LANES : index
      %lane = npu.sub_block_idx
      %first = arith.muli %i, %lanes : index
      %turn = arith.addi %first, %lane : index
      %at = arith.muli %turn, %share : index
      %left = arith.subi %rows, %at : index
      %bound = arith.minsi %left, %share : index
      %m = arith.maxsi %bound, %zero : index"""
"""Lanes share the rows of all blocks `%i`: `%at` is the first of a lane, `%m` says how many it has."""


def program(chip: str, body: str, inputs: Sequence[Array], result: Array, rows: int) -> str:
    """A kernel of arguments `%x0`, `%x1`, ... and the destination `%y`, that runs `body` in all lanes."""
    lanes = load_target(chip).vec_per_cube
    preamble = LANES.replace("SHARE", str(SHARE)).replace("ROWS", str(rows)).replace("LANES", str(lanes))
    types, out = [in_gm(x) for x in inputs], in_gm(result)
    arguments = ", ".join(f"%x{i}: {t}" for i, t in enumerate(types))
    values = ", ".join(f"%x{i}" for i in range(len(types)))
    return f"""
module attributes {{ge.target = "{chip}"}} {{
  func.func private @k({arguments}{", " if types else ""}%y: {out}) {{
    tile.grid_loop %trip (%i) in ({-(-rows // (lanes * SHARE))}) {{
      {preamble}
      {body}
    }}
    func.return
  }}
  func.func @main({arguments}) -> {out} {{
    %e = tensor.empty() : {out}
    %r = fused.launch @k({values}) into (%e) on aicore {{ops = ["k"], op_name = "k"}} : ({", ".join(types)}) into ({out}) -> {out}
    func.return %r : {out}
  }}
}}
"""


def run(chip: str, body: str, inputs: Sequence[Array], result: Array, rows: int) -> Array:
    """The result, which must have the same bits at all levels. `result` says its shape and type."""
    module, outputs = parse_module(program(chip, body, inputs, result, rows)), list[Array]()
    for steps in STEPS:
        PassManager(steps).run(dialects.context(), module)
        outputs += execute(module, inputs, {})
        module = parse_module(str(module))
    assert len({np.ascontiguousarray(output).tobytes() for output in outputs}) == 1
    assert outputs[0].dtype == result.dtype
    return outputs[0]


def outliers(shape: tuple[int, ...], seed: int = 0) -> Array:
    """Numbers of f16 around 300, with a constant row."""
    x = np.random.default_rng(seed).standard_normal(shape) * 300
    x[..., 0, :] = 7
    return x.astype(np.float16)


# ---- across tiles -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("rows", EXTENTS)
def test_layer_norm_of_rows(chip: str, rows: int) -> None:
    x, n = outliers((rows, 70)), 70
    t, c, h = ub(n, "f32"), ub(1, "f32"), ub(n, "f16")
    body = f"""
      %a = tile.load %x0[%at, 0] valid [%m, {n}] : {in_gm(x)} to {h}
      %f = tile.cast %a : {h} to {t}
      %s = tile.reduce <sum> %f along 1 : {t} to {c}
      %mean = tile.muls %s {{scalar = {1 / n} : f32}} : {c} -> {c}
      %d = tile.sub %f, %mean : {t}, {c} -> {t}
      %q = tile.square %d : {t} -> {t}
      %v = tile.reduce <sum> %q along 1 : {t} to {c}
      %w = tile.muls %v {{scalar = {1 / n} : f32}} : {c} -> {c}
      %e = tile.adds %w {{scalar = 1.0e-5 : f32}} : {c} -> {c}
      %r = tile.rsqrt %e : {c} -> {c}
      %z = tile.mul %d, %r : {t}, {c} -> {t}
      tile.store %z into %y[%at, 0] : {t} into {tensor(x.shape, "f32")}"""
    wide = x.astype(np.float64)
    d = wide - wide.mean(1, keepdims=True)
    expected = d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5)
    assert np.max(np.abs(run(chip, body, [x], expected.astype(np.float32), rows) - expected)) < 2e-6


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("rows", EXTENTS)
@pytest.mark.parametrize("kind", ["sum", "max", "min"])
def test_reductions_of_columns_and_rows(chip: str, rows: int, kind: str) -> None:
    x = np.random.default_rng(rows).integers(-(2**40), 2**40, (rows, 9))
    body = f"""
      %a = tile.load %x0[%at, 0] valid [%m, 9] : {in_gm(x)} to {ub(9, "i64")}
      %t = tile.transpose %a : {ub(9, "i64")} to {ub(SHARE, "i64", 9)}
      %r = tile.reduce <{kind}> %t along 0 : {ub(SHARE, "i64", 9)} to {ub(SHARE, "i64", 1)}
      %c = tile.transpose %r : {ub(SHARE, "i64", 1)} to {ub(1, "i64")}
      %s = tile.reduce <{kind}> %a along 1 : {ub(9, "i64")} to {ub(1, "i64")}
      %e = tile.eq %c, %s : {ub(1, "i64")}, {ub(1, "i64")} -> {ub(1, "i1")}
      %z = tile.full -1 : i64 valid [1, 1] to {ub(1, "i64", 1)}
      %w = tile.select %e, %c, %z : {ub(1, "i1")}, {ub(1, "i64")}, {ub(1, "i64", 1)} -> {ub(1, "i64")}
      tile.store %w into %y[%at, 0] : {ub(1, "i64")} into {tensor((rows, 1), "i64")}"""
    expected = {"sum": np.sum, "max": np.max, "min": np.min}[kind](x, axis=1, keepdims=True)
    assert np.array_equal(run(chip, body, [x], expected, rows), expected)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("rows", EXTENTS)
def test_a_causal_mask_from_numbers_in_order(chip: str, rows: int) -> None:
    x = outliers((rows, 40), 1)
    column, row, t, mask = ub(1, "i32"), ub(40, "i32", 1), ub(40, "f16"), ub(40, "i1")
    body = f"""
      %q = tile.iota [%at] steps [1, 0] valid [%m, 1] to {column}
      %k = tile.iota [0] steps [0, 1] valid [1, 40] to {row}
      %keep = tile.ge %q, %k : {column}, {row} -> {mask}
      %a = tile.load %x0[%at, 0] valid [%m, 40] : {in_gm(x)} to {t}
      %f = tile.cast %a : {t} to {ub(40, "f32")}
      %never = tile.full 0xff800000 : f32 valid [1, 1] to {ub(1, "f32", 1)}
      %s = tile.select %keep, %f, %never : {mask}, {ub(40, "f32")}, {ub(1, "f32", 1)} -> {ub(40, "f32")}
      tile.store %s into %y[%at, 0] : {ub(40, "f32")} into {tensor(x.shape, "f32")}"""
    expected = np.where(np.arange(rows)[:, None] >= np.arange(40), x.astype(np.float32), -np.inf)
    assert np.array_equal(run(chip, body, [x], expected, rows), expected)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("rows", [5, 100])
def test_angles_of_a_rotary_embedding(chip: str, rows: int) -> None:
    scale = np.geomspace(1, 1e-4, 32).astype(np.float32).reshape(1, 32)
    t, c = ub(32, "f32"), ub(1, "f32")
    body = f"""
      %start = arith.constant 90000 : index
      %from = arith.addi %at, %start : index
      %n = tile.iota [%from] steps [1, 0] valid [%m, 1] to {c}
      %w = tile.load %x0[0, 0] valid [1, 32] : {in_gm(scale)} to {ub(32, "f32", 1)}
      %angle = tile.mul %n, %w : {c}, {ub(32, "f32", 1)} -> {t}
      %c = tile.cos %angle : {t} -> {t}
      %s = tile.sin %angle : {t} -> {t}
      %columns = arith.constant 32 : index
      tile.store %c into %y[%at, 0] : {t} into {tensor((rows, 64), "f32")}
      tile.store %s into %y[%at, %columns] : {t} into {tensor((rows, 64), "f32")}"""
    angle = ((90000 + np.arange(rows, dtype=np.float32))[:, None] * scale).astype(np.float64)
    expected = np.concatenate([np.cos(angle), np.sin(angle)], axis=1)
    assert np.max(np.abs(run(chip, body, [scale], expected.astype(np.float32), rows) - expected)) < 2e-7


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("rows", EXTENTS)
def test_booleans_take_a_byte_everywhere(chip: str, rows: int) -> None:
    x: Array = np.random.default_rng(rows).random((rows, 33)) < 0.5
    y: Array = np.random.default_rng(rows + 1).random((rows, 33)) < 0.5
    t = ub(33, "i1")
    body = f"""
      %a = tile.load %x0[%at, 0] valid [%m, 33] : {in_gm(x)} to {t}
      %b = tile.load %x1[%at, 0] valid [%m, 33] : {in_gm(y)} to {t}
      %n = tile.logical_not %b : {t} -> {t}
      %o = tile.logical_or %a, %n : {t}, {t} -> {t}
      %h = tile.cast %o : {t} to {ub(33, "f16")}
      %j = tile.cast %h : {ub(33, "f16")} to {t}
      %c = tile.select %b, %j, %a : {t}, {t}, {t} -> {t}
      %z = tile.logical_and %o, %c : {t}, {t} -> {t}
      tile.store %z into %y[%at, 0] : {t} into {in_gm(x)}"""
    made = x | ~y
    expected = made & np.where(y, made, x)
    assert np.array_equal(run(chip, body, [x, y], expected, rows), expected)


# ---- rows by their numbers, and strides -------------------------------------------------------------------------------


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("rows", EXTENTS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_an_embedding(chip: str, rows: int, dtype: npt.DTypeLike) -> None:
    table, kind = outliers((2, 50, 72)), NAMES[np.dtype(dtype).name]
    indices = np.random.default_rng(rows).integers(0, 50, (rows, 1)).astype(dtype)
    body = f"""
      %n = tile.load %x1[%at, 0] valid [%m, 1] {{slots = 2}} : {in_gm(indices)} to {ub(1, kind)}
      %r = tile.load_rows %x0[%one, 8] rows %n valid [%m, 64] {{slots = 2}} : {in_gm(table)}, {ub(1, kind)} to {ub(64, "f16")}
      tile.store %r into %y[%at, 0] : {ub(64, "f16")} into {tensor((rows, 64), "f16")}"""
    expected = table[1, indices[:, 0], 8:]
    assert np.array_equal(run(chip, body, [table, indices], expected, rows), expected)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("rows", EXTENTS)
def test_rows_that_go_where_indices_say(chip: str, rows: int) -> None:
    x, kind = outliers((2, rows, 70)), "i64"
    indices = np.random.default_rng(rows).permutation(rows).reshape(1, rows)
    body = f"""
      %two = arith.constant 2 : index
      %r = tile.load %x1[0, %at] valid [1, %m] : {in_gm(indices)} to {ub(SHARE, kind, 1)}
      %n = tile.transpose %r : {ub(SHARE, kind, 1)} to {ub(1, kind)}
      scf.for %p = %zero to %two step %one {{
        %a = tile.load %x0[%p, %at, 0] valid [%m, 70] : {in_gm(x)} to {ub(70, "f16")}
        tile.store_rows %a rows %n into %y[%p, 0] : {ub(70, "f16")}, {ub(1, kind)} into {in_gm(x)}
      }}"""
    expected = np.empty_like(x)
    expected[:, indices[0]] = x
    assert np.array_equal(run(chip, body, [x, indices], expected, rows), expected)


@pytest.mark.parametrize("level", range(3))
@pytest.mark.parametrize("value", [50, -1])
def test_an_index_that_is_no_row_is_named_at_every_level(level: int, value: int) -> None:
    table, indices = outliers((50, 64)), np.zeros((20, 1), np.int64)
    indices[18] = value
    body = f"""
      %n = tile.load %x1[%at, 0] valid [%m, 1] : {in_gm(indices)} to {ub(1, "i64")}
      %r = tile.load_rows %x0[0] rows %n valid [%m, 64] : {in_gm(table)}, {ub(1, "i64")} to {ub(64, "f16")}
      tile.store %r into %y[%at, 0] : {ub(64, "f16")} into {tensor((20, 64), "f16")}"""
    module = parse_module(program("Ascend910B2", body, [table, indices], np.zeros((20, 64), np.float16), 20))
    for steps in STEPS[: level + 1]:
        PassManager(steps).run(dialects.context(), module)
    name = "the table" if level == 2 else "the source"
    with pytest.raises(CompileError, match=f"index {value} in row 2 is out of bounds: {name} has 50 rows") as caught:
        execute(module, [table, indices], {})
    assert [note.message for note in caught.value.notes][:1] == ["on vector lane 1"]


def test_rows_that_nothing_has_written_are_not_gathered() -> None:
    text = """
module attributes {ge.target = "Ascend910A"} {
  func.func private @k(%y: tensor<4x8xi32>) {
    %w = tensor.empty() : tensor<9x8xi32>
    tile.grid_loop %t (%i) in (1) {
      %zero = arith.constant 0 : index
      %a = tile.iota [0] steps [8, 1] valid [4, 8] to tensor<4x8xi32, #npu.mem<ub>>
      tile.store %a into %w[%zero, 0] : tensor<4x8xi32, #npu.mem<ub>> into tensor<9x8xi32>
      %n = tile.iota [FIRST] steps [-1, 0] valid [4, 1] to tensor<4x1xi32, #npu.mem<ub>>
      %r = tile.load_rows %w[0] rows %n valid [4, 8] : tensor<9x8xi32>, tensor<4x1xi32, #npu.mem<ub>> to tensor<4x8xi32, #npu.mem<ub>>
      tile.store %r into %y[%zero, 0] : tensor<4x8xi32, #npu.mem<ub>> into tensor<4x8xi32>
    }
    func.return
  }
  func.func @main() -> tensor<4x8xi32> {
    %e = tensor.empty() : tensor<4x8xi32>
    %y = fused.launch @k() into (%e) on aicore {ops = ["k"], op_name = "k"} : () into (tensor<4x8xi32>) -> tensor<4x8xi32>
    func.return %y : tensor<4x8xi32>
  }
}"""
    for first, expected in ((3, None), (4, r'the source reads gm bytes \[\d+, \d+\) of buffer "workspace", which nothing has written')):
        module = parse_module(text.replace("FIRST", str(first)))
        PassManager("bufferize-tile").run(dialects.context(), module)
        if expected is None:
            assert np.array_equal(execute(module, [], {})[0], np.arange(32).reshape(4, 8)[::-1])
        else:
            with pytest.raises(CompileError, match=expected):
                execute(module, [], {})


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("rows", EXTENTS)
def test_loads_and_stores_with_strides(chip: str, rows: int) -> None:
    x, t = outliers((7, rows * 3), 2), ub(7, "f16")
    made = (7, 2, rows)
    body = f"""
      %v = tile.view %x0 offset 1 strides [3, {rows * 3}] : {in_gm(x)} to {tensor((rows, 7), "f16")}
      %w = tile.view %y offset {rows} strides [1, {2 * rows}] : {tensor(made, "f16")} to {tensor((rows, 7), "f16")}
      %u = tile.view %y offset 0 strides [1, {2 * rows}] : {tensor(made, "f16")} to {tensor((rows, 7), "f16")}
      %a = tile.load %v[%at, 0] valid [%m, 7] : {tensor((rows, 7), "f16")} to {t}
      tile.store %a into %w[%at, 0] : {t} into {tensor((rows, 7), "f16")}
      tile.store %a into %u[%at, 0] : {t} into {tensor((rows, 7), "f16")}"""
    expected = np.stack([x[:, 1::3], x[:, 1::3]], axis=1)
    assert np.array_equal(run(chip, body, [x], expected, rows), expected)


# ---- what loops carry -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("rows", EXTENTS)
@pytest.mark.parametrize("length", [0, 90])
def test_an_online_softmax(chip: str, rows: int, length: int) -> None:
    x, t, c = outliers((rows, 100)).astype(np.float32), ub(20, "f32"), ub(1, "f32")
    body = f"""
      %end = arith.constant {length} : index
      %step = arith.constant 20 : index
      %m0 = tile.full -1.0e30 : f32 valid [%m, 1] to {c}
      %s0 = tile.full 0.0 : f32 valid [%m, 1] to {c}
      %o0 = tile.full 0.0 : f32 valid [%m, 20] to {t}
      %most, %sum, %out = scf.for %k = %zero to %end step %step iter_args(%mk = %m0, %s = %s0, %o = %o0) -> ({c}, {c}, {t}) {{
        %left_k = arith.subi %end, %k : index
        %n = arith.minsi %left_k, %step : index
        %a = tile.load %x0[%at, %k] valid [%m, %n] : {in_gm(x)} to {t}
        %r = tile.reduce <max> %a along 1 : {t} to {c}
        %m1 = tile.max %mk, %r : {c}, {c} -> {c}
        %d = tile.sub %mk, %m1 : {c}, {c} -> {c}
        %alpha = tile.exp %d : {c} -> {c}
        %p0 = tile.sub %a, %m1 : {t}, {c} -> {t}
        %p = tile.exp %p0 : {t} -> {t}
        %rs = tile.reduce <sum> %p along 1 : {t} to {c}
        %s1 = tile.mul %s, %alpha : {c}, {c} -> {c}
        %s2 = tile.add %s1, %rs : {c}, {c} -> {c}
        %o1 = tile.mul %o, %alpha : {t}, {c} -> {t}
        %w = tile.broadcast %rs valid [%m, 20] : {c} to {t}
        %o2 = tile.add %o1, %w : {t}, {t} -> {t}
        %m2 = tile.broadcast %m1 valid [%m, 1] : {c} to {c}
        scf.yield %m2, %s2, %o2 : {c}, {c}, {t}
      }}
      %l = tile.maxs %sum {{scalar = 1.0e-30 : f32}} : {c} -> {c}
      %z = tile.div %out, %l : {t}, {c} -> {t}
      tile.store %z into %y[%at, 0] : {t} into {tensor((rows, 20), "f32")}"""
    actual = run(chip, body, [x], np.zeros((rows, 20), np.float32), rows)
    assert np.all(np.abs(actual - (1 if length else 0)) < 1e-5), "all rows of a softmax add up to 1"


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("rows", EXTENTS)
def test_sums_over_nested_loops(chip: str, rows: int) -> None:
    x, t, c = outliers((3, rows, 100)), ub(30, "f16"), ub(1, "f32")
    body = f"""
      %end = arith.constant 100 : index
      %step = arith.constant 30 : index
      %planes = arith.constant 3 : index
      %s0 = tile.full 0.0 : f32 valid [%m, 1] to {c}
      %n0 = tile.full 0 : i32 valid [1, 1] to {ub(1, "i32", 1)}
      %sum, %count = scf.for %p = %zero to %planes step %one iter_args(%s = %s0, %n = %n0) -> ({c}, {ub(1, "i32", 1)}) {{
        %half = tile.muls %s {{scalar = 0.5 : f32}} : {c} -> {c}
        %s3, %n3 = scf.for %k = %zero to %end step %step iter_args(%s1 = %half, %n1 = %n) -> ({c}, {ub(1, "i32", 1)}) {{
          %rest = arith.subi %end, %k : index
          %w = arith.minsi %rest, %step : index
          %a = tile.load %x0[%p, %at, %k] valid [%m, %w] {{slots = 2}} : {in_gm(x)} to {t}
          %f = tile.cast %a : {t} to {ub(30, "f32")}
          %r = tile.reduce <sum> %f along 1 : {ub(30, "f32")} to {c}
          %s2 = tile.add %r, %s1 : {c}, {c} -> {c}
          %n2 = tile.adds %n1 {{scalar = 1 : i32}} : {ub(1, "i32", 1)} -> {ub(1, "i32", 1)}
          scf.yield %s2, %n2 : {c}, {ub(1, "i32", 1)}
        }}
        scf.yield %s3, %n3 : {c}, {ub(1, "i32", 1)}
      }}
      %c = tile.cast %count : {ub(1, "i32", 1)} to {ub(1, "f32", 1)}
      %z = tile.mul %sum, %c : {c}, {ub(1, "f32", 1)} -> {c}
      tile.store %z into %y[%at, 0] : {c} into {tensor((rows, 1), "f32")}"""
    expected = 12 * (x.astype(np.float64).sum(2) * [[0.25], [0.5], [1]]).sum(0).reshape(rows, 1)
    actual = run(chip, body, [x], expected.astype(np.float32), rows)
    assert np.max(np.abs(actual - expected)) < 12 * 2.0**-22 * np.abs(x.astype(np.float64)).sum(2).max() * math.log2(100)
