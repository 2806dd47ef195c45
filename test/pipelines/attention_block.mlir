// Self-attention with a residual and a norm, from operators to instructions: heads are split and joined without a pass through memory.
// RUN: ge-opt %s -p to-fused | filecheck %s
// RUN: ge-opt %s -p to-npu | filecheck %s --check-prefix=NPU

// CHECK-LABEL: func.func @main
// CHECK-COUNT-6: fused.launch
// CHECK-NOT: fused.launch
// NPU-LABEL:   func.func private @FlashAttentionScore
// NPU:           npu.mmad
// NPU:           npu.vreduce <max>
// NPU:           npu.mmad
ge.weight @query : tensor<96x96xf16>
ge.weight @key : tensor<96x96xf16>
ge.weight @value : tensor<96x96xf16>
ge.weight @output : tensor<96x96xf16>
ge.weight @gamma : tensor<96xf16>
ge.weight @beta : tensor<96xf16>
func.func @main(%x: tensor<2x40x96xf16>) -> tensor<2x40x96xf16> {
  %wq = ge.load_weight @query : tensor<96x96xf16>
  %wk = ge.load_weight @key : tensor<96x96xf16>
  %wv = ge.load_weight @value : tensor<96x96xf16>
  %wo = ge.load_weight @output : tensor<96x96xf16>
  %gamma = ge.load_weight @gamma : tensor<96xf16>
  %beta = ge.load_weight @beta : tensor<96xf16>
  %q = ge.BatchMatMulV2 %x, %wq {transpose_x2} : (tensor<2x40x96xf16>, tensor<96x96xf16>) -> tensor<2x40x96xf16>
  %k = ge.BatchMatMulV2 %x, %wk {transpose_x2} : (tensor<2x40x96xf16>, tensor<96x96xf16>) -> tensor<2x40x96xf16>
  %v = ge.BatchMatMulV2 %x, %wv {transpose_x2} : (tensor<2x40x96xf16>, tensor<96x96xf16>) -> tensor<2x40x96xf16>
  %q1 = ge.Reshape %q : (tensor<2x40x96xf16>) -> tensor<2x40x3x32xf16>
  %k1 = ge.Reshape %k : (tensor<2x40x96xf16>) -> tensor<2x40x3x32xf16>
  %v1 = ge.Reshape %v : (tensor<2x40x96xf16>) -> tensor<2x40x3x32xf16>
  %q2 = ge.TransposeD %q1 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x40x3x32xf16>) -> tensor<2x3x40x32xf16>
  %k2 = ge.TransposeD %k1 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x40x3x32xf16>) -> tensor<2x3x40x32xf16>
  %v2 = ge.TransposeD %v1 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x40x3x32xf16>) -> tensor<2x3x40x32xf16>
  %a = ge.FlashAttentionScore %q2, %k2, %v2 {scale_value = 0.1767767 : f32} : (tensor<2x3x40x32xf16>, tensor<2x3x40x32xf16>, tensor<2x3x40x32xf16>) -> tensor<2x3x40x32xf16>
  %a1 = ge.TransposeD %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x3x40x32xf16>) -> tensor<2x40x3x32xf16>
  %a2 = ge.Reshape %a1 : (tensor<2x40x3x32xf16>) -> tensor<2x40x96xf16>
  %o = ge.BatchMatMulV2 %a2, %wo {transpose_x2} : (tensor<2x40x96xf16>, tensor<96x96xf16>) -> tensor<2x40x96xf16>
  %r = ge.Add %x, %o : (tensor<2x40x96xf16>, tensor<2x40x96xf16>) -> tensor<2x40x96xf16>
  %y = ge.LayerNormV4 %r, %gamma, %beta {normalized_dims = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<2x40x96xf16>, tensor<96xf16>, tensor<96xf16>) -> tensor<2x40x96xf16>
  func.return %y : tensor<2x40x96xf16>
}
