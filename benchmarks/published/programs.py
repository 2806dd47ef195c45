"""The programs behind published timings, and their times in the model.

They are written out, since the rows are of programs that the compiler does not make: sums without a cast, products that go from the
accumulator to global memory in f32, kernels that only load.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp

from ge_compiler.dialects import context, fused, npu, tile
from ge_compiler.dialects.instruction_costs import Shares, cost_of, timing_of
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import TARGET_ATTRIBUTE, NpuTarget
from ge_compiler.dialects.target_timing import TICKS
from ge_compiler.dialects.types import buffer_type
from ge_compiler.runtime.timing import KernelTime, time_kernel
from ge_compiler.runtime.timing.sharing import Sharing
from ge_compiler.tools.opt.pass_manager import PassManager


def task_time(time: KernelTime) -> float:
    """Microseconds of a kernel with its launch."""
    return time.timing.microseconds(time.ticks + time.launch_ticks)


def single(target: NpuTarget) -> NpuTarget:
    """The chip with one cluster of one vector core."""
    return replace(target, cores=1, vec_per_cube=1)


# ---- single instructions ----------------------------------------------------------------------------------------------


def instruction(target: NpuTarget, text: str, with_latency: bool, misses: int = 0) -> float:
    """Cycles of the one instruction in a text, alone on the chip: the time that its pipe is held, for some with head and tail."""
    module = parse_module(f"func.func private @k(%x: memref<1024x1024xf32>) {{\n{text}\nfunc.return\n}}", "instruction.mlir")
    (op,) = [op for op in module.walk() if isinstance(op, npu.InstructionOp)]
    cost = cost_of(op, [buffer_type(value).get_shape() for value in (*op.reads(), op.writes())], target)
    rate = timing_of(target).shared_rate
    held = cost.occupied(Shares(*(float(rate(key)) for key in ("hbm.read", "hbm.mixed", "l2.total"))), misses)
    return (held + (cost.fill + cost.latency if with_latency else 0)) / TICKS


def vector(target: NpuTarget, name: str, rows: int, columns: int, element: str, operands: int, to: str = "") -> float:
    """Cycles of a vector instruction from an idle pipe to a visible result."""
    ins, out = f"memref<{rows}x{columns}x{element}, #npu.mem<ub>>", f"memref<{rows}x{columns}x{to or element}, #npu.mem<ub>>"
    at = "\n".join(f'%b{i} = buf.at "b{i}" [{i * 16384}] : {ins}' for i in range(operands))
    names, types = ", ".join(f"%b{i}" for i in range(operands)), ", ".join([ins] * operands)
    text = f'{at}\n%o = buf.at "o" [65536] : {out}\nnpu.{name} ins({names} : {types}) outs(%o : {out})'
    return instruction(target, text, with_latency=True)


def reduction(target: NpuTarget, kind: str, rows: int, columns: int) -> float:
    """Cycles of a reduction of rows of f32, from an idle pipe to a visible result."""
    x, y = f"memref<{rows}x{columns}xf32, #npu.mem<ub>>", f"memref<{rows}x1xf32, #npu.mem<ub>>"
    at = f'%a = buf.at "a" [0] : {x}\n%b = buf.at "b" [65536] : {y}'
    return instruction(target, f"{at}\nnpu.vreduce <{kind}> ins(%a : {x}) outs(%b : {y}) along 1", with_latency=True)


def cube(target: NpuTarget, m: int, k: int, n: int, element: str) -> float:
    """Cycles for which one product holds the cube."""
    a, b = f"memref<{m}x{k}x{element}, #npu.mem<l0a>>", f"memref<{k}x{n}x{element}, #npu.mem<l0b>>"
    c = f"memref<{m}x{n}x{'i32' if element == 'i8' else 'f32'}, #npu.mem<l0c>>"
    at = f'%true = arith.constant true\n%a = buf.at "a" [0] : {a}\n%b = buf.at "b" [0] : {b}\n%c = buf.at "c" [0] : {c}'
    return instruction(target, f"{at}\nnpu.mmad ins(%a, %b : {a}, {b}) outs(%c : {c}) init %true", with_latency=False)


def load(target: NpuTarget, rows: int, columns: int) -> float:
    """Cycles for which a load of f32 from L2 to the unified buffer holds its pipe."""
    view, ub = f"memref<{rows}x{columns}xf32, strided<[1024, 1]>>", f"memref<{rows}x{columns}xf32, #npu.mem<ub>>"
    at = f'%v = memref.subview %x[0, 0] [{rows}, {columns}] [1, 1] : memref<1024x1024xf32> to {view}\n%a = buf.at "a" [0] : {ub}'
    return instruction(target, f"{at}\nnpu.load <nd> ins(%v : {view}) outs(%a : {ub})", with_latency=False)


# ---- through the pipeline ---------------------------------------------------------------------------------------------


@functools.cache
def compiled(text: str, schedule: tuple[tuple[str, int], ...], target: str) -> FuncOp:
    """The one kernel of a program, in instructions."""
    module = parse_module(text, "row.mlir")
    module.attributes[TARGET_ATTRIBUTE] = StringAttr(target)
    PassManager("to-fused", verify_each=False).run(context(), module)
    for kernel in fused.kernels(module):
        kernel.attributes[tile.SCHEDULE_ATTRIBUTE] = tile.ScheduleAttr.of(dict(schedule))
    PassManager("to-npu", verify_each=False).run(context(), module)
    (kernel,) = fused.kernels(module)
    return kernel


def attention(target: NpuTarget, length: int, width: int, schedule: Mapping[str, int]) -> KernelTime:
    """Attention of one head over itself, in f16."""
    x = f"tensor<1x1x{length}x{width}xf16>"
    flags = f"{{scale_value = {width**-0.5:.9f} : f32}}"
    text = f"""
    func.func @main(%q: {x}, %k: {x}, %v: {x}) -> {x} {{
      %0 = ge.FlashAttentionScore %q, %k, %v {flags} : ({x}, {x}, {x}) -> {x}
      func.return %0 : {x}
    }}"""
    return time_kernel(compiled(text, tuple(schedule.items()), target.name), target)


# ---- written out ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tiles:
    """Tiles of a product: rows and columns in the accumulator, k in L1 and in one instruction, slots of both, and of accumulators."""

    m: int
    n: int
    k: int
    k0: int
    slots: int
    accumulators: int = 1


@functools.cache
def product(m: int, n: int, k: int, grid: tuple[int, int], tiles: Tiles) -> FuncOp:
    """
    A product of f16 into f32 in global memory, the second operand with its rows along k.

    Block (i, j) of the grid computes a slice of as many whole tiles as its neighbours; the last slices may have fewer.
    """
    t = tiles
    rows, columns = (-(-size // (parts * step)) * step for size, parts, step in ((m, grid[0], t.m), (n, grid[1], t.n)))
    numbers = sorted({0, t.m, t.n, t.k, t.k0, t.slots, t.accumulators, rows, columns, m, n, k})
    text = PRODUCT
    names: dict[str, int | str] = {
        "M": m,
        "N": n,
        "K": k,
        "TM": t.m,
        "TN": t.n,
        "TK": t.k,
        "T0": t.k0,
        "ROWS": rows,
        "COLUMNS": columns,
        "SLOTS": t.slots,
    }
    sizes = {"A": t.m * t.k, "B": t.n * t.k, "A0": t.m * t.k0, "B0": t.n * t.k0}
    for name, size in sizes.items():
        names[f"AT_{name}"] = ", ".join(str((262144 if name == "B" else 0) + 2 * i * size) for i in range(t.slots))
    names |= {f"ALL_{op.upper()}": _flags(op, t) for op in ("set_flag", "wait_flag")}
    names |= {"ACCS": t.accumulators, "AT_ACC": ", ".join(str(4 * i * t.m * t.n) for i in range(t.accumulators))}
    names |= {"GM": grid[0], "GN": grid[1], "CONSTANTS": "\n".join(f"%c{x} = arith.constant {x} : index" for x in numbers)}
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(f"${name}", str(names[name]))
    for single in [*(" slot %s", " slot %z") * (t.slots == 1), *(" slot %w",) * (t.accumulators == 1)]:
        text = text.replace(single, "")
    (kernel,) = fused.kernels(parse_module(text, "product.mlir"))
    return kernel


def _flags(op: str, tiles: Tiles) -> str:
    """That all slots are free, or are so again."""
    edges = (("mte1", "mte2", tiles.slots), ("m", "mte1", tiles.slots), ("fix", "m", tiles.accumulators))
    return "\n".join(f"npu.{op} <aic.{a}>, <aic.{b}>[{i}]" for a, b, slots in edges for i in range(slots))


PRODUCT = """
func.func private @product(%x: memref<$Mx$Kxf16>, %y: memref<$Nx$Kxf16>, %out: memref<$Mx$Nxf32>) {
  $CONSTANTS
  $ALL_SET_FLAG
  tile.grid_loop %t (%i, %j) in ($GM, $GN) {
    %top = arith.muli %i, %c$ROWS : index
    %left = arith.muli %j, %c$COLUMNS : index
    %down = arith.subi %c$M, %top : index
    %right = arith.subi %c$N, %left : index
    %rows = arith.minsi %down, %c$ROWS : index
    %columns = arith.minsi %right, %c$COLUMNS : index
    scf.for %u = %c0 to %rows step %c$TM {
      scf.for %v = %c0 to %columns step %c$TN {
        %m0 = arith.addi %top, %u : index
        %n0 = arith.addi %left, %v : index
        %number = arith.divui %v, %c$TN : index
        %w = arith.remui %number, %c$ACCS : index
        %acc = buf.at "acc" [$AT_ACC] slot %w : memref<$TMx$TNxf32, #npu.mem<l0c>>
        npu.wait_flag <aic.fix>, <aic.m>[%w]
        scf.for %k = %c0 to %c$K step %c$TK {
          %trip = arith.divui %k, %c$TK : index
          %s = arith.remui %trip, %c$SLOTS : index
          %a = buf.at "a" [$AT_A] slot %s : memref<$TMx$TKxf16, #npu.mem<l1>>
          %b = buf.at "b" [$AT_B] slot %s : memref<$TNx$TKxf16, #npu.mem<l1>>
          %xs = memref.subview %x[%m0, %k] [$TM, $TK] [1, 1] : memref<$Mx$Kxf16> to memref<$TMx$TKxf16, strided<[$K, 1], offset: ?>>
          %ys = memref.subview %y[%n0, %k] [$TN, $TK] [1, 1] : memref<$Nx$Kxf16> to memref<$TNx$TKxf16, strided<[$K, 1], offset: ?>>
          npu.wait_flag <aic.mte1>, <aic.mte2>[%s]
          npu.load <nd2nz> ins(%xs : memref<$TMx$TKxf16, strided<[$K, 1], offset: ?>>) outs(%a : memref<$TMx$TKxf16, #npu.mem<l1>>)
          npu.load <nd2nz> ins(%ys : memref<$TNx$TKxf16, strided<[$K, 1], offset: ?>>) outs(%b : memref<$TNx$TKxf16, #npu.mem<l1>>)
          npu.set_flag <aic.mte2>, <aic.mte1>[%s]
          npu.wait_flag <aic.mte2>, <aic.mte1>[%s]
          scf.for %q = %c0 to %c$TK step %c$T0 {
            %turn = arith.divui %q, %c$T0 : index
            %z = arith.remui %turn, %c$SLOTS : index
            %a0 = buf.at "a0" [$AT_A0] slot %z : memref<$TMx$T0xf16, #npu.mem<l0a>>
            %b0 = buf.at "b0" [$AT_B0] slot %z : memref<$T0x$TNxf16, #npu.mem<l0b>>
            %as = memref.subview %a[0, %q] [$TM, $T0] [1, 1] : memref<$TMx$TKxf16, #npu.mem<l1>> to memref<$TMx$T0xf16, strided<[$TK, 1], offset: ?>, #npu.mem<l1>>
            %bs = memref.subview %b[0, %q] [$TN, $T0] [1, 1] : memref<$TNx$TKxf16, #npu.mem<l1>> to memref<$TNx$T0xf16, strided<[$TK, 1], offset: ?>, #npu.mem<l1>>
            npu.wait_flag <aic.m>, <aic.mte1>[%z]
            npu.load2d ins(%as : memref<$TMx$T0xf16, strided<[$TK, 1], offset: ?>, #npu.mem<l1>>) outs(%a0 : memref<$TMx$T0xf16, #npu.mem<l0a>>)
            npu.load2d ins(%bs : memref<$TNx$T0xf16, strided<[$TK, 1], offset: ?>, #npu.mem<l1>>) outs(%b0 : memref<$T0x$TNxf16, #npu.mem<l0b>>) {transpose}
            npu.set_flag <aic.mte1>, <aic.m>[%z]
            %sum = arith.addi %k, %q : index
            %first = arith.cmpi eq, %sum, %c0 : index
            npu.wait_flag <aic.mte1>, <aic.m>[%z]
            npu.mmad ins(%a0, %b0 : memref<$TMx$T0xf16, #npu.mem<l0a>>, memref<$T0x$TNxf16, #npu.mem<l0b>>) outs(%acc : memref<$TMx$TNxf32, #npu.mem<l0c>>) init %first
            npu.set_flag <aic.m>, <aic.mte1>[%z]
          }
          npu.set_flag <aic.mte1>, <aic.mte2>[%s]
        }
        npu.set_flag <aic.m>, <aic.fix>[%w]
        npu.wait_flag <aic.m>, <aic.fix>[%w]
        %to = memref.subview %out[%m0, %n0] [$TM, $TN] [1, 1] : memref<$Mx$Nxf32> to memref<$TMx$TNxf32, strided<[$N, 1], offset: ?>>
        npu.fixpipe ins(%acc : memref<$TMx$TNxf32, #npu.mem<l0c>>) outs(%to : memref<$TMx$TNxf32, strided<[$N, 1], offset: ?>>)
        npu.set_flag <aic.fix>, <aic.m>[%w]
      }
    }
  }
  $ALL_WAIT_FLAG
  func.return
}
"""  # noqa: E501


@functools.cache
def copies(rows: int, columns: int, tile_rows: int, tile_columns: int, space: str, clusters: int) -> FuncOp:
    """Every core loads its part of a matrix of f16 tile by tile, to `ub` (two lanes, side by side) or to `l1`, and does nothing else."""
    lanes, last = (2 if space == "ub" else 1), -(-columns // tile_columns)
    bound = -(-last // lanes) * lanes * tile_columns
    out = f"memref<{tile_rows}x{tile_columns}xf16, #npu.mem<{space}>>"
    view = f"memref<{tile_rows}x?xf16, strided<[{columns}, 1], offset: ?>>"
    valid = f"memref<{tile_rows}x?xf16, strided<[{tile_columns}, 1]>, #npu.mem<{space}>>"
    lane = f"%id = npu.sub_block_idx\n%own = arith.muli %id, %c{tile_columns} : index" if lanes == 2 else "%own = arith.constant 0 : index"
    numbers = sorted({0, tile_rows, tile_columns, lanes * tile_columns, rows // clusters, columns, bound})
    constants = "\n".join(f"%c{n} = arith.constant {n} : index" for n in numbers)
    text = f"""
    func.func private @copies(%x: memref<{rows}x{columns}xf16>) {{
      {constants}
      %a = buf.at "a" [0] : {out}
      tile.grid_loop %t (%i) in ({clusters}) {{
        %first = arith.muli %i, %c{rows // clusters} : index
        {lane}
        scf.for %r = %c0 to %c{rows // clusters} step %c{tile_rows} {{
          %row = arith.addi %first, %r : index
          scf.for %c = %c0 to %c{bound} step %c{lanes * tile_columns} {{
            %column = arith.addi %c, %own : index
            %left = arith.subi %c{columns}, %column : index
            %n = arith.minsi %left, %c{tile_columns} : index
            %v = memref.subview %x[%row, %column] [{tile_rows}, %n] [1, 1] : memref<{rows}x{columns}xf16> to {view}
            %to = memref.subview %a[0, 0] [{tile_rows}, %n] [1, 1] : {out} to {valid}
            npu.load <{"nd" if space == "ub" else "nd2nz"}> ins(%v : {view}) outs(%to : {valid})
          }}
        }}
      }}
      func.return
    }}"""
    (kernel,) = fused.kernels(parse_module(text, "copies.mlir"))
    return kernel


def repeated_copies(target: NpuTarget, parts: int, times: int, tile_columns: int, space: str) -> float:
    """Microseconds on the cores to load a matrix of 12288 x 12288 in `parts` of columns, each several times one after the other."""
    kernel = copies(12288, 12288 // parts, 64, tile_columns, space, target.cores)
    fits = 2 * 12288 * 12288 // parts <= timing_of(target).value("l2.size", "bytes")
    cold, warm = time_kernel(kernel, target), time_kernel(kernel, target, [0] if fits else [])
    return parts * (cold.microseconds + (times - 1) * warm.microseconds)


_SUM_TILE = 2048
"""Elements of f32 in a tile: 8 KiB, as many bytes as 4096 of f16."""


@functools.cache
def sums(slots: int, lanes: int) -> FuncOp:
    """The sum of two matrices with the bytes of 8192 x 8192 of f16, 8 KiB at a time, with so many slots for each tile."""
    whole = 8192 * 4096 // _SUM_TILE
    flat, ub = f"memref<{whole}x{_SUM_TILE}xf32>", f"memref<1x{_SUM_TILE}xf32, #npu.mem<ub>>"
    view = f"memref<1x{_SUM_TILE}xf32, strided<[{_SUM_TILE}, 1], offset: ?>>"

    def both_ways(op: str) -> str:
        return "\n".join(f"npu.{op} <aiv.{a}>, <aiv.{b}>[{i}]" for a, b in (("v", "mte2"), ("mte3", "v")) for i in range(slots))

    def place(name: str, first: int) -> str:
        addresses = ", ".join(str((first + i) * 4 * _SUM_TILE) for i in range(slots))
        return f'%{name} = buf.at "{name}" [{addresses}]' + (f" slot %s : {ub}" if slots > 1 else f" : {ub}")

    window = f"[%row, 0] [1, {_SUM_TILE}] [1, 1] : {flat} to {view}"
    text = f"""
    func.func private @sums(%x: {flat}, %y: {flat}, %z: {flat}) {{
      %lanes = arith.constant {lanes} : index
      %slots = arith.constant {slots} : index
      {both_ways("set_flag")}
      tile.grid_loop %t (%i) in ({whole // lanes}) {{
        %s = arith.remui %t, %slots : index
        %id = npu.sub_block_idx
        %first = arith.muli %i, %lanes : index
        %row = arith.addi %first, %id : index
        {place("a", 0)}
        {place("b", slots)}
        {place("c", 2 * slots)}
        %xs = memref.subview %x{window}
        %ys = memref.subview %y{window}
        %zs = memref.subview %z{window}
        npu.wait_flag <aiv.v>, <aiv.mte2>[%s]
        npu.load <nd> ins(%xs : {view}) outs(%a : {ub})
        npu.load <nd> ins(%ys : {view}) outs(%b : {ub})
        npu.set_flag <aiv.mte2>, <aiv.v>[%s]
        npu.wait_flag <aiv.mte2>, <aiv.v>[%s]
        npu.wait_flag <aiv.mte3>, <aiv.v>[%s]
        npu.vadd ins(%a, %b : {ub}, {ub}) outs(%c : {ub})
        npu.set_flag <aiv.v>, <aiv.mte2>[%s]
        npu.set_flag <aiv.v>, <aiv.mte3>[%s]
        npu.wait_flag <aiv.v>, <aiv.mte3>[%s]
        npu.store ins(%c : {ub}) outs(%zs : {view})
        npu.set_flag <aiv.mte3>, <aiv.v>[%s]
      }}
      {both_ways("wait_flag")}
      func.return
    }}"""
    (kernel,) = fused.kernels(parse_module(text, "sums.mlir"))
    return kernel


def sum_time(target: NpuTarget, slots: int) -> KernelTime:
    return time_kernel(sums(slots, target.vec_per_cube), target)


def sum_past_l2(target: NpuTarget, slots: int) -> float:
    """Microseconds of the sum with its launch, where loads do not go through L2, so that it has room for all that is written."""
    time = sum_time(target, slots)
    misses = tuple(Fraction(0) if work.cost.traffic is None or work.cost.traffic.writes else Fraction(1) for work in time.program.works)
    traffic = replace(time.traffic, hbm_read=Fraction(time.traffic.read), hbm_written=Fraction(0), misses=misses)
    outcome = Sharing(time.program, timing_of(target), traffic).run()
    return timing_of(target).microseconds(outcome.ticks + time.launch_ticks)
