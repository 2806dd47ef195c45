// Tests that vector instructions across tiles, and those that move rows by their numbers, print and read back.
// RUN: ge-opt %s | ge-opt | filecheck %s
// RUN: ge-opt %s --mlir-print-op-generic | ge-opt | filecheck %s

!t = memref<8x16xf32, #npu.mem<ub>>
!column = memref<8x1xf32, #npu.mem<ub>>
!n = memref<8x1xi32, #npu.mem<ub>>
!table = memref<50x16xf32, strided<[64, 1], offset: ?>>

// CHECK-LABEL: func.func private @across
func.func private @across(%x: !t, %y: memref<16x8xf32, #npu.mem<ub>>, %s: !column, %n: !n, %g: memref<8x16xi1, #npu.mem<ub>>, %table: !table, %i: index) {
  // CHECK-NEXT: npu.vreduce <sum> ins(%x : memref<8x16xf32, #npu.mem<ub>>) outs(%s : memref<8x1xf32, #npu.mem<ub>>) along 1
  npu.vreduce <sum> ins(%x : !t) outs(%s : !column) along 1
  // CHECK-NEXT: npu.viota [%i] steps [1, 0] outs(%n : memref<8x1xi32, #npu.mem<ub>>)
  npu.viota [%i] steps [1, 0] outs(%n : !n)
  // CHECK-NEXT: npu.viota [-3] steps [0, -1] outs(%x : memref<8x16xf32, #npu.mem<ub>>)
  npu.viota [-3] steps [0, -1] outs(%x : !t)
  // CHECK-NEXT: npu.vtranspose ins(%x : memref<8x16xf32, #npu.mem<ub>>) outs(%y : memref<16x8xf32, #npu.mem<ub>>)
  npu.vtranspose ins(%x : !t) outs(%y : memref<16x8xf32, #npu.mem<ub>>)
  // CHECK-NEXT: npu.vle ins(%x, %s : memref<8x16xf32, #npu.mem<ub>>, memref<8x1xf32, #npu.mem<ub>>) outs(%g : memref<8x16xi1, #npu.mem<ub>>)
  npu.vle ins(%x, %s : !t, !column) outs(%g : memref<8x16xi1, #npu.mem<ub>>)
  // CHECK-NEXT: npu.vselect ins(%g, %x, %s : memref<8x16xi1, #npu.mem<ub>>, memref<8x16xf32, #npu.mem<ub>>, memref<8x1xf32, #npu.mem<ub>>) outs(%x : memref<8x16xf32, #npu.mem<ub>>)
  npu.vselect ins(%g, %x, %s : memref<8x16xi1, #npu.mem<ub>>, !t, !column) outs(%x : !t)
  // CHECK-NEXT: npu.load_rows ins(%table, %n : memref<50x16xf32, strided<[64, 1], offset: ?>>, memref<8x1xi32, #npu.mem<ub>>) outs(%x : memref<8x16xf32, #npu.mem<ub>>)
  npu.load_rows ins(%table, %n : !table, !n) outs(%x : !t)
  // CHECK-NEXT: npu.store_rows ins(%x, %n : memref<8x16xf32, #npu.mem<ub>>, memref<8x1xi32, #npu.mem<ub>>) outs(%table : memref<50x16xf32, strided<[64, 1], offset: ?>>)
  npu.store_rows ins(%x, %n : !t, !n) outs(%table : !table)
  func.return
}
