// RUN: ge-opt %s --target Ascend910A -p verify-stage{stage=npu} --split-input-file --verify-diagnostics

!t = memref<4x8xf32, #npu.mem<ub>>

func.func private @k(%x: memref<4x8xf32>, %out: memref<4x8xf32>) {
  %a = buf.at "a" [0] : !t
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  npu.pipe_barrier <all>
  npu.store ins(%a : !t) outs(%out : memref<4x8xf32>)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

func.func private @k() {
  %a = buf.at "a" [0] : !t
  // expected-error@+1 {{'tile.exp' op has no place in a kernel at stage npu; run convert-buf-to-npu}}
  tile.exp %a into %a : !t into !t
  func.return
}

// -----

func.func private @k() {
  %a = buf.at "a" [0] : memref<16x16xf32, #npu.mem<l0a>>
  %b = buf.at "b" [0] : memref<16x16xf32, #npu.mem<l0b>>
  %c = buf.at "c" [0] : memref<16x16xf32, #npu.mem<l0c>>
  %t = arith.constant true
  // expected-error@+1 {{'npu.mmad' op f32 is not a cube dtype of Ascend910A (f16, i8)}}
  npu.mmad ins(%a, %b : memref<16x16xf32, #npu.mem<l0a>>, memref<16x16xf32, #npu.mem<l0b>>) outs(%c : memref<16x16xf32, #npu.mem<l0c>>) init %t
  func.return
}

// -----

func.func private @k(%x: memref<4x8xbf16>) {
  %a = buf.at "a" [0] : memref<4x8xbf16, #npu.mem<ub>>
  npu.load <nd> ins(%x : memref<4x8xbf16>) outs(%a : memref<4x8xbf16, #npu.mem<ub>>)
  // expected-error@+1 {{'npu.vdup' op bf16 is not a vector dtype of Ascend910A (f16, f32, i64, i32, i16, i8, i1)}}
  npu.vdup 0.0 : bf16 outs(%a : memref<4x8xbf16, #npu.mem<ub>>)
  func.return
}
