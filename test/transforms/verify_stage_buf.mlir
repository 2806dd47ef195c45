// RUN: ge-opt %s --target Ascend910A -p verify-stage{stage=buf} --split-input-file --verify-diagnostics

!t = memref<4x8xf32, #npu.mem<ub>>

func.func private @k(%x: memref<4x8xf32>, %out: memref<4x8xf32>) {
  %a = buf.at "a" [32] : !t
  tile.load %x[0, 0] valid [4, 8] into %a : memref<4x8xf32> into !t
  tile.store %a into %out[0, 0] : !t into memref<4x8xf32>
  func.return
}
func.func @main(%x: memref<4x8xf32>, %out0: memref<4x8xf32>) attributes {results = 1 : i64} {
  fused.launch @k(%x) into (%out0) on aicore {ops = ["Relu"], op_name = "relu"} : (memref<4x8xf32>) into (memref<4x8xf32>)
  func.return
}

// -----

func.func private @k() {
  // expected-error@+1 {{'buf.alloc' op has no place in a kernel at stage buf; run bufferize-tile and plan-memory}}
  %a = buf.alloc "a" : memref<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @k() {
  // expected-error@+1 {{'buf.at' op offset 16 is no multiple of 32, as ub of Ascend910A requires}}
  %a = buf.at "a" [16] : memref<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

// expected-error@+1 {{'func.func' op uses tensor<4x8xf32>, but values are memrefs at stage buf}}
func.func private @k(%x: tensor<4x8xf32>) {
  func.return
}

// -----

func.func private @k(%x: memref<4x8xf32>) {
  %a = buf.at "a" [0] : memref<4x8xf32, #npu.mem<ub>>
  // expected-error@+1 {{'npu.load' op has no place in a kernel at stage buf}}
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : memref<4x8xf32, #npu.mem<ub>>)
  func.return
}
