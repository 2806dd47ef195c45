// RUN: ge-opt %s -p bufferize-tile | filecheck %s
// RUN: ge-opt %s -p bufferize-tile | ge-opt -p bufferize-tile | filecheck %s
// RUN: ge-opt %s -p bufferize-tile --mlir-print-debuginfo | filecheck %s --check-prefix=LOC

!a = tensor<50x70xf16>
!b = tensor<70x40xf16>
!bias = tensor<40xf32>
!c = tensor<50x40xf32>
!a1 = tensor<32x64xf16, #npu.mem<l1>>
!b1 = tensor<64x64xf16, #npu.mem<l1>>
!a0 = tensor<32x32xf16, #npu.mem<l0a>>
!b0 = tensor<32x64xf16, #npu.mem<l0b>>
!acc = tensor<32x64xf32, #npu.mem<l0c>>
!row = tensor<1x64xf32, #npu.mem<ub>>
!t = tensor<32x64xf32, #npu.mem<ub>>

ge.weight @w : tensor<70x40xf16>

// A ragged product: edges in every direction, an inner loop whose bound is an edge too.
// CHECK-LABEL: func.func private @MatMul(%a: memref<50x70xf16>, %b: memref<70x40xf16>, %bias: memref<40xf32>, %out: memref<50x40xf32>)
func.func private @MatMul(%a: !a, %b: !b, %bias: !bias, %out: !c) {
  // CHECK: %row = memref.reinterpret_cast %bias to offset: [0], sizes: [1, 40], strides: [40, 1] : memref<40xf32> to memref<1x40xf32>
  %row = tile.view %bias : !bias to tensor<1x40xf32>
  tile.forall (%i, %j) in (2, 1) {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c50 = arith.constant 50 : index
    %c64 = arith.constant 64 : index
    %c70 = arith.constant 70 : index
    %n = arith.constant 40 : index
    %i0 = arith.muli %i, %c32 : index
    %left = arith.subi %c50, %i0 : index
    %m = arith.minsi %c32, %left : index
    %none = tile.undef : !acc
    // The accumulator stands before the loops, which carry nothing.
    // CHECK: %acc = buf.alloc "acc" : memref<32x64xf32, #npu.mem<l0c>>
    // CHECK-NEXT: scf.for %k = %c0 to %c70 step %c64 {
    %acc = scf.for %k = %c0 to %c70 step %c64 iter_args(%outer = %none) -> (!acc) {
      %k_left = arith.subi %c70, %k : index
      %kk = arith.minsi %c64, %k_left : index
      // CHECK: [[A1:%.*]] = buf.alloc "a1" : memref<32x64xf16, #npu.mem<l1>>
      // CHECK-NEXT: [[A1V:%.*]] = memref.subview [[A1]][0, 0] [%m, %kk] [1, 1] : memref<32x64xf16, #npu.mem<l1>> to memref<?x?xf16, strided<[64, 1]>, #npu.mem<l1>>
      // CHECK-NEXT: tile.load %a[%i0, %k] valid [%m, %kk] into [[A1V]] : memref<50x70xf16> into memref<?x?xf16, strided<[64, 1]>, #npu.mem<l1>>
      // LOC: tile.load {{.*}} loc("a.py":3:1)
      %a1 = tile.load %a[%i0, %k] valid [%m, %kk] : !a to !a1 loc("a.py":3:1)
      // A constant extent is a number.
      // CHECK: memref.subview {{%.*}}[0, 0] [%kk, 40] [1, 1] : memref<64x64xf16, #npu.mem<l1>> to memref<?x40xf16, strided<[64, 1]>, #npu.mem<l1>>
      // CHECK-NEXT: tile.load %b[%k, 0] valid [%kk, 40] into
      %b1 = tile.load %b[%k, 0] valid [%kk, %n] : !b to !b1
      // CHECK: scf.for %q = %c0 to %kk step %c32 {
      %inner = scf.for %q = %c0 to %kk step %c32 iter_args(%e = %outer) -> (!acc) {
        %q_left = arith.subi %kk, %q : index
        %qq = arith.minsi %c32, %q_left : index
        // CHECK: tile.move [[A1V]][0, %q] valid [%m, %qq] into
        %a0 = tile.move %a1[0, %q] valid [%m, %qq] : !a1 to !a0
        // CHECK: tile.move {{%.*}}[%q, 0] valid [%qq, 40] into
        %b0 = tile.move %b1[%q, 0] valid [%qq, 40] : !b1 to !b0
        %at = arith.addi %k, %q : index
        %first = arith.cmpi eq, %at, %c0 : index
        // CHECK: [[ACC:%.*]] = memref.subview %acc[0, 0] [%m, 40] [1, 1]
        // CHECK-NEXT: tile.mmad {{%.*}}, {{%.*}}, [[ACC]] init %first :
        // LOC: memref.subview %acc[0, 0] {{.*}} loc("a.py":4:1)
        // LOC: tile.mmad {{.*}} loc("a.py":4:1)
        %r = tile.mmad %a0, %b0, %e init %first : !a0, !b0, !acc -> !acc loc("a.py":4:1)
        scf.yield %r : !acc
      }
      scf.yield %inner : !acc
    }
    // CHECK: [[DONE:%.*]] = memref.subview %acc[0, 0] [%m, 40] [1, 1]
    // CHECK: tile.move [[DONE]][0, 0] valid [%m, 40] into
    %u = tile.move %acc[0, 0] valid [%m, %n] : !acc to !t
    %r = tile.load %row[0, 0] valid [1, %n] : tensor<1x40xf32> to !row
    // Extents of operands reach the result; a row follows the tile.
    // CHECK: %s = buf.alloc "s" : memref<32x64xf32, #npu.mem<ub>>
    // CHECK-NEXT: [[S:%.*]] = memref.subview %s[0, 0] [%m, 40] [1, 1]
    // CHECK-NEXT: tile.add {{%.*}}, {{%.*}} into [[S]] :
    %s = tile.add %u, %r : !t, !row -> !t
    // CHECK: tile.full 1.000000e+00 : f32 valid [%m, 40] into
    %f = tile.full 1.0 : f32 valid [%m, 40] to !t
    // CHECK: tile.broadcast {{%.*}} valid [%m, 40] into
    %w = tile.broadcast %r valid [%m, 40] : !row to !t
    %x = tile.max %f, %w : !t, !t -> !t
    // Labels stay apart where names do not.
    // CHECK: buf.alloc "s_1"
    %s_1 = tile.min %s, %x : !t, !t -> !t
    // CHECK: tile.store {{%.*}} into %out[%i0, 0] : memref<?x40xf32, strided<[64, 1]>, #npu.mem<ub>> into memref<50x40xf32>
    tile.store %s_1 into %out[%i0, 0] : !t into !c
  }
  func.return
}

