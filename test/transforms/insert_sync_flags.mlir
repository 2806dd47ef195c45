// Flags for each way in which two instructions can depend on each other.
// RUN: ge-opt %s --split-input-file -p insert-sync{mode=flags} | filecheck %s
// RUN: ge-opt %s --split-input-file -p insert-sync{mode=flags},allocate-events,verify-sync{trips=0,1,2,3} -o /dev/null
// RUN: ge-opt %s --split-input-file -p insert-sync{mode=flags},remove-redundant-sync,allocate-events,verify-sync -o /dev/null
// RUN: ge-opt %s --split-input-file -p insert-sync{mode=none} | filecheck %s --check-prefix=NONE
// RUN: ge-opt %s --split-input-file -p insert-sync{mode=flags} --mlir-print-debuginfo | filecheck %s --check-prefix=LOC

// NONE-NOT: flag
// NONE-NOT: barrier

!t = memref<4x8xf32, #npu.mem<ub>>

builtin.module attributes {ge.target = "Ascend910A"} {
// Outside of loops a set and a wait are enough. The vector unit is not in order: a barrier between its own instructions.
// CHECK-LABEL: func.func private @once
func.func private @once(%x: memref<4x8xf32>, %out: memref<32x4x8xf32>) {
  %core = npu.block_idx
  %o = memref.subview %out[%core, 0, 0] [1, 4, 8] [1, 1, 1] : memref<32x4x8xf32> to memref<4x8xf32, strided<[8, 1], offset: ?>>
  %a = buf.at "a" [0] : !t
  %b = buf.at "b" [128] : !t
  // CHECK: npu.load <nd>
  // CHECK-NEXT: npu.set_flag <mte2>, <v>[0] event "a_ready"
  // LOC: npu.set_flag <mte2>, <v>[0] event "a_ready" loc("a.py":1:1)
  // LOC: npu.wait_flag <mte2>, <v>[0] event "a_ready" loc("a.py":2:2)
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t) loc("a.py":1:1)
  // CHECK-NEXT: npu.wait_flag <mte2>, <v>[0] event "a_ready"
  // CHECK-NEXT: npu.vexp
  npu.vexp ins(%a : !t) outs(%b : !t) loc("a.py":2:2)
  // CHECK-NEXT: npu.pipe_barrier <v>
  // CHECK-NEXT: npu.vabs
  // CHECK-NEXT: npu.set_flag <v>, <mte3>[0] event "b_ready"
  npu.vabs ins(%b : !t) outs(%b : !t)
  // CHECK-NEXT: npu.wait_flag <v>, <mte3>[0] event "b_ready"
  // CHECK-NEXT: npu.store
  // CHECK-NEXT: func.return
  npu.store ins(%b : !t) outs(%o : memref<4x8xf32, strided<[8, 1], offset: ?>>)
  func.return
}
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

