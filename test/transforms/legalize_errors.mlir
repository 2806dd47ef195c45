// Tests that what the units of the target cannot compute is refused, all of it at once, with what would do.
// RUN: ge-opt %s --target Ascend910A -p legalize --split-input-file --verify-diagnostics

func.func @f32(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) {
  // expected-error@+1 {{'ge.MatMulV2' op multiplies f32, but the cube of Ascend910A takes f16, int8; compile with --precision-mode=allow_fp32_to_fp16, or in f16}}
  %0 = ge.MatMulV2 %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // expected-note@+1 {{'ge.MatMulV2' op multiplies f32}}
  %1 = ge.MatMulV2 %0, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

func.func @bf16(%x: tensor<4x8xbf16>, %w: tensor<8x8xbf16>) {
  // expected-error@+1 {{'ge.MatMulV2' op multiplies bf16, but the cube of Ascend910A takes f16, int8; compile in f16}}
  %0 = ge.MatMulV2 %x, %w : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xbf16>
  // expected-note@+1 {{'ge.Relu' op computes in bf16, but the vector unit of Ascend910A takes f16, f32, i64, i32, i16, i8, i1}}
  %1 = ge.Relu %0 : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  func.return
}

// -----

func.func @attention(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'ge.FlashAttentionScore' op multiplies f32, but the cube of Ascend910A takes f16, int8; compile with --precision-mode=allow_fp32_to_fp16, or in f16}}
  %0 = ge.FlashAttentionScore %x, %x, %x {scale_value = 1.0 : f32} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  func.return
}

// -----

func.func @views(%x: tensor<4x8xbf16>) {
  // expected-error@+1 {{'ge.TransposeD' op computes in bf16, but the vector unit of Ascend910A takes f16}}
  %0 = ge.TransposeD %x {perm = array<i64: 1, 0>} : (tensor<4x8xbf16>) -> tensor<8x4xbf16>
  func.return
}
