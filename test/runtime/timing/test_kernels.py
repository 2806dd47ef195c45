"""Kernels of instructions: what is read from them, how long they take, what they wait for, and what a table must say."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from ge_compiler.dialects import context
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.fused import kernels
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import NpuTarget, complete_targets, load_target, target_of
from ge_compiler.runtime.timing import KernelTime, time_kernel, time_module
from ge_compiler.runtime.timing.fold import Folding
from ge_compiler.runtime.timing.reference import simulate
from ge_compiler.runtime.timing.scoreboard import Board
from ge_compiler.tools.opt.pass_manager import PassManager

ROOT = Path(__file__).parents[3]
B2 = load_target("Ascend910B2")


def lowered(target: str) -> ModuleOp:
    """The perceptron of the pipelines' tests at the level of instructions."""
    text = (ROOT / "test/pipelines/mlp.mlir").read_text()
    module = parse_module(text.replace("builtin.module {", f'builtin.module attributes {{ge.target = "{target}"}} {{'), "mlp.mlir")
    PassManager("to-npu", verify_each=False).run(context(), module)
    return module


def product(m: int, n: int, k: int, rows: int = 128) -> KernelTime:
    """The time of a product of f16 in tiles of `rows` x 256 x 256, two slots everywhere, on the cubes of the default chip."""
    names = {"$m": m, "$n": n, "$k": k, "$r": rows, "$gm": m // rows, "$gn": n // 256}
    text = PRODUCT
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, str(names[name]))
    (kernel,) = kernels(parse_module(text, "product.mlir"))
    return time_kernel(kernel, B2)


PRODUCT = """
func.func private @product(%x: memref<$mx$kxf16>, %y: memref<$kx$nxf16>, %out: memref<$mx$nxf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %rows = arith.constant $r : index
  %K = arith.constant $k : index
  npu.set_flag <aic.mte1>, <aic.mte2>[0]
  npu.set_flag <aic.mte1>, <aic.mte2>[1]
  npu.set_flag <aic.m>, <aic.mte1>[0]
  npu.set_flag <aic.m>, <aic.mte1>[1]
  npu.set_flag <aic.fix>, <aic.m>[0]
  tile.grid_loop %t (%i, %j) in ($gm, $gn) {
    %m0 = arith.muli %i, %rows : index
    %n0 = arith.muli %j, %c256 : index
    %acc = buf.at "acc" [0] : memref<$rx256xf32, #npu.mem<l0c>>
    npu.wait_flag <aic.fix>, <aic.m>[0]
    scf.for %k = %c0 to %K step %c256 {
      %trip = arith.divui %k, %c256 : index
      %s = arith.remui %trip, %c2 : index
      %a = buf.at "a" [0, 65536] slot %s : memref<$rx256xf16, #npu.mem<l1>>
      %b = buf.at "b" [131072, 262144] slot %s : memref<256x256xf16, #npu.mem<l1>>
      %xs = memref.subview %x[%m0, %k] [$r, 256] [1, 1] : memref<$mx$kxf16> to memref<$rx256xf16, strided<[$k, 1], offset: ?>>
      %ys = memref.subview %y[%k, %n0] [256, 256] [1, 1] : memref<$kx$nxf16> to memref<256x256xf16, strided<[$n, 1], offset: ?>>
      npu.wait_flag <aic.mte1>, <aic.mte2>[%s]
      npu.load <nd2nz> ins(%xs : memref<$rx256xf16, strided<[$k, 1], offset: ?>>) outs(%a : memref<$rx256xf16, #npu.mem<l1>>)
      npu.load <nd2nz> ins(%ys : memref<256x256xf16, strided<[$n, 1], offset: ?>>) outs(%b : memref<256x256xf16, #npu.mem<l1>>)
      npu.set_flag <aic.mte2>, <aic.mte1>[%s]
      npu.wait_flag <aic.mte2>, <aic.mte1>[%s]
      scf.for %q = %c0 to %c256 step %c64 {
        %turn = arith.divui %q, %c64 : index
        %z = arith.remui %turn, %c2 : index
        %a0 = buf.at "a0" [0, 16384] slot %z : memref<$rx64xf16, #npu.mem<l0a>>
        %b0 = buf.at "b0" [0, 32768] slot %z : memref<64x256xf16, #npu.mem<l0b>>
        %as = memref.subview %a[0, %q] [$r, 64] [1, 1] : memref<$rx256xf16, #npu.mem<l1>> to memref<$rx64xf16, strided<[256, 1], offset: ?>, #npu.mem<l1>>
        %bs = memref.subview %b[%q, 0] [64, 256] [1, 1] : memref<256x256xf16, #npu.mem<l1>> to memref<64x256xf16, strided<[256, 1], offset: ?>, #npu.mem<l1>>
        npu.wait_flag <aic.m>, <aic.mte1>[%z]
        npu.load2d ins(%as : memref<$rx64xf16, strided<[256, 1], offset: ?>, #npu.mem<l1>>) outs(%a0 : memref<$rx64xf16, #npu.mem<l0a>>)
        npu.load2d ins(%bs : memref<64x256xf16, strided<[256, 1], offset: ?>, #npu.mem<l1>>) outs(%b0 : memref<64x256xf16, #npu.mem<l0b>>)
        npu.set_flag <aic.mte1>, <aic.m>[%z]
        %sum = arith.addi %k, %q : index
        %first = arith.cmpi eq, %sum, %c0 : index
        npu.wait_flag <aic.mte1>, <aic.m>[%z]
        npu.mmad ins(%a0, %b0 : memref<$rx64xf16, #npu.mem<l0a>>, memref<64x256xf16, #npu.mem<l0b>>) outs(%acc : memref<$rx256xf32, #npu.mem<l0c>>) init %first
        npu.set_flag <aic.m>, <aic.mte1>[%z]
      }
      npu.set_flag <aic.mte1>, <aic.mte2>[%s]
    }
    npu.set_flag <aic.m>, <aic.fix>[0]
    npu.wait_flag <aic.m>, <aic.fix>[0]
    %to = memref.subview %out[%m0, %n0] [$r, 256] [1, 1] : memref<$mx$nxf32> to memref<$rx256xf32, strided<[$n, 1], offset: ?>>
    npu.fixpipe ins(%acc : memref<$rx256xf32, #npu.mem<l0c>>) outs(%to : memref<$rx256xf32, strided<[$n, 1], offset: ?>>)
    npu.set_flag <aic.fix>, <aic.m>[0]
  }
  npu.wait_flag <aic.mte1>, <aic.mte2>[0]
  npu.wait_flag <aic.mte1>, <aic.mte2>[1]
  npu.wait_flag <aic.m>, <aic.mte1>[0]
  npu.wait_flag <aic.m>, <aic.mte1>[1]
  npu.wait_flag <aic.fix>, <aic.m>[0]
  func.return
}
"""  # noqa: E501


