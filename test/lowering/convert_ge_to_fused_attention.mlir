// Tests that query heads which share a key head become a batch dimension of their own.
// RUN: ge-opt %s -p convert-ge-to-fused --split-input-file | filecheck %s

// One key head for each query head: nothing to group.
// CHECK-LABEL: func.func @plain
// CHECK-NEXT:  %y = fused.kernel(%q, %m) {ops = ["FlashAttentionScore"], op_name = "y"} : (tensor<2x6x5x8xf16>, tensor<2x1x1x5xf32>) -> tensor<2x6x5x8xf16> {
// CHECK-NEXT:  ^{{.*}}(%q_1: tensor<2x6x5x8xf16>, %m_1: tensor<2x1x1x5xf32>):
// CHECK-NEXT:  %[[V0:.*]] = fused.attention %q_1, %q_1, %q_1 mask %m_1 {scale = 1.250000e-01 : f32, causal} : (tensor<2x6x5x8xf16>, tensor<2x6x5x8xf16>, tensor<2x6x5x8xf16>, tensor<2x1x1x5xf32>) -> tensor<2x6x5x8xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.cast %[[V0]] : tensor<2x6x5x8xf32> to tensor<2x6x5x8xf16>
// CHECK-NEXT:  fused.yield %[[V1]] : tensor<2x6x5x8xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %y : tensor<2x6x5x8xf16>
func.func @plain(%q: tensor<2x6x5x8xf16>, %m: tensor<2x1x1x5xf32>) -> tensor<2x6x5x8xf16> {
  %y = ge.FlashAttentionScore %q, %q, %q, %m {scale_value = 0.125 : f32, is_causal} : (tensor<2x6x5x8xf16>, tensor<2x6x5x8xf16>, tensor<2x6x5x8xf16>, tensor<2x1x1x5xf32>) -> tensor<2x6x5x8xf16>
  func.return %y : tensor<2x6x5x8xf16>
}

// -----

