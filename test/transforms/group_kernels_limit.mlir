// Tests that a kernel holds no more operators than it may, and that two kernels with broadcasts between them stay apart.
// RUN: ge-opt %s -p 'group-kernels{max-ops=2}' --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @limit
func.func @limit(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fused.kernel(%x) {ops = ["Relu"], op_name = "a"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = fused.relu %0 : tensor<4xf32>
    fused.yield %1 : tensor<4xf32>
  }
  // CHECK: %a = fused.kernel(%x) {ops = ["Relu"], op_name = "a"}
  // expected-remark@+1 {{[group-kernels] max-ops: a (Relu) stays apart: the kernel would have 3 operators, the limit is 2}}
  %b = fused.kernel(%a) {ops = ["Exp"], op_name = "b"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = fused.exp %0 : tensor<4xf32>
    fused.yield %1 : tensor<4xf32>
  }
  // CHECK: %c = fused.kernel(%a) {ops = ["Exp", "Abs"], op_name = "b"}
  %c = fused.kernel(%b) {ops = ["Abs"], op_name = "c"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = fused.abs %0 : tensor<4xf32>
    fused.yield %1 : tensor<4xf32>
  }
  func.return %c : tensor<4xf32>
}

// -----

// The consumer repeats the first row of what the producer makes, though both have the same shape.
// CHECK-LABEL: func.func @repeated
func.func @repeated(%x: tensor<1xf32>) -> tensor<1xf32> {
  %a = fused.kernel(%x) {ops = ["Relu"], op_name = "a"} : (tensor<1xf32>) -> tensor<1xf32> {
  ^bb0(%0: tensor<1xf32>):
    %1 = fused.relu %0 : tensor<1xf32>
    fused.yield %1 : tensor<1xf32>
  }
  // CHECK: %b = fused.kernel(%a) {ops = ["Add"], op_name = "b"}
  // expected-remark@+1 {{[group-kernels] broadcast: a (Relu) stays apart: b (Add) repeats the result of a (Relu)}}
  %b = fused.kernel(%a) {ops = ["Add"], op_name = "b"} : (tensor<1xf32>) -> tensor<1xf32> {
  ^bb0(%0: tensor<1xf32>):
    %1 = fused.broadcast %0 along [0] : tensor<1xf32> to tensor<1xf32>
    %2 = fused.add %0, %1 : tensor<1xf32>
    fused.yield %2 : tensor<1xf32>
  }
  func.return %b : tensor<1xf32>
}
