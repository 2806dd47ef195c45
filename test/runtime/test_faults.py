"""Tests of the checked executor: each fault of a program with addresses is one located message."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import DEFAULT_TARGET, NpuTarget, load_target
from ge_compiler.runtime.execute import execute

UB = "memref<4x8xf32, #npu.mem<ub>>"
GM = "memref<4x8xf32>"
MAIN = f"""
func.func @main(%x: {GM}, %out0: {GM}) attributes {{results = 1 : i64}} {{
  fused.launch @k(%x) into (%out0) on aicore {{ops = ["Add"], op_name = "k"}} : ({GM}) into ({GM})
  func.return
}}
"""


def kernel(body: str, main: str = MAIN, target: NpuTarget | None = None) -> ModuleOp:
    """A kernel `@k(%x, %out)` with `body`, which starts at line 2."""
    chip = DEFAULT_TARGET if target is None else target.name
    text = f"func.func private @k(%x: {GM}, %out: {GM}) {{\n{body}\nfunc.return\n}}\n{main}"
    return parse_module(f'module attributes {{ge.target = "{chip}"}} {{ {text} }}', "k.mlir")


def fault(body: str, main: str = MAIN, check: bool = True, target: NpuTarget | None = None) -> CompileError:
    """The error of that kernel."""
    with pytest.raises(CompileError) as caught:
        execute(kernel(body, main, target), [np.ones((4, 8), np.float32)], {}, check=check)
    return caught.value


def notes(error: CompileError) -> list[str]:
    return [note.message for note in error.notes]


def in_first_lane(target: NpuTarget) -> list[str]:
    """What a fault of vector work says where there are several lanes."""
    return ["on vector lane 0"] if target.vec_per_cube > 1 else []


def load(to: str, source: str = "%x") -> str:
    return f"npu.load <nd> ins({source} : {GM}) outs({to} : {UB})"


def store(tile: str, to: str = "%out") -> str:
    return f"npu.store ins({tile} : {UB}) outs({to} : {GM})"


def add(x: str, y: str, out: str) -> str:
    return f"npu.vadd ins({x}, {y} : {UB}, {UB}) outs({out} : {UB})"


def at(name: str, offset: int, type_: str = UB) -> str:
    return f'%{name} = buf.at "{name}" [{offset}] : {type_}'


def lines(*text: str) -> str:
    return "\n".join(text)


def test_reading_what_nothing_has_written(target: NpuTarget) -> None:
    error = fault(lines(at("a", 0), at("b", 128), load("%a"), add("%a", "%b", "%a"), store("%a")), target=target)
    assert str(error).splitlines()[0] == (
        "k.mlir:5:1: error: 'npu.vadd' op operand #1 reads ub bytes [128, 256) of buffer \"b\", which nothing has written"
    )
    assert notes(error) == [*in_first_lane(target), "in this launch of @k"]


def test_reading_what_another_buffer_has_overwritten() -> None:
    error = fault(lines(at("a", 0), at("b", 64), load("%a"), load("%b"), add("%b", "%b", "%b"), store("%a")))
    assert str(error).splitlines()[:2] == [
        "k.mlir:7:1: error: 'npu.store' op the source reads ub bytes [64, 128) through buffer \"a\", "
        'but they were last written through buffer "b"',
        'k.mlir:6:1: note: last written here, through "b"',
    ]


def test_the_other_slot_is_another_buffer() -> None:
    body = lines(
        "%c0 = arith.constant 0 : index",
        "%c1 = arith.constant 1 : index",
        f'%a = buf.at "a" [0, 128] slot %c0 : {UB}',
        f'%b = buf.at "a" [0, 128] slot %c1 : {UB}',
        load("%a"),
        store("%b"),
    )
    assert "the source reads ub bytes [128, 256)" in fault(body).message


def test_a_slot_that_does_not_exist() -> None:
    body = lines("%c2 = arith.constant 2 : index", f'%a = buf.at "a" [0, 128] slot %c2 : {UB}')
    assert fault(body).message == "'buf.at' op \"a\" has slots 0 to 1, got slot 2"


@pytest.mark.parametrize(("chip", "size"), [("Ascend910A", 262144), ("Ascend910B2", 196608)])
def test_a_buffer_outside_its_memory(chip: str, size: int) -> None:
    error = fault(at("a", size - 64), target=load_target(chip))
    assert error.message == f"'buf.at' op \"a\" lies at bytes [{size - 64}, {size + 64}) of ub, which has {size}"


@pytest.mark.parametrize("check", [True, False])
def test_out_of_bounds_on_chip(check: bool) -> None:
    body = lines(
        at("a", 0),
        "%c5 = arith.constant 5 : index",
        f"%v = memref.subview %a[0, %c5] [4, 4] [1, 1] : {UB} to memref<4x4xf32, strided<[8, 1], offset: ?>, #npu.mem<ub>>",
    )
    error = fault(body, check=check)
    assert str(error).splitlines()[0] == (
        "k.mlir:4:6: error: 'memref.subview' op the subview: elements [5, 9) of dimension 1 are out of bounds, it is 4x8"
    )


@pytest.mark.parametrize("check", [True, False])
def test_out_of_bounds_in_global_memory(check: bool) -> None:
    body = lines(
        "%c1 = arith.constant 1 : index",
        f"%v = memref.subview %x[%c1, 0] [4, 8] [1, 1] : {GM} to memref<4x8xf32, strided<[8, 1], offset: ?>>",
    )
    assert fault(body, check=check).message == (
        "'memref.subview' op the subview (%x): elements [1, 5) of dimension 0 are out of bounds, it is 4x8"
    )


def test_an_extent_that_is_negative() -> None:
    body = lines(
        "%n = arith.constant -1 : index",
        f"%v = memref.subview %x[0, 0] [%n, 8] [1, 1] : {GM} to memref<?x8xf32, strided<[8, 1]>>",
    )
    assert "extent -1 of dimension 0 is negative" in fault(body).message


@pytest.mark.parametrize(
    ("space", "kind", "written", "read", "place"),
    [
        # 4 x 8 of 16 x 16 in one fractal; row 4 starts at 4 * 32 bytes.
        ("l1", "f16", (4, 8), (5, 8), "l1 bytes [128, 144)"),
        ("l1", "f16", (4, 8), (4, 9), "l1 bytes [16, 114)"),
    ],
)
def test_padding_of_fractals_is_not_read(space: str, kind: str, written: tuple[int, int], read: tuple[int, int], place: str) -> None:
    whole = f"memref<16x16x{kind}, #npu.mem<{space}>>"

    def part(name: str, shape: tuple[int, int], base: str, base_type: str, mem: str) -> tuple[str, str]:
        type_ = f"memref<{shape[0]}x{shape[1]}x{kind}, strided<[16, 1]>{mem}>"
        return f"%{name} = memref.subview %{base}[0, 0] [{shape[0]}, {shape[1]}] [1, 1] : {base_type} to {type_}", type_

    write, write_type = part("w", written, "t", whole, f", #npu.mem<{space}>")
    source, source_type = part("s", written, "g", f"memref<16x16x{kind}>", "")
    view, view_type = part("r", read, "t", whole, f", #npu.mem<{space}>")
    to, to_type = part("to", read, "l", f"memref<16x16x{kind}, #npu.mem<l0a>>", ", #npu.mem<l0a>")
    arguments = f"%g: memref<16x16x{kind}>"
    text = lines(
        f"func.func private @k({arguments}) {{",
        f'%t = buf.at "t" [0] : {whole}',
        f'%l = buf.at "l" [0] : memref<16x16x{kind}, #npu.mem<l0a>>',
        *(source, write, view, to),
        f"npu.load <nd2nz> ins(%s : {source_type}) outs(%w : {write_type})",
        f"npu.load2d ins(%r : {view_type}) outs(%to : {to_type})",
        "func.return",
        "}",
        f"func.func @main({arguments}) {{",
        f'fused.launch @k(%g) into () on aicore {{ops = ["Add"], op_name = "k"}} : (memref<16x16x{kind}>) into ()',
        "func.return",
        "}",
    )
    with pytest.raises(CompileError) as caught:
        execute(parse_module(text, "k.mlir"), [np.ones((16, 16), np.float16)], {})
    assert caught.value.message == f"'npu.load2d' op the source reads {place} of buffer \"t\", which nothing has written"


def test_a_block_does_not_see_what_another_left(target: NpuTarget) -> None:
    body = lines(
        "%c0 = arith.constant 0 : index",
        "tile.forall (%i) in (3) {",
        at("a", 0),
        "%first = arith.cmpi eq, %i, %c0 : index",
        "scf.if %first {",
        load("%a"),
        "}",
        store("%a"),
        "}",
    )
    error = fault(body, target=target)
    assert 'of buffer "a", which nothing has written' in error.message
    assert notes(error) == [*in_first_lane(target), "in block (1,) of this grid", "in this launch of @k"]


def test_a_core_sees_what_its_own_block_left(target: NpuTarget) -> None:
    body = lines(
        "%c0 = arith.constant 0 : index",
        f"tile.grid_loop %t (%i) in ({target.cores + 1}) {{",
        at("a", 0),
        "%first = arith.cmpi eq, %t, %c0 : index",
        "scf.if %first {",
        load("%a"),
        "}",
        store("%a"),
        "}",
    )
    (y,) = execute(kernel(body, target=target), [np.ones((4, 8), np.float32)], {})
    assert (y == 1).all()
    other = fault(body.replace("%t, %c0", "%i, %c0"), target=target)
    assert notes(other) == [*in_first_lane(target), "in block (1,) of this grid", "in this launch of @k"]


def test_a_launch_does_not_see_what_another_left() -> None:
    main = f"""
