// RUN: ge-opt %s --target Ascend910A -p convert-buf-to-npu --split-input-file --verify-diagnostics

func.func private @path(%x: memref<4x8xf32, #npu.mem<l0c>>, %y: memref<4x8xf32, #npu.mem<l1>>) {
  // expected-error@+1 {{'tile.move' op moves l0c→l1, but Ascend910A has no such path; its paths are gm→l1, gm→ub, l1→l0a, l1→l0b, l0c→ub, ub→gm}}
  tile.move %x[0, 0] valid [4, 8] into %y : memref<4x8xf32, #npu.mem<l0c>> into memref<4x8xf32, #npu.mem<l1>>
  func.return
}

// -----

func.func private @layout(%x: memref<4x8xf32>, %y: memref<4x8xf32, #npu.mem<ub, nz>>) {
  // expected-error@+1 {{'tile.load' op moves to ub in layout nz, but Ascend910A moves it as nd}}
  tile.load %x[0, 0] valid [4, 8] into %y : memref<4x8xf32> into memref<4x8xf32, #npu.mem<ub, nz>>
  func.return
}

// -----

func.func private @tensor(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'tile.load' op makes a tensor; run bufferize-tile before convert-buf-to-npu}}
  %t = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf32> to tensor<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @function(%x: memref<4x8xf32, #npu.mem<ub>>) {
  // expected-error@+1 {{'tile.erf' op has no vector instruction; run expand-math before bufferize-tile}}
  tile.erf %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @transpose(%x: memref<8x4xf32, #npu.mem<l0c>>, %y: memref<4x8xf32, #npu.mem<ub>>) {
  // expected-error@+1 {{'tile.move' op transposes on the way from l0c; only moves to l0a and l0b can}}
  tile.move %x[0, 0] valid [4, 8] into %y {transpose} : memref<8x4xf32, #npu.mem<l0c>> into memref<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @extents(%x: memref<?x8xf32, #npu.mem<ub>>, %y: memref<4x8xf32>) {
  // expected-error@+1 {{'tile.store' op cannot tell the extents of memref<?x8xf32, #npu.mem<ub>>; cut it to size with memref.subview}}
  tile.store %x into %y[0, 0] : memref<?x8xf32, #npu.mem<ub>> into memref<4x8xf32>
  func.return
}
