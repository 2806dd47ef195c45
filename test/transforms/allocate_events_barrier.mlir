// The event that runs least often becomes a barrier when numbers run out: the one outside of the loop.
// RUN: ge-opt %s -p allocate-events | filecheck %s

builtin.module attributes {ge.target = "Ascend910A"} {
// CHECK-LABEL: func.func private @too_many
func.func private @too_many(%k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // CHECK-NOT: npu.set_flag <mte2>, <v>[8]
  npu.set_flag <mte2>, <v>[0] event "once"
  scf.for %i = %c0 to %c4 step %c1 {
    // CHECK: npu.set_flag <mte2>, <v>[7]
    // CHECK-NEXT: npu.wait_flag <mte2>, <v>[7]
    npu.set_flag <mte2>, <v>[7] event "often"
    npu.wait_flag <mte2>, <v>[7] event "often"
  }
  // CHECK: npu.pipe_barrier <all>
  // CHECK-NEXT: func.return
  npu.wait_flag <mte2>, <v>[0] event "once"
  func.return
}
}
