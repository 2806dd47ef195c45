// Tests that kernels become functions, one for all equal ones, which are launched into empty tensors.
// RUN: ge-opt %s -p outline-kernels --split-input-file | filecheck %s

// Equal kernels are one function, whatever their values are called and wherever they stand in the model.
// CHECK-LABEL: func.func private @MatMulV2Gelu(%a: tensor<4x8xf16>, %b: tensor<8x6xf16>) -> tensor<4x6xf32> {
// CHECK-NEXT:    %c = fused.matmul %a, %b : (tensor<4x8xf16>, tensor<8x6xf16>) -> tensor<4x6xf32>
// CHECK-NEXT:    func.return %c : tensor<4x6xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.func @equal(
func.func @equal(%x: tensor<4x8xf16>, %w: tensor<8x6xf16>, %v: tensor<8x6xf16>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  // CHECK-NEXT: %[[D:.*]] = tensor.empty() : tensor<4x6xf32>
  // CHECK-NEXT: %fc1 = fused.launch @MatMulV2Gelu(%x, %w) into(%[[D]]) on aicore {ops = ["MatMulV2", "GeluV2"], op_name = "fc1"} : (tensor<4x8xf16>, tensor<8x6xf16>) into(tensor<4x6xf32>) -> tensor<4x6xf32>
  %fc1 = fused.kernel(%x, %w) {ops = ["MatMulV2", "GeluV2"], op_name = "fc1"} : (tensor<4x8xf16>, tensor<8x6xf16>) -> tensor<4x6xf32> {
  ^bb0(%a: tensor<4x8xf16>, %b: tensor<8x6xf16>):
    %c = fused.matmul %a, %b : (tensor<4x8xf16>, tensor<8x6xf16>) -> tensor<4x6xf32>
    fused.yield %c : tensor<4x6xf32>
  }
  // CHECK-NEXT: %[[E:.*]] = tensor.empty() : tensor<4x6xf32>
  // CHECK-NEXT: %fc2 = fused.launch @MatMulV2Gelu(%x, %v) into(%[[E]]) on aicore {ops = ["MatMulV2", "GeluV2"], op_name = "fc2"}
  %fc2 = fused.kernel(%x, %v) {ops = ["MatMulV2", "GeluV2"], op_name = "fc2"} : (tensor<4x8xf16>, tensor<8x6xf16>) -> tensor<4x6xf32> {
  ^bb0(%left: tensor<4x8xf16>, %right: tensor<8x6xf16>):
    %product = fused.matmul %left, %right : (tensor<4x8xf16>, tensor<8x6xf16>) -> tensor<4x6xf32>
    fused.yield %product : tensor<4x6xf32>
  }
  func.return %fc1, %fc2 : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// Kernels of the same operators that differ in a type, a constant or a flag get numbers; a name that is taken is skipped.
// CHECK-LABEL: func.func private @Muls_1(
// CHECK-LABEL: func.func private @Muls(
// CHECK:         {scalar = 2.000000e+00 : f32}
// CHECK-LABEL: func.func private @Muls_2(
// CHECK:         {scalar = 3.000000e+00 : f32}
// CHECK-LABEL: func.func private @Muls_3(%0: tensor<5xf32>)
func.func private @Muls_1(%x: tensor<4xf32>)
// CHECK-LABEL: func.func @different
// CHECK:       fused.launch @Muls(%x)
// CHECK:       fused.launch @Muls_2(%x)
// CHECK:       fused.launch @Muls_3(%y)
// CHECK:       fused.launch @Muls_2(%x)
func.func @different(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  %a = fused.kernel(%x) {ops = ["Muls"], op_name = "a"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = fused.muls %0 {scalar = 2.0 : f32} : tensor<4xf32>
    fused.yield %1 : tensor<4xf32>
  }
  %b = fused.kernel(%x) {ops = ["Muls"], op_name = "b"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = fused.muls %0 {scalar = 3.0 : f32} : tensor<4xf32>
    fused.yield %1 : tensor<4xf32>
  }
  %c = fused.kernel(%y) {ops = ["Muls"], op_name = "c"} : (tensor<5xf32>) -> tensor<5xf32> {
  ^bb0(%0: tensor<5xf32>):
    %1 = fused.muls %0 {scalar = 2.0 : f32} : tensor<5xf32>
    fused.yield %1 : tensor<5xf32>
  }
  %d = fused.kernel(%x) {ops = ["Muls"], op_name = "d"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = fused.muls %0 {scalar = 3.0 : f32} : tensor<4xf32>
    fused.yield %1 : tensor<4xf32>
  }
  func.return
}

// -----

// A long kernel's name counts what it does not spell out; several results have a destination each.
// CHECK-LABEL: func.func private @MatMulV2AddGeluMulAnd2More(%0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-LABEL: func.func @long
func.func @long(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[D:.*]] = tensor.empty() : tensor<4xf32>
  // CHECK-NEXT: %[[E:.*]] = tensor.empty() : tensor<4xf32>
  // CHECK-NEXT: %a, %b = fused.launch @MatMulV2AddGeluMulAnd2More(%x) into(%[[D]], %[[E]])
  %a, %b = fused.kernel(%x) {ops = ["MatMulV2", "Add", "GeluV2", "Mul", "Add", "Relu"], op_name = "a"}
      : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%0: tensor<4xf32>):
    %1 = fused.relu %0 : tensor<4xf32>
    fused.yield %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// An operator called like @main does not take its name.
// CHECK-LABEL: func.func private @main_1
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4xf32>) {
  %a = fused.kernel(%x) {ops = ["main"], op_name = "a"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    fused.yield %0 : tensor<4xf32>
  }
  func.return
}

// -----

// Nor like a weight.
ge.weight @Relu : tensor<4xf32>
// CHECK-LABEL: func.func private @Relu_1
func.func @main(%x: tensor<4xf32>) {
  %a = fused.kernel(%x) {ops = ["Relu"], op_name = "a"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    fused.yield %0 : tensor<4xf32>
  }
  func.return
}

// -----

// A kernel is called after what it computes; after views where it has nothing else.
// CHECK: func.func private @MatMulV2Relu(
// CHECK: func.func private @TransposeDReshape(
func.func @views(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = fused.kernel(%x) {ops = ["TransposeD", "MatMulV2", "Reshape", "Relu"], op_name = "a"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = fused.relu %0 : tensor<4xf32>
    fused.yield %1 : tensor<4xf32>
  }
  %b = fused.kernel(%x) {ops = ["TransposeD", "Reshape"], op_name = "b"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    fused.yield %0 : tensor<4xf32>
  }
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}
