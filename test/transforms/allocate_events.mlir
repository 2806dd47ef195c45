// Events get numbers, as many as they have slots; numbers are shared where that is safe.
// RUN: ge-opt %s --split-input-file -p allocate-events | filecheck %s

!t = memref<4x8xf32, #npu.mem<ub>>

builtin.module attributes {ge.target = "Ascend910A"} {
// CHECK-LABEL: func.func private @slots
func.func private @slots(%x: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  // CHECK: scf.for
  scf.for %k = %c0 to %c4 step %c1 {
    // CHECK: [[S:%.*]] = arith.remui
    // CHECK-NEXT: [[TWO:%.*]] = arith.constant 2 : index
    // CHECK-NEXT: [[SECOND:%.*]] = arith.addi [[TWO]], [[S]] : index
    %s = arith.remui %k, %c2 : index
    %a = buf.at "a" [0, 128] slot %s : !t
    // CHECK: npu.set_flag <mte2>, <v>[[[S]]]
    npu.set_flag <mte2>, <v>[%s] event "a_ready"
    // CHECK-NEXT: npu.set_flag <mte2>, <v>[[[SECOND]]]
    npu.set_flag <mte2>, <v>[%s] event "b_ready"
    // Another pair of pipes has numbers of its own.
    // CHECK-NEXT: npu.set_flag <v>, <mte2>[0]
    npu.set_flag <v>, <mte2>[0] event "a_free"
    // CHECK-NEXT: npu.wait_flag <mte2>, <v>[[[S]]]
    // CHECK-NEXT: npu.wait_flag <mte2>, <v>[[[SECOND]]]
    // CHECK-NEXT: npu.wait_flag <v>, <mte2>[0]
    npu.wait_flag <mte2>, <v>[%s] event "a_ready"
    npu.wait_flag <mte2>, <v>[%s] event "b_ready"
    npu.wait_flag <v>, <mte2>[0] event "a_free"
  }
  // Constants too start where the event does.
  // CHECK: npu.set_flag <mte2>, <v>[4]
  // CHECK-NEXT: npu.wait_flag <mte2>, <v>[4]
  npu.set_flag <mte2>, <v>[0] event "c_ready"
  npu.wait_flag <mte2>, <v>[0] event "c_ready"
  func.return
}
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

builtin.module attributes {ge.target = "Ascend910A"} {
// Nine events between two pipes that have eight numbers. The last is set after the vector unit has waited for the first: it may share.
// CHECK-LABEL: func.func private @shared
func.func private @shared(%x: memref<4x8xf32>) {
  // CHECK: npu.set_flag <mte2>, <v>[0]
  // CHECK: npu.set_flag <mte2>, <v>[7]
  npu.set_flag <mte2>, <v>[0] event "a"
  npu.set_flag <mte2>, <v>[0] event "b"
  npu.set_flag <mte2>, <v>[0] event "c"
  npu.set_flag <mte2>, <v>[0] event "d"
  npu.set_flag <mte2>, <v>[0] event "e"
  npu.set_flag <mte2>, <v>[0] event "f"
  npu.set_flag <mte2>, <v>[0] event "g"
  npu.set_flag <mte2>, <v>[0] event "h"
  npu.wait_flag <mte2>, <v>[0] event "b"
  npu.wait_flag <mte2>, <v>[0] event "a"
  npu.set_flag <v>, <mte2>[0] event "back"
  npu.wait_flag <v>, <mte2>[0] event "back"
  npu.wait_flag <mte2>, <v>[0] event "c"
  // CHECK: npu.wait_flag <mte2>, <v>[2]
  // CHECK-NEXT: npu.set_flag <mte2>, <v>[0]
  // CHECK-NEXT: npu.wait_flag <mte2>, <v>[0]
  npu.set_flag <mte2>, <v>[0] event "i"
  npu.wait_flag <mte2>, <v>[0] event "i"
  npu.wait_flag <mte2>, <v>[0] event "d"
  npu.wait_flag <mte2>, <v>[0] event "e"
  npu.wait_flag <mte2>, <v>[0] event "f"
  npu.wait_flag <mte2>, <v>[0] event "g"
  npu.wait_flag <mte2>, <v>[0] event "h"
  func.return
}
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>
builtin.module attributes {ge.target = "Ascend910A"} {
// "b" does not fit behind "a", and shares its last number; the free number that it takes too is not given to "c" unseen.
// CHECK-LABEL: func.func private @shared_in_part
func.func private @shared_in_part(%x: memref<4x8xf32>) {
  npu.set_flag <mte2>, <v>[0] event "a"
  npu.set_flag <mte2>, <v>[1] event "a"
  npu.set_flag <mte2>, <v>[2] event "a"
  npu.set_flag <mte2>, <v>[3] event "a"
  npu.set_flag <mte2>, <v>[4] event "a"
  npu.set_flag <mte2>, <v>[5] event "a"
  npu.set_flag <mte2>, <v>[6] event "a"
  npu.wait_flag <mte2>, <v>[6] event "a"
  npu.set_flag <v>, <mte2>[0] event "back"
  npu.wait_flag <v>, <mte2>[0] event "back"
  // CHECK: npu.wait_flag <v>, <mte2>[0]
  // CHECK-NEXT: npu.set_flag <mte2>, <v>[6]
  // CHECK-NEXT: npu.set_flag <mte2>, <v>[7]
  npu.set_flag <mte2>, <v>[0] event "b"
  npu.set_flag <mte2>, <v>[1] event "b"
  npu.wait_flag <mte2>, <v>[0] event "b"
  // CHECK: npu.set_flag <v>, <mte2>[1]
  npu.set_flag <v>, <mte2>[0] event "back_1"
  npu.wait_flag <v>, <mte2>[0] event "back_1"
  // CHECK-NEXT: npu.wait_flag <v>, <mte2>[1]
  // CHECK-NEXT: npu.set_flag <mte2>, <v>[6]
  npu.set_flag <mte2>, <v>[0] event "c"
  npu.wait_flag <mte2>, <v>[0] event "c"
  npu.wait_flag <mte2>, <v>[1] event "b"
  npu.wait_flag <mte2>, <v>[0] event "a"
  npu.wait_flag <mte2>, <v>[1] event "a"
  npu.wait_flag <mte2>, <v>[2] event "a"
  npu.wait_flag <mte2>, <v>[3] event "a"
  npu.wait_flag <mte2>, <v>[4] event "a"
  npu.wait_flag <mte2>, <v>[5] event "a"
  func.return
}
}
