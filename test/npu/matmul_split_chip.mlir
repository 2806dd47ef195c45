// RUN: ge-opt %s -p verify-sync{trips=0,1,2,3} | ge-opt -p verify-stage{stage=npu} | filecheck %s

// One cube and two vector lanes. The accumulator reaches the lanes through a workspace of two slots a core. Cross-core flags count: 0 says
// "a slot is full" (cube to every lane), 1 says "a slot is free" (every lane to the cube) and is armed with one token for each slot.
// The 24 rows of a block are 16 for lane 0 and 8 for lane 1; a lane without rows would run the same flags.

builtin.module attributes {ge.target = "Ascend910B2"} {
  // CHECK-LABEL: @matmul_abs
  func.func private @matmul_abs(%x: memref<1200x32xf16>, %w: memref<32x64xf16>, %y: memref<1200x64xf32>, %ws: memref<24x2x24x64xf32>) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %true = arith.constant true
    %core = npu.block_idx
    %lane = npu.sub_block_idx
    %r0 = arith.muli %lane, %c16 : index
    %left = arith.subi %c24, %r0 : index
    %rows = arith.minsi %left, %c16 : index
    // CHECK: npu.cross_core_set_flag <aiv.mte2>[1]
    npu.cross_core_set_flag <aiv.mte2>[1]
    npu.cross_core_set_flag <aiv.mte2>[1]
    npu.set_flag <aic.mte1>, <aic.mte2>[0]
    npu.set_flag <aic.m>, <aic.mte1>[0]
    npu.set_flag <aic.fix>, <aic.m>[0]
    npu.set_flag <aiv.v>, <aiv.mte2>[0]
    npu.set_flag <aiv.mte3>, <aiv.v>[0]
    tile.grid_loop %t (%i, %j) in (50, 1) {
      %m0 = arith.muli %i, %c24 : index
      %s = arith.remui %t, %c2 : index
      %slot = memref.subview %ws[%core, %s, 0, 0] [1, 1, 24, 64] [1, 1, 1, 1] : memref<24x2x24x64xf32> to memref<24x64xf32, strided<[64, 1], offset: ?>>
      %a1 = buf.at "a1" [0] : memref<24x32xf16, #npu.mem<l1>>
      %b1 = buf.at "b1" [2048] : memref<32x64xf16, #npu.mem<l1>>
      %a0 = buf.at "a0" [0] : memref<24x32xf16, #npu.mem<l0a>>
      %b0 = buf.at "b0" [0] : memref<32x64xf16, #npu.mem<l0b>>
      %acc = buf.at "acc" [0] : memref<24x64xf32, #npu.mem<l0c>>
      %xs = memref.subview %x[%m0, 0] [24, 32] [1, 1] : memref<1200x32xf16> to memref<24x32xf16, strided<[32, 1], offset: ?>>
      npu.wait_flag <aic.mte1>, <aic.mte2>[0]
      npu.load <nd2nz> ins(%xs : memref<24x32xf16, strided<[32, 1], offset: ?>>) outs(%a1 : memref<24x32xf16, #npu.mem<l1>>)
      npu.load <nd2nz> ins(%w : memref<32x64xf16>) outs(%b1 : memref<32x64xf16, #npu.mem<l1>>)
      npu.set_flag <aic.mte2>, <aic.mte1>[0]
      npu.wait_flag <aic.mte2>, <aic.mte1>[0]
      npu.wait_flag <aic.m>, <aic.mte1>[0]
      npu.load2d ins(%a1 : memref<24x32xf16, #npu.mem<l1>>) outs(%a0 : memref<24x32xf16, #npu.mem<l0a>>)
      npu.load2d ins(%b1 : memref<32x64xf16, #npu.mem<l1>>) outs(%b0 : memref<32x64xf16, #npu.mem<l0b>>)
      npu.set_flag <aic.mte1>, <aic.mte2>[0]
      npu.set_flag <aic.mte1>, <aic.m>[0]
      npu.wait_flag <aic.mte1>, <aic.m>[0]
      npu.wait_flag <aic.fix>, <aic.m>[0]
      npu.mmad ins(%a0, %b0 : memref<24x32xf16, #npu.mem<l0a>>, memref<32x64xf16, #npu.mem<l0b>>) outs(%acc : memref<24x64xf32, #npu.mem<l0c>>) init %true
      npu.set_flag <aic.m>, <aic.mte1>[0]
      npu.set_flag <aic.m>, <aic.fix>[0]
      npu.wait_flag <aic.m>, <aic.fix>[0]
      npu.cross_core_wait_flag <aic.fix>[1]
      npu.fixpipe ins(%acc : memref<24x64xf32, #npu.mem<l0c>>) outs(%slot : memref<24x64xf32, strided<[64, 1], offset: ?>>)
      npu.set_flag <aic.fix>, <aic.m>[0]
      npu.cross_core_set_flag <aic.fix>[0]

      %part = memref.subview %slot[%r0, 0] [%rows, 64] [1, 1] : memref<24x64xf32, strided<[64, 1], offset: ?>> to memref<?x64xf32, strided<[64, 1], offset: ?>>
      %u = buf.at "u" [0] : memref<16x64xf32, #npu.mem<ub>>
      %ur = memref.subview %u[0, 0] [%rows, 64] [1, 1] : memref<16x64xf32, #npu.mem<ub>> to memref<?x64xf32, strided<[64, 1]>, #npu.mem<ub>>
      %h = buf.at "h" [4096] : memref<16x64xf32, #npu.mem<ub>>
      %hr = memref.subview %h[0, 0] [%rows, 64] [1, 1] : memref<16x64xf32, #npu.mem<ub>> to memref<?x64xf32, strided<[64, 1]>, #npu.mem<ub>>
      npu.cross_core_wait_flag <aiv.mte2>[0]
      npu.wait_flag <aiv.v>, <aiv.mte2>[0]
      npu.load <nd> ins(%part : memref<?x64xf32, strided<[64, 1], offset: ?>>) outs(%ur : memref<?x64xf32, strided<[64, 1]>, #npu.mem<ub>>)
      npu.cross_core_set_flag <aiv.mte2>[1]
      npu.set_flag <aiv.mte2>, <aiv.v>[0]
      npu.wait_flag <aiv.mte2>, <aiv.v>[0]
      npu.wait_flag <aiv.mte3>, <aiv.v>[0]
      npu.vabs ins(%ur : memref<?x64xf32, strided<[64, 1]>, #npu.mem<ub>>) outs(%hr : memref<?x64xf32, strided<[64, 1]>, #npu.mem<ub>>)
      npu.set_flag <aiv.v>, <aiv.mte2>[0]
      npu.set_flag <aiv.v>, <aiv.mte3>[0]
      %yr = arith.addi %m0, %r0 : index
      %ys = memref.subview %y[%yr, 0] [%rows, 64] [1, 1] : memref<1200x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
      npu.wait_flag <aiv.v>, <aiv.mte3>[0]
      npu.store ins(%hr : memref<?x64xf32, strided<[64, 1]>, #npu.mem<ub>>) outs(%ys : memref<?x64xf32, strided<[64, 1], offset: ?>>)
      npu.set_flag <aiv.mte3>, <aiv.v>[0]
    }
    npu.cross_core_wait_flag <aic.fix>[1]
    npu.cross_core_wait_flag <aic.fix>[1]
    npu.wait_flag <aic.mte1>, <aic.mte2>[0]
    npu.wait_flag <aic.m>, <aic.mte1>[0]
    npu.wait_flag <aic.fix>, <aic.m>[0]
    npu.wait_flag <aiv.v>, <aiv.mte2>[0]
    npu.wait_flag <aiv.mte3>, <aiv.v>[0]
    func.return
  }
}