builtin.module attributes {ge.target = "Ascend910A"} {
// In a loop the load of the next trip must wait for this one's reader: arm, wait, set, drain.
// CHECK-LABEL: func.func private @carried
func.func private @carried(%x: memref<4x8xf32>, %out: memref<64x4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  // CHECK: npu.set_flag <v>, <mte2>[0] event "a_free"
  // CHECK-NEXT: npu.set_flag <mte3>, <v>[0] event "b_free"
  // CHECK-NEXT: tile.grid_loop
  tile.grid_loop %t (%i) in (64) {
    %a = buf.at "a" [0] : !t
    %b = buf.at "b" [128] : !t
    // The protocol is the innermost loop's, its ends are outside of the grid: no loop ends with empty pipes.
    // CHECK: scf.for
    scf.for %k = %c0 to %c3 step %c1 {
      // CHECK-NEXT: npu.wait_flag <v>, <mte2>[0] event "a_free"
      // CHECK-NEXT: npu.load <nd>
      // CHECK-NEXT: npu.set_flag <mte2>, <v>[0] event "a_ready"
      npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
      // CHECK: npu.wait_flag <mte2>, <v>[0] event "a_ready"
      // CHECK-NEXT: npu.wait_flag <mte3>, <v>[0] event "b_free"
      // CHECK-NEXT: npu.vabs
      // CHECK-NEXT: npu.set_flag <v>, <mte2>[0] event "a_free"
      npu.vabs ins(%a : !t) outs(%b : !t)
      %o = memref.subview %out[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<64x4x8xf32> to memref<4x8xf32, strided<[8, 1], offset: ?>>
      npu.store ins(%b : !t) outs(%o : memref<4x8xf32, strided<[8, 1], offset: ?>>)
      // CHECK: npu.store
      // CHECK-NEXT: npu.set_flag <mte3>, <v>[0] event "b_free"
      // CHECK-NEXT: }
    }
    // CHECK-NEXT: }
  }
  // CHECK-NEXT: npu.wait_flag <v>, <mte2>[0] event "a_free"
  // CHECK-NEXT: npu.wait_flag <mte3>, <v>[0] event "b_free"
  func.return
}
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

builtin.module attributes {ge.target = "Ascend910A"} {
// Two slots: two events, numbered by the slot, both armed and drained. The load of one slot overlaps the work on the other.
// CHECK-LABEL: func.func private @slots
func.func private @slots(%x: memref<4x8xf32>, %out: memref<64x4x8xf32>) {
  %c2 = arith.constant 2 : index
  // CHECK: npu.set_flag <v>, <mte2>[0] event "a_free"
  // CHECK-NEXT: npu.set_flag <v>, <mte2>[1] event "a_free"
  // CHECK-NEXT: npu.set_flag <mte3>, <v>[0] event "b_free"
  // CHECK-NEXT: tile.grid_loop
  tile.grid_loop %t (%i) in (64) {
    %s = arith.remui %t, %c2 : index
    %a = buf.at "a" [0, 128] slot %s : !t
    %b = buf.at "b" [256] : !t
    // CHECK: npu.wait_flag <v>, <mte2>[%s] event "a_free"
    // CHECK-NEXT: npu.load
    // CHECK-NEXT: npu.set_flag <mte2>, <v>[%s] event "a_ready"
    npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
    // CHECK: npu.wait_flag <mte2>, <v>[%s] event "a_ready"
    // CHECK: npu.vabs
    // CHECK: npu.set_flag <v>, <mte2>[%s] event "a_free"
    npu.vabs ins(%a : !t) outs(%b : !t)
    %o = memref.subview %out[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<64x4x8xf32> to memref<4x8xf32, strided<[8, 1], offset: ?>>
    npu.store ins(%b : !t) outs(%o : memref<4x8xf32, strided<[8, 1], offset: ?>>)
  }
  // CHECK: npu.wait_flag <v>, <mte2>[0] event "a_free"
  // CHECK-NEXT: npu.wait_flag <v>, <mte2>[1] event "a_free"
  func.return
}
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

builtin.module attributes {ge.target = "Ascend910A"} {
// The planner put "b" over a slot of "a": what touches "b" waits for whatever slot it is, and there is one event for both.
// CHECK-LABEL: func.func private @overlaid
func.func private @overlaid(%x: memref<4x8xf32>, %out: memref<64x4x8xf32>) {
  %c2 = arith.constant 2 : index
  // CHECK: npu.set_flag <mte3>, <mte2>[0] event "a_free"
  // CHECK-NOT: npu.set_flag <mte3>, <mte2>[1]
  // CHECK: tile.grid_loop
  tile.grid_loop %t (%i) in (64) {
    %s = arith.remui %t, %c2 : index
    %a = buf.at "a" [0, 128] slot %s : !t
    %b = buf.at "b" [128] : !t
    // CHECK: npu.wait_flag <mte3>, <mte2>[0] event "a_free"
    // CHECK: npu.load
    npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
    npu.vabs ins(%a : !t) outs(%b : !t)
    %o = memref.subview %out[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<64x4x8xf32> to memref<4x8xf32, strided<[8, 1], offset: ?>>
    // CHECK: npu.store
    // CHECK-NEXT: npu.set_flag <mte3>, <mte2>[0] event "a_free"
    npu.store ins(%b : !t) outs(%o : memref<4x8xf32, strided<[8, 1], offset: ?>>)
  }
  func.return
}
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>
!row = memref<4x8xf32, strided<[8, 1], offset: ?>>

builtin.module attributes {ge.target = "Ascend910A"} {
// The second grid reads what other cores wrote in the first: all cores meet in between, and nothing else crosses.
// CHECK-LABEL: func.func private @two_grids
func.func private @two_grids(%x: memref<4x8xf32>, %partial: memref<64x4x8xf32>, %out: memref<64x4x8xf32>) {
  %c63 = arith.constant 63 : index
  // CHECK: npu.set_flag <mte3>, <mte2>[0] event "a_free"
  // CHECK-NEXT: tile.grid_loop
  tile.grid_loop %t (%i) in (64) {
    %a = buf.at "a" [0] : !t
    npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
    %p = memref.subview %partial[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<64x4x8xf32> to !row
    npu.store ins(%a : !t) outs(%p : !row)
  }
  // CHECK: }
  // CHECK-NEXT: npu.wait_flag <mte3>, <mte2>[0] event "a_free"
  // CHECK-NEXT: npu.sync_all
  // CHECK-NEXT: npu.set_flag <mte3>, <mte2>[0] event "b_free"
  // CHECK-NEXT: tile.grid_loop
  tile.grid_loop %t (%i) in (64) {
    %b = buf.at "b" [0] : !t
    %j = arith.subi %c63, %i : index
    %p = memref.subview %partial[%j, 0, 0] [1, 4, 8] [1, 1, 1] : memref<64x4x8xf32> to !row
    npu.load <nd> ins(%p : !row) outs(%b : !t)
    %o = memref.subview %out[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<64x4x8xf32> to !row
    npu.store ins(%b : !t) outs(%o : !row)
  }
  // CHECK: }
  // CHECK-NEXT: npu.wait_flag <mte3>, <mte2>[0] event "b_free"
  // CHECK-NEXT: func.return
  func.return
}
}

// -----

!row = memref<4x8xf32, strided<[8, 1], offset: ?>>

builtin.module attributes {ge.target = "Ascend910A"} {
// A loop that may run no time at all stands on the way: set before it, wait behind it, on every path.
// CHECK-LABEL: func.func private @zero_trips
func.func private @zero_trips(%x: memref<4x8xf32>, %out: memref<64x4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.grid_loop %t (%i) in (64) {
    %a = buf.at "a" [0] : memref<4x8xf32, #npu.mem<ub>>
    // CHECK: npu.wait_flag <mte3>, <mte2>[0] event "a_free"
    // CHECK-NEXT: npu.load
    // CHECK-NEXT: npu.set_flag <mte2>, <v>[0] event "a_ready"
    npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : memref<4x8xf32, #npu.mem<ub>>)
    // CHECK: npu.wait_flag <mte2>, <v>[0] event "a_ready"
    // CHECK: scf.for
    scf.for %k = %c0 to %c0 step %c1 {
      // CHECK-NEXT: npu.pipe_barrier <v>
      // CHECK-NEXT: npu.vabs
      // CHECK-NEXT: }
      npu.vabs ins(%a : memref<4x8xf32, #npu.mem<ub>>) outs(%a : memref<4x8xf32, #npu.mem<ub>>)
    }
    // CHECK: npu.set_flag <v>, <mte3>[0] event "a_ready"
    // CHECK: npu.wait_flag <v>, <mte3>[0] event "a_ready"
    // CHECK-NEXT: npu.store
    %o = memref.subview %out[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<64x4x8xf32> to !row
    npu.store ins(%a : memref<4x8xf32, #npu.mem<ub>>) outs(%o : !row)
  }
  func.return
}
}
