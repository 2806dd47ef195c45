// RUN: ge-opt %s --target Ascend910A -p pipeline-stages | filecheck %s
// RUN: ge-opt %s --target Ascend910A -p pipeline-stages,pipeline-stages | filecheck %s
// RUN: ge-opt %s --target Ascend910A -p pipeline-stages,verify-stage{stage=tile} | filecheck %s
// RUN: ge-opt %s --target Ascend910A -p pipeline-stages --mlir-print-debuginfo | filecheck %s --check-prefix=LOC

!ub = tensor<4x8xf32, #npu.mem<ub>>
!a1 = tensor<16x32xf16, #npu.mem<l1>>
!b1 = tensor<32x16xf16, #npu.mem<l1>>
!a0 = tensor<16x16xf16, #npu.mem<l0a>>
!b0 = tensor<16x16xf16, #npu.mem<l0b>>
!c = tensor<16x16xf32, #npu.mem<l0c>>

// What is loaded and what is stored takes turns; what only the vector unit sees does not. A number in the text stands.
// CHECK-LABEL: func.func private @vector
func.func private @vector(%x: tensor<16x8xf32>, %out: tensor<16x8xf32>) attributes {schedule = #tile.schedule<m = 4, n = 8, ub = 2>} {
  %c4 = arith.constant 4 : index
  // CHECK: tile.grid_loop %t (%i, %j) in (4, 1) {
  // LOC: tile.grid_loop {{.*}}
  // LOC: } loc("vector.py":7:1)
  tile.forall (%i, %j) in (4, 1) {
    %m0 = arith.muli %i, %c4 : index
    // CHECK: tile.load %x[%m0, 0] valid [4, 8] {slots = 2 : i64} :
    %a = tile.load %x[%m0, 0] valid [4, 8] : tensor<16x8xf32> to !ub
    // CHECK: tile.load %x[%m0, 0] valid [4, 8] {slots = 3 : i64} :
    %b = tile.load %x[%m0, 0] valid [4, 8] {slots = 3} : tensor<16x8xf32> to !ub
    // CHECK: tile.add %a, %b :
    %s = tile.add %a, %b : !ub, !ub -> !ub
    // CHECK: tile.exp %s {slots = 2 : i64} :
    %y = tile.exp %s : !ub -> !ub
    tile.store %y into %out[%m0, 0] : !ub into tensor<16x8xf32>
  } loc("vector.py":7:1)
  func.return
}

// Without a schedule the grid becomes a loop, and nothing has slots.
// CHECK-LABEL: func.func private @plain
// CHECK: tile.grid_loop %t (%i) in (4) {
// CHECK-NOT: slots
// CHECK: func.return
func.func private @plain(%x: tensor<16x8xf32>, %out: tensor<16x8xf32>) {
  tile.forall (%i) in (4) {
    %a = tile.load %x[%i, 0] valid [4, 8] : tensor<16x8xf32> to !ub
    tile.store %a into %out[%i, 0] : !ub into tensor<16x8xf32>
  }
  func.return
}

