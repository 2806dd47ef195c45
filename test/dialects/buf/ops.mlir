// Tests that buffers, and ops on tiles that write into buffers, print and read back to the same text.
// RUN: ge-opt %s | ge-opt | filecheck %s
// RUN: ge-opt %s --mlir-print-op-generic | ge-opt | filecheck %s

// Buffers before and after they have addresses; one with several slots is chosen by an index.
// CHECK-LABEL: func.func private @buffers
func.func private @buffers(%slot: index) {
  // CHECK-NEXT: %a = buf.alloc "a" : memref<4x8xf32, #npu.mem<ub>>
  %a = buf.alloc "a" : memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: %b = buf.at "b" [0] : memref<2x3x4xf16>
  %b = buf.at "b" [0] : memref<2x3x4xf16>
  // CHECK-NEXT: %c = buf.at "c" [0, 1024] slot %slot : memref<16x32xf16, #npu.mem<l1>>
  %c = buf.at "c" [0, 1024] slot %slot : memref<16x32xf16, #npu.mem<l1>>
  // CHECK-NEXT: %d = buf.at "" [64] : memref<16x32xf16, #npu.mem<l1, nd>>
  %d = buf.at "" [64] : memref<16x32xf16, #npu.mem<l1, nd>>
  func.return
}

// The functions of the table.
// CHECK-LABEL: func.func private @functions
func.func private @functions(%x: memref<4x8xf32, #npu.mem<ub>>, %r: memref<1x8xf32, #npu.mem<ub>>) {
  // CHECK-NEXT: tile.add %x, %r into %x : memref<4x8xf32, #npu.mem<ub>>, memref<1x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.add %x, %r into %x : memref<4x8xf32, #npu.mem<ub>>, memref<1x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.sub %x, %r into %x : memref<4x8xf32, #npu.mem<ub>>, memref<1x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.sub %x, %r into %x : memref<4x8xf32, #npu.mem<ub>>, memref<1x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.mul %x, %r into %x : memref<4x8xf32, #npu.mem<ub>>, memref<1x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.mul %x, %r into %x : memref<4x8xf32, #npu.mem<ub>>, memref<1x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.div %x, %r into %x : memref<4x8xf32, #npu.mem<ub>>, memref<1x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.div %x, %r into %x : memref<4x8xf32, #npu.mem<ub>>, memref<1x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.max %x, %r into %x : memref<4x8xf32, #npu.mem<ub>>, memref<1x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.max %x, %r into %x : memref<4x8xf32, #npu.mem<ub>>, memref<1x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.min %x, %r into %x : memref<4x8xf32, #npu.mem<ub>>, memref<1x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.min %x, %r into %x : memref<4x8xf32, #npu.mem<ub>>, memref<1x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.adds %x into %x {scalar = 5.000000e-01 : f32} : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.adds %x into %x {scalar = 5.000000e-01 : f32} : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.muls %x into %x {scalar = 5.000000e-01 : f32} : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.muls %x into %x {scalar = 5.000000e-01 : f32} : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.maxs %x into %x {scalar = 5.000000e-01 : f32} : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.maxs %x into %x {scalar = 5.000000e-01 : f32} : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.mins %x into %x {scalar = 5.000000e-01 : f32} : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.mins %x into %x {scalar = 5.000000e-01 : f32} : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.abs %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.abs %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.exp %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.exp %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.ln %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.ln %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.sqrt %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.sqrt %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.rec %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.rec %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.relu %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.relu %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.neg %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.neg %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.square %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.square %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.rsqrt %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.rsqrt %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.sigmoid %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.sigmoid %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.silu %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.silu %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.erf %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.erf %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.tanh %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.tanh %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.gelu %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.gelu %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.gelu_tanh %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  tile.gelu_tanh %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  func.return
}

