// Tests that what looks up and replaces by index, and attention print, and read back to the same text.
// RUN: ge-opt %s | ge-opt | filecheck %s
// RUN: ge-opt %s --mlir-print-op-generic | ge-opt | filecheck %s

// Indices.
// CHECK-LABEL: func.func @indexing_0
func.func @indexing_0(%x: tensor<4x8xf32>, %i: tensor<3xi64>, %j: tensor<4x2xi32>, %u: tensor<4x3xf32>, %v: tensor<4x2xf32>) {
  // CHECK-NEXT: %gather = ge.GatherV2 %x, %i {axis = 1 : i64} : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  %gather = ge.GatherV2 %x, %i {axis = 1 : i64} : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  // CHECK-NEXT: %rows = ge.GatherV2 %x, %j {axis = 0 : i64} : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4x2x8xf32>
  %rows = ge.GatherV2 %x, %j {axis = 0 : i64} : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4x2x8xf32>
  // CHECK-NEXT: %scatter = ge.ScatterUpdate %x, %i, %u {axis = -1 : i64} : (tensor<4x8xf32>, tensor<3xi64>, tensor<4x3xf32>) -> tensor<4x8xf32>
  %scatter = ge.ScatterUpdate %x, %i, %u {axis = -1 : i64} : (tensor<4x8xf32>, tensor<3xi64>, tensor<4x3xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %elements = ge.GatherElements %x, %j {dim = 1 : i64} : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4x2xf32>
  %elements = ge.GatherElements %x, %j {dim = 1 : i64} : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4x2xf32>
  // CHECK-NEXT: %put = ge.ScatterElements %x, %j, %v {axis = 1 : i64} : (tensor<4x8xf32>, tensor<4x2xi32>, tensor<4x2xf32>) -> tensor<4x8xf32>
  %put = ge.ScatterElements %x, %j, %v {axis = 1 : i64} : (tensor<4x8xf32>, tensor<4x2xi32>, tensor<4x2xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %added = ge.ScatterElements %x, %j, %v {axis = 1 : i64, reduction = "add"} : (tensor<4x8xf32>, tensor<4x2xi32>, tensor<4x2xf32>) -> tensor<4x8xf32>
  %added = ge.ScatterElements %x, %j, %v {axis = 1 : i64, reduction = "add"} : (tensor<4x8xf32>, tensor<4x2xi32>, tensor<4x2xf32>) -> tensor<4x8xf32>
  func.return
}

// Attention: heads may be grouped, masks are booleans or floats.
// CHECK-LABEL: func.func @indexing_1
func.func @indexing_1(%q: tensor<2x6x5x8xf16>, %k: tensor<2x3x7x8xf16>, %m: tensor<5x7xi1>, %f: tensor<2x1x1x7xf32>) {
  // CHECK-NEXT: %plain = ge.FlashAttentionScore %q, %k, %k {scale_value = 5.000000e-01 : f32} : (tensor<2x6x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x8xf16>) -> tensor<2x6x5x8xf16>
  %plain = ge.FlashAttentionScore %q, %k, %k {scale_value = 5.000000e-01 : f32} : (tensor<2x6x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x8xf16>) -> tensor<2x6x5x8xf16>
  // CHECK-NEXT: %causal = ge.FlashAttentionScore %q, %k, %k {scale_value = 5.000000e-01 : f32, is_causal} : (tensor<2x6x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x8xf16>) -> tensor<2x6x5x8xf16>
  %causal = ge.FlashAttentionScore %q, %k, %k {scale_value = 5.000000e-01 : f32, is_causal} : (tensor<2x6x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x8xf16>) -> tensor<2x6x5x8xf16>
  // CHECK-NEXT: %masked = ge.FlashAttentionScore %q, %k, %k, %m {scale_value = 5.000000e-01 : f32} : (tensor<2x6x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x8xf16>, tensor<5x7xi1>) -> tensor<2x6x5x8xf16>
  %masked = ge.FlashAttentionScore %q, %k, %k, %m {scale_value = 5.000000e-01 : f32} : (tensor<2x6x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x8xf16>, tensor<5x7xi1>) -> tensor<2x6x5x8xf16>
  // CHECK-NEXT: %added = ge.FlashAttentionScore %q, %k, %k, %f {scale_value = 5.000000e-01 : f32} : (tensor<2x6x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x8xf16>, tensor<2x1x1x7xf32>) -> tensor<2x6x5x8xf16>
  %added = ge.FlashAttentionScore %q, %k, %k, %f {scale_value = 5.000000e-01 : f32} : (tensor<2x6x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x8xf16>, tensor<2x1x1x7xf32>) -> tensor<2x6x5x8xf16>
  func.return
}
