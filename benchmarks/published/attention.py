"""Flash attention of one head with several blocks of keys under way: the cube is that far ahead of the lanes.

The instructions of a block are those of the compiler's own attention; what differs is their order. A lane would need 240 KiB for its tiles,
more than it has: the measured kernel keeps less, in a way that is not published.
"""

from __future__ import annotations

import functools
import re

from xdsl.dialects.func import FuncOp

from ge_compiler.dialects import fused
from ge_compiler.dialects.parser import parse_module

ROWS, KEYS, WIDTH = 128, 256, 128
"""Queries of a block, keys of a block, elements of each."""


@functools.cache
def attention(length: int, ahead: int, cores: int) -> FuncOp:
    """Scores of a block of keys are computed `ahead` blocks before its weights are used, and these `ahead` before its values are added."""
    text = KERNEL
    loops = {"CUBE": _skewed(SCORES, VALUES, ahead), "LANES": _skewed(WEIGHTS, ADDITION, ahead)}
    flags = [
        ("aic.mte1", "aic.mte2", 4),
        ("aic.m", "aic.mte1", 2),
        ("aic.fix", "aic.m", 2),
        ("aiv.v", "aiv.mte2", 3),
        ("aiv.mte3", "aiv.v", 2),
    ]
    edges = [f"<{a}>, <{b}>[{i}]" for a, b, n in flags for i in range(n)]
    names = {
        **loops,
        "SET_ALL": "\n".join(f"npu.set_flag {edge}" for edge in edges),
        "WAIT_ALL": "\n".join(f"npu.wait_flag {edge}" for edge in edges),
        "LENGTH": str(length),
        "BLOCKS": str(length // KEYS),
        "TILES": str(length // ROWS),
        "PLACES": str(cores * (ahead + 1)),
        "SLOTS": str(ahead + 1),
        "AHEAD": str(ahead),
        "FACTOR_SLOT": "slot %slot" if ahead else "",
        "FACTORS": ", ".join(str(237568 + 2048 * i) for i in range(ahead + 1)),
    }
    for name in sorted(names, key=lambda name: (name not in loops, -len(name))):
        text = text.replace(f"${name}", names[name])
    (kernel,) = fused.kernels(parse_module(text, "attention.mlir"))
    return kernel


def _skewed(first: str, second: str, ahead: int) -> str:
    """For each block `first`, and `ahead` blocks behind it `second`."""
    behind = _renamed(second)
    if ahead == 0:
        return f"scf.for %j = %c0 to %blocks step %c1 {{\n{first}\n{behind.replace('%j_2', '%j')}\n}}"
    return f"""
    scf.for %j = %c0 to %ahead step %c1 {{
      {first}
    }}
    scf.for %j = %ahead to %blocks step %c1 {{
      {first}
      %j_2 = arith.subi %j, %ahead : index
      {behind}
    }}
    scf.for %j = %rest to %blocks step %c1 {{
      {second}
    }}"""


def _renamed(text: str) -> str:
    """The same with other names for its values, so that it may stand behind another text."""
    names = {"j", *re.findall(r"%(\w+) =", text), *re.findall(r"scf.for %(\w+) ", text)}
    return re.sub(r"%(\w+)", lambda match: f"%{match[1]}_2" if match[1] in names else match[0], text)


_PLACE = """
      %parity = arith.remui %j, %c2 : index
      %core = npu.block_idx
      %base = arith.muli %core, %slots : index
      %slot = arith.remui %j, %slots : index
      %place = arith.addi %base, %slot : index"""

SCORES = f"""{_PLACE}
      %key = arith.muli %j, %c256 : index
      %keys = buf.at "keys" [32768, 98304] slot %parity : memref<256x128xf16, #npu.mem<l1>>
      %kv = memref.subview %k[%key, 0] [256, 128] [1, 1] : !tensor to memref<256x128xf16, strided<[128, 1], offset: ?>>
      npu.wait_flag <aic.mte1>, <aic.mte2>[%parity]
      npu.load <nd2nz> ins(%kv : memref<256x128xf16, strided<[128, 1], offset: ?>>) outs(%keys : memref<256x128xf16, #npu.mem<l1>>)
      npu.set_flag <aic.mte2>, <aic.mte1>[%parity]
      npu.wait_flag <aic.mte2>, <aic.mte1>[%parity]
      scf.for %h = %c0 to %c2 step %c1 {{
        %half = arith.muli %h, %c128 : index
        %a0 = buf.at "a0" [0, 32768] slot %h : !a0
        %b0 = buf.at "b0" [0, 32768] slot %h : !b0
        %acc = buf.at "acc" [0, 65536] slot %h : !acc
        %part = memref.subview %keys[%half, 0] [128, 128] [1, 1] : memref<256x128xf16, #npu.mem<l1>> to !half
        npu.wait_flag <aic.m>, <aic.mte1>[%h]
        npu.load2d ins(%queries : !queries) outs(%a0 : !a0)
        npu.load2d ins(%part : !half) outs(%b0 : !b0) {{transpose}}
        npu.set_flag <aic.mte1>, <aic.m>[%h]
        npu.wait_flag <aic.mte1>, <aic.m>[%h]
        npu.wait_flag <aic.fix>, <aic.m>[%h]
        npu.mmad ins(%a0, %b0 : !a0, !b0) outs(%acc : !acc) init %true
        npu.set_flag <aic.m>, <aic.mte1>[%h]
        npu.set_flag <aic.m>, <aic.fix>[%h]
        npu.wait_flag <aic.m>, <aic.fix>[%h]
        %to = memref.subview %s[%place, 0, %half] [1, 128, 128] [1, 1, 1] : !scores to memref<128x128xf32, strided<[256, 1], offset: ?>>
        npu.fixpipe ins(%acc : !acc) outs(%to : memref<128x128xf32, strided<[256, 1], offset: ?>>)
        npu.set_flag <aic.fix>, <aic.m>[%h]
      }}
      npu.set_flag <aic.mte1>, <aic.mte2>[%parity]
      npu.cross_core_set_flag <aic.fix>[0]"""

VALUES = f"""{_PLACE}
      %key = arith.muli %j, %c256 : index
      %flag = arith.addi %parity, %c2 : index
      %weights = buf.at "weights" [163840, 229376] slot %parity : memref<128x256xf16, #npu.mem<l1>>
      %values = buf.at "values" [294912, 360448] slot %parity : memref<256x128xf16, #npu.mem<l1>>
      %vv = memref.subview %v[%key, 0] [256, 128] [1, 1] : !tensor to memref<256x128xf16, strided<[128, 1], offset: ?>>
      %from = memref.subview %p[%place, 0, 0] [1, 128, 256] [1, 1, 1] : !weights to memref<128x256xf16, strided<[256, 1], offset: ?>>
      npu.wait_flag <aic.mte1>, <aic.mte2>[%flag]
      npu.load <nd2nz> ins(%vv : memref<256x128xf16, strided<[128, 1], offset: ?>>) outs(%values : memref<256x128xf16, #npu.mem<l1>>)
      npu.cross_core_wait_flag <aic.mte2>[1]
      npu.load <nd2nz> ins(%from : memref<128x256xf16, strided<[256, 1], offset: ?>>) outs(%weights : memref<128x256xf16, #npu.mem<l1>>)
      npu.set_flag <aic.mte2>, <aic.mte1>[%flag]
      npu.wait_flag <aic.mte2>, <aic.mte1>[%flag]
      %sum = buf.at "sum" [0] : !acc
      npu.wait_flag <aic.fix>, <aic.m>[0]
      scf.for %h = %c0 to %c2 step %c1 {{
        %half = arith.muli %h, %c128 : index
        %a0 = buf.at "a0" [0, 32768] slot %h : !a0
        %b0 = buf.at "b0" [0, 32768] slot %h : !b0
        %pa = memref.subview %weights[0, %half] [128, 128] [1, 1] : memref<128x256xf16, #npu.mem<l1>> to memref<128x128xf16, strided<[256, 1], offset: ?>, #npu.mem<l1>>
        %vb = memref.subview %values[%half, 0] [128, 128] [1, 1] : memref<256x128xf16, #npu.mem<l1>> to !half
        npu.wait_flag <aic.m>, <aic.mte1>[%h]
        npu.load2d ins(%pa : memref<128x128xf16, strided<[256, 1], offset: ?>, #npu.mem<l1>>) outs(%a0 : !a0)
        npu.load2d ins(%vb : !half) outs(%b0 : !b0)
        npu.set_flag <aic.mte1>, <aic.m>[%h]
        npu.wait_flag <aic.mte1>, <aic.m>[%h]
        %first = arith.cmpi eq, %h, %c0 : index
        npu.mmad ins(%a0, %b0 : !a0, !b0) outs(%sum : !acc) init %first
        npu.set_flag <aic.m>, <aic.mte1>[%h]
      }}
      npu.set_flag <aic.mte1>, <aic.mte2>[%flag]
      npu.set_flag <aic.m>, <aic.fix>[0]
      npu.wait_flag <aic.m>, <aic.fix>[0]
      %to = memref.subview %o[%place, 0, 0] [1, 128, 128] [1, 1, 1] : !products to memref<128x128xf32, strided<[128, 1], offset: ?>>
      npu.fixpipe ins(%sum : !acc) outs(%to : memref<128x128xf32, strided<[128, 1], offset: ?>>)
      npu.set_flag <aic.fix>, <aic.m>[0]
      npu.cross_core_set_flag <aic.fix>[2]"""  # noqa: E501

WEIGHTS = f"""{_PLACE}
      %x = buf.at "x" [0, 65536] slot %parity : !x
      %e = buf.at "e" [$FACTORS] $FACTOR_SLOT : !column
      %from = memref.subview %s[%place, %start, 0] [1, 64, 256] [1, 1, 1] : !scores to memref<64x256xf32, strided<[256, 1], offset: ?>>
      npu.wait_flag <aiv.v>, <aiv.mte2>[%parity]
      npu.cross_core_wait_flag <aiv.mte2>[0]
      npu.load <nd> ins(%from : memref<64x256xf32, strided<[256, 1], offset: ?>>) outs(%x : !x)
      npu.set_flag <aiv.mte2>, <aiv.v>[%parity]
      npu.wait_flag <aiv.mte2>, <aiv.v>[%parity]
      npu.vmuls ins(%x : !x) outs(%x : !x) {{scalar = 0.0883883461 : f32}}
      npu.pipe_barrier <aiv.v>
      npu.vreduce <max> ins(%x : !x) outs(%t : !column) along 1
      npu.pipe_barrier <aiv.v>
      npu.vmax ins(%m, %t : !column, !column) outs(%n : !column)
      npu.pipe_barrier <aiv.v>
      npu.vsub ins(%m, %n : !column, !column) outs(%e : !column)
      npu.pipe_barrier <aiv.v>
      npu.vexp ins(%e : !column) outs(%e : !column)
      npu.vmax ins(%m, %t : !column, !column) outs(%m : !column)
      npu.vsub ins(%x, %n : !x, !column) outs(%x : !x)
      npu.pipe_barrier <aiv.v>
      npu.vexp ins(%x : !x) outs(%x : !x)
      npu.vmul ins(%l, %e : !column, !column) outs(%l : !column)
      npu.pipe_barrier <aiv.v>
      npu.vreduce <sum> ins(%x : !x) outs(%t : !column) along 1
      npu.pipe_barrier <aiv.v>
      npu.vadd ins(%l, %t : !column, !column) outs(%l : !column)
      npu.wait_flag <aiv.mte3>, <aiv.v>[0]
      npu.vconv ins(%x : !x) outs(%w : !w)
      npu.set_flag <aiv.v>, <aiv.mte2>[%parity]
      npu.set_flag <aiv.v>, <aiv.mte3>[0]
      npu.wait_flag <aiv.v>, <aiv.mte3>[0]
      %to = memref.subview %p[%place, %start, 0] [1, 64, 256] [1, 1, 1] : !weights to memref<64x256xf16, strided<[256, 1], offset: ?>>
      npu.store ins(%w : !w) outs(%to : memref<64x256xf16, strided<[256, 1], offset: ?>>)
      npu.set_flag <aiv.mte3>, <aiv.v>[0]
      npu.cross_core_set_flag <aiv.mte3>[1]"""

ADDITION = f"""{_PLACE}
      %e = buf.at "e" [$FACTORS] $FACTOR_SLOT : !column
      %from = memref.subview %o[%place, %start, 0] [1, 64, 128] [1, 1, 1] : !products to memref<64x128xf32, strided<[128, 1], offset: ?>>
      npu.wait_flag <aiv.v>, <aiv.mte2>[2]
      npu.cross_core_wait_flag <aiv.mte2>[2]
      npu.load <nd> ins(%from : memref<64x128xf32, strided<[128, 1], offset: ?>>) outs(%y : !y)
      npu.set_flag <aiv.mte2>, <aiv.v>[2]
      npu.wait_flag <aiv.mte2>, <aiv.v>[2]
      npu.vmul ins(%r, %e : !y, !column) outs(%r : !y)
      npu.pipe_barrier <aiv.v>
      npu.vadd ins(%r, %y : !y, !y) outs(%r : !y)
      npu.set_flag <aiv.v>, <aiv.mte2>[2]"""

KERNEL = """
!tensor = memref<$LENGTHx128xf16>
!scores = memref<$PLACESx128x256xf32>
!weights = memref<$PLACESx128x256xf16>
!products = memref<$PLACESx128x128xf32>
!queries = memref<128x128xf16, #npu.mem<l1>>
!half = memref<128x128xf16, strided<[128, 1], offset: ?>, #npu.mem<l1>>
!a0 = memref<128x128xf16, #npu.mem<l0a>>
!b0 = memref<128x128xf16, #npu.mem<l0b>>
!acc = memref<128x128xf32, #npu.mem<l0c>>
!x = memref<64x256xf32, #npu.mem<ub>>
!w = memref<64x256xf16, #npu.mem<ub>>
!y = memref<64x128xf32, #npu.mem<ub>>
!column = memref<64x1xf32, #npu.mem<ub>>
func.func private @attention(%q: !tensor, %k: !tensor, %v: !tensor, %out: memref<$LENGTHx128xf32>, %s: !scores, %p: !weights, %o: !products) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %slots = arith.constant $SLOTS : index
  %ahead = arith.constant $AHEAD : index
  %blocks = arith.constant $BLOCKS : index
  %rest = arith.subi %blocks, %ahead : index
  %true = arith.constant true
  $SET_ALL
  tile.grid_loop %trip (%i) in ($TILES) {
    %row = arith.muli %i, %c128 : index
    %lane = npu.sub_block_idx
    %start = arith.muli %lane, %c64 : index
    %queries = buf.at "queries" [0] : !queries
    %qs = memref.subview %q[%row, 0] [128, 128] [1, 1] : !tensor to memref<128x128xf16, strided<[128, 1], offset: ?>>
    npu.load <nd2nz> ins(%qs : memref<128x128xf16, strided<[128, 1], offset: ?>>) outs(%queries : !queries)
    %w = buf.at "w" [131072] : !w
    %y = buf.at "y" [163840] : !y
    %r = buf.at "r" [196608] : !y
    %m = buf.at "m" [229376] : !column
    %n = buf.at "n" [231424] : !column
    %l = buf.at "l" [233472] : !column
    %t = buf.at "t" [235520] : !column
    npu.vdup -3.0e+38 : f32 outs(%m : !column)
    npu.vdup 0.0 : f32 outs(%l : !column)
    npu.wait_flag <aiv.mte3>, <aiv.v>[1]
    npu.vdup 0.0 : f32 outs(%r : !y)
    $CUBE
    $LANES
    npu.pipe_barrier <aiv.v>
    npu.vdiv ins(%r, %l : !y, !column) outs(%r : !y)
    npu.set_flag <aiv.v>, <aiv.mte3>[0]
    npu.wait_flag <aiv.v>, <aiv.mte3>[0]
    %first = arith.addi %row, %start : index
    %to = memref.subview %out[%first, 0] [64, 128] [1, 1] : memref<$LENGTHx128xf32> to memref<64x128xf32, strided<[128, 1], offset: ?>>
    npu.store ins(%r : !y) outs(%to : memref<64x128xf32, strided<[128, 1], offset: ?>>)
    npu.set_flag <aiv.mte3>, <aiv.v>[1]
  }
  $WAIT_ALL
  func.return
}
"""  # noqa: E501
