// Tests that operators which break a rule of theirs are refused with the operand, the rule and what to do.
// RUN: ge-opt %s --split-input-file --verify-diagnostics

func.func @count(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.Reshape' op x has 24 elements, but 5x5 has 25}}
  %0 = ge.Reshape %x : (tensor<4x6xf16>) -> tensor<5x5xf16>
  func.return
}

// -----

func.func @open_count(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.Reshape' op x has 24 elements, which is no multiple of 5 in 5x?}}
  %0 = ge.Reshape %x : (tensor<4x6xf16>) -> tensor<5x?xf16>
  func.return
}

// -----

func.func @element(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.Reshape' op result #0 is tensor<24xf32>, but the operands give tensor<24xf16>}}
  %0 = ge.Reshape %x : (tensor<4x6xf16>) -> tensor<24xf32>
  func.return
}

// -----

func.func @perm(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.TransposeD' op perm must hold each of the 2 dimensions of x once, got [0, 0]}}
  %0 = ge.TransposeD %x {perm = array<i64: 0, 0>} : (tensor<4x6xf16>) -> tensor<4x4xf16>
  func.return
}

// -----

func.func @order(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.TransposeD' op result #0 is tensor<4x6xf16>, but the operands give tensor<6x4xf16>}}
  %0 = ge.TransposeD %x {perm = array<i64: 1, 0>} : (tensor<4x6xf16>) -> tensor<4x6xf16>
  func.return
}

// -----

func.func @entries(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.StridedSliceD' op begin needs an entry for each of 2 dimensions, got [0]}}
  %0 = ge.StridedSliceD %x {begin = array<i64: 0>, end = array<i64: 4, 6>, strides = array<i64: 1, 1>} : (tensor<4x6xf16>) -> tensor<4x6xf16>
  func.return
}

// -----

func.func @negative(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.StridedSliceD' op begin must be at least 0 in every dimension, got [0, -1]}}
  %0 = ge.StridedSliceD %x {begin = array<i64: 0, -1>, end = array<i64: 4, 6>, strides = array<i64: 1, 1>} : (tensor<4x6xf16>) -> tensor<4x6xf16>
  func.return
}

// -----

func.func @backwards(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.StridedSliceD' op strides must be at least 1 in every dimension, got [1, 0]}}
  %0 = ge.StridedSliceD %x {begin = array<i64: 0, 0>, end = array<i64: 4, 6>, strides = array<i64: 1, 0>} : (tensor<4x6xf16>) -> tensor<4x6xf16>
  func.return
}

// -----

func.func @beyond(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.StridedSliceD' op takes elements 2 to 7 of dimension 1, which has 6}}
  %0 = ge.StridedSliceD %x {begin = array<i64: 0, 2>, end = array<i64: 4, 7>, strides = array<i64: 1, 1>} : (tensor<4x6xf16>) -> tensor<4x5xf16>
  func.return
}

// -----

func.func @crossed(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.StridedSliceD' op takes elements 3 to 1 of dimension 0, which has 4}}
  %0 = ge.StridedSliceD %x {begin = array<i64: 3, 0>, end = array<i64: 1, 6>, strides = array<i64: 1, 1>} : (tensor<4x6xf16>) -> tensor<0x6xf16>
  func.return
}

// -----

func.func @assign_rank(%x: tensor<4x6xf16>, %u: tensor<6xf16>) {
  // expected-error@+1 {{'ge.StridedSliceAssignD' op var and updates must have one rank, got tensor<4x6xf16> and tensor<6xf16>}}
  %0 = ge.StridedSliceAssignD %x, %u {begin = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x6xf16>, tensor<6xf16>) -> tensor<4x6xf16>
  func.return
}

// -----

func.func @assign_beyond(%x: tensor<4x6xf16>, %u: tensor<4x3xf16>) {
  // expected-error@+1 {{'ge.StridedSliceAssignD' op replaces elements 2 to 6 of dimension 1, which has 6}}
  %0 = ge.StridedSliceAssignD %x, %u {begin = array<i64: 0, 2>, strides = array<i64: 1, 2>} : (tensor<4x6xf16>, tensor<4x3xf16>) -> tensor<4x6xf16>
  func.return
}

// -----

func.func @assign_element(%x: tensor<4x6xf16>, %u: tensor<4x3xf32>) {
  // expected-error@+1 {{'ge.StridedSliceAssignD' op var is f16 but updates is f32; insert a ge.Cast}}
  %0 = ge.StridedSliceAssignD %x, %u {begin = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x6xf16>, tensor<4x3xf32>) -> tensor<4x6xf16>
  func.return
}

// -----

func.func @repeat(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.BroadcastToD' op x, 4x6, cannot be repeated to 4x12}}
  %0 = ge.BroadcastToD %x : (tensor<4x6xf16>) -> tensor<4x12xf16>
  func.return
}

// -----

func.func @shrink(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.BroadcastToD' op x, 4x6, cannot be repeated to 1x6}}
  %0 = ge.BroadcastToD %x : (tensor<4x6xf16>) -> tensor<1x6xf16>
  func.return
}

// -----

func.func @lower_rank(%x: tensor<1x6xf16>) {
  // expected-error@+1 {{'ge.BroadcastToD' op x, 1x6, cannot be repeated to 6}}
  %0 = ge.BroadcastToD %x : (tensor<1x6xf16>) -> tensor<6xf16>
  func.return
}

// -----

func.func @concat_rank(%x: tensor<4x6xf16>, %y: tensor<6xf16>) {
  // expected-error@+1 {{'ge.ConcatD' op operands must have one rank, got 4x6 and 6}}
  %0 = ge.ConcatD %x, %y {concat_dim = 0 : i64} : (tensor<4x6xf16>, tensor<6xf16>) -> tensor<5x6xf16>
  func.return
}

// -----

func.func @concat_sizes(%x: tensor<4x6xf16>, %y: tensor<4x5xf16>) {
  // expected-error@+1 {{'ge.ConcatD' op operands must agree in all dimensions but 0, got 4x6 and 4x5}}
  %0 = ge.ConcatD %x, %y {concat_dim = 0 : i64} : (tensor<4x6xf16>, tensor<4x5xf16>) -> tensor<8x6xf16>
  func.return
}

// -----

func.func @concat_axis(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.ConcatD' op concat_dim must be in [-2, 2) for a tensor of rank 2, got 2}}
  %0 = ge.ConcatD %x {concat_dim = 2 : i64} : (tensor<4x6xf16>) -> tensor<4x6xf16>
  func.return
}

// -----

func.func @concat_nothing() {
  // expected-error@+1 {{'ge.ConcatD' op needs at least one operand}}
  %0 = ge.ConcatD {concat_dim = 0 : i64} : () -> tensor<4x6xf16>
  func.return
}