// A trip loads for the next one and works on what the one before has loaded; the first works on nothing, the last loads nothing.
// CHECK-LABEL: func.func private @skewed
func.func private @skewed(%x: tensor<16x70xf16>, %w: tensor<70x16xf16>, %out: tensor<16x16xf32>)
    attributes {schedule = #tile.schedule<m = 16, n = 16, k = 32, k0 = 16, l1 = 2, skew = 1>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c70 = arith.constant 70 : index
  tile.forall (%i) in (1) {
    %undef = tile.undef : !c
    // CHECK: %acc, %0, %1 = scf.for %k = %c0 to %c102 step %c32 iter_args(%c = %undef, %a_before = %undef_1, %b_before = %undef_2)
    %acc = scf.for %k = %c0 to %c70 step %c32 iter_args(%c = %undef) -> (!c) {
      // CHECK-NEXT: %present = arith.cmpi slt, %k, %c70 : index
      // CHECK-NEXT: %left = arith.subi %c70, %k : index
      // CHECK-NEXT: %kk = arith.minsi %c32, %left : index
      // CHECK-NEXT: %extent = arith.select %present, %kk, %c0 : index
      // CHECK-NEXT: %a = tile.load %x[0, %k] valid [16, %extent] {slots = 2 : i64}
      // CHECK-NEXT: %b = tile.load %w[%k, 0] valid [%extent, 16] {slots = 2 : i64}
      // CHECK-NEXT: %k_before = arith.subi %k, %c32 : index
      // CHECK-NEXT: %present_1 = arith.cmpi sge, %k_before, %c0 : index
      %left = arith.subi %c70, %k : index
      %kk = arith.minsi %c32, %left : index
      %a = tile.load %x[0, %k] valid [16, %kk] : tensor<16x70xf16> to !a1
      %b = tile.load %w[%k, 0] valid [%kk, 16] : tensor<70x16xf16> to !b1
      // CHECK-NEXT: %left_1 = arith.subi %c70, %k_before : index
      // CHECK-NEXT: %kk_1 = arith.minsi %c32, %left_1 : index
      // CHECK-NEXT: %to = arith.select %present_1, %kk_1, %c0 : index
      // CHECK-NEXT: scf.for %q = %c0 to %to step %c16 iter_args(%e = %c)
      %r = scf.for %q = %c0 to %kk step %c16 iter_args(%e = %c) -> (!c) {
        %more = arith.subi %kk, %q : index
        %kq = arith.minsi %c16, %more : index
        // CHECK: tile.move %a_before[0, %q]
        %a0 = tile.move %a[0, %q] valid [16, %kq] : !a1 to !a0
        // CHECK: tile.move %b_before[%q, 0]
        %b0 = tile.move %b[%q, 0] valid [%kq, 16] : !b1 to !b0
        // CHECK: arith.addi %k_before, %q : index
        %position = arith.addi %k, %q : index
        %first = arith.cmpi eq, %position, %c0 : index
        %m = tile.mmad %a0, %b0, %e init %first : !a0, !b0, !c -> !c
        scf.yield %m : !c
      }
      // CHECK: scf.yield %r, %a, %b :
      scf.yield %r : !c
    }
    %u = tile.move %acc[0, 0] valid [16, 16] : !c to tensor<16x16xf32, #npu.mem<ub>>
    tile.store %u into %out[0, 0] : tensor<16x16xf32, #npu.mem<ub>> into tensor<16x16xf32>
  }
  func.return
}

// A loop that carries nothing yet, from block to block other bounds.
// CHECK-LABEL: func.func private @bounds
func.func private @bounds(%x: tensor<16x70xf16>, %from: index, %to: index) attributes {schedule = #tile.schedule<l1 = 3, skew = 1>} {
  %c32 = arith.constant 32 : index
  // CHECK: %end = arith.addi %to, %c32 : index
  // CHECK-NEXT: %undef = tile.undef :
  // CHECK-NEXT: scf.for %k = %from to %end step %c32 iter_args(%a_before = %undef)
  scf.for %k = %from to %to step %c32 {
    // CHECK: %a = tile.load %x[0, %k] valid [16, %extent] {slots = 3 : i64}
    %a = tile.load %x[0, %k] valid [16, 32] : tensor<16x70xf16> to !a1
    // CHECK: %to_1 = arith.select %present_1, %c32, %from : index
    // CHECK-NEXT: scf.for %q = %from to %to_1 step %c32 {
    scf.for %q = %from to %c32 step %c32 {
      // CHECK-NEXT: tile.move %a_before[0, 0]
      %a0 = tile.move %a[0, 0] valid [16, 16] : !a1 to !a0
    }
    // CHECK: scf.yield %a :
  }
  func.return
}

// A tile that a loop carries on is written where the one before is: it has one slot, though it is stored.
// CHECK-LABEL: func.func private @carried
func.func private @carried(%x: tensor<64x16xf32>, %out: tensor<64x16xf32>) attributes {schedule = #tile.schedule<m = 16, n = 16, ub = 2>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  tile.forall (%i) in (1) {
    %zero = tile.full 0.0 : f32 valid [16, 16] to tensor<16x16xf32, #npu.mem<ub>>
    %sum = scf.for %k = %c0 to %c64 step %c16 iter_args(%s = %zero) -> (tensor<16x16xf32, #npu.mem<ub>>) {
      // CHECK: %a = tile.load %x[%k, 0] valid [16, 16] {slots = 2 : i64}
      %a = tile.load %x[%k, 0] valid [16, 16] : tensor<64x16xf32> to tensor<16x16xf32, #npu.mem<ub>>
      // CHECK: %next = tile.add %s, %a :
      %next = tile.add %s, %a : tensor<16x16xf32, #npu.mem<ub>>, tensor<16x16xf32, #npu.mem<ub>> -> tensor<16x16xf32, #npu.mem<ub>>
      tile.store %next into %out[%k, 0] : tensor<16x16xf32, #npu.mem<ub>> into tensor<64x16xf32>
      scf.yield %next : tensor<16x16xf32, #npu.mem<ub>>
    }
  }
  func.return
}
