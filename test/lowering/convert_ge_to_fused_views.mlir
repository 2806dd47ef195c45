// Tests that what moves elements becomes a view, and that what changes nothing becomes a copy.
// RUN: ge-opt %s -p convert-ge-to-fused --split-input-file | filecheck %s

// One primitive each; a part of an argument is replaced in that argument.
// CHECK-LABEL: func.func @views
// CHECK-NEXT:  %a = fused.kernel(%x) {ops = ["Reshape"], op_name = "a"} : (tensor<4x8xf16>) -> tensor<2x16xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x8xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.reshape %x_1 : tensor<4x8xf16> to tensor<2x16xf16>
// CHECK-NEXT:  fused.yield %[[V0]] : tensor<2x16xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %b = fused.kernel(%x) {ops = ["TransposeD"], op_name = "b"} : (tensor<4x8xf16>) -> tensor<8x4xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x8xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.transpose %x_1 permutation [1, 0] : tensor<4x8xf16> to tensor<8x4xf16>
// CHECK-NEXT:  fused.yield %[[V0]] : tensor<8x4xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %c = fused.kernel(%x) {ops = ["StridedSliceD"], op_name = "c"} : (tensor<4x8xf16>) -> tensor<3x2xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x8xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.slice %x_1 offsets [1, 2] strides [1, 3] : tensor<4x8xf16> to tensor<3x2xf16>
// CHECK-NEXT:  fused.yield %[[V0]] : tensor<3x2xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %d = fused.kernel(%x) {ops = ["BroadcastToD"], op_name = "d"} : (tensor<4x8xf16>) -> tensor<2x4x8xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x8xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.broadcast %x_1 along [1, 2] : tensor<4x8xf16> to tensor<2x4x8xf16>
// CHECK-NEXT:  fused.yield %[[V0]] : tensor<2x4x8xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %e = fused.kernel(%x, %u) {ops = ["StridedSliceAssignD"], op_name = "e"} : (tensor<4x8xf16>, tensor<4x2xf16>) -> tensor<4x8xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x8xf16>, %u_1: tensor<4x2xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.insert %u_1 into %x_1 offsets [0, 1] strides [1, 4] : tensor<4x2xf16> into tensor<4x8xf16> to tensor<4x8xf16>
// CHECK-NEXT:  fused.yield %[[V0]] : tensor<4x8xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %a, %b, %c, %d, %e : tensor<2x16xf16>, tensor<8x4xf16>, tensor<3x2xf16>, tensor<2x4x8xf16>, tensor<4x8xf16>
func.func @views(%x: tensor<4x8xf16>, %u: tensor<4x2xf16>) -> (tensor<2x16xf16>, tensor<8x4xf16>, tensor<3x2xf16>, tensor<2x4x8xf16>, tensor<4x8xf16>) {
  %a = ge.Reshape %x : (tensor<4x8xf16>) -> tensor<2x16xf16>
  %b = ge.TransposeD %x {perm = array<i64: 1, 0>} : (tensor<4x8xf16>) -> tensor<8x4xf16>
  %c = ge.StridedSliceD %x {begin = array<i64: 1, 2>, end = array<i64: 4, 8>, strides = array<i64: 1, 3>} : (tensor<4x8xf16>) -> tensor<3x2xf16>
  %d = ge.BroadcastToD %x : (tensor<4x8xf16>) -> tensor<2x4x8xf16>
  %e = ge.StridedSliceAssignD %x, %u {begin = array<i64: 0, 1>, strides = array<i64: 1, 4>} : (tensor<4x8xf16>, tensor<4x2xf16>) -> tensor<4x8xf16>
  func.return %a, %b, %c, %d, %e : tensor<2x16xf16>, tensor<8x4xf16>, tensor<3x2xf16>, tensor<2x4x8xf16>, tensor<4x8xf16>
}

// -----

// Pieces without elements are left out of a join.
// CHECK-LABEL: func.func @concat
// CHECK-NEXT:  %a = fused.kernel(%x) {ops = ["ConcatD"], op_name = "a"} : (tensor<4x8xf16>) -> tensor<4x16xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x8xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.concat %x_1, %x_1 along 1 : tensor<4x8xf16>, tensor<4x8xf16> to tensor<4x16xf16>
// CHECK-NEXT:  fused.yield %[[V0]] : tensor<4x16xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %b = fused.kernel(%x) {ops = ["ConcatD"], op_name = "b"} : (tensor<4x8xf16>) -> tensor<4x8xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x8xf16>):
// CHECK-NEXT:  fused.yield %x_1 : tensor<4x8xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %a, %b : tensor<4x16xf16>, tensor<4x8xf16>
func.func @concat(%x: tensor<4x8xf16>, %e: tensor<4x0xf16>) -> (tensor<4x16xf16>, tensor<4x8xf16>) {
  %a = ge.ConcatD %x, %e, %x {concat_dim = -1 : i64} : (tensor<4x8xf16>, tensor<4x0xf16>, tensor<4x8xf16>) -> tensor<4x16xf16>
  %b = ge.ConcatD %e, %x {concat_dim = 1 : i64} : (tensor<4x0xf16>, tensor<4x8xf16>) -> tensor<4x8xf16>
  func.return %a, %b : tensor<4x16xf16>, tensor<4x8xf16>
}

