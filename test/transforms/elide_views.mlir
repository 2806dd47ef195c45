// Tests that kernels read and write through views, that concats are written piece by piece, and what is said where a copy stays.
// RUN: ge-opt %s -p convert-ge-to-fused,elide-views --split-input-file --verify-diagnostics | filecheck %s

// Heads are read where the projection has left them, and written where the next one reads them.
// CHECK-LABEL: func.func @heads
func.func @heads(%q: tensor<2x6x32xf16>, %k: tensor<2x6x32xf16>, %v: tensor<2x6x32xf16>, %w: tensor<32x8xf16>) -> tensor<2x6x8xf16> {
  // CHECK-NEXT: %[[O:.*]] = fused.kernel(%q, %k, %v) {ops = ["FlashAttentionScore", "Reshape", "TransposeD", "Reshape", "TransposeD", "Reshape", "TransposeD", "TransposeD", "Reshape"], op_name = "o"}
  // CHECK-SAME: -> tensor<2x6x32xf16>
  // CHECK:      fused.kernel(%[[O]], %w) {ops = ["BatchMatMulV2"]
  // CHECK-NOT:  fused.kernel
  // CHECK:      func.return
  %q1 = ge.Reshape %q : (tensor<2x6x32xf16>) -> tensor<2x6x4x8xf16>
  %q2 = ge.TransposeD %q1 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x6x4x8xf16>) -> tensor<2x4x6x8xf16>
  %k1 = ge.Reshape %k : (tensor<2x6x32xf16>) -> tensor<2x6x4x8xf16>
  %k2 = ge.TransposeD %k1 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x6x4x8xf16>) -> tensor<2x4x6x8xf16>
  %v1 = ge.Reshape %v : (tensor<2x6x32xf16>) -> tensor<2x6x4x8xf16>
  %v2 = ge.TransposeD %v1 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x6x4x8xf16>) -> tensor<2x4x6x8xf16>
  %o = ge.FlashAttentionScore %q2, %k2, %v2 {scale_value = 0.5 : f32}
    : (tensor<2x4x6x8xf16>, tensor<2x4x6x8xf16>, tensor<2x4x6x8xf16>) -> tensor<2x4x6x8xf16>
  %o1 = ge.TransposeD %o {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x4x6x8xf16>) -> tensor<2x6x4x8xf16>
  %o2 = ge.Reshape %o1 : (tensor<2x6x4x8xf16>) -> tensor<2x6x32xf16>
  %y = ge.BatchMatMulV2 %o2, %w : (tensor<2x6x32xf16>, tensor<32x8xf16>) -> tensor<2x6x8xf16>
  func.return %y : tensor<2x6x8xf16>
}

// -----

