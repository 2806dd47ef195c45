// Tests that instructions print, and read back to the same text.
// RUN: ge-opt %s | ge-opt | filecheck %s
// RUN: ge-opt %s --mlir-print-op-generic | ge-opt | filecheck %s

// The native functions of the table.
// CHECK-LABEL: func.func private @functions
func.func private @functions(%x: memref<4x8xf32, #npu.mem<ub>>, %y: memref<4x8xf32, #npu.mem<ub>>) {
  // CHECK-NEXT: npu.vadd ins(%x, %y : memref<4x8xf32, #npu.mem<ub>>, memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  npu.vadd ins(%x, %y : memref<4x8xf32, #npu.mem<ub>>, memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  // CHECK-NEXT: npu.vsub ins(%x, %y : memref<4x8xf32, #npu.mem<ub>>, memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  npu.vsub ins(%x, %y : memref<4x8xf32, #npu.mem<ub>>, memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  // CHECK-NEXT: npu.vmul ins(%x, %y : memref<4x8xf32, #npu.mem<ub>>, memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  npu.vmul ins(%x, %y : memref<4x8xf32, #npu.mem<ub>>, memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  // CHECK-NEXT: npu.vdiv ins(%x, %y : memref<4x8xf32, #npu.mem<ub>>, memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  npu.vdiv ins(%x, %y : memref<4x8xf32, #npu.mem<ub>>, memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  // CHECK-NEXT: npu.vmax ins(%x, %y : memref<4x8xf32, #npu.mem<ub>>, memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  npu.vmax ins(%x, %y : memref<4x8xf32, #npu.mem<ub>>, memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  // CHECK-NEXT: npu.vmin ins(%x, %y : memref<4x8xf32, #npu.mem<ub>>, memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  npu.vmin ins(%x, %y : memref<4x8xf32, #npu.mem<ub>>, memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  // CHECK-NEXT: npu.vadds ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>) {scalar = 5.000000e-01 : f32}
  npu.vadds ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>) {scalar = 5.000000e-01 : f32}
  // CHECK-NEXT: npu.vmuls ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>) {scalar = 5.000000e-01 : f32}
  npu.vmuls ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>) {scalar = 5.000000e-01 : f32}
  // CHECK-NEXT: npu.vmaxs ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>) {scalar = 5.000000e-01 : f32}
  npu.vmaxs ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>) {scalar = 5.000000e-01 : f32}
  // CHECK-NEXT: npu.vmins ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>) {scalar = 5.000000e-01 : f32}
  npu.vmins ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>) {scalar = 5.000000e-01 : f32}
  // CHECK-NEXT: npu.vabs ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  npu.vabs ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  // CHECK-NEXT: npu.vexp ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  npu.vexp ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  // CHECK-NEXT: npu.vln ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  npu.vln ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  // CHECK-NEXT: npu.vsqrt ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  npu.vsqrt ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  // CHECK-NEXT: npu.vrec ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  npu.vrec ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  // CHECK-NEXT: npu.vrelu ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  npu.vrelu ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  func.return
}

!ub = memref<4x8xf32, #npu.mem<ub>>
!ub16 = memref<4x8xf16, #npu.mem<ub>>

