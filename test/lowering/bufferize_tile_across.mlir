// Tests the valid extents of tiles that are reduced, transposed, numbered and gathered.
// RUN: ge-opt %s -p bufferize-tile | filecheck %s

!t = tensor<8x16xf32, #npu.mem<ub>>
!n = tensor<8x1xi64, #npu.mem<ub>>

// CHECK-LABEL: func.func private @across(%table: memref<50x64xf32>, %out: memref<50x64xf32>, %m: index, %n: index)
func.func private @across(%table: tensor<50x64xf32>, %out: tensor<50x64xf32>, %m: index, %n: index) {
  // CHECK: [[I:%.*]] = memref.subview %i[0, 0] [%m, 1] [1, 1]
  // CHECK-NEXT: tile.iota [%n] steps [1, 0] valid [%m, 1] into [[I]]
  %i = tile.iota [%n] steps [1, 0] valid [%m, 1] to !n
  // CHECK: [[X:%.*]] = memref.subview %x[0, 0] [%m, %n] [1, 1]
  // CHECK-NEXT: tile.load_rows %table[0] rows [[I]] valid [%m, %n] into [[X]]
  %x = tile.load_rows %table[0] rows %i valid [%m, %n] : tensor<50x64xf32>, !n to !t
  // CHECK: [[S:%.*]] = memref.subview %s[0, 0] [%m, 1] [1, 1]
  // CHECK-NEXT: tile.reduce <sum> [[X]] along 1 into [[S]]
  %s = tile.reduce <sum> %x along 1 : !t to tensor<8x1xf32, #npu.mem<ub>>
  // CHECK: [[L:%.*]] = memref.subview %l[0, 0] [1, %n] [1, 1]
  // CHECK-NEXT: tile.reduce <max> [[X]] along 0 into [[L]]
  %l = tile.reduce <max> %x along 0 : !t to tensor<1x16xf32, #npu.mem<ub>>
  // CHECK: [[Y:%.*]] = memref.subview %y[0, 0] [%n, %m] [1, 1]
  // CHECK-NEXT: tile.transpose [[X]] into [[Y]]
  %y = tile.transpose %x : !t to tensor<16x8xf32, #npu.mem<ub>>
  // CHECK: [[G:%.*]] = memref.subview %g[0, 0] [%m, %n] [1, 1] : memref<8x16xi1, #npu.mem<ub>>
  // CHECK-NEXT: tile.gt [[X]], [[L]] into [[G]]
  %g = tile.gt %x, %l : !t, tensor<1x16xf32, #npu.mem<ub>> -> tensor<8x16xi1, #npu.mem<ub>>
  // CHECK: [[Z:%.*]] = memref.subview %z[0, 0] [%m, %n] [1, 1]
  // CHECK-NEXT: tile.select [[G]], [[X]], [[S]] into [[Z]]
  %z = tile.select %g, %x, %s : tensor<8x16xi1, #npu.mem<ub>>, !t, tensor<8x1xf32, #npu.mem<ub>> -> !t
  // CHECK: tile.store_rows [[Z]] rows [[I]] into %out[0] :
  tile.store_rows %z rows %i into %out[0] : !t, !n into tensor<50x64xf32>
  func.return
}
