// Tests that a kernel holds no more operators than it may.
// RUN: ge-opt %s -p 'group-kernels{max-ops=2}' --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @limit
func.func @limit(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fused.kernel(%x) {ops = ["Relu"], op_name = "a"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = fused.relu %0 : tensor<4xf32>
    fused.yield %1 : tensor<4xf32>
  }
  %b = fused.kernel(%a) {ops = ["Exp"], op_name = "b"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = fused.exp %0 : tensor<4xf32>
    fused.yield %1 : tensor<4xf32>
  }
  // CHECK: %b = fused.kernel(%x) {ops = ["Relu", "Exp"], op_name = "a"}
  // CHECK: %c = fused.kernel(%b) {ops = ["Abs"], op_name = "c"}
  // expected-remark@+1 {{[group-kernels] max-ops: a (Relu, Exp) stays apart: the kernel would have 3 operators, the limit is 2}}
  %c = fused.kernel(%b) {ops = ["Abs"], op_name = "c"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = fused.abs %0 : tensor<4xf32>
    fused.yield %1 : tensor<4xf32>
  }
  func.return %c : tensor<4xf32>
}
