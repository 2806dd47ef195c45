// Kernels that cannot be followed keep all of their flags.
// RUN: ge-opt %s --split-input-file -p remove-redundant-sync | filecheck %s

!t = memref<4x8xf32, #npu.mem<ub>>

builtin.module attributes {ge.target = "Ascend910A"} {
// Not in order as it stands: the load and the vector unit race.
// CHECK-LABEL: func.func private @race
func.func private @race(%x: memref<4x8xf32>) {
  %a = buf.at "a" [0] : !t
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  // CHECK: npu.pipe_barrier <v>
  npu.pipe_barrier <v>
  npu.vabs ins(%a : !t) outs(%a : !t)
  func.return
}
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

builtin.module attributes {ge.target = "Ascend910A"} {
// The number of the flag is not known before the kernel runs.
// CHECK-LABEL: func.func private @unknown_number
func.func private @unknown_number(%x: memref<4x8xf32>, %n: index) {
  %a = buf.at "a" [0] : !t
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  // CHECK: npu.set_flag <mte2>, <v>[%n]
  // CHECK-NEXT: npu.wait_flag <mte2>, <v>[%n]
  // CHECK-NEXT: npu.pipe_barrier <v>
  npu.set_flag <mte2>, <v>[%n]
  npu.wait_flag <mte2>, <v>[%n]
  npu.pipe_barrier <v>
  npu.vabs ins(%a : !t) outs(%a : !t)
  func.return
}
}
