// A loop of unknown length may run no time at all.
// RUN: ge-opt %s -p remove-redundant-sync | filecheck %s

!t = memref<4x8xf32, #npu.mem<ub>>
!row = memref<4x8xf32, strided<[8, 1], offset: ?>>

builtin.module attributes {ge.target = "Ascend910A"} {
// The flags inside the loop order the two vector instructions around it, if it runs. It may not: the barrier stays.
// CHECK-LABEL: func.func private @perhaps_never
func.func private @perhaps_never(%x: memref<4x8xf32>, %n: index, %out: memref<32x4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %core = npu.block_idx
  %o = memref.subview %out[%core, 0, 0] [1, 4, 8] [1, 1, 1] : memref<32x4x8xf32> to !row
  %a = buf.at "a" [0] : !t
  %b = buf.at "b" [128] : !t
  npu.vdup 1.0 : f32 outs(%a : !t)
  npu.set_flag <mte3>, <v>[0]
  // CHECK: scf.for
  scf.for %k = %c0 to %n step %c1 {
    npu.wait_flag <mte3>, <v>[0]
    npu.vdup 2.0 : f32 outs(%b : !t)
    npu.set_flag <v>, <mte3>[0]
    npu.wait_flag <v>, <mte3>[0]
    npu.store ins(%b : !t) outs(%o : !row)
    npu.set_flag <mte3>, <v>[0]
  }
  // CHECK: }
  // CHECK-NEXT: npu.wait_flag <mte3>, <v>[0]
  // CHECK-NEXT: npu.pipe_barrier <v>
  npu.wait_flag <mte3>, <v>[0]
  npu.pipe_barrier <v>
  npu.vabs ins(%a : !t) outs(%a : !t)
  func.return
}
}
