// Tests that ops across tiles become instructions; a table is cut to the columns that are moved, with all its rows.
// RUN: ge-opt %s --target Ascend910A -p convert-buf-to-npu | filecheck %s

!t = memref<8x16xf32, #npu.mem<ub>>
!tv = memref<?x16xf32, strided<[16, 1]>, #npu.mem<ub>>
!n = memref<8x1xi32, #npu.mem<ub>>
!nv = memref<?x1xi32, strided<[1, 1]>, #npu.mem<ub>>

// CHECK-LABEL: func.func private @across
func.func private @across(%table: memref<4x50x64xf32>, %whole: memref<50x16xf32>, %i: index, %m: index) {
  %n = buf.at "n" [0] : !n
  %nv = memref.subview %n[0, 0] [%m, 1] [1, 1] : !n to !nv
  %x = buf.at "x" [1024] : !t
  %xv = memref.subview %x[0, 0] [%m, 16] [1, 1] : !t to !tv
  %s = buf.at "s" [2048] : memref<8x1xf32, #npu.mem<ub>>
  %y = buf.at "y" [4096] : memref<16x8xf32, #npu.mem<ub>>
  // CHECK: npu.viota [%i] steps [1, 0] outs(%nv :
  tile.iota [%i] steps [1, 0] valid [%m, 1] into %nv into !nv
  // CHECK-NEXT: [[T:%.*]] = memref.subview %table[%i, 0, 32] [1, 50, 16] [1, 1, 1] : memref<4x50x64xf32> to memref<50x16xf32, strided<[64, 1], offset: ?>>
  // CHECK-NEXT: npu.load_rows ins([[T]], %nv : memref<50x16xf32, strided<[64, 1], offset: ?>>, memref<?x1xi32, strided<[1, 1]>, #npu.mem<ub>>) outs(%xv :
  tile.load_rows %table[%i, 32] rows %nv valid [%m, 16] into %xv : memref<4x50x64xf32>, !nv into !tv
  // CHECK-NEXT: npu.load_rows ins(%whole, %n : memref<50x16xf32>, memref<8x1xi32, #npu.mem<ub>>) outs(%x :
  tile.load_rows %whole[0] rows %n valid [8, 16] into %x : memref<50x16xf32>, !n into !t
  // CHECK-NEXT: npu.vreduce <sum> ins(%x : memref<8x16xf32, #npu.mem<ub>>) outs(%s : memref<8x1xf32, #npu.mem<ub>>) along 1
  tile.reduce <sum> %x along 1 into %s : !t into memref<8x1xf32, #npu.mem<ub>>
  // CHECK-NEXT: npu.vtranspose ins(%x : memref<8x16xf32, #npu.mem<ub>>) outs(%y : memref<16x8xf32, #npu.mem<ub>>)
  tile.transpose %x into %y : !t into memref<16x8xf32, #npu.mem<ub>>
  // CHECK-NEXT: [[O:%.*]] = memref.subview %table[0, 0, %i] [1, 50, 16] [1, 1, 1] : memref<4x50x64xf32> to memref<50x16xf32, strided<[64, 1], offset: ?>>
  // CHECK-NEXT: npu.store_rows ins(%xv, %nv : {{.*}}) outs([[O]] : memref<50x16xf32, strided<[64, 1], offset: ?>>)
  tile.store_rows %xv rows %nv into %table[0, %i] : !tv, !nv into memref<4x50x64xf32>
  func.return
}