// A mask for all heads, for each head, and for rows of any head.
// CHECK-LABEL: func.func @grouped
// CHECK-NEXT:  %a = fused.kernel(%q, %k, %v, %one) {ops = ["FlashAttentionScore"], op_name = "a"} : (tensor<2x6x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x4xf16>, tensor<2x1x5x7xi1>) -> tensor<2x6x5x4xf16> {
// CHECK-NEXT:  ^{{.*}}(%q_1: tensor<2x6x5x8xf16>, %k_1: tensor<2x3x7x8xf16>, %v_1: tensor<2x3x7x4xf16>, %one_1: tensor<2x1x5x7xi1>):
// CHECK-NEXT:  %[[V0:.*]] = fused.reshape %q_1 : tensor<2x6x5x8xf16> to tensor<2x3x2x5x8xf16>
// CHECK-NEXT:  %[[V1:.*]] = fused.reshape %k_1 : tensor<2x3x7x8xf16> to tensor<2x3x1x7x8xf16>
// CHECK-NEXT:  %[[V2:.*]] = fused.reshape %v_1 : tensor<2x3x7x4xf16> to tensor<2x3x1x7x4xf16>
// CHECK-NEXT:  %[[V3:.*]] = fused.reshape %one_1 : tensor<2x1x5x7xi1> to tensor<2x1x1x5x7xi1>
// CHECK-NEXT:  %[[V4:.*]] = fused.attention %[[V0]], %[[V1]], %[[V2]] mask %[[V3]] {scale = 5.000000e-01 : f32} : (tensor<2x3x2x5x8xf16>, tensor<2x3x1x7x8xf16>, tensor<2x3x1x7x4xf16>, tensor<2x1x1x5x7xi1>) -> tensor<2x3x2x5x4xf32>
// CHECK-NEXT:  %[[V5:.*]] = fused.reshape %[[V4]] : tensor<2x3x2x5x4xf32> to tensor<2x6x5x4xf32>
// CHECK-NEXT:  %[[V6:.*]] = fused.cast %[[V5]] : tensor<2x6x5x4xf32> to tensor<2x6x5x4xf16>
// CHECK-NEXT:  fused.yield %[[V6]] : tensor<2x6x5x4xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %b = fused.kernel(%q, %k, %v, %each) {ops = ["FlashAttentionScore"], op_name = "b"} : (tensor<2x6x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x4xf16>, tensor<6x1x7xf16>) -> tensor<2x6x5x4xf16> {
// CHECK-NEXT:  ^{{.*}}(%q_1: tensor<2x6x5x8xf16>, %k_1: tensor<2x3x7x8xf16>, %v_1: tensor<2x3x7x4xf16>, %each_1: tensor<6x1x7xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.reshape %q_1 : tensor<2x6x5x8xf16> to tensor<2x3x2x5x8xf16>
// CHECK-NEXT:  %[[V1:.*]] = fused.reshape %k_1 : tensor<2x3x7x8xf16> to tensor<2x3x1x7x8xf16>
// CHECK-NEXT:  %[[V2:.*]] = fused.reshape %v_1 : tensor<2x3x7x4xf16> to tensor<2x3x1x7x4xf16>
// CHECK-NEXT:  %[[V3:.*]] = fused.reshape %each_1 : tensor<6x1x7xf16> to tensor<3x2x1x7xf16>
// CHECK-NEXT:  %[[V4:.*]] = fused.attention %[[V0]], %[[V1]], %[[V2]] mask %[[V3]] {scale = 5.000000e-01 : f32} : (tensor<2x3x2x5x8xf16>, tensor<2x3x1x7x8xf16>, tensor<2x3x1x7x4xf16>, tensor<3x2x1x7xf16>) -> tensor<2x3x2x5x4xf32>
// CHECK-NEXT:  %[[V5:.*]] = fused.reshape %[[V4]] : tensor<2x3x2x5x4xf32> to tensor<2x6x5x4xf32>
// CHECK-NEXT:  %[[V6:.*]] = fused.cast %[[V5]] : tensor<2x6x5x4xf32> to tensor<2x6x5x4xf16>
// CHECK-NEXT:  fused.yield %[[V6]] : tensor<2x6x5x4xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %c = fused.kernel(%q, %k, %v, %rows) {ops = ["FlashAttentionScore"], op_name = "c"} : (tensor<2x6x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x4xf16>, tensor<5x7xi1>) -> tensor<2x6x5x4xf16> {
// CHECK-NEXT:  ^{{.*}}(%q_1: tensor<2x6x5x8xf16>, %k_1: tensor<2x3x7x8xf16>, %v_1: tensor<2x3x7x4xf16>, %rows_1: tensor<5x7xi1>):
// CHECK-NEXT:  %[[V0:.*]] = fused.reshape %q_1 : tensor<2x6x5x8xf16> to tensor<2x3x2x5x8xf16>
// CHECK-NEXT:  %[[V1:.*]] = fused.reshape %k_1 : tensor<2x3x7x8xf16> to tensor<2x3x1x7x8xf16>
// CHECK-NEXT:  %[[V2:.*]] = fused.reshape %v_1 : tensor<2x3x7x4xf16> to tensor<2x3x1x7x4xf16>
// CHECK-NEXT:  %[[V3:.*]] = fused.attention %[[V0]], %[[V1]], %[[V2]] mask %rows_1 {scale = 5.000000e-01 : f32} : (tensor<2x3x2x5x8xf16>, tensor<2x3x1x7x8xf16>, tensor<2x3x1x7x4xf16>, tensor<5x7xi1>) -> tensor<2x3x2x5x4xf32>
// CHECK-NEXT:  %[[V4:.*]] = fused.reshape %[[V3]] : tensor<2x3x2x5x4xf32> to tensor<2x6x5x4xf32>
// CHECK-NEXT:  %[[V5:.*]] = fused.cast %[[V4]] : tensor<2x6x5x4xf32> to tensor<2x6x5x4xf16>
// CHECK-NEXT:  fused.yield %[[V5]] : tensor<2x6x5x4xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %a, %b, %c : tensor<2x6x5x4xf16>, tensor<2x6x5x4xf16>, tensor<2x6x5x4xf16>
func.func @grouped(%q: tensor<2x6x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x4xf16>, %one: tensor<2x1x5x7xi1>, %each: tensor<6x1x7xf16>, %rows: tensor<5x7xi1>) -> (tensor<2x6x5x4xf16>, tensor<2x6x5x4xf16>, tensor<2x6x5x4xf16>) {
  %a = ge.FlashAttentionScore %q, %k, %v, %one {scale_value = 0.5 : f32} : (tensor<2x6x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x4xf16>, tensor<2x1x5x7xi1>) -> tensor<2x6x5x4xf16>
  %b = ge.FlashAttentionScore %q, %k, %v, %each {scale_value = 0.5 : f32} : (tensor<2x6x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x4xf16>, tensor<6x1x7xf16>) -> tensor<2x6x5x4xf16>
  %c = ge.FlashAttentionScore %q, %k, %v, %rows {scale_value = 0.5 : f32} : (tensor<2x6x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x4xf16>, tensor<5x7xi1>) -> tensor<2x6x5x4xf16>
  func.return %a, %b, %c : tensor<2x6x5x4xf16>, tensor<2x6x5x4xf16>, tensor<2x6x5x4xf16>
}
