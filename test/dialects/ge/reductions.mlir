// Tests that reductions, softmax and norms print, and read back to the same text.
// RUN: ge-opt %s | ge-opt | filecheck %s
// RUN: ge-opt %s --mlir-print-op-generic | ge-opt | filecheck %s

// Reductions.
// CHECK-LABEL: func.func @reductions_0
func.func @reductions_0(%x: tensor<4x8xf32>, %c: tensor<4x8xi1>) {
  // CHECK-NEXT: %sum = ge.ReduceSumD %x {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  %sum = ge.ReduceSumD %x {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %kept = ge.ReduceMeanD %x {axes = array<i64: -2>, keep_dims} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %kept = ge.ReduceMeanD %x {axes = array<i64: -2>, keep_dims} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  // CHECK-NEXT: %max = ge.ReduceMaxD %x {axes = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<f32>
  %max = ge.ReduceMaxD %x {axes = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<f32>
  // CHECK-NEXT: %all = ge.ReduceMinD %c {axes = array<i64: 0>} : (tensor<4x8xi1>) -> tensor<8xi1>
  %all = ge.ReduceMinD %c {axes = array<i64: 0>} : (tensor<4x8xi1>) -> tensor<8xi1>
  // CHECK-NEXT: %product = ge.ReduceProdD %x {axes = array<i64>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %product = ge.ReduceProdD %x {axes = array<i64>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// Softmax and norms.
// CHECK-LABEL: func.func @reductions_1
func.func @reductions_1(%x: tensor<4x8xf32>, %g: tensor<8xf16>, %h: tensor<4x8xf32>) {
  // CHECK-NEXT: %softmax = ge.SoftmaxV2 %x {axes = array<i64: -1>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %softmax = ge.SoftmaxV2 %x {axes = array<i64: -1>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %log = ge.LogSoftmaxV2 %x {axes = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %log = ge.LogSoftmaxV2 %x {axes = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %plain = ge.LayerNormV4 %x {normalized_dims = 2 : i64, epsilon = 1.000000e-05 : f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %plain = ge.LayerNormV4 %x {normalized_dims = 2 : i64, epsilon = 1.000000e-05 : f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %scaled = ge.LayerNormV4 %x, %g {normalized_dims = 1 : i64, epsilon = 1.000000e-05 : f32} : (tensor<4x8xf32>, tensor<8xf16>) -> tensor<4x8xf32>
  %scaled = ge.LayerNormV4 %x, %g {normalized_dims = 1 : i64, epsilon = 1.000000e-05 : f32} : (tensor<4x8xf32>, tensor<8xf16>) -> tensor<4x8xf32>
  // CHECK-NEXT: %layer = ge.LayerNormV4 %x, %h, %h {normalized_dims = 2 : i64, epsilon = 1.000000e-05 : f32} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %layer = ge.LayerNormV4 %x, %h, %h {normalized_dims = 2 : i64, epsilon = 1.000000e-05 : f32} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %rms = ge.RmsNorm %x, %g {normalized_dims = 1 : i64, epsilon = 1.000000e-06 : f32} : (tensor<4x8xf32>, tensor<8xf16>) -> tensor<4x8xf32>
  %rms = ge.RmsNorm %x, %g {normalized_dims = 1 : i64, epsilon = 1.000000e-06 : f32} : (tensor<4x8xf32>, tensor<8xf16>) -> tensor<4x8xf32>
  // CHECK-NEXT: %bare = ge.RmsNorm %x {normalized_dims = 1 : i64, epsilon = 1.000000e-05 : f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %bare = ge.RmsNorm %x {normalized_dims = 1 : i64, epsilon = 1.000000e-05 : f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}
