// RUN: ge-opt %s --target Ascend910A -p verify-stage{stage=ge} --split-input-file --verify-diagnostics
// RUN: not ge-opt %s --target Ascend910A -p verify-stage{stage=loops} 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not ge-opt %s --target Ascend910A -p verify-stage 2>&1 | filecheck %s --check-prefix=MISSING

// OPTION: option 'stage' of pass 'verify-stage' takes one of ge, fused, tile, buf, npu
// MISSING: pass 'verify-stage' needs its option 'stage'

ge.weight @w : tensor<4x4xf16>
func.func @main(%x: tensor<4x4xf16>) -> tensor<4x4xf16> {
  %w = ge.load_weight @w : tensor<4x4xf16>
  %y = ge.MatMulV2 %x, %w : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  func.return %y : tensor<4x4xf16>
}

// -----

func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error@+1 {{'ge.MatMulV2' op f32 is not a cube dtype of Ascend910A (f16, i8)}}
  %y = ge.MatMulV2 %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// -----

func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error@+1 {{'fused.exp' op has no place in @main at stage ge}}
  %y = fused.exp %x : tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// -----

// expected-error@+1 {{'func.func' op uses memref<4x4xf32>, but values are tensors at stage ge}}
func.func @main(%x: memref<4x4xf32>) {
  func.return
}

// -----

// expected-error@+1 {{'arith.constant' op has no place beside functions and weights at stage ge}}
%c = arith.constant 0 : index