// Everything else of a kernel; extents of ragged tiles are sizes of views.
// CHECK-LABEL: func.func private @product
func.func private @product(%a: memref<20x32xf16>, %out: memref<20x16xf16>, %m: index, %first: i1) {
  // CHECK-NEXT: %a1 = buf.alloc "a1" : memref<16x32xf16, #npu.mem<l1>>
  %a1 = buf.alloc "a1" : memref<16x32xf16, #npu.mem<l1>>
  // CHECK-NEXT: tile.load %a[%m, 0] valid [%m, 32] into %a1 : memref<20x32xf16> into memref<16x32xf16, #npu.mem<l1>>
  tile.load %a[%m, 0] valid [%m, 32] into %a1 : memref<20x32xf16> into memref<16x32xf16, #npu.mem<l1>>
  // CHECK-NEXT: %a0 = buf.alloc "a0" : memref<16x32xf16, #npu.mem<l0a>>
  %a0 = buf.alloc "a0" : memref<16x32xf16, #npu.mem<l0a>>
  // CHECK-NEXT: tile.move %a1[0, 0] valid [16, 32] into %a0 : memref<16x32xf16, #npu.mem<l1>> into memref<16x32xf16, #npu.mem<l0a>>
  tile.move %a1[0, 0] valid [16, 32] into %a0 : memref<16x32xf16, #npu.mem<l1>> into memref<16x32xf16, #npu.mem<l0a>>
  // CHECK-NEXT: %b0 = buf.alloc "b0" : memref<32x16xf16, #npu.mem<l0b>>
  %b0 = buf.alloc "b0" : memref<32x16xf16, #npu.mem<l0b>>
  // CHECK-NEXT: tile.move %a1[0, 0] valid [32, 16] into %b0 {transpose} : memref<16x32xf16, #npu.mem<l1>> into memref<32x16xf16, #npu.mem<l0b>>
  tile.move %a1[0, 0] valid [32, 16] into %b0 {transpose} : memref<16x32xf16, #npu.mem<l1>> into memref<32x16xf16, #npu.mem<l0b>>
  // CHECK-NEXT: %c = buf.alloc "c" : memref<16x16xf32, #npu.mem<l0c>>
  %c = buf.alloc "c" : memref<16x16xf32, #npu.mem<l0c>>
  // CHECK-NEXT: %c_valid = memref.subview %c[0, 0] [%m, 16] [1, 1] : memref<16x16xf32, #npu.mem<l0c>> to memref<?x16xf32, strided<[16, 1]>, #npu.mem<l0c>>
  %c_valid = memref.subview %c[0, 0] [%m, 16] [1, 1] : memref<16x16xf32, #npu.mem<l0c>> to memref<?x16xf32, strided<[16, 1]>, #npu.mem<l0c>>
  // CHECK-NEXT: tile.mmad %a0, %b0, %c_valid init %first : memref<16x32xf16, #npu.mem<l0a>>, memref<32x16xf16, #npu.mem<l0b>>, memref<?x16xf32, strided<[16, 1]>, #npu.mem<l0c>>
  tile.mmad %a0, %b0, %c_valid init %first : memref<16x32xf16, #npu.mem<l0a>>, memref<32x16xf16, #npu.mem<l0b>>, memref<?x16xf32, strided<[16, 1]>, #npu.mem<l0c>>
  // CHECK-NEXT: %u = buf.alloc "u" : memref<16x16xf32, #npu.mem<ub>>
  %u = buf.alloc "u" : memref<16x16xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.move %c[0, 0] valid [%m, 16] into %u : memref<16x16xf32, #npu.mem<l0c>> into memref<16x16xf32, #npu.mem<ub>>
  tile.move %c[0, 0] valid [%m, 16] into %u : memref<16x16xf32, #npu.mem<l0c>> into memref<16x16xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.full 1.000000e+00 : f32 valid [%m, 1] into %u into memref<16x16xf32, #npu.mem<ub>>
  tile.full 1.000000e+00 : f32 valid [%m, 1] into %u into memref<16x16xf32, #npu.mem<ub>>
  // CHECK-NEXT: %row = buf.alloc "row" : memref<1x16xf32, #npu.mem<ub>>
  %row = buf.alloc "row" : memref<1x16xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.broadcast %row valid [%m, 16] into %u : memref<1x16xf32, #npu.mem<ub>> into memref<16x16xf32, #npu.mem<ub>>
  tile.broadcast %row valid [%m, 16] into %u : memref<1x16xf32, #npu.mem<ub>> into memref<16x16xf32, #npu.mem<ub>>
  // CHECK-NEXT: %h = buf.alloc "h" : memref<16x16xf16, #npu.mem<ub>>
  %h = buf.alloc "h" : memref<16x16xf16, #npu.mem<ub>>
  // CHECK-NEXT: tile.cast %u into %h : memref<16x16xf32, #npu.mem<ub>> into memref<16x16xf16, #npu.mem<ub>>
  tile.cast %u into %h : memref<16x16xf32, #npu.mem<ub>> into memref<16x16xf16, #npu.mem<ub>>
  // CHECK-NEXT: tile.store %h into %out[%m, 0] : memref<16x16xf16, #npu.mem<ub>> into memref<20x16xf16>
  tile.store %h into %out[%m, 0] : memref<16x16xf16, #npu.mem<ub>> into memref<20x16xf16>
  func.return
}

// Launches on memrefs have no results; weights and constants are memrefs as well.
ge.weight @w : tensor<20x32xf16>
// CHECK-LABEL: func.func @main
func.func @main(%out0: memref<20x16xf16>, %m: index, %first: i1) {
  // CHECK-NEXT: %w = ge.load_weight @w : memref<20x32xf16>
  %w = ge.load_weight @w : memref<20x32xf16>
  // CHECK-NEXT: %k = ge.Const dense<1.000000e+00> : tensor<2xf16> -> memref<2xf16>
  %k = ge.Const dense<1.0> : tensor<2xf16> -> memref<2xf16>
  // CHECK-NEXT: fused.launch @kernel(%w) into{{ ?}}(%out0) on aicore {ops = ["MatMulV2"], op_name = "fc"} : (memref<20x32xf16>) into{{ ?}}(memref<20x16xf16>)
  fused.launch @kernel(%w) into (%out0) on aicore {ops = ["MatMulV2"], op_name = "fc"} : (memref<20x32xf16>) into (memref<20x16xf16>)
  func.return
}

func.func private @kernel(%a: memref<20x32xf16>, %out: memref<20x16xf16>) {
  func.return
}
