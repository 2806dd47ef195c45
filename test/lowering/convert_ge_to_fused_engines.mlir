// Tests that operators without a lowering stay as they are in kernels of other engines, and that a remark says why.
// RUN: ge-opt %s -p convert-ge-to-fused --split-input-file | filecheck %s
// RUN: ge-opt %s -p convert-ge-to-fused --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// All results, and operands that are constants, go in and out of the kernel.
// CHECK-LABEL: func.func @operators
// CHECK-NEXT:  %v, %i = fused.kernel(%x) {ops = ["TopKD"], op_name = "v", engine = #fused<engine aicpu>} : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>) {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x8xf32>):
// CHECK-NEXT:  %v_1, %i_1 = ge.TopKD %x_1 {axis = 1 : i64, k = 2 : i64} : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
// CHECK-NEXT:  fused.yield %v_1, %i_1 : tensor<4x2xf32>, tensor<4x2xi64>
// CHECK-NEXT:  }
// CHECK-NEXT:  %e = ge.Const dense<2.500000e+01> : tensor<f32>
// CHECK-NEXT:  %p = fused.kernel(%x, %e) {ops = ["Pow"], op_name = "p", engine = #fused<engine aicpu>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x8xf32>, %e_1: tensor<f32>):
// CHECK-NEXT:  %p_1 = ge.Pow %x_1, %e_1 : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
// CHECK-NEXT:  fused.yield %p_1 : tensor<4x8xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %v, %i, %p : tensor<4x2xf32>, tensor<4x2xi64>, tensor<4x8xf32>
func.func @operators(%x: tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>, tensor<4x8xf32>) {
  // REMARK: remark: [convert-ge-to-fused] no-lowering: v runs on the AI CPU: it is not written in primitives yet
  %v, %i = ge.TopKD %x {axis = 1 : i64, k = 2 : i64} : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  %e = ge.Const dense<2.5e+01> : tensor<f32>
  // REMARK: remark: [convert-ge-to-fused] no-lowering: p runs on the AI CPU: the power 25.0 is not a product of at most 16 factors and a root
  %p = ge.Pow %x, %e : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  func.return %v, %i, %p : tensor<4x2xf32>, tensor<4x2xi64>, tensor<4x8xf32>
}

// -----

// Element types that no unit computes in.
// CHECK-LABEL: func.func @elements
// CHECK-NEXT:  %a = fused.kernel(%x) {ops = ["Add"], op_name = "a", engine = #fused<engine aicpu>} : (tensor<4x4xf64>) -> tensor<4x4xf64> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x4xf64>):
// CHECK-NEXT:  %a_1 = ge.Add %x_1, %x_1 : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
// CHECK-NEXT:  fused.yield %a_1 : tensor<4x4xf64>
// CHECK-NEXT:  }
// CHECK-NEXT:  %b = fused.kernel(%i) {ops = ["MatMulV2"], op_name = "b", engine = #fused<engine aicpu>} : (tensor<4x4xi32>) -> tensor<4x4xi32> {
// CHECK-NEXT:  ^{{.*}}(%i_1: tensor<4x4xi32>):
// CHECK-NEXT:  %b_1 = ge.MatMulV2 %i_1, %i_1 : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
// CHECK-NEXT:  fused.yield %b_1 : tensor<4x4xi32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %a, %b : tensor<4x4xf64>, tensor<4x4xi32>
func.func @elements(%x: tensor<4x4xf64>, %i: tensor<4x4xi32>) -> (tensor<4x4xf64>, tensor<4x4xi32>) {
  // REMARK: remark: [convert-ge-to-fused] no-lowering: a runs on the AI CPU: f64 is not a vector dtype of Ascend910B2
  %a = ge.Add %x, %x : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  // REMARK: remark: [convert-ge-to-fused] no-lowering: b runs on the AI CPU: no cube multiplies i32
  %b = ge.MatMulV2 %i, %i : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
  func.return %a, %b : tensor<4x4xf64>, tensor<4x4xi32>
}

// -----

// The host runs what has no meaning here; it may be random, so nothing of it is dropped.
// CHECK-LABEL: func.func @host
// CHECK-NEXT:  %y = fused.kernel(%x) {ops = ["AtenFallback"], op_name = "y", engine = #fused<engine host>} : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4xf32>):
// CHECK-NEXT:  %y_1 = ge.AtenFallback %x_1 {overload = "aten.roll.default", arguments = [1 : i64]} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  fused.yield %y_1 : tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  %z = fused.kernel() {ops = ["AtenFallback"], op_name = "z", engine = #fused<engine host>} : () -> tensor<4xf32> {
// CHECK-NEXT:  %z_1 = ge.AtenFallback {overload = "aten.randn.default"} : () -> tensor<4xf32>
// CHECK-NEXT:  fused.yield %z_1 : tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %y : tensor<4xf32>
func.func @host(%x: tensor<4xf32>) -> tensor<4xf32> {
  // REMARK: remark: [convert-ge-to-fused] no-meaning: aten.roll.default runs on the host: no operator expresses it
  %y = ge.AtenFallback %x {overload = "aten.roll.default", arguments = [1 : i64]} : (tensor<4xf32>) -> tensor<4xf32>
  // REMARK: remark: [convert-ge-to-fused] no-meaning: aten.randn.default
  %z = ge.AtenFallback {overload = "aten.randn.default"} : () -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// Kernels that hold operators already stay as they are.
// CHECK-LABEL: func.func private @CumsumD
// CHECK-NEXT:  %[[Y:.*]] = ge.CumsumD %x {axis = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %[[Y]] : tensor<4xf32>
func.func private @CumsumD(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = ge.CumsumD %x {axis = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