def simulated(time: KernelTime, target: NpuTarget) -> None:
    """Every cluster of a kernel takes the same ticks, loops jumped over, evaluated, and in the event simulation."""
    costs, depth = time.outcome.phases[0].costs, time.program.overheads.queue
    for cluster in time.program.clusters:
        folded, plain = Board(cluster, costs, depth, Folding()), Board(cluster, costs, depth)
        folded.run()
        plain.run()
        assert folded.end == plain.end == simulate(cluster, costs, depth)


# ---- programs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["elementwise", "matmul_double_buffered", "matmul_split_chip"])
def test_kernels_by_hand_take_the_time_of_the_event_simulation(name: str) -> None:
    module = parse_module((ROOT / f"test/npu/{name}.mlir").read_text(), name)
    for kernel in kernels(module):
        simulated(time_kernel(kernel, target_of(module)), target_of(module))


@pytest.mark.parametrize("target", complete_targets())
def test_compiled_kernels_take_the_time_of_the_event_simulation(target: str) -> None:
    for launch in time_module(lowered(target)).launches:
        simulated(launch.kernel, load_target(target))


def test_a_barrier_of_all_cores_waits_for_the_last_one() -> None:
    module = parse_module((ROOT / "test/npu/split_k.mlir").read_text(), "split_k")
    (kernel,) = kernels(module)
    time = time_kernel(kernel, target_of(module))
    assert time.ticks > B2.timing.ticks("sync.all") if B2.timing else False
    assert time.cores == 4


def test_a_long_loop_costs_no_more_than_a_short_one() -> None:
    evaluated = [product(3072, 256, k).outcome.board.evaluated for k in (4096, 262144)]
    assert evaluated[1] <= 2 * evaluated[0]


def test_a_large_product_is_jumped_over() -> None:
    time = product(8192, 8192, 8192)
    assert sum(stream.body.length for stream in time.outcome.board.cluster.streams) > 50 * time.outcome.board.evaluated
    assert 3400 < time.microseconds < 4200


