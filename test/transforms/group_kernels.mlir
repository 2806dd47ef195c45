// Tests that elementwise kernels join the kernel that feeds them where both run over the same elements, and say why where they do not.
// RUN: ge-opt %s -p convert-ge-to-fused,group-kernels --split-input-file --verify-diagnostics | filecheck %s
// RUN: ge-opt %s -p convert-ge-to-fused,group-kernels --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARKS

// A chain behind a matmul is one kernel, with the first operator's place in the model and all their locations.
// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<4x8xf16>, %w: tensor<8x6xf16>, %r: tensor<4x6xf16>) -> tensor<4x6xf16> {
  // CHECK-NEXT: %out = fused.kernel(%x, %w, %r) {ops = ["MatMulV2", "GeluV2", "Add"], op_name = "fc"}
  // CHECK-NEXT: ^{{.*}}(%x_1: tensor<4x8xf16>, %w_1: tensor<8x6xf16>, %r_1: tensor<4x6xf16>):
  // CHECK-NEXT:   fused.matmul %x_1, %w_1
  // CHECK-NEXT:   fused.cast
  // CHECK-NEXT:   fused.cast
  // CHECK-NEXT:   fused.gelu
  // CHECK-NEXT:   fused.cast
  // CHECK-NEXT:   fused.cast
  // CHECK-NEXT:   fused.cast %r_1
  // CHECK-NEXT:   fused.add
  // CHECK-NEXT:   fused.cast
  // CHECK-NEXT:   fused.yield
  // CHECK-NOT:  fused.kernel
  %fc = ge.MatMulV2 %x, %w : (tensor<4x8xf16>, tensor<8x6xf16>) -> tensor<4x6xf16>
  %act = ge.GeluV2 %fc : (tensor<4x6xf16>) -> tensor<4x6xf16>
  %out = ge.Add %act, %r : (tensor<4x6xf16>, tensor<4x6xf16>) -> tensor<4x6xf16>
  func.return %out : tensor<4x6xf16>
}

// -----

// Two producers of one consumer; an input of several is one input of the kernel.
// CHECK-LABEL: func.func @diamond
func.func @diamond(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: fused.kernel(%x) {ops = ["Exp", "Abs", "Mul"], op_name = "b"} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NOT:  fused.kernel
  %a = ge.Abs %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = ge.Exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %c = ge.Mul %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %c : tensor<4xf32>
}

// -----

// A value that others use as well is computed once, and read back.
// CHECK-LABEL: func.func @multi_use
func.func @multi_use(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = ge.Abs %x : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: fused.kernel(%a) {ops = ["Exp"], op_name = "b"}
  // expected-remark@+1 {{[group-kernels] multi-use: a (Abs) stays apart: the result of a (Abs) is also used elsewhere}}
  %b = ge.Exp %a : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}
// REMARKS: group_kernels.mlir:{{[0-9]+}}:8: remark: [group-kernels] multi-use: a (Abs) stays apart: the result of a (Abs) is also used elsewhere

// -----

// A matmul reads its operands from memory.
// CHECK-LABEL: func.func @anchor
func.func @anchor(%x: tensor<4x4xf16>) -> tensor<4x4xf16> {
  %a = ge.Abs %x : (tensor<4x4xf16>) -> tensor<4x4xf16>
  // CHECK: fused.kernel(%a, %x) {ops = ["MatMulV2"], op_name = "fc"}
  // expected-remark@+1 {{[group-kernels] anchor: a (Abs) stays apart: fc (MatMulV2) is a matmul, which reads its operands from memory}}
  %fc = ge.MatMulV2 %a, %x : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  func.return %fc : tensor<4x4xf16>
}

// -----

// A result that is repeated would be computed for every copy.
// CHECK-LABEL: func.func @domain
func.func @domain(%row: tensor<4xf32>, %x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %a = ge.Exp %row : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: fused.kernel(%x, %a) {ops = ["Add"], op_name = "b"}
  // expected-remark@+1 {{[group-kernels] domain: a (Exp) stays apart: a (Exp) makes tensor<4xf32>, b (Add) tensor<8x4xf32>}}
  %b = ge.Add %x, %a : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  func.return %b : tensor<8x4xf32>
}

// -----

// Shapes that differ in dimensions of size 1 only are different domains, too.
// CHECK-LABEL: func.func @rank
func.func @rank(%x: tensor<4xf32>, %y: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %a = ge.Exp %x : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: fused.kernel(%a, %y) {ops = ["Add"], op_name = "b"}
  // expected-remark@+1 {{[group-kernels] domain:}}
  %b = ge.Add %a, %y : (tensor<4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %b : tensor<1x4xf32>
}

// -----

// A kernel of several operators may repeat a value inside, but not what another kernel makes.
// CHECK-LABEL: func.func @copies
func.func @copies(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %a = fused.kernel(%x) {ops = ["Relu"], op_name = "a"}
  %a = ge.Relu %x : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: fused.kernel(%a) {ops = ["TensorMove"], op_name = "output"}
  // expected-remark@+1 {{[group-kernels] multi-use: a (Relu) stays apart}}
  func.return %a, %a : tensor<4xf32>, tensor<4xf32>
}

// Tests that a value which is used twice joins the kernel that takes over both of its users.
// CHECK-LABEL: func.func @used_twice_in_one
// CHECK:         fused.kernel(%x) {ops = ["Exp", "Neg", "Maximum"], op_name = "exp"}
// CHECK-NOT:     fused.kernel(
// CHECK:         func.return
func.func @used_twice_in_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fused.kernel(%x) {ops = ["Exp"], op_name = "exp"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>):
    %e = fused.exp %p : tensor<4xf32>
    fused.yield %e : tensor<4xf32>
  }
  %b = fused.kernel(%a) {ops = ["Neg"], op_name = "neg"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>):
    %e = fused.neg %p : tensor<4xf32>
    fused.yield %e : tensor<4xf32>
  }
  %c = fused.kernel(%a, %b) {ops = ["Maximum"], op_name = "max"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>, %q: tensor<4xf32>):
    %e = fused.max %p, %q : tensor<4xf32>
    fused.yield %e : tensor<4xf32>
  }
  func.return %c : tensor<4xf32>
}