// -----

// The same shape, the same order, all elements: a copy.
// CHECK-LABEL: func.func @copies
// CHECK-NEXT:  %a = fused.kernel(%x) {ops = ["Reshape"], op_name = "a"} : (tensor<4x8xf16>) -> tensor<4x8xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x8xf16>):
// CHECK-NEXT:  fused.yield %x_1 : tensor<4x8xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %b = fused.kernel(%a) {ops = ["TransposeD"], op_name = "b"} : (tensor<4x8xf16>) -> tensor<4x8xf16> {
// CHECK-NEXT:  ^{{.*}}(%a_1: tensor<4x8xf16>):
// CHECK-NEXT:  fused.yield %a_1 : tensor<4x8xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %c = fused.kernel(%b) {ops = ["StridedSliceD"], op_name = "c"} : (tensor<4x8xf16>) -> tensor<4x8xf16> {
// CHECK-NEXT:  ^{{.*}}(%b_1: tensor<4x8xf16>):
// CHECK-NEXT:  fused.yield %b_1 : tensor<4x8xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %a, %b, %c : tensor<4x8xf16>, tensor<4x8xf16>, tensor<4x8xf16>
func.func @copies(%x: tensor<4x8xf16>) -> (tensor<4x8xf16>, tensor<4x8xf16>, tensor<4x8xf16>) {
  %a = ge.Reshape %x : (tensor<4x8xf16>) -> tensor<4x8xf16>
  %b = ge.TransposeD %a {perm = array<i64: 0, 1>} : (tensor<4x8xf16>) -> tensor<4x8xf16>
  %c = ge.StridedSliceD %b {begin = array<i64: 0, 0>, end = array<i64: 4, 8>, strides = array<i64: 1, 1>} : (tensor<4x8xf16>) -> tensor<4x8xf16>
  func.return %a, %b, %c : tensor<4x8xf16>, tensor<4x8xf16>, tensor<4x8xf16>
}

// -----

// Positions are counted in a type that counts, then scaled and moved.
// CHECK-LABEL: func.func @positions
// CHECK-NEXT:  %a = fused.kernel() {ops = ["Range"], op_name = "a"} : () -> tensor<5xi64> {
// CHECK-NEXT:  %[[V0:.*]] = fused.iota along 0 : tensor<5xi64>
// CHECK-NEXT:  fused.yield %[[V0]] : tensor<5xi64>
// CHECK-NEXT:  }
// CHECK-NEXT:  %b = fused.kernel() {ops = ["Range"], op_name = "b"} : () -> tensor<5xi8> {
// CHECK-NEXT:  %[[V0:.*]] = fused.iota along 0 : tensor<5xi32>
// CHECK-NEXT:  %[[V1:.*]] = fused.muls %[[V0]] {scalar = -2 : i32} : tensor<5xi32>
// CHECK-NEXT:  %[[V2:.*]] = fused.adds %[[V1]] {scalar = 3 : i32} : tensor<5xi32>
// CHECK-NEXT:  %[[V3:.*]] = fused.cast %[[V2]] : tensor<5xi32> to tensor<5xi8>
// CHECK-NEXT:  fused.yield %[[V3]] : tensor<5xi8>
// CHECK-NEXT:  }
// CHECK-NEXT:  %c = fused.kernel() {ops = ["Range"], op_name = "c"} : () -> tensor<5xf16> {
// CHECK-NEXT:  %[[V0:.*]] = fused.iota along 0 : tensor<5xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.adds %[[V0]] {scalar = 5.000000e-01 : f32} : tensor<5xf32>
// CHECK-NEXT:  %[[V2:.*]] = fused.cast %[[V1]] : tensor<5xf32> to tensor<5xf16>
// CHECK-NEXT:  fused.yield %[[V2]] : tensor<5xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %d = fused.kernel(%x) {ops = ["Tril"], op_name = "d"} : (tensor<4x8xf16>) -> tensor<4x8xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x8xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %x_1 : tensor<4x8xf16> to tensor<4x8xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.iota along 0 : tensor<4x8xi32>
// CHECK-NEXT:  %[[V2:.*]] = fused.iota along 1 : tensor<4x8xi32>
// CHECK-NEXT:  %[[V3:.*]] = fused.adds %[[V1]] {scalar = 1 : i32} : tensor<4x8xi32>
// CHECK-NEXT:  %[[V4:.*]] = fused.ge %[[V3]], %[[V2]] : tensor<4x8xi32> to tensor<4x8xi1>
// CHECK-NEXT:  %[[V5:.*]] = fused.full 0.000000e+00 : f32 to tensor<4x8xf32>
// CHECK-NEXT:  %[[V6:.*]] = fused.select %[[V4]], %[[V0]], %[[V5]] : tensor<4x8xi1>, tensor<4x8xf32>
// CHECK-NEXT:  %[[V7:.*]] = fused.cast %[[V6]] : tensor<4x8xf32> to tensor<4x8xf16>
// CHECK-NEXT:  fused.yield %[[V7]] : tensor<4x8xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %a, %b, %c, %d : tensor<5xi64>, tensor<5xi8>, tensor<5xf16>, tensor<4x8xf16>
func.func @positions(%x: tensor<4x8xf16>) -> (tensor<5xi64>, tensor<5xi8>, tensor<5xf16>, tensor<4x8xf16>) {
  %a = ge.Range {start = 0 : i64, delta = 1 : i64} : tensor<5xi64>
  %b = ge.Range {start = 3 : i64, delta = -2 : i64} : tensor<5xi8>
  %c = ge.Range {start = 0.5 : f32, delta = 1.0 : f32} : tensor<5xf16>
  %d = ge.Tril %x {diagonal = 1 : i64} : (tensor<4x8xf16>) -> tensor<4x8xf16>
  func.return %a, %b, %c, %d : tensor<5xi64>, tensor<5xi8>, tensor<5xf16>, tensor<4x8xf16>
}

