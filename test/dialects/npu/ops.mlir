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
