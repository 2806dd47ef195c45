// RUN: ge-opt %s | ge-opt | filecheck %s

builtin.module {
  // CHECK-LABEL: @values
  func.func private @values(%x: tensor<16x64xf16, #npu.mem<ub>>, %r: index, %m: index) {
    // CHECK: tile.assemble %x[%r, 0] valid [%m, 64] : tensor<16x64xf16, #npu.mem<ub>> to tensor<32x64xf16, #npu.mem<gm>>
    %a = tile.assemble %x[%r, 0] valid [%m, 64] : tensor<16x64xf16, #npu.mem<ub>> to tensor<32x64xf16, #npu.mem<gm>>
    // CHECK: tile.assemble %x[%r, 0] valid [32, 64] {slots = 2 : i64} : tensor<16x64xf16, #npu.mem<ub>> to tensor<32x64xf16, #npu.mem<l1>>
    %b = tile.assemble %x[%r, 0] valid [32, 64] {slots = 2 : i64} : tensor<16x64xf16, #npu.mem<ub>> to tensor<32x64xf16, #npu.mem<l1>>
    func.return
  }

  // CHECK-LABEL: @buffers
  func.func private @buffers(%x: memref<?x64xf16, strided<[64, 1]>, #npu.mem<ub>>, %y: memref<32x64xf16, #npu.mem<l1>>, %r: index) {
    // CHECK: tile.assemble %x[%r, 0] valid [32, 64] into %y : memref<?x64xf16, strided<[64, 1]>, #npu.mem<ub>> into memref<32x64xf16, #npu.mem<l1>>
    tile.assemble %x[%r, 0] valid [32, 64] into %y : memref<?x64xf16, strided<[64, 1]>, #npu.mem<ub>> into memref<32x64xf16, #npu.mem<l1>>
    func.return
  }

  // CHECK-LABEL: @instructions
  func.func private @instructions(%x: memref<?x64xf16, strided<[64, 1]>, #npu.mem<ub>>, %y: memref<?x64xf16, strided<[64, 1], offset: ?>, #npu.mem<l1>>) {
    // CHECK: npu.copy ins(%x : memref<?x64xf16, strided<[64, 1]>, #npu.mem<ub>>) outs(%y : memref<?x64xf16, strided<[64, 1], offset: ?>, #npu.mem<l1>>)
    npu.copy ins(%x : memref<?x64xf16, strided<[64, 1]>, #npu.mem<ub>>) outs(%y : memref<?x64xf16, strided<[64, 1], offset: ?>, #npu.mem<l1>>)
    func.return
  }
}
