// RUN: ge-opt %s -p multi-buffer | filecheck %s
// RUN: ge-opt %s -p multi-buffer,multi-buffer | filecheck %s
// RUN: ge-opt %s -p multi-buffer,plan-memory,verify-memory | filecheck %s --check-prefix=PLAN

!t = memref<4x8xf32, #npu.mem<ub>>
!l1 = memref<16x32xf16, #npu.mem<l1>>
!l0 = memref<16x16xf16, #npu.mem<l0a>>

// Blocks take turns; buffers of one number of slots share its value. Slots lie behind one another, and nothing lies in them meanwhile.
// CHECK-LABEL: func.func private @grid
// PLAN-LABEL: func.func private @grid
func.func private @grid(%x: memref<64x8xf32>, %out: memref<64x8xf32>) {
  // CHECK-NEXT: %c3 = arith.constant 3 : index
  // CHECK-NEXT: %c2 = arith.constant 2 : index
  // CHECK-NEXT: tile.grid_loop %t (%i) in (64) {
  tile.grid_loop %t (%i) in (64) {
    // CHECK-NEXT: %slot = arith.remui %t, %c3 : index
    // CHECK-NEXT: %slot_1 = arith.remui %t, %c2 : index
    // CHECK-NEXT: %a = buf.alloc "a" slots 2 slot %slot_1
    // PLAN: %a = buf.at "a" [384, 512] slot %slot_1
    %a = buf.alloc "a" slots 2 : !t
    tile.load %x[%i, 0] valid [1, 8] into %a : memref<64x8xf32> into !t
    // CHECK: %b = buf.alloc "b" :
    // PLAN: %b = buf.at "b" [896]
    %b = buf.alloc "b" : !t
    tile.exp %a into %b : !t into !t
    // CHECK: %c = buf.alloc "c" slots 2 slot %slot_1
    // PLAN: %c = buf.at "c" [640, 768] slot %slot_1
    %c = buf.alloc "c" slots 2 : !t
    tile.exp %b into %c : !t into !t
    // CHECK: %d = buf.alloc "d" slots 3 slot %slot
    // PLAN: %d = buf.at "d" [0, 128, 256] slot %slot
    %d = buf.alloc "d" slots 3 : !t
    tile.exp %c into %d : !t into !t
    tile.store %d into %out[%i, 0] : !t into memref<64x8xf32>
  }
  func.return
}

// Trips are counted through nested loops whose inner ones have a known length: a third trip of %q, then the first of the next %k, take turns.
// What has an even length changes nothing for two slots. An age counts back.
// CHECK-LABEL: func.func private @nested
func.func private @nested(%x: memref<16x96xf16>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c48 = arith.constant 48 : index
  %c72 = arith.constant 72 : index
  // CHECK: tile.grid_loop %t (%i) in (64) {
  tile.grid_loop %t (%i) in (64) {
    // CHECK-NEXT: scf.for %k = %c8 to %c72 step %c32 {
    scf.for %k = %c8 to %c72 step %c32 {
      // CHECK-NEXT: %0 = arith.subi %k, %c8 : index
      // CHECK-NEXT: %trip = arith.divui %0, %c32 : index
      // CHECK-NEXT: %slot = arith.remui %trip, %c2 : index
      // CHECK-NEXT: %trips = arith.addi %trip, %c1 : index
      // CHECK-NEXT: %slot_before = arith.remui %trips, %c2 : index
      // CHECK-NEXT: buf.alloc "a" slots 2 age 1 slot %slot_before
      %before = buf.alloc "a" slots 2 age 1 : !l1
      // CHECK-NEXT: buf.alloc "a" slots 2 slot %slot :
      %a = buf.alloc "a" slots 2 : !l1
      tile.load %x[0, %k] valid [16, 32] into %a : memref<16x96xf16> into !l1
      %left = arith.subi %c48, %k : index
      %end = arith.minsi %c48, %left : index
      // CHECK: scf.for %q = %c0 to %end step %c16 {
      scf.for %q = %c0 to %end step %c16 {
        // CHECK-NEXT: %trip_1 = arith.divui %q, %c16 : index
        // CHECK-NEXT: %trips_1 = arith.addi %trip_1, %trip : index
        // CHECK-NEXT: %slot_1 = arith.remui %trips_1, %c2 : index
        // CHECK-NEXT: buf.alloc "a0" slots 2 slot %slot_1
        %a0 = buf.alloc "a0" slots 2 : !l0
        tile.move %before[0, 0] valid [16, 16] into %a0 : !l1 into !l0
      }
      // The end of this loop is not known, so that its trips are counted for themselves.
      // CHECK: scf.for %r = %c0 to %left step %c16 {
      scf.for %r = %c0 to %left step %c16 {
        // CHECK-NEXT: %trip_2 = arith.divui %r, %c16 : index
        // CHECK-NEXT: %slot_2 = arith.remui %trip_2, %c2 : index
        %a1 = buf.alloc "a1" slots 2 : !l0
        tile.move %a[0, 0] valid [16, 16] into %a1 : !l1 into !l0
      }
    }
  }
  func.return
}

// Outside of loops, and in grids whose blocks see nothing of one another, there is one trip; a slot that is chosen stays.
// CHECK-LABEL: func.func private @once
func.func private @once(%x: memref<4x8xf32>, %mine: index) {
  // CHECK: buf.alloc "a" slots 2 slot %c0
  %a = buf.alloc "a" slots 2 : !t
  // CHECK: buf.alloc "b" slots 2 slot %mine
  %b = buf.alloc "b" slots 2 slot %mine : !t
  tile.forall (%i) in (2) {
    // CHECK: buf.alloc "c" slots 2 slot %c0
    %c = buf.alloc "c" slots 2 : !t
  }
  func.return
}
