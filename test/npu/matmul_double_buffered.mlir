// RUN: ge-opt %s -p verify-sync{trips=0,1,2,3,4} | ge-opt -p verify-stage{stage=npu} | filecheck %s

// Two slots in L1 and in L0, one accumulator, and flags that stay armed from block to block, so that the pipes never drain: the loop of
// block t + 1 loads while the vector unit still works on block t. Every "free" flag is armed before the grid and drained after it.

builtin.module attributes {ge.target = "Ascend910A"} {
  // CHECK-LABEL: @matmul_bias
  func.func private @matmul_bias(%x: memref<528x192xf16>, %w: memref<192x64xf16>, %b: memref<1x64xf32>, %y: memref<528x64xf16>) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %c192 = arith.constant 192 : index
    npu.set_flag <mte1>, <mte2>[0]
    npu.set_flag <mte1>, <mte2>[1]
    npu.set_flag <m>, <mte1>[0]
    npu.set_flag <m>, <mte1>[1]
    npu.set_flag <v>, <m>[0]
    npu.set_flag <v>, <mte2>[0]
    npu.set_flag <mte3>, <v>[0]
    // CHECK: tile.grid_loop
    tile.grid_loop %t (%i, %j) in (33, 1) {
      %m0 = arith.muli %i, %c16 : index
      %acc = buf.at "acc" [0] : memref<16x64xf32, #npu.mem<l0c>>
      npu.wait_flag <v>, <m>[0]
      scf.for %ko = %c0 to %c192 step %c64 {
        %step = arith.divui %ko, %c64 : index
        %before = arith.muli %t, %c3 : index
        %count = arith.addi %before, %step : index
        %s = arith.remui %count, %c2 : index
        %a1 = buf.at "a1" [0, 2048] slot %s : memref<16x64xf16, #npu.mem<l1>>
        %b1 = buf.at "b1" [4096, 12288] slot %s : memref<64x64xf16, #npu.mem<l1>>
        %xs = memref.subview %x[%m0, %ko] [16, 64] [1, 1] : memref<528x192xf16> to memref<16x64xf16, strided<[192, 1], offset: ?>>
        %ws = memref.subview %w[%ko, 0] [64, 64] [1, 1] : memref<192x64xf16> to memref<64x64xf16, strided<[64, 1], offset: ?>>
        npu.wait_flag <mte1>, <mte2>[%s]
        npu.load <nd2nz> ins(%xs : memref<16x64xf16, strided<[192, 1], offset: ?>>) outs(%a1 : memref<16x64xf16, #npu.mem<l1>>)
        npu.load <nd2nz> ins(%ws : memref<64x64xf16, strided<[64, 1], offset: ?>>) outs(%b1 : memref<64x64xf16, #npu.mem<l1>>)
        npu.set_flag <mte2>, <mte1>[%s]
        npu.wait_flag <mte2>, <mte1>[%s]
        scf.for %ki = %c0 to %c64 step %c32 {
          %part = arith.divui %ki, %c32 : index
          %q = arith.remui %part, %c2 : index
          %a0 = buf.at "a0" [0, 1024] slot %q : memref<16x32xf16, #npu.mem<l0a>>
          %b0 = buf.at "b0" [0, 4096] slot %q : memref<32x64xf16, #npu.mem<l0b>>
          %as = memref.subview %a1[0, %ki] [16, 32] [1, 1] : memref<16x64xf16, #npu.mem<l1>> to memref<16x32xf16, strided<[64, 1], offset: ?>, #npu.mem<l1>>
          %bs = memref.subview %b1[%ki, 0] [32, 64] [1, 1] : memref<64x64xf16, #npu.mem<l1>> to memref<32x64xf16, strided<[64, 1], offset: ?>, #npu.mem<l1>>
          npu.wait_flag <m>, <mte1>[%q]
          npu.load2d ins(%as : memref<16x32xf16, strided<[64, 1], offset: ?>, #npu.mem<l1>>) outs(%a0 : memref<16x32xf16, #npu.mem<l0a>>)
          npu.load2d ins(%bs : memref<32x64xf16, strided<[64, 1], offset: ?>, #npu.mem<l1>>) outs(%b0 : memref<32x64xf16, #npu.mem<l0b>>)
          npu.set_flag <mte1>, <m>[%q]
          npu.wait_flag <mte1>, <m>[%q]
          %k = arith.addi %ko, %ki : index
          %first = arith.cmpi eq, %k, %c0 : index
          npu.mmad ins(%a0, %b0 : memref<16x32xf16, #npu.mem<l0a>>, memref<32x64xf16, #npu.mem<l0b>>) outs(%acc : memref<16x64xf32, #npu.mem<l0c>>) init %first
          npu.set_flag <m>, <mte1>[%q]
        }
        npu.set_flag <mte1>, <mte2>[%s]
      }
      npu.set_flag <m>, <v>[0]
      %bias = buf.at "bias" [0] : memref<1x64xf32, #npu.mem<ub>>
      npu.wait_flag <v>, <mte2>[0]
      npu.load <nd> ins(%b : memref<1x64xf32>) outs(%bias : memref<1x64xf32, #npu.mem<ub>>)
      npu.set_flag <mte2>, <v>[0]
      %c = buf.at "c" [256] : memref<16x64xf32, #npu.mem<ub>>
      %h = buf.at "h" [4352] : memref<16x64xf16, #npu.mem<ub>>
      npu.wait_flag <m>, <v>[0]
      npu.fixpipe ins(%acc : memref<16x64xf32, #npu.mem<l0c>>) outs(%c : memref<16x64xf32, #npu.mem<ub>>)
      npu.set_flag <v>, <m>[0]
      npu.wait_flag <mte2>, <v>[0]
      npu.pipe_barrier <v>
      npu.vadd ins(%c, %bias : memref<16x64xf32, #npu.mem<ub>>, memref<1x64xf32, #npu.mem<ub>>) outs(%c : memref<16x64xf32, #npu.mem<ub>>)
      npu.set_flag <v>, <mte2>[0]
      npu.wait_flag <mte3>, <v>[0]
      npu.pipe_barrier <v>
      npu.vconv ins(%c : memref<16x64xf32, #npu.mem<ub>>) outs(%h : memref<16x64xf16, #npu.mem<ub>>)
      npu.set_flag <v>, <mte3>[0]
      %ys = memref.subview %y[%m0, 0] [16, 64] [1, 1] : memref<528x64xf16> to memref<16x64xf16, strided<[64, 1], offset: ?>>
      npu.wait_flag <v>, <mte3>[0]
      npu.store ins(%h : memref<16x64xf16, #npu.mem<ub>>) outs(%ys : memref<16x64xf16, strided<[64, 1], offset: ?>>)
      npu.set_flag <mte3>, <v>[0]
      // The next block's fixpipe writes what vconv reads.
      npu.pipe_barrier <v>
    }
    npu.wait_flag <mte1>, <mte2>[0]
    npu.wait_flag <mte1>, <mte2>[1]
    npu.wait_flag <m>, <mte1>[0]
    npu.wait_flag <m>, <mte1>[1]
    npu.wait_flag <v>, <m>[0]
    npu.wait_flag <v>, <mte2>[0]
    npu.wait_flag <mte3>, <v>[0]
    func.return
  }
}
