// RUN: ge-opt %s -p verify-sync{trips=0,1,2,3,4} | ge-opt -p verify-stage{stage=npu} | filecheck %s

// Two slots of the unified buffer: while the vector unit works on one, the next rows are loaded and the last ones stored. The slot is the
// number of the block among those of its core, so it goes on from block to block. The last block has two rows only.

!rows = memref<?x8xf32, strided<[8, 1], offset: ?>>
!ub = memref<4x8xf32, #npu.mem<ub>>
!valid = memref<?x8xf32, strided<[8, 1]>, #npu.mem<ub>>

builtin.module attributes {ge.target = "Ascend910A"} {
  // CHECK-LABEL: @sigmoid
  func.func private @sigmoid(%x: memref<438x8xf32>, %y: memref<438x8xf32>) {
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c438 = arith.constant 438 : index
    npu.set_flag <v>, <mte2>[0]
    npu.set_flag <v>, <mte2>[1]
    npu.set_flag <mte3>, <v>[0]
    npu.set_flag <mte3>, <v>[1]
    // CHECK: tile.grid_loop
    tile.grid_loop %t (%i) in (110) {
      %s = arith.remui %t, %c2 : index
      %row = arith.muli %i, %c4 : index
      %left = arith.subi %c438, %row : index
      %n = arith.minsi %left, %c4 : index
      %a = buf.at "a" [0, 128] slot %s : !ub
      %b = buf.at "b" [256, 384] slot %s : !ub
      %av = memref.subview %a[0, 0] [%n, 8] [1, 1] : !ub to !valid
      %bv = memref.subview %b[0, 0] [%n, 8] [1, 1] : !ub to !valid
      %xs = memref.subview %x[%row, 0] [%n, 8] [1, 1] : memref<438x8xf32> to !rows
      npu.wait_flag <v>, <mte2>[%s]
      npu.load <nd> ins(%xs : !rows) outs(%av : !valid)
      npu.set_flag <mte2>, <v>[%s]
      npu.wait_flag <mte2>, <v>[%s]
      npu.wait_flag <mte3>, <v>[%s]
      npu.vmuls ins(%av : !valid) outs(%bv : !valid) {scalar = -1.0 : f32}
      npu.set_flag <v>, <mte2>[%s]
      npu.pipe_barrier <v>
      npu.vexp ins(%bv : !valid) outs(%bv : !valid)
      npu.pipe_barrier <v>
      npu.vadds ins(%bv : !valid) outs(%bv : !valid) {scalar = 1.0 : f32}
      npu.pipe_barrier <v>
      npu.vrec ins(%bv : !valid) outs(%bv : !valid)
      npu.set_flag <v>, <mte3>[%s]
      %ys = memref.subview %y[%row, 0] [%n, 8] [1, 1] : memref<438x8xf32> to !rows
      npu.wait_flag <v>, <mte3>[%s]
      npu.store ins(%bv : !valid) outs(%ys : !rows)
      npu.set_flag <mte3>, <v>[%s]
    }
    npu.wait_flag <v>, <mte2>[0]
    npu.wait_flag <v>, <mte2>[1]
    npu.wait_flag <mte3>, <v>[0]
    npu.wait_flag <mte3>, <v>[1]
    func.return
  }
}
