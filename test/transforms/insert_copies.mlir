// Tests that values get memory of their own where they would be overwritten too early, or have none.
// RUN: ge-opt %s -p insert-copies --split-input-file --verify-diagnostics | filecheck %s

// Inputs and weights are copied; what a kernel computes twice over is written twice.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %a, %[[B:.*]], %[[C:.*]] = fused.kernel(%x) {ops = ["Relu"], op_name = "a"} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK:        fused.yield %e, %e, %e
  %a = fused.kernel(%x) {ops = ["Relu"], op_name = "a"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>):
    %e = fused.relu %p : tensor<4xf32>
    fused.yield %e : tensor<4xf32>
  }
  // CHECK:      %[[X:.*]] = fused.kernel(%x) {ops = ["TensorMove"], op_name = "x.copy"}
  // CHECK:      func.return %a, %[[B]], %[[X]], %[[C]]
  // expected-remark@+1 {{[insert-copies] copy: %x is copied, which moves 32 bytes: result #2 needs memory of its own}}
  func.return %a, %a, %x, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// The old contents of a state, which are a result too, are copied before they are overwritten; new ones are where the old ones were.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<2xf32>, %s: tensor<6xf32> {ge.updated_by = 0 : i64}, %t: tensor<6xf32> {ge.updated_by = 2 : i64})
    -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  // CHECK-NEXT: %[[OLD:.*]] = fused.kernel(%s) {ops = ["TensorMove"], op_name = "s.copy"}
  // CHECK:      %a = fused.kernel(%x, %s) {ops = ["SliceUpdate"]
  // expected-remark@+1 {{[insert-copies] copy: %s is copied, which moves 48 bytes: a (SliceUpdate) replaces parts of it before it is used}}
  %a = fused.kernel(%x, %s) {ops = ["SliceUpdate"], op_name = "a"} : (tensor<2xf32>, tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%0: tensor<2xf32>, %1: tensor<6xf32>):
    %2 = fused.insert %0 into %1 offsets [0] strides [1] : tensor<2xf32> into tensor<6xf32> to tensor<6xf32>
    fused.yield %2 : tensor<6xf32>
  }
  // CHECK:      %[[NEW:.*]] = fused.kernel(%a) {ops = ["TensorMove"], op_name = "a.copy"}
  // CHECK:      func.return %a, %[[OLD]], %t, %[[NEW]]
  // expected-remark@+1 {{[insert-copies] copy: %a is copied, which moves 48 bytes: result #3 needs memory of its own}}
  func.return %a, %s, %t, %a : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}

// -----

// Only a copy of an input is updated, and of a state that keeps its contents.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<2xf32>, %d: tensor<6xf32>, %s: tensor<6xf32> {ge.updated_by = 2 : i64})
    -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  // CHECK-NEXT: %[[D:.*]] = fused.kernel(%d) {ops = ["TensorMove"], op_name = "d.copy"}
  // CHECK:      %a = fused.kernel(%x, %[[D]])
  // expected-remark@+1 {{[insert-copies] copy: %d is copied, which moves 48 bytes: a (SliceUpdate) replaces parts of it, but it may only be read}}
  %a = fused.kernel(%x, %d) {ops = ["SliceUpdate"], op_name = "a"} : (tensor<2xf32>, tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%0: tensor<2xf32>, %1: tensor<6xf32>):
    %2 = fused.insert %0 into %1 offsets [0] strides [1] : tensor<2xf32> into tensor<6xf32> to tensor<6xf32>
    fused.yield %2 : tensor<6xf32>
  }
  // CHECK:      %[[S:.*]] = fused.kernel(%s) {ops = ["TensorMove"], op_name = "s.copy"}
  // CHECK:      %b = fused.kernel(%x, %[[S]])
  // CHECK:      func.return %a, %b, %s
  // expected-remark@+1 {{[insert-copies] copy: %s is copied}}
  %b = fused.kernel(%x, %s) {ops = ["SliceUpdate"], op_name = "b"} : (tensor<2xf32>, tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%0: tensor<2xf32>, %1: tensor<6xf32>):
    %2 = fused.insert %0 into %1 offsets [0] strides [1] : tensor<2xf32> into tensor<6xf32> to tensor<6xf32>
    fused.yield %2 : tensor<6xf32>
  }
  func.return %a, %b, %s : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}

// -----

// States that change places go through other memory.
// CHECK-LABEL: func.func @main
func.func @main(%s: tensor<4xf32> {ge.updated_by = 0 : i64}, %t: tensor<4xf32> {ge.updated_by = 1 : i64}) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[T:.*]] = fused.kernel(%t) {ops = ["TensorMove"], op_name = "t.copy"}
  // CHECK:      %[[S:.*]] = fused.kernel(%s) {ops = ["TensorMove"], op_name = "s.copy"}
  // CHECK:      func.return %[[T]], %[[S]]
  // expected-remark@+2 {{[insert-copies] copy: %t is copied, which moves 32 bytes: it is the new contents of %s, and a state itself}}
  // expected-remark@+1 {{[insert-copies] copy: %s is copied, which moves 32 bytes: it is the new contents of %t, and a state itself}}
  func.return %t, %s : tensor<4xf32>, tensor<4xf32>
}
