// RUN: ge-opt %s -p plan-memory | filecheck %s
// RUN: ge-opt %s -p plan-memory,verify-memory | filecheck %s
// RUN: ge-opt %s -p plan-memory,convert-buf-to-npu,verify-memory | filecheck %s
// RUN: ge-opt %s -p plan-memory{reuse=none} | filecheck %s --check-prefix=NONE

!t = memref<4x8xf32, #npu.mem<ub>>
!h = memref<4x8xf16, #npu.mem<ub>>
!row = memref<1x8xf32, #npu.mem<ub>>

// An elementwise result lies over an operand that nobody needs any more, if it has its type.
// CHECK-LABEL: func.func private @chain
// NONE-LABEL: func.func private @chain
func.func private @chain(%x: memref<4x8xf32>, %r: memref<1x8xf32>, %out: memref<4x8xf32>) {
  // CHECK: buf.at "row" [128]
  // NONE: buf.at "row" [0]
  %row = buf.alloc "row" : !row
  tile.load %r[0, 0] valid [1, 8] into %row : memref<1x8xf32> into !row
  // CHECK: buf.at "a" [0]
  // NONE: buf.at "a" [32]
  %a = buf.alloc "a" : !t
  tile.load %x[0, 0] valid [4, 8] into %a : memref<4x8xf32> into !t
  // Over "a", never over the row that repeats.
  // CHECK: buf.at "b" [0]
  // NONE: buf.at "b" [160]
  %b = buf.alloc "b" : !t
  tile.add %row, %a into %b : !row, !t into !t
  // Not over "b", which is needed again.
  // CHECK: buf.at "c" [128]
  // NONE: buf.at "c" [288]
  %c = buf.alloc "c" : !t
  tile.exp %b into %c : !t into !t
  // CHECK: buf.at "d" [0]
  // NONE: buf.at "d" [416]
  %d = buf.alloc "d" : !t
  tile.mul %b, %c into %d : !t, !t into !t
  // A cast reads and writes elements of two sizes.
  // CHECK: buf.at "h" [128]
  %h = buf.alloc "h" : !h
  tile.cast %d into %h : !t into !h
  // CHECK: buf.at "e" [0]
  %e = buf.alloc "e" : !t
  tile.cast %h into %e : !h into !t
  tile.store %e into %out[0, 0] : !t into memref<4x8xf32>
  func.return
}

// Through views of what is valid; what another trip of a loop needs again is kept, and so is a slot.
// CHECK-LABEL: func.func private @loop
func.func private @loop(%x: memref<4x8xf32>, %out: memref<4x8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // CHECK: buf.at "kept" [256]
  %kept = buf.alloc "kept" : !t
  tile.load %x[0, 0] valid [4, 8] into %kept : memref<4x8xf32> into !t
  scf.for %i = %c0 to %c2 step %c1 {
    // CHECK: buf.at "a" [384]
    %a = buf.alloc "a" : !t
    %va = memref.subview %a[0, 0] [%n, 8] [1, 1] : !t to memref<?x8xf32, strided<[8, 1]>, #npu.mem<ub>>
    %vk = memref.subview %kept[0, 0] [%n, 8] [1, 1] : !t to memref<?x8xf32, strided<[8, 1]>, #npu.mem<ub>>
    tile.exp %vk into %va : memref<?x8xf32, strided<[8, 1]>, #npu.mem<ub>> into memref<?x8xf32, strided<[8, 1]>, #npu.mem<ub>>
    // CHECK: buf.at "b" [384]
    %b = buf.alloc "b" : !t
    %vb = memref.subview %b[0, 0] [%n, 8] [1, 1] : !t to memref<?x8xf32, strided<[8, 1]>, #npu.mem<ub>>
    tile.exp %va into %vb : memref<?x8xf32, strided<[8, 1]>, #npu.mem<ub>> into memref<?x8xf32, strided<[8, 1]>, #npu.mem<ub>>
    // CHECK: buf.at "c" [0, 128] slot
    %c = buf.alloc "c" slots 2 slot %i : !t
    %vc = memref.subview %c[0, 0] [%n, 8] [1, 1] : !t to memref<?x8xf32, strided<[8, 1]>, #npu.mem<ub>>
    tile.exp %vb into %vc : memref<?x8xf32, strided<[8, 1]>, #npu.mem<ub>> into memref<?x8xf32, strided<[8, 1]>, #npu.mem<ub>>
    tile.store %vc into %out[0, 0] : memref<?x8xf32, strided<[8, 1]>, #npu.mem<ub>> into memref<4x8xf32>
  }
  func.return
}

// The last op of a block is not the last that needs a buffer from before the grid.
// CHECK-LABEL: func.func private @blocks
func.func private @blocks(%x: memref<4x8xf32>) {
  // CHECK: buf.at "kept" [0]
  %kept = buf.alloc "kept" : !t
  tile.load %x[0, 0] valid [4, 8] into %kept : memref<4x8xf32> into !t
  tile.grid_loop %t (%i) in (64) {
    // CHECK: buf.at "a" [128]
    %a = buf.alloc "a" : !t
    tile.exp %kept into %a : !t into !t
  }
  func.return
}