// Everything else that reads or writes memory; sizes are the valid extents.
// CHECK-LABEL: func.func private @moves
func.func private @moves(%g: memref<4x8xf16>, %gs: memref<4x?xf16, strided<[64, 1], offset: ?>>, %l1: memref<4x8xf16, #npu.mem<l1>>,
    %l0a: memref<4x8xf16, #npu.mem<l0a>>, %l0b: memref<8x4xf16, #npu.mem<l0b>>, %l0c: memref<4x4xf32, #npu.mem<l0c>>,
    %u: !ub16, %f: memref<4x4xf32, #npu.mem<ub>>, %first: i1) {
  // CHECK-NEXT: npu.load <nd2nz> ins(%g : memref<4x8xf16>) outs(%l1 : memref<4x8xf16, #npu.mem<l1>>)
  npu.load <nd2nz> ins(%g : memref<4x8xf16>) outs(%l1 : memref<4x8xf16, #npu.mem<l1>>)
  // CHECK-NEXT: npu.load <nd> ins(%gs : memref<4x?xf16, strided<[64, 1], offset: ?>>) outs(%u : memref<4x8xf16, #npu.mem<ub>>)
  npu.load <nd> ins(%gs : memref<4x?xf16, strided<[64, 1], offset: ?>>) outs(%u : !ub16)
  // CHECK-NEXT: npu.load2d ins(%l1 : memref<4x8xf16, #npu.mem<l1>>) outs(%l0a : memref<4x8xf16, #npu.mem<l0a>>)
  npu.load2d ins(%l1 : memref<4x8xf16, #npu.mem<l1>>) outs(%l0a : memref<4x8xf16, #npu.mem<l0a>>)
  // CHECK-NEXT: npu.load2d ins(%l1 : memref<4x8xf16, #npu.mem<l1>>) outs(%l0b : memref<8x4xf16, #npu.mem<l0b>>) {transpose}
  npu.load2d ins(%l1 : memref<4x8xf16, #npu.mem<l1>>) outs(%l0b : memref<8x4xf16, #npu.mem<l0b>>) {transpose}
  // CHECK-NEXT: npu.mmad ins(%l0a, %l0b : memref<4x8xf16, #npu.mem<l0a>>, memref<8x4xf16, #npu.mem<l0b>>) outs(%l0c : memref<4x4xf32, #npu.mem<l0c>>) init %first
  npu.mmad ins(%l0a, %l0b : memref<4x8xf16, #npu.mem<l0a>>, memref<8x4xf16, #npu.mem<l0b>>) outs(%l0c : memref<4x4xf32, #npu.mem<l0c>>) init %first
  // CHECK-NEXT: npu.fixpipe ins(%l0c : memref<4x4xf32, #npu.mem<l0c>>) outs(%f : memref<4x4xf32, #npu.mem<ub>>)
  npu.fixpipe ins(%l0c : memref<4x4xf32, #npu.mem<l0c>>) outs(%f : memref<4x4xf32, #npu.mem<ub>>)
  // CHECK-NEXT: npu.store ins(%u : memref<4x8xf16, #npu.mem<ub>>) outs(%g : memref<4x8xf16>)
  npu.store ins(%u : !ub16) outs(%g : memref<4x8xf16>)
  func.return
}

// CHECK-LABEL: func.func private @tiles
func.func private @tiles(%x: !ub, %h: !ub16, %row: memref<1x8xf32, #npu.mem<ub>>) {
  // CHECK-NEXT: npu.vconv ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%h : memref<4x8xf16, #npu.mem<ub>>)
  npu.vconv ins(%x : !ub) outs(%h : !ub16)
  // CHECK-NEXT: npu.vbrc ins(%row : memref<1x8xf32, #npu.mem<ub>>) outs(%x : memref<4x8xf32, #npu.mem<ub>>)
  npu.vbrc ins(%row : memref<1x8xf32, #npu.mem<ub>>) outs(%x : !ub)
  // CHECK-NEXT: npu.vdup 2.500000e-01 : f32 outs(%x : memref<4x8xf32, #npu.mem<ub>>)
  npu.vdup 0.25 : f32 outs(%x : !ub)
  // CHECK-NEXT: npu.vadd ins(%x, %row : memref<4x8xf32, #npu.mem<ub>>, memref<1x8xf32, #npu.mem<ub>>) outs(%x : memref<4x8xf32, #npu.mem<ub>>)
  npu.vadd ins(%x, %row : !ub, memref<1x8xf32, #npu.mem<ub>>) outs(%x : !ub)
  func.return
}
