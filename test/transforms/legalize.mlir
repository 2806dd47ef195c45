// Tests that operators which the target can compute stay as they are, and that f32 matmuls are computed in f16 where that is allowed.
// RUN: ge-opt %s -p 'legalize{precision-mode=allow_fp32_to_fp16}' --target Ascend910A | filecheck %s
// RUN: ge-opt %s -p 'legalize{precision-mode=allow_fp32_to_fp16}' --target Ascend910B2 | filecheck %s --check-prefix=SPLIT

// CHECK-LABEL: func.func @linear
// SPLIT-LABEL: func.func @linear
func.func @linear(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>, %b: tensor<6xf32>) -> tensor<4x6xf32> {
  // CHECK-NEXT: %[[X:.*]] = ge.Cast %x : (tensor<4x8xf32>) -> tensor<4x8xf16>
  // CHECK-NEXT: %[[W:.*]] = ge.Cast %w : (tensor<6x8xf32>) -> tensor<6x8xf16>
  // CHECK-NEXT: %[[B:.*]] = ge.Cast %b : (tensor<6xf32>) -> tensor<6xf16>
  // CHECK-NEXT: %[[Y:.*]] = ge.MatMulV2 %[[X]], %[[W]], %[[B]] {transpose_x2} : (tensor<4x8xf16>, tensor<6x8xf16>, tensor<6xf16>) -> tensor<4x6xf16>
  // CHECK-NEXT: %fc = ge.Cast %[[Y]] : (tensor<4x6xf16>) -> tensor<4x6xf32>
  // The cube of the split chip takes f32.
  // SPLIT-NEXT: %fc = ge.MatMulV2 %x, %w, %b {transpose_x2} : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %fc = ge.MatMulV2 %x, %w, %b {transpose_x2} : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  // CHECK-NEXT: %act = ge.GeluV2 %fc : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // SPLIT-NEXT: %act = ge.GeluV2 %fc
  %act = ge.GeluV2 %fc : (tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %act : tensor<4x6xf32>
}

// CHECK-LABEL: func.func @legal
func.func @legal(%x: tensor<4x8xf16>, %i: tensor<4x8xi8>, %j: tensor<4x4xi32>) {
  // CHECK-NEXT: ge.MatMulV2 %x, %x {transpose_x2} : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x4xf16>
  %0 = ge.MatMulV2 %x, %x {transpose_x2} : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x4xf16>
  // CHECK-NEXT: ge.MatMulV2 %i, %i {transpose_x2} : (tensor<4x8xi8>, tensor<4x8xi8>) -> tensor<4x4xi32>
  %1 = ge.MatMulV2 %i, %i {transpose_x2} : (tensor<4x8xi8>, tensor<4x8xi8>) -> tensor<4x4xi32>
  // CHECK-NEXT: ge.Maximum
  %2 = ge.Maximum %1, %j : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
  // CHECK-NEXT: ge.Cast
  %3 = ge.Cast %i : (tensor<4x8xi8>) -> tensor<4x8xf16>
  func.return
}

// The factors of attention are converted, and what is added to the scores is not.
// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x4x8xf32>, %mask: tensor<4x4xf32>) -> tensor<2x4x8xf32> {
  // CHECK-NEXT: %[[Q:.*]] = ge.Cast %q : (tensor<2x4x8xf32>) -> tensor<2x4x8xf16>
  // CHECK-NEXT: %[[K:.*]] = ge.Cast %q : (tensor<2x4x8xf32>) -> tensor<2x4x8xf16>
  // CHECK-NEXT: %[[V:.*]] = ge.Cast %q : (tensor<2x4x8xf32>) -> tensor<2x4x8xf16>
  // CHECK-NEXT: %[[Y:.*]] = ge.FlashAttentionScore %[[Q]], %[[K]], %[[V]], %mask {scale_value = 5.000000e-01 : f32, is_causal}
  // CHECK-NEXT: %out = ge.Cast %[[Y]] : (tensor<2x4x8xf16>) -> tensor<2x4x8xf32>
  // SPLIT:      func.func @attention
  // SPLIT-NEXT: %out = ge.FlashAttentionScore %q, %q, %q, %mask
  %out = ge.FlashAttentionScore %q, %q, %q, %mask {scale_value = 0.5 : f32, is_causal} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<4x4xf32>) -> tensor<2x4x8xf32>
  func.return %out : tensor<2x4x8xf32>
}

// Types that no whole model is in are left to the engines that take them.
// CHECK-LABEL: func.func @others
func.func @others(%i: tensor<4xi64>, %f: tensor<4x4xf64>, %b: tensor<4xi8>) {
  // CHECK-NEXT: ge.Add
  %0 = ge.Add %i, %i : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  // CHECK-NEXT: ge.MatMulV2
  %1 = ge.MatMulV2 %f, %f : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  // CHECK-NEXT: ge.Add
  %2 = ge.Add %b, %b : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  func.return
}
