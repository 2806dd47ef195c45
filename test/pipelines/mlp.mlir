// The multilayer perceptron of the seed model: Linear(768, 3072), GELU, Linear(3072, 768) on 32 rows.
//
// RUN: ge-opt %s -p to-fused | filecheck %s --check-prefix=FUSED

ge.weight @fc1_weight : tensor<3072x768xf16>
ge.weight @fc1_bias : tensor<3072xf16>
ge.weight @fc2_weight : tensor<768x3072xf16>
ge.weight @fc2_bias : tensor<768xf16>

func.func @main(%x: tensor<32x768xf16>) -> tensor<32x768xf16> {
  %w1 = ge.load_weight @fc1_weight : tensor<3072x768xf16>
  %b1 = ge.load_weight @fc1_bias : tensor<3072xf16>
  %w2 = ge.load_weight @fc2_weight : tensor<768x3072xf16>
  %b2 = ge.load_weight @fc2_bias : tensor<768xf16>
  %fc1 = ge.MatMulV2 %x, %w1, %b1 {transpose_x2} : (tensor<32x768xf16>, tensor<3072x768xf16>, tensor<3072xf16>) -> tensor<32x3072xf16>
  %act = ge.GeluV2 %fc1 {approximate = "none"} : (tensor<32x3072xf16>) -> tensor<32x3072xf16>
  %fc2 = ge.MatMulV2 %act, %w2, %b2 {transpose_x2} : (tensor<32x3072xf16>, tensor<768x3072xf16>, tensor<768xf16>) -> tensor<32x768xf16>
  func.return %fc2 : tensor<32x768xf16>
}

// The first matmul, its bias and GELU are one kernel, which rounds to f16 once.
// FUSED-LABEL: func.func private @MatMulV2Gelu
// FUSED:       fused.matmul
// FUSED:       fused.gelu
// FUSED:       fused.cast {{.*}} to tensor<32x3072xf16>
// FUSED-NEXT:  func.return
// FUSED-LABEL: func.func private @MatMulV2(
// FUSED-LABEL: func.func @main
// FUSED:       fused.launch @MatMulV2Gelu
// FUSED:       fused.launch @MatMulV2(
