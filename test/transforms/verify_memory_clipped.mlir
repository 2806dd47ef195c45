// RUN: ge-opt %s -p verify-memory | filecheck %s

// The outer loop ends with a clipped number of trips, two at most; in a third one (a buffer with two slots is followed so far) the inner loop would not run, and leave in "acc" what the
// trip before has put there.

// CHECK-LABEL: @clipped
func.func private @clipped(%x: memref<40x16xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c40 = arith.constant 40 : index
  %true = arith.constant true
  tile.grid_loop %t (%i) in (4) {
    %m0 = arith.muli %i, %c16 : index
    %end = arith.minsi %c40, %m0 : index
    scf.for %j = %c0 to %end step %c32 {
      %left = arith.subi %c40, %j : index
      %keys = arith.minsi %c32, %left : index
      %d = buf.at "d" [4096, 8192] slot %c0 : memref<16x16xf32, #npu.mem<ub>>
      tile.full 0.0 : f32 valid [16, 16] into %d into memref<16x16xf32, #npu.mem<ub>>
      // CHECK: buf.at "s" [0]
      %s = buf.at "s" [0] : memref<16x16xf32, #npu.mem<ub>>
      tile.full 0.0 : f32 valid [16, 16] into %s into memref<16x16xf32, #npu.mem<ub>>
      tile.store %s into %x[0, 0] : memref<16x16xf32, #npu.mem<ub>> into memref<40x16xf32>
      %acc = buf.at "acc" [0] : memref<16x16xf32, #npu.mem<ub>>
      scf.for %q = %c0 to %keys step %c16 {
        tile.full 1.0 : f32 valid [16, 16] into %acc into memref<16x16xf32, #npu.mem<ub>>
      }
      tile.store %acc into %x[0, 0] : memref<16x16xf32, #npu.mem<ub>> into memref<40x16xf32>
    }
  }
  func.return
}
