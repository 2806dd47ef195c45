// What others imply is removed, with all of its sets and waits; what nothing implies stays.
// RUN: ge-opt %s --split-input-file -p remove-redundant-sync | filecheck %s
// RUN: ge-opt %s --split-input-file -p allocate-events,remove-redundant-sync,verify-sync | filecheck %s --check-prefix=AFTER

!t = memref<4x8xf32, #npu.mem<ub>>
!row = memref<4x8xf32, strided<[8, 1], offset: ?>>

builtin.module attributes {ge.target = "Ascend910A"} {
// The store waits for the load by way of the vector unit, which works on numbered events too.
// CHECK-LABEL: func.func private @implied
// CHECK-NOT: <mte2>, <mte3>
// AFTER-LABEL: func.func private @implied
// AFTER-NOT: <mte2>, <mte3>
func.func private @implied(%x: memref<4x8xf32>, %out: memref<32x4x8xf32>) {
  %core = npu.block_idx
  %o = memref.subview %out[%core, 0, 0] [1, 4, 8] [1, 1, 1] : memref<32x4x8xf32> to !row
  %a = buf.at "a" [0] : !t
  // CHECK: npu.set_flag <mte2>, <v>[0] event "a_ready"
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  npu.set_flag <mte2>, <v>[0] event "a_ready"
  npu.set_flag <mte2>, <mte3>[0] event "a_ready"
  // CHECK: npu.wait_flag <mte2>, <v>[0] event "a_ready"
  npu.wait_flag <mte2>, <v>[0] event "a_ready"
  // CHECK-NEXT: npu.vabs
  npu.vabs ins(%a : !t) outs(%a : !t)
  // CHECK-NEXT: npu.set_flag <v>, <mte3>[0] event "a_ready"
  npu.set_flag <v>, <mte3>[0] event "a_ready"
  // CHECK-NEXT: npu.wait_flag <v>, <mte3>[0] event "a_ready"
  // CHECK-NEXT: npu.store
  npu.wait_flag <v>, <mte3>[0] event "a_ready"
  npu.wait_flag <mte2>, <mte3>[0] event "a_ready"
  npu.store ins(%a : !t) outs(%o : !row)
  func.return
}
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>
!row = memref<4x8xf32, strided<[8, 1], offset: ?>>

builtin.module attributes {ge.target = "Ascend910A"} {
// Of barriers after each instruction those stay that order something. No core runs two blocks here: nothing is carried over.
// CHECK-LABEL: func.func private @barriers
func.func private @barriers(%x: memref<4x8xf32>, %out: memref<32x4x8xf32>) {
  // CHECK: tile.forall
  tile.forall (%i) in (32) {
    %o = memref.subview %out[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<32x4x8xf32> to !row
    %a = buf.at "a" [0] : !t
    %b = buf.at "b" [128] : !t
    // CHECK: npu.load
    // CHECK-NEXT: npu.load
    npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
    npu.pipe_barrier <all>
    npu.load <nd> ins(%x : memref<4x8xf32>) outs(%b : !t)
    // CHECK-NEXT: npu.pipe_barrier <all>
    npu.pipe_barrier <all>
    // CHECK-NEXT: npu.vadd
    // CHECK-NEXT: npu.pipe_barrier <all>
    npu.vadd ins(%a, %b : !t, !t) outs(%a : !t)
    npu.pipe_barrier <all>
    // CHECK-NEXT: npu.store
    // CHECK-NEXT: }
    npu.store ins(%a : !t) outs(%o : !row)
    npu.pipe_barrier <all>
  }
  func.return
}
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>
!row = memref<4x8xf32, strided<[8, 1], offset: ?>>

builtin.module attributes {ge.target = "Ascend910A"} {
// One block more, and a core runs two: now the next load must wait for the store.
// CHECK-LABEL: func.func private @one_block_more
func.func private @one_block_more(%x: memref<4x8xf32>, %out: memref<33x4x8xf32>) {
  tile.forall (%i) in (33) {
    %o = memref.subview %out[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<33x4x8xf32> to !row
    %a = buf.at "a" [0] : !t
    // CHECK: npu.load
    // CHECK-NEXT: npu.pipe_barrier <all>
    // CHECK-NEXT: npu.store
    // CHECK-NEXT: npu.pipe_barrier <all>
    npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
    npu.pipe_barrier <all>
    npu.store ins(%a : !t) outs(%o : !row)
    npu.pipe_barrier <all>
  }
  func.return
}
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>
!row = memref<4x8xf32, strided<[8, 1], offset: ?>>

builtin.module attributes {ge.target = "Ascend910A"} {
// A slot that is carried from trip to trip is followed: the load of one slot need not wait for the store of the other.
// CHECK-LABEL: func.func private @carried_slot
func.func private @carried_slot(%x: memref<4x8xf32>, %out: memref<32x4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %core = npu.block_idx
  %o = memref.subview %out[%core, 0, 0] [1, 4, 8] [1, 1, 1] : memref<32x4x8xf32> to !row
  %last = scf.for %k = %c0 to %c2 step %c1 iter_args(%s = %c0) -> (index) {
    %a = buf.at "a" [0, 128] slot %s : !t
    // CHECK: npu.load
    // CHECK-NEXT: npu.pipe_barrier <all>
    // CHECK-NEXT: npu.store
    // CHECK-NOT: npu.pipe_barrier
    npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
    npu.pipe_barrier <all>
    npu.store ins(%a : !t) outs(%o : !row)
    npu.pipe_barrier <all>
    %next = arith.subi %c1, %s : index
    scf.yield %next : index
  }
  func.return
}
}
