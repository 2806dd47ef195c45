// RUN: ge-opt %s --target Ascend910A -p convert-buf-to-npu | filecheck %s
// RUN: ge-opt %s --target Ascend910A -p convert-buf-to-npu,canonicalize,cse | ge-opt -p convert-buf-to-npu | filecheck %s --check-prefix=KEPT
// RUN: ge-opt %s --target Ascend910A -p convert-buf-to-npu --mlir-print-debuginfo | filecheck %s --check-prefix=LOC

!l1 = memref<32x64xf16, #npu.mem<l1>>
!l1v = memref<?x?xf16, strided<[64, 1]>, #npu.mem<l1>>
!l0a = memref<32x32xf16, #npu.mem<l0a>>
!l0av = memref<?x?xf16, strided<[32, 1]>, #npu.mem<l0a>>
!l0b = memref<32x16xf16, #npu.mem<l0b>>
!l0c = memref<32x16xf32, #npu.mem<l0c>>
!ub = memref<32x16xf32, #npu.mem<ub>>
!ubv = memref<?x16xf32, strided<[16, 1]>, #npu.mem<ub>>
!row = memref<1x16xf32, #npu.mem<ub>>
!half = memref<32x16xf16, #npu.mem<ub>>

// CHECK-LABEL: func.func private @moves
// KEPT-LABEL: func.func private @moves
func.func private @moves(%x: memref<3x50x70xf16>, %out: memref<3x50x16xf32>, %b: index, %i: index, %k: index, %m: index, %kk: index, %t: i1) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a1 = buf.at "a1" [0] : !l1
  %a1v = memref.subview %a1[0, 0] [%m, %kk] [1, 1] : !l1 to !l1v
  // A batch is a point: the part that is read has rows and columns only.
  // CHECK: [[X:%.*]] = memref.subview %x[%b, %i, %k] [1, %m, %kk] [1, 1, 1] : memref<3x50x70xf16> to memref<?x?xf16, strided<[70, 1], offset: ?>>
  // CHECK-NEXT: npu.load <nd2nz> ins([[X]] : memref<?x?xf16, strided<[70, 1], offset: ?>>) outs(%a1v : memref<?x?xf16, strided<[64, 1]>, #npu.mem<l1>>)
  // LOC: memref.subview %x{{.*}} loc("a.py":1:1)
  // LOC-NEXT: npu.load {{.*}} loc("a.py":1:1)
  tile.load %x[%b, %i, %k] valid [%m, %kk] into %a1v : memref<3x50x70xf16> into !l1v loc("a.py":1:1)
  // CHECK: scf.for %q
  // KEPT: scf.for %q
  scf.for %q = %c0 to %kk step %c64 {
    %a0 = buf.at "a0" [0] : !l0a
    %a0v = memref.subview %a0[0, 0] [%m, %kk] [1, 1] : !l0a to !l0av
    // CHECK: [[A:%.*]] = memref.subview %a1v[0, %q] [%m, %kk] [1, 1] : memref<?x?xf16, strided<[64, 1]>, #npu.mem<l1>> to memref<?x?xf16, strided<[64, 1], offset: ?>, #npu.mem<l1>>
    // CHECK-NEXT: npu.load2d ins([[A]] : {{.*}}) outs(%a0v : {{[^)]*}})
    tile.move %a1v[0, %q] valid [%m, %kk] into %a0v : !l1v into !l0av
    %b0 = buf.at "b0" [0] : !l0b
    // A transposing move reads columns as rows.
    // CHECK: [[B:%.*]] = memref.subview %a1[0, %q] [16, 32] [1, 1] : memref<32x64xf16, #npu.mem<l1>> to memref<16x32xf16, strided<[64, 1], offset: ?>, #npu.mem<l1>>
    // CHECK-NEXT: npu.load2d ins([[B]] : {{.*}}) outs(%b0 : {{.*}}) {transpose}
    tile.move %a1[0, %q] valid [32, 16] into %b0 {transpose} : !l1 into !l0b
    %acc = buf.at "acc" [0] : !l0c
    %a_whole = memref.subview %a0[0, 0] [32, 32] [1, 1] : !l0a to memref<32x32xf16, strided<[32, 1]>, #npu.mem<l0a>>
    // CHECK: npu.mmad ins({{%.*}}, %b0 : {{.*}}) outs(%acc : memref<32x16xf32, #npu.mem<l0c>>) init %t
    // KEPT: npu.mmad
    tile.mmad %a_whole, %b0, %acc init %t : memref<32x32xf16, strided<[32, 1]>, #npu.mem<l0a>>, !l0b, !l0c
    %u = buf.at "u" [0] : !ub
    // The whole of a buffer needs no view.
    // CHECK: npu.fixpipe ins(%acc : memref<32x16xf32, #npu.mem<l0c>>) outs(%u : memref<32x16xf32, #npu.mem<ub>>)
    // KEPT: npu.fixpipe
    tile.move %acc[0, 0] valid [32, 16] into %u : !l0c into !ub
    %uv = memref.subview %u[0, 0] [%m, 16] [1, 1] : !ub to !ubv
    // CHECK: [[OUT:%.*]] = memref.subview %out[%b, %i, 0] [1, %m, 16] [1, 1, 1] : memref<3x50x16xf32> to memref<?x16xf32, strided<[16, 1], offset: ?>>
    // CHECK-NEXT: npu.store ins(%uv : {{.*}}) outs([[OUT]] : memref<?x16xf32, strided<[16, 1], offset: ?>>)
    // KEPT: npu.store
    tile.store %uv into %out[%b, %i, 0] : !ubv into memref<3x50x16xf32>
  }
  func.return
}

