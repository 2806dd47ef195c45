// RUN: ge-opt %s -p infer-shapes --split-input-file --verify-diagnostics

// Each op is right for itself; only what follows from the first shows that they do not fit.
func.func @main(%x: tensor<4x8xf16>, %w: tensor<9x2xf16>) -> tensor<?x?xf16> {
  %0 = ge.Relu %x : (tensor<4x8xf16>) -> tensor<?x?xf16>
  // expected-error@+1 {{'ge.MatMulV2' op contracting dimensions differ: x1 4x8 gives K=8, x2 9x2 gives K=9}}
  %1 = ge.MatMulV2 %0, %w : (tensor<?x?xf16>, tensor<9x2xf16>) -> tensor<?x?xf16>
  func.return %1 : tensor<?x?xf16>
}

// -----

func.func @main(%x: tensor<4x8xf16>) -> tensor<5x?xf16> {
  %0 = ge.Relu %x : (tensor<4x8xf16>) -> tensor<?x?xf16>
  // expected-error@+1 {{'ge.Exp' op gives tensor<4x8xf16>, but its result is written as tensor<5x?xf16>}}
  %1 = ge.Exp %0 : (tensor<?x?xf16>) -> tensor<5x?xf16>
  func.return %1 : tensor<5x?xf16>
}
