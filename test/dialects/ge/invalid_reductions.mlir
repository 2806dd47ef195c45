// Tests that operators which break a rule of theirs are refused with the operand, the rule and what to do.
// RUN: ge-opt %s --split-input-file --verify-diagnostics

func.func @axis(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.ReduceSumD' op axes must be in [-2, 2) for a tensor of rank 2, got 2}}
  %0 = ge.ReduceSumD %x {axes = array<i64: 2>} : (tensor<4x6xf16>) -> tensor<4xf16>
  func.return
}

// -----

func.func @twice(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.ReduceMaxD' op axes must differ, got [1, -1] for a tensor of rank 2}}
  %0 = ge.ReduceMaxD %x {axes = array<i64: 1, -1>} : (tensor<4x6xf16>) -> tensor<4xf16>
  func.return
}

// -----

func.func @result(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.ReduceMaxD' op result #0 is tensor<4x1xf16>, but the operands give tensor<4xf16>}}
  %0 = ge.ReduceMaxD %x {axes = array<i64: 1>} : (tensor<4x6xf16>) -> tensor<4x1xf16>
  func.return
}

// -----

func.func @booleans(%x: tensor<4x6xi1>) {
  // expected-error@+1 {{'ge.ReduceSumD' op cannot add up or multiply booleans, got tensor<4x6xi1>; insert a ge.Cast}}
  %0 = ge.ReduceSumD %x {axes = array<i64: 1>} : (tensor<4x6xi1>) -> tensor<4xi1>
  func.return
}

// -----

func.func @integers(%x: tensor<4x6xi64>) {
  // expected-error@+1 {{'ge.ReduceMeanD' op x must have elements of a float type, got tensor<4x6xi64>; insert a ge.Cast}}
  %0 = ge.ReduceMeanD %x {axes = array<i64: 1>} : (tensor<4x6xi64>) -> tensor<4xi64>
  func.return
}

// -----

func.func @softmax(%x: tensor<4x6xi32>) {
  // expected-error@+1 {{'ge.SoftmaxV2' op x must have elements of a float type, got tensor<4x6xi32>; insert a ge.Cast}}
  %0 = ge.SoftmaxV2 %x {axes = array<i64: 1>} : (tensor<4x6xi32>) -> tensor<4x6xi32>
  func.return
}

// -----

func.func @norm_dims(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.LayerNormV4' op normalized_dims must be from 1 to 2 for x of type tensor<4x6xf16>, got 3}}
  %0 = ge.LayerNormV4 %x {normalized_dims = 3 : i64, epsilon = 1.0e-5 : f32} : (tensor<4x6xf16>) -> tensor<4x6xf16>
  func.return
}

// -----

func.func @gamma(%x: tensor<4x6xf16>, %g: tensor<4xf16>) {
  // expected-error@+1 {{'ge.RmsNorm' op gamma must have the shape of the dimensions that are normalized, 6, got tensor<4xf16>}}
  %0 = ge.RmsNorm %x, %g {normalized_dims = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<4x6xf16>, tensor<4xf16>) -> tensor<4x6xf16>
  func.return
}

// -----

func.func @beta(%x: tensor<4x6xf16>, %g: tensor<6xf16>, %b: tensor<6xi32>) {
  // expected-error@+1 {{'ge.LayerNormV4' op beta must have elements of a float type, got tensor<6xi32>; insert a ge.Cast}}
  %0 = ge.LayerNormV4 %x, %g, %b {normalized_dims = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<4x6xf16>, tensor<6xf16>, tensor<6xi32>) -> tensor<4x6xf16>
  func.return
}

// -----

func.func @too_many(%x: tensor<4x6xf16>, %g: tensor<6xf16>) {
  // expected-error@+1 {{'ge.LayerNormV4' op takes x, gamma and beta, got 4 operands}}
  %0 = ge.LayerNormV4 %x, %g, %g, %g {normalized_dims = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<4x6xf16>, tensor<6xf16>, tensor<6xf16>, tensor<6xf16>) -> tensor<4x6xf16>
  func.return
}
