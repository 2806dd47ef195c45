// Tests that an operator which constants make fail is reported at its place, and that the limit of bytes is held.
// RUN: ge-opt %s -p fold-constants --split-input-file --verify-diagnostics
// RUN: not ge-opt %s -p 'fold-constants{max-bytes=-1}' 2>&1 | filecheck %s
// CHECK: max-bytes must be at least 0, got -1

func.func @gather() -> tensor<2xf32> {
  %table = ge.Const dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %indices = ge.Const dense<[0, 3]> : tensor<2xi64>
  // expected-error@+1 {{'ge.GatherV2' op indices has 3 at [1], which is out of bounds: there are 3 rows}}
  %x = ge.GatherV2 %table, %indices {axis = 0 : i64} : (tensor<3xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return %x : tensor<2xf32>
}
