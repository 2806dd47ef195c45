"""Tests of every instruction, from hand-written programs, against plain numpy: layouts, transposes, ragged extents, element types."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.functions import NATIVE
from ge_compiler.dialects.npu import NPU, InstructionOp
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.runtime.execute import Statistics, execute

Array = npt.NDArray[Any]

NAMES = {"float16": "f16", "float32": "f32", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "bool": "i1"}
DTYPES = {name: np.dtype(dtype) for dtype, name in NAMES.items()}


def element(array: Array) -> str:
    return NAMES[array.dtype.name]


def in_gm(array: Array) -> str:
    return f"memref<{'x'.join(map(str, array.shape))}x{element(array)}>"


def on_chip(shape: Sequence[int], kind: str, space: str) -> str:
    return f"memref<{shape[0]}x{shape[1]}x{kind}, #npu.mem<{space}>>"


def on(target: NpuTarget, text: str) -> str:
    """The module `text` for `target`."""
    return f'module attributes {{ge.target = "{target.name}"}} {{ {text} }}'


def pipe(target: NpuTarget, name: str) -> str:
    """How `target` writes a pipe that is the vector core's where there are two kinds of cores."""
    return f"aiv.{name}" if target.is_split else name


class Kernel:
    """The text of one kernel: a line for each instruction, each tile in a buffer of its own that is larger than its extents."""

    def __init__(self, target: NpuTarget) -> None:
        self.target = target
        self.lines = ["%true = arith.constant true", "%false = arith.constant false"]
        self._used: dict[str, int] = {}
        self._count = 0

    def tile(self, shape: tuple[int, int], kind: str, space: str, room: tuple[int, int] | None = None) -> tuple[str, str]:
        """A tile of valid extents `shape`: its value and type."""
        room = room or (shape[0] + 3, shape[1] + 5)
        self._count += 1
        name, offset = f"%t{self._count}", self._used.get(space, 0)
        self._used[space] = offset + -(-(room[0] + 15) // 16) * -(-(room[1] + 31) // 32) * 16 * 32 * 4
        whole = on_chip(room, kind, space)
        part = f"memref<{shape[0]}x{shape[1]}x{kind}, strided<[{room[1]}, 1]>, #npu.mem<{space}>>"
        self.lines.append(f'%b{self._count} = buf.at "{name[1:]}" [{offset}] : {whole}')
        self.lines.append(f"{name} = memref.subview %b{self._count}[0, 0] [{shape[0]}, {shape[1]}] [1, 1] : {whole} to {part}")
        return name, part

    def run(self, text: str, ins: Sequence[tuple[str, str]], out: tuple[str, str], flags: str = "") -> tuple[str, str]:
        """Append the instruction `text`; it writes and returns `out`."""
        sources = f" ins({', '.join(v for v, _ in ins)} : {', '.join(t for _, t in ins)})" if ins else ""
        self.lines.append(f"npu.{text}{sources} outs({out[0]} : {out[1]}){flags}")
        return out

    def load(self, value: str, array: Array, space: str) -> tuple[str, str]:
        """Bring an argument of the kernel on chip."""
        shape = (array.shape[0], array.shape[1])
        how = "nd" if space == "ub" else "nd2nz"
        return self.run(f"load <{how}>", [(value, in_gm(array))], self.tile(shape, element(array), space))

    def execute(self, inputs: Sequence[Array], result: tuple[str, str], expected: Array) -> Array:
        """Bring `result`, of the type and shape of `expected`, to global memory, and run."""
        out = "%out", in_gm(expected)
        if "<l0c>" not in result[1]:
            self.run("store", [result], out)
        elif self.target.is_split:
            self.run("fixpipe", [result], out)
        else:
            tile = self.tile((expected.shape[0], expected.shape[1]), element(expected), "ub")
            self.run("store", [self.run("fixpipe", [result], tile)], out)
        arguments = ", ".join([*(f"%x{i}: {in_gm(x)}" for i, x in enumerate(inputs)), f"%out: {in_gm(expected)}"])
        types = ", ".join(map(in_gm, inputs))
        values = ", ".join(f"%x{i}" for i in range(len(inputs)))
        body = "\n  ".join(self.lines)
        text = f"""
func.func private @k({arguments}) {{
  {body}
  func.return
}}
func.func @main({arguments}) attributes {{results = 1 : i64}} {{
  fused.launch @k({values}) into (%out) on aicore {{ops = ["Add"], op_name = "k"}} : ({types}) into ({in_gm(expected)})
  func.return
}}"""
        (actual,) = execute(parse_module(on(self.target, text), "k.mlir"), inputs, {})
        return actual


@pytest.fixture
def kernel(target: NpuTarget) -> Kernel:
    return Kernel(target)


def small_integers(shape: tuple[int, ...], dtype: npt.DTypeLike, seed: int = 0) -> Array:
    """Integers whose products and sums are exact in every type, so that results are compared for equality."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(dtype)


SHAPES = [(1, 1), (16, 32), (17, 33), (5, 100), (40, 7)]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.int16, np.int32])
@pytest.mark.parametrize("shape", SHAPES)
def test_load_and_store(kernel: Kernel, shape: tuple[int, int], dtype: npt.DTypeLike) -> None:
    x = small_integers(shape, dtype)
    assert np.array_equal(kernel.execute([x], kernel.load("%x0", x, "ub"), x), x)


@pytest.mark.parametrize(("a", "b"), [(np.float16, "f32"), (np.int8, "i32")])
@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 32), (1, 1, 1), (33, 20, 50), (3, 70, 17), (48, 64, 128)])
@pytest.mark.parametrize(("transpose_a", "transpose_b"), [(False, False), (False, True), (True, False), (True, True)])
def test_mmad_from_global_memory(
    kernel: Kernel, a: npt.DTypeLike, b: str, m: int, n: int, k: int, transpose_a: bool, transpose_b: bool
) -> None:
    x, y = small_integers((m, k), a), small_integers((k, n), a, seed=1)
    x_in, y_in = (x.T.copy() if transpose_a else x), (y.T.copy() if transpose_b else y)
    kind = element(x)
    left = kernel.tile((m, k), kind, "l0a")
    right = kernel.tile((k, n), kind, "l0b")
    total = kernel.tile((m, n), b, "l0c")
    kernel.run("load2d", [kernel.load("%x0", x_in, "l1")], left, " {transpose}" if transpose_a else "")
    kernel.run("load2d", [kernel.load("%x1", y_in, "l1")], right, " {transpose}" if transpose_b else "")
    kernel.run("mmad", [left, right], total, " init %true")
    kernel.run("mmad", [left, right], total, " init %false")
    expected = 2 * (x.astype(np.float64) @ y.astype(np.float64))
    actual = kernel.execute([x_in, y_in], total, np.zeros((m, n), np.int32 if b == "i32" else np.float32))
    assert np.array_equal(actual, expected)


def test_mmad_accumulates_in_f32(kernel: Kernel) -> None:
    x, y = np.full((1, 2), 2048, np.float16), np.array([[1], [0.5]], np.float16)
    left, right, total = kernel.tile((1, 2), "f16", "l0a"), kernel.tile((2, 1), "f16", "l0b"), kernel.tile((1, 1), "f32", "l0c")
    kernel.run("load2d", [kernel.load("%x0", x, "l1")], left)
    kernel.run("load2d", [kernel.load("%x1", y, "l1")], right)
    kernel.run("mmad", [left, right], total, " init %true")
    assert kernel.execute([x, y], total, np.zeros((1, 1), np.float32)) == 3072


def chosen(condition: Array, x: Array, y: Array) -> Array:
    return condition * x + (1 - condition) * y


MODELS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "adds": np.add,
    "muls": np.multiply,
    "maxs": np.maximum,
    "mins": np.minimum,
    "abs": np.abs,
    "exp": np.exp,
    "ln": np.log,
    "sqrt": np.sqrt,
    "rec": np.reciprocal,
    "relu": lambda *x: np.maximum(x[0], 0),
    "rint": np.rint,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "select": chosen,
    "logical_and": np.minimum,
    "logical_or": np.maximum,
    "logical_not": lambda *x: 1 - x[0],
}


def numbers(shape: tuple[int, int], kind: str, seed: int) -> Array:
    """Positive numbers in f32, of both signs and with repetitions in integers."""
    rng = np.random.default_rng(seed)
    if kind == "f32":
        return np.where(rng.random(shape) < 0.2, 1.5, rng.uniform(0.1, 9, shape)).astype(np.float32)
    return rng.integers(*((0, 2) if kind == "i1" else (-9, 9)), shape).astype(DTYPES[kind])


@pytest.mark.parametrize(
    ("name", "kind", "shapes"),
    [
        (name, kind, shapes)
        for name, function in NATIVE.items()
        for kind in function.dtypes
        for shapes in [((17, 33), (17, 33)), ((5, 100), (1, 100)), ((40, 7), (40, 1)), ((9, 9), (1, 1))]
        if function.operands > 1 or shapes[0] == (17, 33)
    ],
)
def test_vector_functions(kernel: Kernel, name: str, kind: str, shapes: Sequence[tuple[int, int]]) -> None:
    function = NATIVE[name]
    of_operands = [shapes[-1]] * function.conditions + list(shapes[: function.operands - function.conditions])
    inputs = [numbers(shape, "i1" if i < function.conditions else kind, i) for i, shape in enumerate(of_operands)]
    scalar = "3.5" if kind == "f32" else "3"
    loaded = [kernel.load(f"%x{i}", x, "ub") for i, x in enumerate(inputs)]
    made = "i1" if function.is_predicate else kind
    out = kernel.tile(shapes[0], made, "ub")
    kernel.run(f"v{name}", loaded, out, f" {{scalar = {scalar} : {kind}}}" if function.has_scalar else "")
    wide = [x.astype(np.float64) for x in inputs] + ([float(scalar)] if function.has_scalar else [])
    expected = MODELS[name](*wide)
    actual = kernel.execute(inputs, out, np.zeros(shapes[0], DTYPES[made]))
    if made != "f32":
        assert np.array_equal(actual, expected)
    else:
        assert np.all(np.abs(actual - expected) <= 2.0**-22 * np.abs(expected))


def test_a_vector_instruction_may_write_its_operand(kernel: Kernel) -> None:
    x = small_integers((17, 9), np.float32)
    held = kernel.load("%x0", x, "ub")
    kernel.run("vadd", [held, held], held)
    kernel.run("vmuls", [held], held, " {scalar = 0.5 : f32}")
    assert np.array_equal(kernel.execute([x], held, x), x)


CONVERSIONS: dict[str, Callable[[float], float]] = {"i": math.trunc, "b": bool, "f": float}


@pytest.mark.parametrize("source", sorted(DTYPES))
@pytest.mark.parametrize("wanted", sorted(DTYPES))
def test_vconv(kernel: Kernel, source: str, wanted: str) -> None:
    values = np.array([[0, -1, 2.75, -3.5, 100.2, 2.5, 0.1]]).repeat(19, axis=0)
    x, convert = values.astype(DTYPES[source]), CONVERSIONS[DTYPES[wanted].kind]
    expected = np.array([[convert(float(v)) for v in row] for row in x]).astype(DTYPES[wanted])
    out = kernel.run("vconv", [kernel.load("%x0", x, "ub")], kernel.tile((19, 7), element(expected), "ub"))
    assert np.array_equal(kernel.execute([x], out, expected), expected)


@pytest.mark.parametrize(("value", "dtype"), [("1.5 : f32", np.float32), ("-2.5 : f16", np.float16), ("-7 : i32", np.int32)])
def test_vdup(kernel: Kernel, value: str, dtype: npt.DTypeLike) -> None:
    out = kernel.run(f"vdup {value}", [], kernel.tile((18, 5), NAMES[np.dtype(dtype).name], "ub"))
    kernel.lines.append(f"npu.pipe_barrier <{pipe(kernel.target, 'all')}>")
    expected = np.full((18, 5), float(value.split()[0]), dtype)
    assert np.array_equal(kernel.execute([], out, expected), expected)


@pytest.mark.parametrize("shape", [(1, 33), (17, 1), (1, 1), (17, 33)])
@pytest.mark.parametrize("dtype", [np.float16, np.int32])
def test_vbrc(kernel: Kernel, shape: tuple[int, int], dtype: npt.DTypeLike) -> None:
    x = small_integers(shape, dtype)
    expected = np.repeat(np.repeat(x, 17 // shape[0], axis=0), 33 // shape[1], axis=1)
    out = kernel.run("vbrc", [kernel.load("%x0", x, "ub")], kernel.tile((17, 33), element(x), "ub"))
    assert np.array_equal(kernel.execute([x], out, expected), expected)


@pytest.mark.parametrize(("kind", "model"), [("sum", np.sum), ("max", np.max), ("min", np.min)])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64])
@pytest.mark.parametrize(("shape", "axis"), [((17, 33), 0), ((17, 33), 1), ((1, 1), 1), ((0, 9), 1), ((9, 1), 0)])
def test_vreduce(kernel: Kernel, kind: str, model: Callable[..., Any], dtype: npt.DTypeLike, shape: tuple[int, int], axis: int) -> None:
    x = small_integers(shape, dtype)
    expected = np.asarray(model(x.astype(np.float64), axis=axis, keepdims=True) if x.size else np.zeros((0, 1))).astype(dtype)
    made = (expected.shape[0], expected.shape[1])
    out = kernel.run(f"vreduce <{kind}>", [kernel.load("%x0", x, "ub")], kernel.tile(made, element(x), "ub"), f" along {axis}")
    assert np.array_equal(kernel.execute([x], out, expected), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64])
@pytest.mark.parametrize(("base", "steps"), [(0, (0, 1)), (2**24 - 3, (1, 0)), (-7, (33, -2))])
@pytest.mark.parametrize("shape", [(17, 33), (1, 1), (0, 4)])
def test_viota(kernel: Kernel, dtype: npt.DTypeLike, base: int, steps: tuple[int, int], shape: tuple[int, int]) -> None:
    kernel.lines.append(f"%base = arith.constant {base} : index")
    out = kernel.run(f"viota [%base] steps [{steps[0]}, {steps[1]}]", [], kernel.tile(shape, NAMES[np.dtype(dtype).name], "ub"))
    kernel.lines.append(f"npu.pipe_barrier <{pipe(kernel.target, 'all')}>")
    rows, columns = np.indices(shape)
    expected = (base + rows * steps[0] + columns * steps[1]).astype(dtype)
    assert np.array_equal(kernel.execute([], out, expected), expected)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float16, np.float32, np.int64])
@pytest.mark.parametrize("shape", [(17, 33), (1, 5), (16, 1), (0, 3)])
def test_vtranspose(kernel: Kernel, dtype: npt.DTypeLike, shape: tuple[int, int]) -> None:
    x = small_integers(shape, dtype)
    out = kernel.run("vtranspose", [kernel.load("%x0", x, "ub")], kernel.tile((shape[1], shape[0]), element(x), "ub"))
    assert np.array_equal(kernel.execute([x], out, x.T), x.T)


@pytest.mark.parametrize("dtype", [np.bool_, np.float16, np.int64])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("rows", [[3], [0, 49, 0, 7], [], list(range(49, -1, -3))])
def test_load_rows(kernel: Kernel, dtype: npt.DTypeLike, kind: npt.DTypeLike, rows: list[int]) -> None:
    table, indices = small_integers((50, 33), dtype), np.array(rows, kind).reshape(-1, 1)
    held = kernel.load("%x1", indices, "ub")
    out = kernel.run("load_rows", [("%x0", in_gm(table)), held], kernel.tile((len(rows), 33), element(table), "ub"))
    expected = table[rows]
    assert np.array_equal(kernel.execute([table, indices], out, expected), expected)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("rows", [[2, 0, 1], [1, 0, 2, 1, 1, 0]])
def test_store_rows(kernel: Kernel, kind: npt.DTypeLike, rows: list[int]) -> None:
    x, indices = small_integers((len(rows), 33), np.float16), np.array(rows, kind).reshape(-1, 1)
    held = kernel.load("%x0", x, "ub"), kernel.load("%x1", indices, "ub")
    expected = np.zeros((3, 33), np.float16)
    for i, row in enumerate(rows):
        expected[row] = x[i]
    kernel.run("store_rows", held, ("%out", in_gm(expected)))
    spare = kernel.load("%out", expected, "ub")
    assert np.array_equal(kernel.execute([x, indices], spare, expected), expected)


@pytest.mark.parametrize(("value", "row"), [(50, 2), (-1, 0), (2**40, 5)])
@pytest.mark.parametrize("name", ["load_rows", "store_rows"])
def test_an_index_that_is_no_row_is_named(kernel: Kernel, value: int, row: int, name: str) -> None:
    table, indices = small_integers((50, 33), np.float16), np.arange(6, dtype=np.int64).reshape(-1, 1)
    indices[row] = value
    held, tile = kernel.load("%x1", indices, "ub"), kernel.tile((6, 33), "f16", "ub")
    if name == "load_rows":
        kernel.run("load_rows", [("%x0", in_gm(table)), held], tile)
    else:
        kernel.run("vdup 1.0 : f16", [], tile)
        kernel.run("store_rows", [tile, held], ("%out", in_gm(table)))
        tile = kernel.load("%x0", table, "ub")
    message = f"index {value} in row {row} is out of bounds: the table has 50 rows"
    with pytest.raises(CompileError, match=message):
        kernel.execute([table, indices], tile, np.zeros((6, 33), np.float16) if name == "load_rows" else table)


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (0, 4), (4, 0), (0, 0)])
def test_tiles_without_elements_do_nothing(kernel: Kernel, rows: int, columns: int) -> None:
    x = small_integers((rows, columns), np.float32)
    held = kernel.load("%x0", x, "ub")
    kernel.run("vexp", [held], held)
    actual = kernel.execute([x], held, x)
    assert actual.shape == (rows, columns)


def test_every_instruction_is_executed_here() -> None:
    known = {op.name.removeprefix("npu.") for op in NPU.operations if issubclass(op, InstructionOp)}
    source = Path(__file__).read_text()
    written = {name for name in known if f'run("{name}' in source or f'run(f"{name}' in source}
    elsewhere = {f"v{name}" for name in NATIVE} | {"copy"}
    assert known - written <= elsewhere, "test_vector_functions runs the ones of the table, test_assemble.py the way to the cube"
    assert MODELS.keys() == NATIVE.keys()


SYNC = """
func.func private @k(%x: memref<35x1xf32>, %out: memref<70x1xf32>) {
  %lanes = arith.constant LANES : index
  tile.forall (%i) in (35) {
    %core = npu.block_idx
    %lane = npu.sub_block_idx
    %from = arith.addi %core, %lane : index
    %t = buf.at "t" [0] : memref<1x1xf32, #npu.mem<ub>>
    %first = arith.muli %i, %lanes : index
    %to = arith.addi %first, %lane : index
    %xs = memref.subview %x[%from, 0] [1, 1] [1, 1] : memref<35x1xf32> to memref<1x1xf32, strided<[1, 1], offset: ?>>
    %os = memref.subview %out[%to, 0] [1, 1] [1, 1] : memref<70x1xf32> to memref<1x1xf32, strided<[1, 1], offset: ?>>
    npu.load <nd> ins(%xs : memref<1x1xf32, strided<[1, 1], offset: ?>>) outs(%t : memref<1x1xf32, #npu.mem<ub>>)
    npu.set_flag <MTE2>, <MTE3>[0]
    npu.wait_flag <MTE2>, <MTE3>[0]
    npu.store ins(%t : memref<1x1xf32, #npu.mem<ub>>) outs(%os : memref<1x1xf32, strided<[1, 1], offset: ?>>)
    npu.pipe_barrier <ALL>
    npu.sync_all
  }
  func.return
}
func.func @main(%x: memref<35x1xf32>, %out0: memref<70x1xf32>) attributes {results = 1 : i64} {
  fused.launch @k(%x) into (%out0) on aicore {ops = ["Add"], op_name = "k"} : (memref<35x1xf32>) into (memref<70x1xf32>)
  func.return
}
"""


def with_pipes(target: NpuTarget, text: str) -> str:
    """`text` with the pipes of `target` where there are capitals."""
    for name in ("mte2", "mte3", "all"):
        text = text.replace(f"<{name.upper()}>", f"<{pipe(target, name)}>")
    return on(target, text)


def test_flags_change_no_value_and_blocks_go_round_the_cores(target: NpuTarget) -> None:
    lanes = target.vec_per_cube
    text = with_pipes(target, SYNC.replace("LANES", str(lanes)).replace("70x1", f"{35 * lanes}x1"))
    x = np.arange(35, dtype=np.float32).reshape(35, 1)
    for order in (None, 1):
        (y,) = execute(parse_module(text, "sync.mlir"), [x], {}, block_order=order)
        cores = [*range(target.cores), *range(35 - target.cores)]
        assert y[:, 0].tolist() == [core + lane for core in cores for lane in range(lanes)]


PROGRAM = """
func.func private @k(%x: memref<2x40x24xf16>, %out: memref<2x40x24xf16>) {
  %c16 = arith.constant 16 : index
  %c40 = arith.constant 40 : index
  tile.forall (%b, %i) in (2, 3) {
    %r = arith.muli %i, %c16 : index
    %left = arith.subi %c40, %r : index
    %m = arith.minsi %left, %c16 : index
    %t = buf.at "t" [64] : memref<16x24xf16, #npu.mem<ub>>
    %v = memref.subview %t[0, 0] [%m, 24] [1, 1] : memref<16x24xf16, #npu.mem<ub>> to memref<?x24xf16, strided<[24, 1]>, #npu.mem<ub>>
    %from = memref.subview %x[%b, %r, 0] [1, %m, 24] [1, 1, 1] : memref<2x40x24xf16> to memref<?x24xf16, strided<[24, 1], offset: ?>>
    npu.load <nd> ins(%from : memref<?x24xf16, strided<[24, 1], offset: ?>>) outs(%v : memref<?x24xf16, strided<[24, 1]>, #npu.mem<ub>>)
    npu.pipe_barrier <ALL>
    %to = memref.subview %out[%b, %r, 0] [1, %m, 24] [1, 1, 1] : memref<2x40x24xf16> to memref<?x24xf16, strided<[24, 1], offset: ?>>
    npu.store ins(%v : memref<?x24xf16, strided<[24, 1]>, #npu.mem<ub>>) outs(%to : memref<?x24xf16, strided<[24, 1], offset: ?>>)
  }
  func.return
}
func.func @main(%x: memref<80x24xf16>, %out0: memref<2x40x24xf16>) attributes {results = 1 : i64} {
  %v = memref.reinterpret_cast %x to offset: [0], sizes: [2, 40, 24], strides: [960, 24, 1]
    : memref<80x24xf16> to memref<2x40x24xf16, strided<[960, 24, 1]>>
  %w = "memref.cast"(%v) : (memref<2x40x24xf16, strided<[960, 24, 1]>>) -> memref<2x40x24xf16>
  %h = buf.at "h" [512] : memref<2x40x24xf16>
  fused.launch @k(%w) into (%h) on aicore {ops = ["Add"], op_name = "first"} : (memref<2x40x24xf16>) into (memref<2x40x24xf16>)
  fused.launch @k(%h) into (%out0) on aicore {ops = ["Add"], op_name = "second"} : (memref<2x40x24xf16>) into (memref<2x40x24xf16>)
  func.return
}
"""


def test_a_grid_with_points_ragged_rows_and_an_arena(target: NpuTarget) -> None:
    x = np.random.default_rng(0).standard_normal((80, 24)).astype(np.float16)
    statistics = Statistics()
    module = parse_module(with_pipes(target, PROGRAM), "p.mlir")
    (y,) = execute(module, [x], {}, statistics=statistics)
    assert np.array_equal(y, x.reshape(2, 40, 24))
    assert statistics.launches == {"k": 2}
    assert statistics.instructions["k"] == {"npu.load": 12, "npu.store": 12, "npu.pipe_barrier": 12}
    assert statistics.total == 36
    for seed in range(3):
        assert np.array_equal(execute(module, [x], {}, block_order=seed, check=False)[0], y)
