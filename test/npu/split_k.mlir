// RUN: ge-opt %s -p verify-sync{trips=0,1,2,3} | ge-opt -p verify-stage{stage=npu} | filecheck %s

// Four cores multiply a quarter of K each and leave their sums in a workspace; after npu.sync_all the lanes of other cores add them up, in
// the order of the quarters. The second grid may not start before every core is through the first.

!part = memref<16x32xf32, strided<[32, 1], offset: ?>>
!half = memref<8x32xf32, strided<[32, 1], offset: ?>>
!u = memref<8x32xf32, #npu.mem<ub>>

builtin.module attributes {ge.target = "Ascend910B2"} {
  // CHECK-LABEL: @split_k
  func.func private @split_k(%x: memref<16x128xf16>, %w: memref<128x32xf16>, %y: memref<16x32xf32>, %ws: memref<4x16x32xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %true = arith.constant true
    tile.grid_loop %t (%s) in (4) {
      %k = arith.muli %s, %c32 : index
      %xs = memref.subview %x[0, %k] [16, 32] [1, 1] : memref<16x128xf16> to memref<16x32xf16, strided<[128, 1], offset: ?>>
      %wk = memref.subview %w[%k, 0] [32, 32] [1, 1] : memref<128x32xf16> to memref<32x32xf16, strided<[32, 1], offset: ?>>
      %to = memref.subview %ws[%s, 0, 0] [1, 16, 32] [1, 1, 1] : memref<4x16x32xf32> to !part
      %a1 = buf.at "a1" [0] : memref<16x32xf16, #npu.mem<l1>>
      %b1 = buf.at "b1" [1024] : memref<32x32xf16, #npu.mem<l1>>
      %a0 = buf.at "a0" [0] : memref<16x32xf16, #npu.mem<l0a>>
      %b0 = buf.at "b0" [0] : memref<32x32xf16, #npu.mem<l0b>>
      %acc = buf.at "acc" [0] : memref<16x32xf32, #npu.mem<l0c>>
      npu.load <nd2nz> ins(%xs : memref<16x32xf16, strided<[128, 1], offset: ?>>) outs(%a1 : memref<16x32xf16, #npu.mem<l1>>)
      npu.load <nd2nz> ins(%wk : memref<32x32xf16, strided<[32, 1], offset: ?>>) outs(%b1 : memref<32x32xf16, #npu.mem<l1>>)
      npu.set_flag <aic.mte2>, <aic.mte1>[0]
      npu.wait_flag <aic.mte2>, <aic.mte1>[0]
      npu.load2d ins(%a1 : memref<16x32xf16, #npu.mem<l1>>) outs(%a0 : memref<16x32xf16, #npu.mem<l0a>>)
      npu.load2d ins(%b1 : memref<32x32xf16, #npu.mem<l1>>) outs(%b0 : memref<32x32xf16, #npu.mem<l0b>>)
      npu.set_flag <aic.mte1>, <aic.m>[0]
      npu.wait_flag <aic.mte1>, <aic.m>[0]
      npu.mmad ins(%a0, %b0 : memref<16x32xf16, #npu.mem<l0a>>, memref<32x32xf16, #npu.mem<l0b>>) outs(%acc : memref<16x32xf32, #npu.mem<l0c>>) init %true
      npu.set_flag <aic.m>, <aic.fix>[0]
      npu.wait_flag <aic.m>, <aic.fix>[0]
      npu.fixpipe ins(%acc : memref<16x32xf32, #npu.mem<l0c>>) outs(%to : !part)
    }
    // CHECK: npu.sync_all
    npu.sync_all
    %lane = npu.sub_block_idx
    %row = arith.muli %lane, %c8 : index
    tile.grid_loop %t (%i) in (1) {
      %sum = buf.at "sum" [0] : !u
      npu.vdup 0.0 : f32 outs(%sum : !u)
      npu.set_flag <aiv.v>, <aiv.mte2>[0]
      npu.set_flag <aiv.v>, <aiv.mte2>[1]
      scf.for %s = %c0 to %c4 step %c1 {
        %slot = arith.remui %s, %c2 : index
        %p = buf.at "p" [1024, 2048] slot %slot : !u
        %from = memref.subview %ws[%s, %row, 0] [1, 8, 32] [1, 1, 1] : memref<4x16x32xf32> to !half
        npu.wait_flag <aiv.v>, <aiv.mte2>[%slot]
        npu.load <nd> ins(%from : !half) outs(%p : !u)
        npu.set_flag <aiv.mte2>, <aiv.v>[%slot]
        npu.wait_flag <aiv.mte2>, <aiv.v>[%slot]
        npu.pipe_barrier <aiv.v>
        npu.vadd ins(%sum, %p : !u, !u) outs(%sum : !u)
        npu.set_flag <aiv.v>, <aiv.mte2>[%slot]
      }
      npu.wait_flag <aiv.v>, <aiv.mte2>[0]
      npu.wait_flag <aiv.v>, <aiv.mte2>[1]
      npu.set_flag <aiv.v>, <aiv.mte3>[0]
      npu.wait_flag <aiv.v>, <aiv.mte3>[0]
      %ys = memref.subview %y[%row, 0] [8, 32] [1, 1] : memref<16x32xf32> to !half
      npu.store ins(%sum : !u) outs(%ys : !half)
    }
    func.return
  }
}
