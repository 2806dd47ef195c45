// Tests which launches write over a value instead of into an empty tensor.
// RUN: ge-opt %s -p outline-kernels --split-input-file | filecheck %s

// Parts of an argument are replaced where it is: here a state, then what the first update made.
// CHECK-LABEL: func.func private @SliceUpdate(%0: tensor<2xf32>, %1: tensor<6xf32>) -> tensor<6xf32>
// CHECK-LABEL: func.func private @ScatterUpdate(
// CHECK-LABEL: func.func @main(
func.func @main(%x: tensor<2xf32>, %i: tensor<2xi32>, %s: tensor<6xf32> {ge.updated_by = 1 : i64}) -> (tensor<2xf32>, tensor<6xf32>) {
  // CHECK-NEXT: %a = fused.launch @SliceUpdate(%x, %s) into(%s)
  %a = fused.kernel(%x, %s) {ops = ["SliceUpdate"], op_name = "a"} : (tensor<2xf32>, tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%0: tensor<2xf32>, %1: tensor<6xf32>):
    %2 = fused.relu %0 : tensor<2xf32>
    %3 = fused.insert %0 into %1 offsets [0] strides [1] : tensor<2xf32> into tensor<6xf32> to tensor<6xf32>
    %4 = fused.insert %2 into %3 offsets [2] strides [1] : tensor<2xf32> into tensor<6xf32> to tensor<6xf32>
    fused.yield %4 : tensor<6xf32>
  }
  // CHECK-NEXT: %b = fused.launch @ScatterUpdate(%x, %i, %a) into(%a)
  %b = fused.kernel(%x, %i, %a) {ops = ["ScatterUpdate"], op_name = "b"} : (tensor<2xf32>, tensor<2xi32>, tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%0: tensor<2xf32>, %1: tensor<2xi32>, %2: tensor<6xf32>):
    %3 = fused.scatter %0 at %1 into %2 along 0 : tensor<2xf32>, tensor<2xi32> into tensor<6xf32> to tensor<6xf32>
    fused.yield %3 : tensor<6xf32>
  }
  func.return %x, %b : tensor<2xf32>, tensor<6xf32>
}

// -----

// Pieces go into one empty tensor.
// CHECK-LABEL: func.func @main(
func.func @main(%x: tensor<2xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %e = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  // CHECK-NEXT: %a = fused.launch @ConcatD(%x, %e) into(%e)
  %a = fused.kernel(%x, %e) {ops = ["ConcatD"], op_name = "cat"} : (tensor<2xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<2xf32>, %1: tensor<4xf32>):
    %2 = fused.insert %0 into %1 offsets [0] strides [1] : tensor<2xf32> into tensor<4xf32> to tensor<4xf32>
    fused.yield %2 : tensor<4xf32>
  }
  // CHECK-NEXT: %b = fused.launch @ConcatD_1(%x, %a) into(%a)
  %b = fused.kernel(%x, %a) {ops = ["ConcatD"], op_name = "cat"} : (tensor<2xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<2xf32>, %1: tensor<4xf32>):
    %2 = fused.insert %0 into %1 offsets [2] strides [1] : tensor<2xf32> into tensor<4xf32> to tensor<4xf32>
    fused.yield %2 : tensor<4xf32>
  }
  func.return %b : tensor<4xf32>
}

// -----

