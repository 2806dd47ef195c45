// Tests that ops which look across tiles, or move rows by their numbers, print and read back, as values and with destinations.
// RUN: ge-opt %s | ge-opt | filecheck %s
// RUN: ge-opt %s --mlir-print-op-generic | ge-opt | filecheck %s

!t = tensor<8x16xf32, #npu.mem<ub>>
!row = tensor<1x16xf32, #npu.mem<ub>>
!column = tensor<8x1xf32, #npu.mem<ub>>
!indices = tensor<8x1xi64, #npu.mem<ub>>

// CHECK-LABEL: func.func private @values
func.func private @values(%table: tensor<4x50x64xf32>, %out: tensor<4x50x64xf32>, %i: index, %m: index) {
  // CHECK-NEXT: %n = tile.iota [%i] steps [1, 0] valid [%m, 1] {slots = 2 : i64} to tensor<8x1xi64, #npu.mem<ub>>
  %n = tile.iota [%i] steps [1, 0] valid [%m, 1] {slots = 2 : i64} to !indices
  // CHECK-NEXT: %c = tile.iota [-7] steps [-100, 2] valid [8, 16] to tensor<8x16xf32, #npu.mem<ub>>
  %c = tile.iota [-7] steps [-100, 2] valid [8, 16] to !t
  // CHECK-NEXT: %x = tile.load_rows %table[%i, 16] rows %n valid [%m, 16] : tensor<4x50x64xf32>, tensor<8x1xi64, #npu.mem<ub>> to tensor<8x16xf32, #npu.mem<ub>>
  %x = tile.load_rows %table[%i, 16] rows %n valid [%m, 16] : tensor<4x50x64xf32>, !indices to !t
  // CHECK-NEXT: %s = tile.reduce <sum> %x along 1 : tensor<8x16xf32, #npu.mem<ub>> to tensor<8x1xf32, #npu.mem<ub>>
  %s = tile.reduce <sum> %x along 1 : !t to !column
  // CHECK-NEXT: %l = tile.reduce <min> %x along 0 : tensor<8x16xf32, #npu.mem<ub>> to tensor<1x16xf32, #npu.mem<ub>>
  %l = tile.reduce <min> %x along 0 : !t to !row
  // CHECK-NEXT: %y = tile.transpose %x : tensor<8x16xf32, #npu.mem<ub>> to tensor<16x8xf32, #npu.mem<ub>>
  %y = tile.transpose %x : !t to tensor<16x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: %g = tile.gt %x, %l : tensor<8x16xf32, #npu.mem<ub>>, tensor<1x16xf32, #npu.mem<ub>> -> tensor<8x16xi1, #npu.mem<ub>>
  %g = tile.gt %x, %l : !t, !row -> tensor<8x16xi1, #npu.mem<ub>>
  // CHECK-NEXT: %z = tile.select %g, %x, %s : tensor<8x16xi1, #npu.mem<ub>>, tensor<8x16xf32, #npu.mem<ub>>, tensor<8x1xf32, #npu.mem<ub>> -> tensor<8x16xf32, #npu.mem<ub>>
  %z = tile.select %g, %x, %s : tensor<8x16xi1, #npu.mem<ub>>, !t, !column -> !t
  // CHECK-NEXT: tile.store_rows %z rows %n into %out[0, %i] : tensor<8x16xf32, #npu.mem<ub>>, tensor<8x1xi64, #npu.mem<ub>> into tensor<4x50x64xf32>
  tile.store_rows %z rows %n into %out[0, %i] : !t, !indices into tensor<4x50x64xf32>
  func.return
}

!b = memref<?x16xf32, strided<[16, 1]>, #npu.mem<ub>>
!n = memref<?x1xi64, strided<[1, 1]>, #npu.mem<ub>>

// CHECK-LABEL: func.func private @buffers
func.func private @buffers(%table: memref<50x64xf32>, %n: !n, %x: !b, %s: memref<1x16xf32, #npu.mem<ub>>, %y: memref<16x?xf32, #npu.mem<ub>>, %m: index) {
  // CHECK-NEXT: tile.iota [%m] steps [1, 0] valid [%m, 1] into %n into memref<?x1xi64, strided<[1, 1]>, #npu.mem<ub>>
  tile.iota [%m] steps [1, 0] valid [%m, 1] into %n into !n
  // CHECK-NEXT: tile.load_rows %table[0] rows %n valid [%m, 16] into %x : memref<50x64xf32>, memref<?x1xi64, strided<[1, 1]>, #npu.mem<ub>> into memref<?x16xf32, strided<[16, 1]>, #npu.mem<ub>>
  tile.load_rows %table[0] rows %n valid [%m, 16] into %x : memref<50x64xf32>, !n into !b
  // CHECK-NEXT: tile.reduce <max> %x along 0 into %s : memref<?x16xf32, strided<[16, 1]>, #npu.mem<ub>> into memref<1x16xf32, #npu.mem<ub>>
  tile.reduce <max> %x along 0 into %s : !b into memref<1x16xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.transpose %x into %y : memref<?x16xf32, strided<[16, 1]>, #npu.mem<ub>> into memref<16x?xf32, #npu.mem<ub>>
  tile.transpose %x into %y : !b into memref<16x?xf32, #npu.mem<ub>>
  // CHECK-NEXT: tile.store_rows %x rows %n into %table[%m] : memref<?x16xf32, strided<[16, 1]>, #npu.mem<ub>>, memref<?x1xi64, strided<[1, 1]>, #npu.mem<ub>> into memref<50x64xf32>
  tile.store_rows %x rows %n into %table[%m] : !b, !n into memref<50x64xf32>
  func.return
}