def test_blocks_that_are_alike_are_one_class() -> None:
    time = product(8192, 8192, 8192)
    assert sorted((c.count, c.blocks) for c in time.program.clusters) == [(8, 86), (16, 85)]


# ---- what a kernel waits for ------------------------------------------------------------------------------------------


def test_the_critical_path_adds_up() -> None:
    module = lowered("Ascend910B2")
    times = [product(8192, 8192, 8192), product(3072, 256, 16384), *(launch.kernel for launch in time_module(module).launches)]
    for time in times:
        assert time.critical.total == time.outcome.board.end, time.name


def test_a_period_is_the_sum_of_what_is_in_it() -> None:
    for time in (product(8192, 8192, 8192), product(384, 256, 65536, rows=16)):
        jump = max(time.outcome.board.jumps, key=lambda j: j.period * j.periods)
        steady = time.critical.steady
        assert sum(steady.values()) % jump.period == 0
        assert ("other", "") not in steady


def test_a_product_of_few_rows_waits_for_its_loads() -> None:
    time = product(16, 6144, 16384, rows=16)
    assert time.bound == "MTE2-bound"
    assert time.busy["aic.mte2"] > 0.95
    assert 0.8 < time.sensitivity < 1.05


def test_a_large_product_waits_for_the_cube() -> None:
    time = product(8192, 8192, 8192)
    assert time.busy["aic.m"] > 0.75
    assert time.sensitivity < 0.3
    assert time.achieved > 0.75


def test_names_of_flags_are_given_where_no_pipe_is_the_bound() -> None:
    (first, _) = time_module(lowered("Ascend910B2")).launches
    assert first.kernel.bound.startswith("sync-bound: MTE2 ")
    assert "flag" in first.kernel.bound


# ---- memory -----------------------------------------------------------------------------------------------------------


def test_what_is_in_l2_already_costs_less() -> None:
    (kernel,) = kernels(parse_module((ROOT / "test/npu/elementwise.mlir").read_text(), "elementwise"))
    target = load_target("Ascend910A")
    cold, warm = time_kernel(kernel, target), time_kernel(kernel, target, [0])
    assert cold.hbm_bytes == 438 * 8 * 4
    assert warm.hbm_bytes == 0
    assert warm.ticks <= cold.ticks


def test_no_kernel_is_faster_than_its_bytes() -> None:
    time = product(384, 256, 65536, rows=16)
    assert time.ticks >= max(time.outcome.floors.values())
    assert time.achieved <= 1


@pytest.mark.parametrize("target", ["Ascend910A", "Ascend910B2"])
@pytest.mark.parametrize("rows", [100, 5000, 40000])
def test_nothing_is_beyond_the_roofline(rows: int, target: str) -> None:
    """Results that stay in L2 need not come to HBM, and what is in L2 already need not come from there."""
    type_ = f"tensor<{rows}x4096xf16>"
    time = time_module(operators(f"  %y = ge.Relu %x : ({type_}) -> {type_}", f"%x: {type_}", type_, target))
    assert all(0 < launch.kernel.achieved <= 1 for launch in time.launches)
    (kernel,) = kernels(operators(f"  %y = ge.Relu %x : ({type_}) -> {type_}", f"%x: {type_}", type_, target))
    assert 0 < time_kernel(kernel, load_target(target), [0, 1]).achieved <= 1


def test_a_tensor_is_in_l2_once_the_whole_of_it_was_moved() -> None:
    table, rows = "tensor<65536x256xf16>", "tensor<4x256xf16>"
    text = f"""
  %some = ge.GatherV2 %x, %i {{axis = 0 : i64}} : ({table}, tensor<4xi32>) -> {rows}
  %s = ge.ReduceSumD %some {{axes = array<i64: 1>}} : ({rows}) -> tensor<4xf16>
  %t = ge.ReduceSumD %x {{axes = array<i64: 1>}} : ({table}) -> tensor<65536xf16>
  %y = ge.ReduceSumD %x {{axes = array<i64: 1>, keep_dims}} : ({table}) -> tensor<65536x1xf16>"""
    results = ("%s", "tensor<4xf16>"), ("%t", "tensor<65536xf16>"), ("%y", "tensor<65536x1xf16>")
    module = operators(text, f"%x: {table}, %i: tensor<4xi32>", ", ".join(t for _, t in results), names=", ".join(n for n, _ in results))
    gathered, first, second = (launch.kernel.hbm_bytes for launch in time_module(module).launches)
    assert gathered < 2**20
    assert first >= 65536 * 256 * 2
    assert second < 2**20


