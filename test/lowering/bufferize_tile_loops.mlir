// Tests that tiles of the unified buffer go round loops in one buffer each: elementwise ops write over what they update.
// RUN: ge-opt %s -p bufferize-tile | filecheck %s

!x = tensor<64x80xf32>
!t = tensor<16x20xf32, #npu.mem<ub>>
!c = tensor<16x1xf32, #npu.mem<ub>>

// A chain of updates, a copy behind the last use of what is carried, and a loop in a loop.
// CHECK-LABEL: func.func private @several
func.func private @several(%x: !x, %y: !x, %m: index) {
  %c0 = arith.constant 0 : index
  %c20 = arith.constant 20 : index
  %c80 = arith.constant 80 : index
  // CHECK: %top = buf.alloc "top"
  %top = tile.full -1.0 : f32 valid [%m, 1] to !c
  // CHECK: %zero = buf.alloc "zero"
  %zero = tile.full 0.0 : f32 valid [%m, 20] to !t
  // CHECK: scf.for %k = %c0 to %c80 step %c20 {
  %last, %sum = scf.for %k = %c0 to %c80 step %c20 iter_args(%most = %top, %s = %zero) -> (!c, !t) {
    %a = tile.load %x[0, %k] valid [%m, 20] : !x to !t
    %r = tile.reduce <max> %a along 1 : !t to !c
    // The carried tile is needed again: its successor is made apart, and copied.
    // CHECK: %more = buf.alloc "more"
    // CHECK: tile.max {{%.*}}, {{%.*}} into %more_1
    %more = tile.max %most, %r : !c, !c -> !c
    // CHECK: tile.sub {{%.*}}, %more_1 into
    %d = tile.sub %most, %more : !c, !c -> !c
    // CHECK: [[S1:%.*]] = memref.subview %zero[0, 0] [%m, 20] [1, 1]
    // CHECK-NEXT: tile.mul {{%.*}}, {{%.*}} into [[S1]]
    %s1 = tile.mul %s, %d : !t, !c -> !t
    // CHECK: scf.for %j = %c0 to %c80 step %c20 {
    %s2 = scf.for %j = %c0 to %c80 step %c20 iter_args(%in = %s1) -> (!t) {
      %b = tile.load %x[%j, %k] valid [%m, 20] : !x to !t
      // CHECK: [[S2:%.*]] = memref.subview %zero[0, 0] [%m, 20] [1, 1]
      // CHECK-NEXT: tile.add {{%.*}}, {{%.*}} into [[S2]]
      %next = tile.add %b, %in : !t, !t -> !t
      scf.yield %next : !t
    }
    // CHECK: tile.add {{%zero_.*}}, {{%a_.*}} into {{%zero_[0-9]* }}:
    %s3 = tile.add %s2, %a : !t, !t -> !t
    // CHECK: [[TOP:%.*]] = memref.subview %top[0, 0] [%m, 1] [1, 1]
    // CHECK-NEXT: tile.broadcast %more_1 valid [%m, 1] into [[TOP]]
    %kept = tile.broadcast %more valid [%m, 1] : !c to !c
    scf.yield %kept, %s3 : !c, !t
  }
  // CHECK: [[SUM:%.*]] = memref.subview %zero[0, 0] [%m, 20] [1, 1]
  // CHECK: tile.store [[SUM]] into %y[0, 0]
  tile.store %sum into %y[0, 0] : !t into !x
  func.return
}

// Any op may make the next tile, behind the last use of the one before; what is carried unchanged stays where it is.
// CHECK-LABEL: func.func private @replaced
func.func private @replaced(%x: !x, %y: !x) {
  %c0 = arith.constant 0 : index
  %c20 = arith.constant 20 : index
  %c80 = arith.constant 80 : index
  // CHECK: %first = buf.alloc "first"
  %first = tile.load %x[0, 0] valid [16, 20] : !x to !t
  // CHECK: %same = buf.alloc "same"
  %same = tile.full 2.0 : f32 valid [16, 20] to !t
  %end:2 = scf.for %k = %c0 to %c80 step %c20 iter_args(%now = %first, %two = %same) -> (!t, !t) {
    // CHECK: tile.mul %first, %same into %p
    %p = tile.mul %now, %two : !t, !t -> !t
    // CHECK: tile.store %p into
    tile.store %p into %y[0, %k] : !t into !x
    // CHECK: tile.load %x[%c20, %k] valid [16, 20] into %first
    %next = tile.load %x[%c20, %k] valid [16, 20] : !x to !t
    scf.yield %next, %two : !t, !t
  }
  func.return
}
