// Tests that ops on tiles print, and read back to the same text.
// RUN: ge-opt %s | ge-opt | filecheck %s
// RUN: ge-opt %s --mlir-print-op-generic | ge-opt | filecheck %s

!t = tensor<4x8xf32, #npu.mem<ub>>

// The functions of the table, on tiles.
// CHECK-LABEL: func.func private @functions
func.func private @functions(%x: tensor<4x8xf32>, %out: tensor<4x8xf32>) {
  %a = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf32> to !t
  // CHECK: %add = tile.add %a, %a : tensor<4x8xf32, #npu.mem<ub>>, tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %add = tile.add %a, %a : !t, !t -> !t
  // CHECK: %sub = tile.sub %a, %a : tensor<4x8xf32, #npu.mem<ub>>, tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %sub = tile.sub %a, %a : !t, !t -> !t
  // CHECK: %mul = tile.mul %a, %a : tensor<4x8xf32, #npu.mem<ub>>, tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %mul = tile.mul %a, %a : !t, !t -> !t
  // CHECK: %div = tile.div %a, %a : tensor<4x8xf32, #npu.mem<ub>>, tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %div = tile.div %a, %a : !t, !t -> !t
  // CHECK: %max = tile.max %a, %a : tensor<4x8xf32, #npu.mem<ub>>, tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %max = tile.max %a, %a : !t, !t -> !t
  // CHECK: %min = tile.min %a, %a : tensor<4x8xf32, #npu.mem<ub>>, tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %min = tile.min %a, %a : !t, !t -> !t
  // CHECK: %adds = tile.adds %a {scalar = 5.000000e-01 : f32} : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %adds = tile.adds %a {scalar = 5.000000e-01 : f32} : !t -> !t
  // CHECK: %muls = tile.muls %a {scalar = 5.000000e-01 : f32} : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %muls = tile.muls %a {scalar = 5.000000e-01 : f32} : !t -> !t
  // CHECK: %maxs = tile.maxs %a {scalar = 5.000000e-01 : f32} : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %maxs = tile.maxs %a {scalar = 5.000000e-01 : f32} : !t -> !t
  // CHECK: %mins = tile.mins %a {scalar = 5.000000e-01 : f32} : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %mins = tile.mins %a {scalar = 5.000000e-01 : f32} : !t -> !t
  // CHECK: %abs = tile.abs %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %abs = tile.abs %a : !t -> !t
  // CHECK: %exp = tile.exp %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %exp = tile.exp %a : !t -> !t
  // CHECK: %ln = tile.ln %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %ln = tile.ln %a : !t -> !t
  // CHECK: %sqrt = tile.sqrt %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %sqrt = tile.sqrt %a : !t -> !t
  // CHECK: %rec = tile.rec %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %rec = tile.rec %a : !t -> !t
  // CHECK: %relu = tile.relu %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %relu = tile.relu %a : !t -> !t
  // CHECK: %neg = tile.neg %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %neg = tile.neg %a : !t -> !t
  // CHECK: %square = tile.square %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %square = tile.square %a : !t -> !t
  // CHECK: %rsqrt = tile.rsqrt %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %rsqrt = tile.rsqrt %a : !t -> !t
  // CHECK: %sigmoid = tile.sigmoid %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %sigmoid = tile.sigmoid %a : !t -> !t
  // CHECK: %silu = tile.silu %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %silu = tile.silu %a : !t -> !t
  // CHECK: %erf = tile.erf %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %erf = tile.erf %a : !t -> !t
  // CHECK: %tanh = tile.tanh %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %tanh = tile.tanh %a : !t -> !t
  // CHECK: %gelu = tile.gelu %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %gelu = tile.gelu %a : !t -> !t
  // CHECK: %gelu_tanh = tile.gelu_tanh %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %gelu_tanh = tile.gelu_tanh %a : !t -> !t
  tile.store %relu into %out[0, 0] : !t into tensor<4x8xf32>
  func.return
}

