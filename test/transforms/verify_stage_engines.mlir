// RUN: ge-opt %s -p verify-stage{stage=buf} --split-input-file --verify-diagnostics

// A kernel for the AI CPU keeps its operators and tensors; its launch has the addresses.

func.func private @Softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = ge.Exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
func.func @main(%x: memref<4x8xf32>, %out0: memref<4x8xf32>) attributes {results = 1 : i64} {
  fused.launch @Softmax(%x) into (%out0) on aicpu {ops = ["Softmax"], op_name = "s"} : (memref<4x8xf32>) into (memref<4x8xf32>)
  func.return
}

// -----

func.func private @k(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = ge.Exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error@+1 {{'fused.exp' op has no place beside operators in a kernel at stage buf}}
  %z = fused.exp %y : tensor<4x8xf32>
  func.return %z : tensor<4x8xf32>
}

// -----

func.func private @k(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %w = ge.Const dense<1.0> : tensor<4x8xf32> -> memref<4x8xf32>
  // expected-error@-1 {{'ge.Const' op uses memref<4x8xf32>, but values are tensors in a kernel of operators}}
  func.return %x : tensor<4x8xf32>
}

// -----

func.func private @k(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = ge.Exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
func.func @main(%x: memref<4x8xf32>, %out0: memref<4x8xf32>) attributes {results = 1 : i64} {
  // expected-error@+1 {{'fused.launch' op @k is a kernel for aicpu, but is launched on aicore}}
  fused.launch @k(%x) into (%out0) on aicore {ops = ["Exp"], op_name = "e"} : (memref<4x8xf32>) into (memref<4x8xf32>)
  func.return
}

// -----

func.func private @k(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = ge.Exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
func.func @main(%x: memref<4x4xf32>, %out0: memref<4x4xf32>) attributes {results = 1 : i64} {
  // expected-error@+1 {{'fused.launch' op @k takes (tensor<4x8xf32>) -> (tensor<4x8xf32>), got (tensor<4x4xf32>) into (tensor<4x4xf32>)}}
  fused.launch @k(%x) into (%out0) on aicpu {ops = ["Exp"], op_name = "e"} : (memref<4x4xf32>) into (memref<4x4xf32>)
  func.return
}
