// RUN: ge-opt %s --target Ascend910A -p verify-stage{stage=fused} --split-input-file --verify-diagnostics

func.func private @MatMul(%a: tensor<4x4xf16>) -> tensor<4x4xf32> {
  %y = fused.matmul %a, %a : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf32>
  %z = fused.gelu %y : tensor<4x4xf32>
  func.return %z : tensor<4x4xf32>
}
func.func @main(%x: tensor<4x4xf16>) -> tensor<4x4xf32> {
  %d = tensor.empty() : tensor<4x4xf32>
  %y = fused.launch @MatMul(%x) into (%d) on aicore {ops = ["MatMulV2"], op_name = "fc"} : (tensor<4x4xf16>) into (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// -----

func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error@+1 {{'ge.Relu' op has no place in @main at stage fused; run convert-ge-to-fused, group-kernels and outline-kernels}}
  %y = ge.Relu %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// -----

func.func private @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error@+1 {{'fused.matmul' op f32 is not a cube dtype of Ascend910A (f16, i8)}}
  %y = fused.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// -----

func.func private @k(%x: tensor<4x4xf32>) -> tensor<4x4xbf16> {
  // expected-error@+1 {{'fused.cast' op bf16 is not a vector dtype of Ascend910A (f16, f32, i64, i32, i16, i8, i1)}}
  %y = fused.cast %x : tensor<4x4xf32> to tensor<4x4xbf16>
  func.return %y : tensor<4x4xbf16>
}
