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
  // expected-note@+1 {{'ge.Relu' op computes in bf16, but the vector unit of Ascend910A takes f16, f32, i32, i16, i8}}
  %1 = ge.Relu %0 : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  func.return
}

// -----

func.func @i64(%x: tensor<4xi64>) {
  // expected-error@+1 {{'ge.Add' op computes in i64, but the vector unit of Ascend910A takes f16, f32, i32, i16, i8}}
  %0 = ge.Add %x, %x : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  func.return
}

// -----

func.func @f64(%x: tensor<4xf64>) {
  // expected-error@+1 {{'ge.Cast' op computes in f64, but the vector unit of Ascend910A takes}}
  %0 = ge.Cast %x : (tensor<4xf64>) -> tensor<4xf32>
  func.return
}

// -----

func.func @i8(%x: tensor<4xi8>) {
  // expected-error@+1 {{'ge.Add' op computes in i8; elementwise operators compute in f16, bf16, f32, i32: insert a ge.Cast}}
  %0 = ge.Add %x, %x : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  func.return
}

// -----

func.func @sqrt(%x: tensor<4xi32>) {
  // expected-error@+1 {{'ge.Sqrt' op computes in i32, but takes floats only: insert a ge.Cast}}
  %0 = ge.Sqrt %x : (tensor<4xi32>) -> tensor<4xi32>
  func.return
}
