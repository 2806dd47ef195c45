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
