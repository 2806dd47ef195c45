// RUN: ge-opt %s --split-input-file --verify-diagnostics

func.func private @space(%x: tensor<16x64xf16, #npu.mem<ub>>) {
  // expected-error @+1 {{the tile must be in gm or l1}}
  %a = tile.assemble %x[0, 0] valid [16, 64] : tensor<16x64xf16, #npu.mem<ub>> to tensor<16x64xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @element(%x: tensor<16x64xf16, #npu.mem<ub>>) {
  // expected-error @+1 {{moves elements unchanged}}
  %a = tile.assemble %x[0, 0] valid [16, 64] : tensor<16x64xf16, #npu.mem<ub>> to tensor<16x64xf32, #npu.mem<l1>>
  func.return
}

// -----

func.func private @room(%x: tensor<16x64xf16, #npu.mem<ub>>) {
  // expected-error @+1 {{valid extents [33, 64] exceed the tile 32x64}}
  %a = tile.assemble %x[0, 0] valid [33, 64] : tensor<16x64xf16, #npu.mem<ub>> to tensor<32x64xf16, #npu.mem<l1>>
  func.return
}

// -----

func.func private @inside(%x: tensor<16x64xf16, #npu.mem<ub>>) {
  // expected-error @+1 {{reaches from 48 to 48 in dimension 0 of the tile}}
  %a = tile.assemble %x[48, 0] valid [32, 64] : tensor<16x64xf16, #npu.mem<ub>> to tensor<32x64xf16, #npu.mem<l1>>
  func.return
}

// -----

func.func private @copy(%x: memref<16x64xf16, #npu.mem<ub>>, %y: memref<16x64xf16>) {
  // expected-error @+1 {{the destination must be in l1}}
  npu.copy ins(%x : memref<16x64xf16, #npu.mem<ub>>) outs(%y : memref<16x64xf16>)
  func.return
}