def operators(text: str, arguments: str, types: str, target: str = "Ascend910B2", names: str = "%y") -> ModuleOp:
    """Operators of `ge`, lowered to instructions."""
    source = f"func.func @main({arguments}) -> ({types}) {{\n{text}\n  func.return {names} : {types}\n}}"
    module = parse_module(f'builtin.module attributes {{ge.target = "{target}"}} {{\n{source}\n}}', "operators.mlir")
    PassManager("to-npu", verify_each=False).run(context(), module)
    return module


def test_lanes_that_differ_do_not_make_a_kernel_mixed() -> None:
    """Three elements are the work of one lane, and the cube has none."""
    type_ = "tensor<3xf32>"
    (launch,) = time_module(operators(f"  %y = ge.Relu %x : ({type_}) -> {type_}", f"%x: {type_}", type_)).launches
    assert not launch.kernel.is_mixed
    assert {stream.kind for cluster in launch.kernel.program.clusters for stream in cluster.streams} == {"aiv"}
    timing = launch.kernel.timing
    per_block = launch.kernel.cores * timing.ticks_of_microseconds("launch.block")
    assert launch.kernel.launch_ticks == timing.ticks_of_microseconds("launch.base") + per_block


# ---- programs of launches ---------------------------------------------------------------------------------------------


def test_a_host_that_launches_one_at_a_time_is_slower() -> None:
    time = time_module(lowered("Ascend910B2"))
    assert [launch.operators for launch in time.launches] == [("MatMulV2", "GeluV2"), ("MatMulV2",)]
    assert time.kernel_ticks < time.graph_ticks < time.host_ticks
    assert time.host_microseconds > 2 * 47


def test_the_same_numbers_in_every_process() -> None:
    code = (
        "from test_kernels import *\n"
        "for t in ('Ascend910A', 'Ascend910B2'):\n"
        "    for l in time_module(lowered(t)).launches: print(l.ticks, l.kernel.bound, l.kernel.sensitivity, sorted(l.kernel.busy.items()))"
    )
    outputs = {_python(code, seed) for seed in ("1", "2")}
    assert len(outputs) == 1


def _python(code: str, seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(ROOT)])}
    command: Sequence[str] = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


# ---- tables -----------------------------------------------------------------------------------------------------------


def test_a_table_without_times_says_so() -> None:
    (kernel,) = kernels(parse_module((ROOT / "test/npu/matmul_split_chip.mlir").read_text(), "matmul"))
    with pytest.raises(CompileError, match=r"MyNpu cannot be timed: its table has no \[timing\]"):
        time_kernel(kernel, load_target(str(ROOT / "examples/my_npu.toml")))


def test_a_constant_that_is_missing_is_named_where_it_is_needed(tmp_path: Path) -> None:
    text = (ROOT / "ge_compiler/dialects/targets/Ascend910B2.toml").read_text()
    (tmp_path / "chip.toml").write_text("\n".join(line for line in text.splitlines() if not line.startswith("gap =")))
    (kernel,) = kernels(parse_module((ROOT / "test/npu/matmul_split_chip.mlir").read_text(), "matmul"))
    with pytest.raises(CompileError, match=r"its table has no timing\.cube\.gap; give it with its cycles"):
        time_kernel(kernel, load_target(str(tmp_path / "chip.toml")))


def test_a_flag_that_never_comes_is_reported_at_its_kernel() -> None:
    text = "func.func private @k(%x: memref<4x8xf32>) {\n  npu.wait_flag <aiv.mte2>, <aiv.v>[0]\n  func.return\n}"
    (kernel,) = kernels(parse_module(text, "k.mlir"))
    with pytest.raises(CompileError, match=r"k.mlir:1:1: error: .*@k cannot be timed: deadlock: <aiv.v> waits for flag"):
        time_kernel(kernel, B2)


def test_an_extent_that_only_data_decides_is_refused() -> None:
    text = """
    func.func private @k(%x: memref<?x8xf32>, %y: memref<4x8xf32>) {
      %a = buf.at "a" [0] : memref<4x8xf32, #npu.mem<ub>>
      tile.forall (%i) in (1) {
        npu.load <nd> ins(%x : memref<?x8xf32>) outs(%a : memref<4x8xf32, #npu.mem<ub>>)
      }
      func.return
    }"""
    (kernel,) = kernels(parse_module(text, "k"))
    with pytest.raises(CompileError, match="extents that are not known"):
        time_kernel(kernel, B2)
