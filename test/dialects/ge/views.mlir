// Tests that what moves elements print, and read back to the same text.
// RUN: ge-opt %s | ge-opt | filecheck %s
// RUN: ge-opt %s --mlir-print-op-generic | ge-opt | filecheck %s

// Other shapes, orders, windows and joins.
// CHECK-LABEL: func.func @views
func.func @views(%x: tensor<4x8xf32>, %y: tensor<8xf32>, %s: tensor<f32>) {
  // CHECK-NEXT: %reshape = ge.Reshape %x : (tensor<4x8xf32>) -> tensor<2x16xf32>
  %reshape = ge.Reshape %x : (tensor<4x8xf32>) -> tensor<2x16xf32>
  // CHECK-NEXT: %scalar = ge.Reshape %s : (tensor<f32>) -> tensor<1x1xf32>
  %scalar = ge.Reshape %s : (tensor<f32>) -> tensor<1x1xf32>
  // CHECK-NEXT: %transpose = ge.TransposeD %x {perm = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %transpose = ge.TransposeD %x {perm = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: %slice = ge.StridedSliceD %x {begin = array<i64: 1, 0>, end = array<i64: 4, 7>, strides = array<i64: 1, 3>} : (tensor<4x8xf32>) -> tensor<3x3xf32>
  %slice = ge.StridedSliceD %x {begin = array<i64: 1, 0>, end = array<i64: 4, 7>, strides = array<i64: 1, 3>} : (tensor<4x8xf32>) -> tensor<3x3xf32>
  // CHECK-NEXT: %assign = ge.StridedSliceAssignD %x, %slice {begin = array<i64: 1, 0>, strides = array<i64: 1, 3>} : (tensor<4x8xf32>, tensor<3x3xf32>) -> tensor<4x8xf32>
  %assign = ge.StridedSliceAssignD %x, %slice {begin = array<i64: 1, 0>, strides = array<i64: 1, 3>} : (tensor<4x8xf32>, tensor<3x3xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %broadcast = ge.BroadcastToD %y : (tensor<8xf32>) -> tensor<2x4x8xf32>
  %broadcast = ge.BroadcastToD %y : (tensor<8xf32>) -> tensor<2x4x8xf32>
  // CHECK-NEXT: %concat = ge.ConcatD %x, %x, %assign {concat_dim = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<12x8xf32>
  %concat = ge.ConcatD %x, %x, %assign {concat_dim = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<12x8xf32>
  // CHECK-NEXT: %one = ge.ConcatD %x {concat_dim = -1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %one = ge.ConcatD %x {concat_dim = -1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}