// CHECK-LABEL: func.func @main(%x: memref<50x70xf16>, %bias: memref<40xf32>, %out0: memref<50x40xf32>, %out1: memref<50x40xf32>) attributes {results = 2 : i64} {
func.func @main(%x: !a, %bias: !bias) -> (!c, !c) {
  // CHECK-NEXT: %w = ge.load_weight @w : memref<70x40xf16>
  %w = ge.load_weight @w : !b
  // One empty tensor for three launches: three buffers, two of them the caller's.
  %d = tensor.empty() : !c
  // CHECK-NEXT: %h = buf.alloc "fc1" : memref<50x40xf32>
  // CHECK-NEXT: fused.launch @MatMul(%x, %w, %bias) into{{ ?}}(%h) on aicore {{.*}} : (memref<50x70xf16>, memref<70x40xf16>, memref<40xf32>) into{{ ?}}(memref<50x40xf32>)
  %h = fused.launch @MatMul(%x, %w, %bias) into (%d) on aicore {ops = ["MatMulV2"], op_name = "fc1"} : (!a, !b, !bias) into (!c) -> !c
  // CHECK-NEXT: fused.launch @MatMul(%x, %w, %bias) into{{ ?}}(%out1) on aicore
  %y = fused.launch @MatMul(%x, %w, %bias) into (%d) on aicore {ops = ["MatMulV2"], op_name = "fc2"} : (!a, !b, !bias) into (!c) -> !c
  // CHECK-NEXT: fused.launch @MatMul(%x, %w, %bias) into{{ ?}}(%out0) on aicore
  // LOC: fused.launch {{.*}} into{{ ?}}(%out0) {{.*}} loc("a.py":9:2)
  %z = fused.launch @MatMul(%x, %w, %bias) into (%d) on aicore {ops = ["MatMulV2"], op_name = "fc2"} : (!a, !b, !bias) into (!c) -> !c loc("a.py":9:2)
  // CHECK-NEXT: func.return
  func.return %z, %y : !c, !c
}