// Element by element, a state may be read and written at once; the same kernel on another value is another function.
// CHECK-LABEL: func.func private @Adds(
// CHECK-LABEL: func.func private @Adds_1(
// CHECK-LABEL: func.func @main(
func.func @main(%n: tensor<1xf32> {ge.updated_by = 0 : i64}, %m: tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
  // CHECK-NEXT: %a = fused.launch @Adds(%n) into(%n)
  %a = fused.kernel(%n) {ops = ["Adds"], op_name = "a"} : (tensor<1xf32>) -> tensor<1xf32> {
  ^bb0(%0: tensor<1xf32>):
    %1 = fused.adds %0 {scalar = 1.0 : f32} : tensor<1xf32>
    fused.yield %1 : tensor<1xf32>
  }
  // CHECK-NEXT: %[[D:.*]] = tensor.empty() : tensor<1xf32>
  // CHECK-NEXT: %b = fused.launch @Adds_1(%m) into(%[[D]])
  %b = fused.kernel(%m) {ops = ["Adds"], op_name = "b"} : (tensor<1xf32>) -> tensor<1xf32> {
  ^bb0(%0: tensor<1xf32>):
    %1 = fused.adds %0 {scalar = 1.0 : f32} : tensor<1xf32>
    fused.yield %1 : tensor<1xf32>
  }
  func.return %a, %b : tensor<1xf32>, tensor<1xf32>
}

// -----

// Not where a kernel reads elements again, or of other places: a transpose, a reduction, a result of another shape. Copies do it at the end.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: {{.*}} = fused.launch @Transpose(%s)
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: {{.*}} = fused.launch @Sum(%t)
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: {{.*}} = fused.launch @Repeat(%u)
// CHECK-NEXT: {{.*}} = fused.launch @TensorMove(%a) into(%s) on aicore {ops = ["TensorMove"], op_name = "a.copy"}
// CHECK-NEXT: {{.*}} = fused.launch @TensorMove_1(%b) into(%t)
// CHECK-NEXT: {{.*}} = fused.launch @TensorMove_1(%c) into(%u)
func.func @main(
    %s: tensor<4x4xf32> {ge.updated_by = 0 : i64}, %t: tensor<4xf32> {ge.updated_by = 1 : i64}, %u: tensor<4xf32> {ge.updated_by = 2 : i64}
) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>) {
  %a = fused.kernel(%s) {ops = ["Transpose"], op_name = "a"} : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%0: tensor<4x4xf32>):
    %1 = fused.transpose %0 permutation [1, 0] : tensor<4x4xf32> to tensor<4x4xf32>
    fused.yield %1 : tensor<4x4xf32>
  }
  %b = fused.kernel(%t) {ops = ["Sum"], op_name = "b"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = fused.reduce <sum> %0 along [0] : tensor<4xf32> to tensor<f32>
    %2 = fused.broadcast %1 along [] : tensor<f32> to tensor<4xf32>
    %3 = fused.add %0, %2 : tensor<4xf32>
    fused.yield %3 : tensor<4xf32>
  }
  %c, %d = fused.kernel(%u) {ops = ["Repeat"], op_name = "c"} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>) {
  ^bb0(%0: tensor<4xf32>):
    %1 = fused.adds %0 {scalar = 1.0 : f32} : tensor<4xf32>
    %2 = fused.broadcast %1 along [1] : tensor<4xf32> to tensor<2x4xf32>
    fused.yield %1, %2 : tensor<4xf32>, tensor<2x4xf32>
  }
  func.return %a, %b, %c, %d : tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>
}

// -----

// What does not read the state is written over it once nobody needs its old contents.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: {{.*}} = fused.launch @Relu(%x)
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: {{.*}} = fused.launch @Relu(%s)
// CHECK-NEXT: {{.*}} = fused.launch @Relu(%x) into(%t)
func.func @main(%x: tensor<4xf32>, %s: tensor<4xf32> {ge.updated_by = 0 : i64}, %t: tensor<4xf32> {ge.updated_by = 2 : i64})
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = fused.kernel(%x) {ops = ["Relu"], op_name = "a"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = fused.relu %0 : tensor<4xf32>
    fused.yield %1 : tensor<4xf32>
  }
  %b = fused.kernel(%s) {ops = ["Relu"], op_name = "b"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = fused.relu %0 : tensor<4xf32>
    fused.yield %1 : tensor<4xf32>
  }
  %c = fused.kernel(%x) {ops = ["Relu"], op_name = "c"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = fused.relu %0 : tensor<4xf32>
    fused.yield %1 : tensor<4xf32>
  }
  func.return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