func.func private @fill(%x: {GM}, %out: {GM}) {{
  {at("t", 0)}
  {load("%t")}
  {store("%t")}
  func.return
}}
func.func @main(%x: {GM}, %out0: {GM}) attributes {{results = 1 : i64}} {{
  fused.launch @fill(%x) into (%out0) on aicore {{ops = ["Add"], op_name = "f"}} : ({GM}) into ({GM})
  fused.launch @k(%x) into (%out0) on aicore {{ops = ["Add"], op_name = "k"}} : ({GM}) into ({GM})
  func.return
}}"""
    assert 'ub bytes [0, 128) of buffer "a", which nothing has written' in fault(lines(at("a", 0), store("%a")), main).message


def test_an_unplanned_buffer_starts_empty_each_time() -> None:
    body = lines(
        "%c0 = arith.constant 0 : index",
        "%c1 = arith.constant 1 : index",
        "%c2 = arith.constant 2 : index",
        "scf.for %i = %c0 to %c2 step %c1 {",
        f'%a = buf.alloc "a" : {UB}',
        "%first = arith.cmpi eq, %i, %c0 : index",
        "scf.if %first {",
        load("%a"),
        "}",
        store("%a"),
        "}",
    )
    assert 'of buffer "a", which nothing has written' in fault(body).message


MAIN_WITH_ARENA = f"""
func.func @main(%x: {GM}, %out0: {GM}) attributes {{results = 1 : i64}} {{
  {at("h", 0, GM)}
  {at("g", 64, GM)}
  fused.launch @k(%x) into (%h) on aicore {{ops = ["Add"], op_name = "first"}} : ({GM}) into ({GM})
  fused.launch @k(%x) into (%g) on aicore {{ops = ["Add"], op_name = "second"}} : ({GM}) into ({GM})
  fused.launch @k(%h) into (%out0) on aicore {{ops = ["Add"], op_name = "third"}} : ({GM}) into ({GM})
  func.return
}}
"""
COPY = lines(at("t", 0), load("%t"), store("%t"))


def test_overlapping_buffers_in_global_memory(target: NpuTarget) -> None:
    error = fault(COPY, MAIN_WITH_ARENA, target=target)
    assert error.message == (
        '\'npu.load\' op the source reads gm bytes [64, 128) through buffer "h", but they were last written through buffer "g"'
    )
    assert notes(error) == ['last written here, through "g"', *in_first_lane(target), "in this launch of @k"]


def test_a_result_that_is_not_written_whole() -> None:
    body = lines(
        at("t", 0),
        load("%t"),
        f"%p = memref.subview %t[0, 0] [3, 8] [1, 1] : {UB} to memref<3x8xf32, strided<[8, 1]>, #npu.mem<ub>>",
        f"%o = memref.subview %out[0, 0] [3, 8] [1, 1] : {GM} to memref<3x8xf32, strided<[8, 1]>>",
        "npu.store ins(%p : memref<3x8xf32, strided<[8, 1]>, #npu.mem<ub>>) outs(%o : memref<3x8xf32, strided<[8, 1]>>)",
    )
    error = fault(body)
    assert error.message == "'func.return' op result #0 of @main reads gm bytes [96, 128) of buffer \"%out0\", which nothing has written"


def test_an_input_is_not_written() -> None:
    assert "'npu.store' op writes to %x, which may only be read" in fault(lines(at("t", 0), load("%t"), store("%t", "%x"))).message


def test_extents_that_differ_only_when_it_runs() -> None:
    body = lines(
        at("t", 0),
        "%c3 = arith.constant 3 : index",
        f"%p = memref.subview %t[0, 0] [%c3, 8] [1, 1] : {UB} to memref<?x8xf32, strided<[8, 1]>, #npu.mem<ub>>",
        f"npu.load <nd> ins(%x : {GM}) outs(%p : memref<?x8xf32, strided<[8, 1]>, #npu.mem<ub>>)",
    )
    assert fault(body).message == "'npu.load' op valid extents differ: 4x8 elements into a destination of 3x8"


def test_an_accumulator_that_was_not_started() -> None:
    text = """
