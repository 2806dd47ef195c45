// RUN: ge-opt %s --target Ascend910A -p verify-sync{trips=0,1,2,3,5} --split-input-file | filecheck %s

// The legal ways to use flags, each on the smallest kernel that needs it, checked also with loops that run zero, one, two ... times.

!t = memref<4x8xf32, #npu.mem<ub>>
!v = memref<4x8xf32, strided<[8, 1], offset: ?>>

// Forward: one set, one wait, and nothing comes round.
// CHECK-LABEL: @forward
func.func private @forward(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  %a = buf.at "a" [0] : !t
  tile.forall (%i) in (1) {
    npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
    npu.set_flag <mte2>, <mte3>[0]
    npu.wait_flag <mte2>, <mte3>[0]
    npu.store ins(%a : !t) outs(%y : memref<4x8xf32>)
  }
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>
!v = memref<4x8xf32, strided<[8, 1], offset: ?>>

// Loop-carried: "the buffer is free" is armed before the loop, waited for in front of the write, set behind the read, drained after the
// loop. Every path runs as many sets as waits, also where the loop runs zero times.
// CHECK-LABEL: @loop
func.func private @loop(%x: memref<16x8xf32>, %y: memref<512x8xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %core = npu.block_idx
  %mine = arith.muli %core, %c16 : index
  npu.set_flag <mte3>, <mte2>[0]
  scf.for %i = %c0 to %c16 step %c4 {
    %a = buf.at "a" [0] : !t
    %xs = memref.subview %x[%i, 0] [4, 8] [1, 1] : memref<16x8xf32> to !v
    %row = arith.addi %mine, %i : index
    %ys = memref.subview %y[%row, 0] [4, 8] [1, 1] : memref<512x8xf32> to !v
    npu.wait_flag <mte3>, <mte2>[0]
    npu.load <nd> ins(%xs : !v) outs(%a : !t)
    npu.set_flag <mte2>, <mte3>[0]
    npu.wait_flag <mte2>, <mte3>[0]
    npu.store ins(%a : !t) outs(%ys : !v)
    npu.set_flag <mte3>, <mte2>[0]
  }
  npu.wait_flag <mte3>, <mte2>[0]
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>
!v = memref<4x8xf32, strided<[8, 1], offset: ?>>

// Two slots: an event for each, chosen by the slot, so that the load of one iteration runs beside the store of the one before.
// CHECK-LABEL: @double_buffer
func.func private @double_buffer(%x: memref<28x8xf32>, %y: memref<896x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %c28 = arith.constant 28 : index
  %core = npu.block_idx
  %mine = arith.muli %core, %c28 : index
  npu.set_flag <mte3>, <mte2>[0]
  npu.set_flag <mte3>, <mte2>[1]
  scf.for %i = %c0 to %c7 step %c1 {
    %s = arith.remui %i, %c2 : index
    %at = arith.muli %i, %c4 : index
    %a = buf.at "a" [0, 128] slot %s : !t
    %xs = memref.subview %x[%at, 0] [4, 8] [1, 1] : memref<28x8xf32> to !v
    %row = arith.addi %mine, %at : index
    %ys = memref.subview %y[%row, 0] [4, 8] [1, 1] : memref<896x8xf32> to !v
    npu.wait_flag <mte3>, <mte2>[%s]
    npu.load <nd> ins(%xs : !v) outs(%a : !t)
    npu.set_flag <mte2>, <mte3>[%s]
    npu.wait_flag <mte2>, <mte3>[%s]
    npu.store ins(%a : !t) outs(%ys : !v)
    npu.set_flag <mte3>, <mte2>[%s]
  }
  npu.wait_flag <mte3>, <mte2>[0]
  npu.wait_flag <mte3>, <mte2>[1]
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

// Nested: what the outer iteration loads serves all inner ones; the outer "free" flag is set once behind the inner loop. The accumulator
// is the vector unit's own, which needs barriers instead of flags.
// CHECK-LABEL: @nested
func.func private @nested(%x: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %sum = buf.at "sum" [0] : !t
  npu.vdup 0.0 : f32 outs(%sum : !t)
  npu.set_flag <v>, <mte2>[0]
  scf.for %i = %c0 to %c3 step %c1 {
    %a = buf.at "a" [128] : !t
    npu.wait_flag <v>, <mte2>[0]
    npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
    npu.set_flag <mte2>, <v>[0]
    npu.wait_flag <mte2>, <v>[0]
    scf.for %j = %c0 to %i step %c1 {
      npu.pipe_barrier <v>
      npu.vadd ins(%sum, %a : !t, !t) outs(%sum : !t)
    }
    npu.set_flag <v>, <mte2>[0]
  }
  npu.wait_flag <v>, <mte2>[0]
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

// Before numbers are given out, events have names: two events of the same pipes do not meet.
// CHECK-LABEL: @named
func.func private @named(%x: memref<4x8xf32>) {
  %a = buf.at "a" [0] : !t
  %b = buf.at "b" [128] : !t
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  npu.set_flag <mte2>, <v>[0] event "a"
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%b : !t)
  npu.set_flag <mte2>, <v>[0] event "b"
  npu.wait_flag <mte2>, <v>[0] event "a"
  npu.vexp ins(%a : !t) outs(%a : !t)
  npu.wait_flag <mte2>, <v>[0] event "b"
  npu.vexp ins(%b : !t) outs(%b : !t)
  func.return
}

// -----

!w = memref<4x8xf32, strided<[8, 1], offset: ?>>
!t = memref<4x8xf32, #npu.mem<ub>>

// One core leaves rows for another: npu.sync_all lies between the grids.
// CHECK-LABEL: @two_grids
func.func private @two_grids(%x: memref<8x8xf32>, %y: memref<8x8xf32>, %w: memref<8x8xf32>) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %a = buf.at "a" [0] : !t
  tile.grid_loop %t (%i) in (2) {
    %row = arith.muli %i, %c4 : index
    %xs = memref.subview %x[%row, 0] [4, 8] [1, 1] : memref<8x8xf32> to !w
    %ws = memref.subview %w[%row, 0] [4, 8] [1, 1] : memref<8x8xf32> to !w
    npu.load <nd> ins(%xs : !w) outs(%a : !t)
    npu.pipe_barrier <all>
    npu.store ins(%a : !t) outs(%ws : !w)
  }
  npu.sync_all
  tile.grid_loop %t (%i) in (2) {
    %other = arith.subi %c1, %i : index
    %from = arith.muli %other, %c4 : index
    %row = arith.muli %i, %c4 : index
    %ws = memref.subview %w[%from, 0] [4, 8] [1, 1] : memref<8x8xf32> to !w
    %ys = memref.subview %y[%row, 0] [4, 8] [1, 1] : memref<8x8xf32> to !w
    npu.load <nd> ins(%ws : !w) outs(%a : !t)
    npu.pipe_barrier <all>
    npu.store ins(%a : !t) outs(%ys : !w)
  }
  func.return
}