// CHECK-LABEL: func.func private @vector
// KEPT-LABEL: func.func private @vector
func.func private @vector(%x: memref<1x16xf32>, %y: memref<32x16xf32>) {
  %r = buf.at "r" [0] : !row
  %a = buf.at "a" [1024] : !ub
  %h = buf.at "h" [4096] : !half
  // What lies in one piece is read as it is.
  // CHECK: npu.load <nd> ins(%x : memref<1x16xf32>) outs(%r : memref<1x16xf32, #npu.mem<ub>>)
  tile.load %x[0, 0] valid [1, 16] into %r : memref<1x16xf32> into !row
  // CHECK-NEXT: npu.vbrc ins(%r : memref<1x16xf32, #npu.mem<ub>>) outs(%a : memref<32x16xf32, #npu.mem<ub>>)
  tile.broadcast %r valid [32, 16] into %a : !row into !ub
  // CHECK-NEXT: npu.vadd ins(%a, %r : memref<32x16xf32, #npu.mem<ub>>, memref<1x16xf32, #npu.mem<ub>>) outs(%a : memref<32x16xf32, #npu.mem<ub>>)
  tile.add %a, %r into %a : !ub, !row into !ub
  // CHECK-NEXT: npu.vmaxs ins(%a : memref<32x16xf32, #npu.mem<ub>>) outs(%a : memref<32x16xf32, #npu.mem<ub>>) {scalar = 5.000000e-01 : f32}
  tile.maxs %a into %a {scalar = 0.5 : f32} : !ub into !ub
  // CHECK-NEXT: npu.vdup 1.000000e+00 : f32 outs(%a : memref<32x16xf32, #npu.mem<ub>>)
  // KEPT: npu.vdup
  tile.full 1.0 : f32 valid [32, 16] into %a into !ub
  // CHECK-NEXT: npu.vconv ins(%a : memref<32x16xf32, #npu.mem<ub>>) outs(%h : memref<32x16xf16, #npu.mem<ub>>)
  // KEPT: npu.vconv
  tile.cast %a into %h : !ub into !half
  func.return
}