func.func @main() {
  %false = arith.constant false
  %true = arith.constant true
  %a = buf.at "a" [0] : memref<16x16xf16, #npu.mem<l0a>>
  %c = buf.at "c" [0] : memref<16x16xf32, #npu.mem<l0c>>
  %b = buf.at "b" [0] : memref<16x16xf16, #npu.mem<l0b>>
  npu.mmad ins(%a, %b : memref<16x16xf16, #npu.mem<l0a>>, memref<16x16xf16, #npu.mem<l0b>>)
    outs(%c : memref<16x16xf32, #npu.mem<l0c>>) init %INIT
  func.return
}"""
    with pytest.raises(CompileError, match=r'the accumulator reads l0c bytes \[0, 1024\) of buffer "c"'):
        execute(parse_module(text.replace("INIT", "false")), [], {})
    with pytest.raises(CompileError, match=r'a reads l0a bytes \[0, 512\) of buffer "a"'):
        execute(parse_module(text.replace("INIT", "true")), [], {})
    execute(parse_module(text.replace("INIT", "true")), [], {}, check=False)


def test_division_by_zero_and_a_loop_that_stands_still() -> None:
    zero = "%c0 = arith.constant 0 : index"
    assert fault(lines(zero, "%q = arith.divsi %c0, %c0 : index")).message == "'arith.divsi' op divides 0 by zero"
    assert "the step of a loop must be positive, got 0" in fault(lines(zero, "scf.for %i = %c0 to %c0 step %c0 {", "}")).message


LANES = lines(
    at("a", 0),
    "%c0 = arith.constant 0 : index",
    "%c2 = arith.constant 2 : index",
    "%lane = npu.sub_block_idx",
    "%row = arith.muli %lane, %c2 : index",
    f"%p = memref.subview %a[0, 0] [2, 8] [1, 1] : {UB} to memref<2x8xf32, strided<[8, 1]>, #npu.mem<ub>>",
    f"%xs = memref.subview %x[%row, 0] [2, 8] [1, 1] : {GM} to memref<2x8xf32, strided<[8, 1], offset: ?>>",
    f"%os = memref.subview %out[%row, 0] [2, 8] [1, 1] : {GM} to memref<2x8xf32, strided<[8, 1], offset: ?>>",
    "npu.load <nd> ins(%xs : memref<2x8xf32, strided<[8, 1], offset: ?>>) outs(%p : memref<2x8xf32, strided<[8, 1]>, #npu.mem<ub>>)",
    "npu.store ins(%p : memref<2x8xf32, strided<[8, 1]>, #npu.mem<ub>>) outs(%os : memref<2x8xf32, strided<[8, 1], offset: ?>>)",
)


def test_every_lane_does_its_own_rows_in_its_own_memory() -> None:
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    (y,) = execute(kernel(LANES, target=load_target("Ascend910B2")), [x], {})
    assert np.array_equal(y, x)
    error = fault(LANES, target=load_target("Ascend910A"))
    assert error.message == "'func.return' op result #0 of @main reads gm bytes [64, 128) of buffer \"%out0\", which nothing has written"


def test_a_fault_names_its_lane() -> None:
    error = fault(LANES.replace("arith.constant 2 : index", "arith.constant 3 : index"), target=load_target("Ascend910B2"))
    assert error.message == "'memref.subview' op the subview (%x): elements [3, 5) of dimension 0 are out of bounds, it is 4x8"
    assert notes(error) == ["on vector lane 1", "in this launch of @k"]


def test_an_op_without_a_meaning() -> None:
    assert "'arith.extsi' op cannot be executed" in fault(lines("%c = arith.constant true", "%d = arith.extsi %c : i1 to i32")).message