// -----

// Rows are looked up in the first dimension; another one is brought there, and back.
// CHECK-LABEL: func.func @indices
// CHECK-NEXT:  %a = fused.kernel(%x, %i) {ops = ["GatherV2"], op_name = "a"} : (tensor<2x5x3xf16>, tensor<4xi64>) -> tensor<4x5x3xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<2x5x3xf16>, %i_1: tensor<4xi64>):
// CHECK-NEXT:  %[[V0:.*]] = fused.gather %x_1, %i_1 : tensor<2x5x3xf16>, tensor<4xi64> to tensor<4x5x3xf16>
// CHECK-NEXT:  fused.yield %[[V0]] : tensor<4x5x3xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %b = fused.kernel(%x, %i) {ops = ["GatherV2"], op_name = "b"} : (tensor<2x5x3xf16>, tensor<4xi64>) -> tensor<2x4x3xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<2x5x3xf16>, %i_1: tensor<4xi64>):
// CHECK-NEXT:  %[[V0:.*]] = fused.transpose %x_1 permutation [1, 0, 2] : tensor<2x5x3xf16> to tensor<5x2x3xf16>
// CHECK-NEXT:  %[[V1:.*]] = fused.gather %[[V0]], %i_1 : tensor<5x2x3xf16>, tensor<4xi64> to tensor<4x2x3xf16>
// CHECK-NEXT:  %[[V2:.*]] = fused.transpose %[[V1]] permutation [1, 0, 2] : tensor<4x2x3xf16> to tensor<2x4x3xf16>
// CHECK-NEXT:  fused.yield %[[V2]] : tensor<2x4x3xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %c = fused.kernel(%x, %i, %u) {ops = ["ScatterUpdate"], op_name = "c"} : (tensor<2x5x3xf16>, tensor<4xi64>, tensor<2x4x3xf16>) -> tensor<2x5x3xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<2x5x3xf16>, %i_1: tensor<4xi64>, %u_1: tensor<2x4x3xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.scatter %u_1 at %i_1 into %x_1 along 1 : tensor<2x4x3xf16>, tensor<4xi64> into tensor<2x5x3xf16> to tensor<2x5x3xf16>
// CHECK-NEXT:  fused.yield %[[V0]] : tensor<2x5x3xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %a, %b, %c : tensor<4x5x3xf16>, tensor<2x4x3xf16>, tensor<2x5x3xf16>
func.func @indices(%x: tensor<2x5x3xf16>, %i: tensor<4xi64>, %u: tensor<2x4x3xf16>) -> (tensor<4x5x3xf16>, tensor<2x4x3xf16>, tensor<2x5x3xf16>) {
  %a = ge.GatherV2 %x, %i {axis = 0 : i64} : (tensor<2x5x3xf16>, tensor<4xi64>) -> tensor<4x5x3xf16>
  %b = ge.GatherV2 %x, %i {axis = -2 : i64} : (tensor<2x5x3xf16>, tensor<4xi64>) -> tensor<2x4x3xf16>
  %c = ge.ScatterUpdate %x, %i, %u {axis = 1 : i64} : (tensor<2x5x3xf16>, tensor<4xi64>, tensor<2x4x3xf16>) -> tensor<2x5x3xf16>
  func.return %a, %b, %c : tensor<4x5x3xf16>, tensor<2x4x3xf16>, tensor<2x5x3xf16>
}
