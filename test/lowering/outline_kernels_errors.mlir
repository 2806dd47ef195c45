// RUN: ge-opt %s -p outline-kernels --split-input-file --verify-diagnostics

func.func @main(%x: tensor<2xf32>, %s: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error@+1 {{'fused.launch' op destination #0 (%s) is an input, which may only be read; copy it first}}
  %a = fused.kernel(%x, %s) {ops = ["SliceUpdate"], op_name = "a"} : (tensor<2xf32>, tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%0: tensor<2xf32>, %1: tensor<6xf32>):
    %2 = fused.insert %0 into %1 offsets [0] strides [1] : tensor<2xf32> into tensor<6xf32> to tensor<6xf32>
    fused.yield %2 : tensor<6xf32>
  }
  func.return %a : tensor<6xf32>
}

// -----

func.func @main(%x: tensor<2xf32>, %s: tensor<6xf32> {ge.updated_by = 0 : i64}) -> (tensor<6xf32>, tensor<6xf32>) {
  // expected-error@+1 {{'fused.launch' op destination #0 (%s) is overwritten, but its old contents are used after; copy it first}}
  %a = fused.kernel(%x, %s) {ops = ["SliceUpdate"], op_name = "a"} : (tensor<2xf32>, tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%0: tensor<2xf32>, %1: tensor<6xf32>):
    %2 = fused.insert %0 into %1 offsets [0] strides [1] : tensor<2xf32> into tensor<6xf32> to tensor<6xf32>
    fused.yield %2 : tensor<6xf32>
  }
  // expected-note@+1 {{used here}}
  func.return %a, %s : tensor<6xf32>, tensor<6xf32>
}

// -----

func.func @main(%s: tensor<6xf32> {ge.updated_by = 0 : i64}) -> tensor<6xf32> {
  // expected-error@+1 {{'fused.kernel' op replaces parts of %s and reads it too, which may already be replaced then; copy it first}}
  %a = fused.kernel(%s) {ops = ["SliceUpdate"], op_name = "a"} : (tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%1: tensor<6xf32>):
    // expected-note@+1 {{read here}}
    %0 = fused.slice %1 offsets [4] strides [1] : tensor<6xf32> to tensor<2xf32>
    %2 = fused.insert %0 into %1 offsets [0] strides [1] : tensor<2xf32> into tensor<6xf32> to tensor<6xf32>
    fused.yield %2 : tensor<6xf32>
  }
  func.return %a : tensor<6xf32>
}