// Each user reads its part.
// CHECK-LABEL: func.func @parts
func.func @parts(%x: tensor<4x12xf32>) -> (tensor<4x6xf32>, tensor<6x4xf32>) {
  // CHECK-NEXT: fused.kernel(%x) {ops = ["Relu", "StridedSliceD"]
  // CHECK:      fused.kernel(%x) {ops = ["Exp", "StridedSliceD", "TransposeD"]
  // CHECK-NOT:  fused.kernel
  // CHECK:      func.return
  %a = ge.StridedSliceD %x {begin = array<i64: 0, 0>, end = array<i64: 4, 6>, strides = array<i64: 1, 1>} : (tensor<4x12xf32>) -> tensor<4x6xf32>
  %b = ge.StridedSliceD %x {begin = array<i64: 0, 6>, end = array<i64: 4, 12>, strides = array<i64: 1, 1>} : (tensor<4x12xf32>) -> tensor<4x6xf32>
  %c = ge.Relu %a : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %d = ge.TransposeD %b {perm = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %e = ge.Exp %d : (tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %c, %e : tensor<4x6xf32>, tensor<6x4xf32>
}

// -----

// What only hands a value through is no kernel; whether a result needs a copy is decided later.
// CHECK-LABEL: func.func @nothing
func.func @nothing(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // CHECK-NEXT: func.return %x
  %a = ge.StridedSliceD %x {begin = array<i64: 0, 0>, end = array<i64: 4, 6>, strides = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %a : tensor<4x6xf32>
}

// -----

// A result of another shape than an input is a copy; one of a kernel is written in that shape.
// CHECK-LABEL: func.func @results
func.func @results(%x: tensor<4x6xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>) {
  // CHECK-NEXT: fused.kernel(%x) {ops = ["TransposeD"]
  // expected-remark@+1 {{[elide-views] copy: a (TransposeD) stays a copy, which moves 192 bytes: a result needs memory of its own}}
  %a = ge.TransposeD %x {perm = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  // CHECK:      fused.kernel(%x) {ops = ["Relu", "TransposeD"]
  // CHECK-NOT:  fused.kernel
  // CHECK:      func.return
  %b = ge.Relu %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = ge.TransposeD %b {perm = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  func.return %a, %c : tensor<6x4xf32>, tensor<6x4xf32>
}

// -----

// A matrix whose rows and columns are both taken in steps is no operand of the cube.
// CHECK-LABEL: func.func @steps
func.func @steps(%x: tensor<8x16xf16>, %w: tensor<8x4xf16>) -> tensor<8x4xf16> {
  // CHECK-NEXT: %a = fused.kernel(%x) {ops = ["StridedSliceD"]
  // CHECK:      fused.kernel(%a, %w) {ops = ["MatMulV2"]
  // expected-remark@+1 {{[elide-views] copy: a (StridedSliceD) stays a copy, which moves 256 bytes: y (MatMulV2): stride: }}
  %a = ge.StridedSliceD %x {begin = array<i64: 0, 0>, end = array<i64: 8, 16>, strides = array<i64: 1, 2>} : (tensor<8x16xf16>) -> tensor<8x8xf16>
  %y = ge.MatMulV2 %a, %w : (tensor<8x8xf16>, tensor<8x4xf16>) -> tensor<8x4xf16>
  func.return %y : tensor<8x4xf16>
}

// -----

// Two halves of one value that are elementwise functions of another are one kernel, and so is what is done with them.
// CHECK-LABEL: func.func @halves
func.func @halves(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK:      %n = fused.kernel(%x) {ops = ["Neg", "StridedSliceD"]
  // CHECK:      fused.kernel(%n, %x) {ops = ["ConcatD", "StridedSliceD"]
  // CHECK-NOT:  fused.insert
  %a = ge.StridedSliceD %x {begin = array<i64: 0, 0>, end = array<i64: 4, 4>, strides = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %b = ge.StridedSliceD %x {begin = array<i64: 0, 4>, end = array<i64: 4, 8>, strides = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %n = ge.Neg %b : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = ge.ConcatD %n, %a {concat_dim = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  func.return %c : tensor<4x8xf32>
}

// -----

// Pieces of different sizes are written one after the other into one tensor; what is no kernel's own result is copied.
// CHECK-LABEL: func.func @pieces
func.func @pieces(%x: tensor<4x2xf32>, %y: tensor<4x6xf32>) -> tensor<4x8xf32> {
  // CHECK:      %s = fused.kernel(%y) {ops = ["SoftmaxV2"]
  // CHECK:      %[[E:.*]] = tensor.empty() : tensor<4x8xf32>
  // CHECK-NEXT: %[[P:.*]] = fused.kernel(%x, %[[E]]) {ops = ["ConcatD"], op_name = "c"} : (tensor<4x2xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK:        fused.insert %{{.*}} into %{{.*}} offsets [0, 0] strides [1, 1]
  // CHECK:      %c = fused.kernel(%s, %[[P]]) {ops = ["ConcatD"], op_name = "c"} : (tensor<4x6xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK:        fused.insert %{{.*}} into %{{.*}} offsets [0, 2] strides [1, 1]
  // CHECK:      func.return %c
  %s = ge.SoftmaxV2 %y {axes = array<i64: 1>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@+1 {{[elide-views] copy: a piece of c (ConcatD) is copied, which moves 64 bytes: it is not what a kernel makes}}
  %c = ge.ConcatD %x, %s {concat_dim = 1 : i64} : (tensor<4x2xf32>, tensor<4x6xf32>) -> tensor<4x8xf32>
  func.return %c : tensor<4x8xf32>
}