// A matmul: loads, moves and the cube's instruction, in a grid and a loop; offsets and extents are constants or index values.
// CHECK-LABEL: func.func private @product
// CHECK-SAME:  attributes {schedule = #tile.schedule<m = 16, n = 16, k = 32, k0 = 32>}
func.func private @product(%a: tensor<20x32xf16>, %b: tensor<16x32xf16>, %out: tensor<20x16xf16>, %n: index)
    attributes {schedule = #tile.schedule<k0 = 32, m = 16, n = 16, k = 32>} {
  %true = arith.constant true
  // CHECK: tile.forall (%i, %j) in (2, 1) {
  tile.forall (%i, %j) in (2, 1) {
    // CHECK-NEXT: %a1 = tile.load %a[%i, 0] valid [%n, 32] : tensor<20x32xf16> to tensor<16x32xf16, #npu.mem<l1>>
    %a1 = tile.load %a[%i, 0] valid [%n, 32] : tensor<20x32xf16> to tensor<16x32xf16, #npu.mem<l1>>
    // CHECK-NEXT: %b1 = tile.load %b[0, 0] valid [16, 32] : tensor<16x32xf16> to tensor<16x32xf16, #npu.mem<l1>>
    %b1 = tile.load %b[0, 0] valid [16, 32] : tensor<16x32xf16> to tensor<16x32xf16, #npu.mem<l1>>
    // CHECK-NEXT: %undef = tile.undef : tensor<16x16xf32, #npu.mem<l0c>>
    %undef = tile.undef : tensor<16x16xf32, #npu.mem<l0c>>
    // CHECK-NEXT: %a0 = tile.move %a1[0, 0] valid [%n, 32] : tensor<16x32xf16, #npu.mem<l1>> to tensor<16x32xf16, #npu.mem<l0a>>
    %a0 = tile.move %a1[0, 0] valid [%n, 32] : tensor<16x32xf16, #npu.mem<l1>> to tensor<16x32xf16, #npu.mem<l0a>>
    // CHECK-NEXT: %b0 = tile.move %b1[0, 0] valid [32, 16] {transpose} : tensor<16x32xf16, #npu.mem<l1>> to tensor<32x16xf16, #npu.mem<l0b>>
    %b0 = tile.move %b1[0, 0] valid [32, 16] {transpose} : tensor<16x32xf16, #npu.mem<l1>> to tensor<32x16xf16, #npu.mem<l0b>>
    // CHECK-NEXT: %c = tile.mmad %a0, %b0, %undef init %true : tensor<16x32xf16, #npu.mem<l0a>>, tensor<32x16xf16, #npu.mem<l0b>>, tensor<16x16xf32, #npu.mem<l0c>> -> tensor<16x16xf32, #npu.mem<l0c>>
    %c = tile.mmad %a0, %b0, %undef init %true : tensor<16x32xf16, #npu.mem<l0a>>, tensor<32x16xf16, #npu.mem<l0b>>, tensor<16x16xf32, #npu.mem<l0c>> -> tensor<16x16xf32, #npu.mem<l0c>>
    // CHECK-NEXT: %u = tile.move %c[0, 0] valid [%n, 16] : tensor<16x16xf32, #npu.mem<l0c>> to tensor<16x16xf32, #npu.mem<ub>>
    %u = tile.move %c[0, 0] valid [%n, 16] : tensor<16x16xf32, #npu.mem<l0c>> to tensor<16x16xf32, #npu.mem<ub>>
    // CHECK-NEXT: %h = tile.cast %u : tensor<16x16xf32, #npu.mem<ub>> to tensor<16x16xf16, #npu.mem<ub>>
    %h = tile.cast %u : tensor<16x16xf32, #npu.mem<ub>> to tensor<16x16xf16, #npu.mem<ub>>
    // CHECK-NEXT: tile.store %h into %out[%i, 0] : tensor<16x16xf16, #npu.mem<ub>> into tensor<20x16xf16>
    tile.store %h into %out[%i, 0] : tensor<16x16xf16, #npu.mem<ub>> into tensor<20x16xf16>
  }
  func.return
}

// Constants, repetitions and other shapes; a layout is printed where it is not the space's own.
// CHECK-LABEL: func.func private @constants
func.func private @constants(%x: tensor<20xf16>, %m: index) {
  // CHECK-NEXT: %v = tile.view %x : tensor<20xf16> to tensor<1x20xf16>
  %v = tile.view %x : tensor<20xf16> to tensor<1x20xf16>
  // CHECK-NEXT: %n = tile.load %v[0, 0] valid [1, 20] : tensor<1x20xf16> to tensor<1x20xf16, #npu.mem<l1, nd>>
  %n = tile.load %v[0, 0] valid [1, 20] : tensor<1x20xf16> to tensor<1x20xf16, #npu.mem<l1, nd>>
  // CHECK-NEXT: %f = tile.full 1.000000e+00 : f32 valid [1, %m] to tensor<1x8xf32, #npu.mem<ub>>
  %f = tile.full 1.0 : f32 valid [1, %m] to tensor<1x8xf32, #npu.mem<ub, nd>>
  // CHECK-NEXT: %i = tile.full 7 : i32 valid [1, 1] to tensor<1x1xi32, #npu.mem<ub>>
  %i = tile.full 7 : i32 valid [1, 1] to tensor<1x1xi32, #npu.mem<ub>>
  // CHECK-NEXT: %b = tile.broadcast %f valid [4, %m] : tensor<1x8xf32, #npu.mem<ub>> to tensor<4x8xf32, #npu.mem<ub>>
  %b = tile.broadcast %f valid [4, %m] : tensor<1x8xf32, #npu.mem<ub>> to tensor<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: %s = tile.muls %i {scalar = -3 : i32} : tensor<1x1xi32, #npu.mem<ub>> -> tensor<1x1xi32, #npu.mem<ub>>
  %s = tile.muls %i {scalar = -3 : i32} : tensor<1x1xi32, #npu.mem<ub>> -> tensor<1x1xi32, #npu.mem<ub>>
  func.return
}

// A persistent loop counts a core's blocks; tiles that its trips fill in turn have slots.
// CHECK-LABEL: func.func private @persistent
func.func private @persistent(%x: tensor<8x16xf32>, %out: tensor<8x16xf32>) {
  // CHECK-NEXT: tile.grid_loop %t (%i, %j) in (1, 4) {
  tile.grid_loop %t (%i, %j) in (1, 4) {
    // CHECK-NEXT: %a = tile.load %x[%i, %j] valid [1, 1] {slots = 2 : i64} : tensor<8x16xf32> to tensor<1x1xf32, #npu.mem<ub>>
    %a = tile.load %x[%i, %j] valid [1, 1] {slots = 2} : tensor<8x16xf32> to tensor<1x1xf32, #npu.mem<ub>>
    tile.store %a into %out[%i, %j] : tensor<1x1xf32, #npu.mem<ub>> into tensor<8x16xf32>
  }
  func.return
}

// Blocks that do nothing.
// CHECK-LABEL: func.func private @idle
func.func private @idle() {
  // CHECK-NEXT: tile.grid_loop %t (%i) in (0) {
  // CHECK-NEXT: }
  tile.grid_loop %t (%i) in (0) {
  }
  // CHECK-NEXT: tile.forall (%k) in (3) {
  // CHECK-NEXT: }
  tile.forall (%k) in (3) {
  }
  func.return
}
