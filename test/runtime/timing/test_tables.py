"""The times in the table file of a chip: what can be wrong with them, and what an instruction costs by them."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from ge_compiler.dialects import npu
from ge_compiler.dialects.diagnostics import CompileError, location_text
from ge_compiler.dialects.functions import NATIVE
from ge_compiler.dialects.fused import kernels
from ge_compiler.dialects.instruction_costs import Cost, Shares, cost_of
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import available_targets, load_target
from ge_compiler.dialects.target_timing import TICKS, Confidence
from ge_compiler.dialects.types import buffer_type

TABLE = files("ge_compiler.dialects").joinpath("targets", "Ascend910B2.toml").read_text()
B2 = load_target("Ascend910B2")
PLENTY = Shares(1e6, 1e6, 1e6)


@pytest.mark.parametrize("name", available_targets())
def test_every_chip_that_ships_says_what_its_times_rest_on(name: str) -> None:
    timing = load_target(name).timing
    assert timing is not None
    assert sum(map(len, timing.by_confidence().values())) == len(timing.constants)
    assert all(constant.source for constant in timing.constants.values())
    for function in NATIVE:
        assert timing.ticks(f"vector.{function}", "slope") > 0


def test_a_chip_that_nobody_has_timed_claims_no_calibration() -> None:
    timing = load_target("Ascend910A").timing
    assert timing is not None
    assert not timing.by_confidence()[Confidence.CALIBRATED]


BAD = {
    "clock = { mhz = 1800,|clock = { mhz = 0,": "timing.clock must have a positive number as mhz, got 0",
    "clock = { mhz = 1800,|clock = { ghz = 1.8,": "timing.clock has ghz, which means nothing here; give mhz and one of calibrated, derived",
    "gap = { cycles = 6,|gap = { cycles = true,": "timing.cube.gap must have a number as cycles, got True",
    "gap = { cycles = 6,|gap = { cycles = -9,": "timing.cube.gap must have a number as cycles, got -9",
    "gap = { cycles = 6, calibrated|gap = { cycles = 6, rumoured": "timing.cube.gap has rumoured, which means nothing here",
    'cycles = 1, derived = "pto-isa sync model" }|cycles = 1 }': "timing.scalar.flag must say what it rests on",
    'cycles = 1, derived = "pto-isa sync model" }|cycles = 1, derived = 1 }': "timing.scalar.flag must say what it rests on",
    "rate = 256,|": "timing.moves.l1_l0a lacks rate",
    "l0c_gm = {|l0c_gn = {": "timing.moves.l0c_gn means nothing here (did you mean 'l0c_gm'?)",
    "[timing.launch]|[timing.lunch]": "timing.lunch means nothing here (did you mean 'launch'?)",
    "exp = { head|expp = { head": "timing.vector.expp means nothing here (did you mean 'exp'?)",
    "queue = { entries = 32,|queue = 32 # {": "timing.queue must be a table, got 32",
}


@pytest.mark.parametrize("change", list(BAD))
def test_a_fault_is_reported_with_its_line(change: str, tmp_path: Path) -> None:
    before, _, after = change.partition("|")
    assert before in TABLE
    file = tmp_path / "chip.toml"
    file.write_text(TABLE.replace(before, after, 1))
    with pytest.raises(CompileError) as caught:
        load_target(str(file))
    assert BAD[change] in caught.value.message
    place, line, _ = location_text(caught.value.location).rsplit(":", 2)
    assert place == str(file)
    key = BAD[change].split()[0].split(".")[-1]
    assert file.read_text().splitlines()[int(line) - 1].startswith((key, f"[timing.{key}"))


# ---- costs ------------------------------------------------------------------------------------------------------------


def instruction(text: str, arguments: str = "") -> npu.InstructionOp:
    """The one instruction of a kernel."""
    module = parse_module(f"func.func private @k({arguments}) {{\n{text}\nfunc.return\n}}", "k.mlir")
    (kernel,) = kernels(module)
    (op,) = [op for op in kernel.walk() if isinstance(op, npu.InstructionOp)]
    return op


def cost(text: str, arguments: str = "") -> Cost:
    """The cost of the one instruction of a kernel."""
    op = instruction(text, arguments)
    return cost_of(op, [buffer_type(value).get_shape() for value in (*op.reads(), op.writes())], B2)


def vector(name: str, rows: int, columns: int, operands: int, element: str = "f32") -> Cost:
    type_ = f"memref<{rows}x{columns}x{element}, #npu.mem<ub>>"
    at = "\n".join(f'%b{i} = buf.at "b{i}" [{i * 16384}] : {type_}' for i in range(operands + 1))
    ins = ", ".join(f"%b{i}" for i in range(operands))
    types = ", ".join([type_] * operands)
    return cost(f"{at}\nnpu.{name} ins({ins} : {types}) outs(%b{operands} : {type_})")


def cycles(c: Cost) -> float:
    """From an idle pipe to a visible result."""
    return (c.fill + c.occupied(PLENTY, 0.0) + c.latency) / TICKS


# From unit tests of a public simulator, which call them profiled: within a tenth, but for those marked there as loose.
@pytest.mark.parametrize(
    ("name", "operands", "measured"), [("vadd", 2, 160), ("vmul", 2, 168), ("vdiv", 2, 288), ("vsqrt", 1, 160), ("vmax", 2, 152)]
)
def test_elementwise_instructions(name: str, operands: int, measured: int) -> None:
    assert cycles(vector(name, 64, 64, operands)) == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize(("kind", "measured"), [("sum", 492), ("max", 480)])
def test_reductions_of_rows(kind: str, measured: int) -> None:
    text = f"""
      %x = buf.at "x" [0] : memref<64x64xf32, #npu.mem<ub>>
      %y = buf.at "y" [16384] : memref<64x1xf32, #npu.mem<ub>>
      npu.vreduce <{kind}> ins(%x : memref<64x64xf32, #npu.mem<ub>>) outs(%y : memref<64x1xf32, #npu.mem<ub>>) along 1"""
    assert cycles(cost(text)) == pytest.approx(measured, rel=0.01)


def test_a_tile_in_one_piece_is_cheaper_than_its_rows() -> None:
    assert vector("vadd", 16, 72, 2).occupancy < 16 * vector("vadd", 1, 72, 2).occupancy
    broadcast = """
      %x = buf.at "x" [0] : memref<16x64xf32, #npu.mem<ub>>
      %y = buf.at "y" [8192] : memref<1x64xf32, #npu.mem<ub>>
      npu.vadd ins(%x, %y : memref<16x64xf32, #npu.mem<ub>>, memref<1x64xf32, #npu.mem<ub>>) outs(%x : memref<16x64xf32, #npu.mem<ub>>)"""
    assert cost(broadcast).occupancy == vector("vadd", 16, 64, 2).occupancy


@pytest.mark.parametrize(
    ("element", "accumulator", "k", "steps"),
    [("f16", "f32", 64, 8 * 8 * 4), ("f32", "f32", 64, 8 * 8 * 8 * 2), ("f32", "f32", 50, 8 * 8 * 8 * 2), ("i8", "i32", 64, 8 * 8 * 2)],
)
def test_products_take_steps_of_16_x_16_x_32_bytes(element: str, accumulator: str, k: int, steps: int) -> None:
    a, b, c = (
        f"memref<128x{k}x{element}, #npu.mem<l0a>>",
        f"memref<{k}x128x{element}, #npu.mem<l0b>>",
        f"memref<128x128x{accumulator}, #npu.mem<l0c>>",
    )
    text = f"""
      %true = arith.constant true
      %a = buf.at "a" [0] : {a}
      %b = buf.at "b" [0] : {b}
      %c = buf.at "c" [0] : {c}
      npu.mmad ins(%a, %b : {a}, {b}) outs(%c : {c}) init %true"""
    assert cost(text).occupancy == (steps + 6) * TICKS


def load(rows: int, columns: int, stride: int) -> Cost:
    view = f"memref<{rows}x{columns}xf16, strided<[{stride}, 1]>>"
    text = f"""
      %v = memref.subview %x[0, 0] [{rows}, {columns}] [1, 1] : memref<{rows}x{stride}xf16> to {view}
      %a = buf.at "a" [0] : memref<{rows}x{columns}xf16, #npu.mem<l1>>
      npu.load <nd2nz> ins(%v : {view}) outs(%a : memref<{rows}x{columns}xf16, #npu.mem<l1>>)"""
    return cost(text, f"%x: memref<{rows}x{stride}xf16>")


def test_short_rows_and_rows_off_the_grid_take_longer() -> None:
    shapes = ((64, 4096), (64, 4095), (1024, 4096), (256, 4096), (256, 4095))
    times = [load(64, n, stride).occupied(PLENTY, 0.0) for n, stride in shapes]
    assert times[0] == round(16.7 * TICKS) + 64 * round(3.4 * TICKS)
    assert times[0] < times[1] < 1.25 * times[0]
    assert 1.9 * times[3] < times[4] < 2 * times[3], "rows of a line that touch two"
    assert times[2] == pytest.approx(16.7 * TICKS + 64 * 2048 / 92 * TICKS, rel=1e-3)


def test_bytes_that_l2_lacks_take_their_share_of_the_memory() -> None:
    c, narrow = load(64, 1024, 4096), Shares(0.25, 0.25, 1000.0)
    assert c.occupied(narrow, 1.0) > 5 * c.occupied(narrow, 0.0)
    half = (c.occupied(narrow, 1.0) + c.occupied(narrow, 0.0)) / 2
    assert c.occupied(narrow, 0.5) == pytest.approx(half, abs=1)


def test_nothing_costs_nothing() -> None:
    type_ = "memref<16x64xf32, #npu.mem<ub>>"
    op = instruction(f'%x = buf.at "x" [0] : {type_}\nnpu.vexp ins(%x : {type_}) outs(%x : {type_})')
    assert cost_of(op, [[0, 64], [0, 64]], B2) == Cost(0, 0, 0)
