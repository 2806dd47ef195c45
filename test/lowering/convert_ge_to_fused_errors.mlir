// Tests that operators whose sizes are open are not made into kernels.
// RUN: ge-opt %s -p convert-ge-to-fused --split-input-file --verify-diagnostics

func.func @operand(%x: tensor<?x8xf16>) -> tensor<8xf16> {
  // expected-error@+1 {{'ge.ReduceMeanD' op has a size that is open in tensor<?x8xf16>: kernels are made for fixed shapes; write the size}}
  %y = ge.ReduceMeanD %x {axes = array<i64: 0>} : (tensor<?x8xf16>) -> tensor<8xf16>
  func.return %y : tensor<8xf16>
}

// -----

func.func @result(%x: tensor<4x8xf16>) -> tensor<2x?xf16> {
  // expected-error@+1 {{'ge.Reshape' op has a size that is open in tensor<2x?xf16>: kernels are made for fixed shapes; write the size}}
  %y = ge.Reshape %x : (tensor<4x8xf16>) -> tensor<2x?xf16>
  func.return %y : tensor<2x?xf16>
}

// -----

func.func @elsewhere(%x: tensor<?xf16>) -> tensor<?xf16> {
  // expected-error@+1 {{'ge.CumsumD' op has a size that is open in tensor<?xf16>}}
  %y = ge.CumsumD %x {axis = 0 : i64} : (tensor<?xf16>) -> tensor<?xf16>
  func.return %y : tensor<?xf16>
}
