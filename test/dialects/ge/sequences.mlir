// Tests that operators along an axis, and those of the host print, and read back to the same text.
// RUN: ge-opt %s | ge-opt | filecheck %s
// RUN: ge-opt %s --mlir-print-op-generic | ge-opt | filecheck %s

// Along an axis.
// CHECK-LABEL: func.func @sequences_0
func.func @sequences_0(%x: tensor<4x8xf32>) {
  // CHECK-NEXT: %range = ge.Range {start = 3 : i64, delta = -1 : i64} : tensor<5xi32>
  %range = ge.Range {start = 3 : i64, delta = -1 : i64} : tensor<5xi32>
  // CHECK-NEXT: %floats = ge.Range {start = 0.000000e+00 : f32, delta = 5.000000e-01 : f32} : tensor<5xf16>
  %floats = ge.Range {start = 0.000000e+00 : f32, delta = 5.000000e-01 : f32} : tensor<5xf16>
  // CHECK-NEXT: %pad = ge.PadD %x {paddings = array<i64: 1, 0, 0, 2>, value = 0.000000e+00 : f32} : (tensor<4x8xf32>) -> tensor<5x10xf32>
  %pad = ge.PadD %x {paddings = array<i64: 1, 0, 0, 2>, value = 0.000000e+00 : f32} : (tensor<4x8xf32>) -> tensor<5x10xf32>
  // CHECK-NEXT: %reverse = ge.ReverseD %x {axes = array<i64: 0, -1>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %reverse = ge.ReverseD %x {axes = array<i64: 0, -1>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %lower = ge.Tril %x {diagonal = 0 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %lower = ge.Tril %x {diagonal = 0 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %upper = ge.Triu %x {diagonal = -2 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %upper = ge.Triu %x {diagonal = -2 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %sums = ge.CumsumD %x {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %sums = ge.CumsumD %x {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %products = ge.CumprodD %x {axis = -1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %products = ge.CumprodD %x {axis = -1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %largest = ge.ArgMaxD %x {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4xi64>
  %largest = ge.ArgMaxD %x {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4xi64>
  // CHECK-NEXT: %smallest = ge.ArgMinD %x {axis = 0 : i64, keep_dims} : (tensor<4x8xf32>) -> tensor<1x8xi32>
  %smallest = ge.ArgMinD %x {axis = 0 : i64, keep_dims} : (tensor<4x8xf32>) -> tensor<1x8xi32>
  // CHECK-NEXT: %sorted, %places = ge.SortD %x {axis = 1 : i64, descending} : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi64>)
  %sorted, %places = ge.SortD %x {axis = 1 : i64, descending} : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi64>)
  // CHECK-NEXT: %best, %where = ge.TopKD %x {axis = 1 : i64, k = 2 : i64} : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  %best, %where = ge.TopKD %x {axis = 1 : i64, k = 2 : i64} : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  // CHECK-NEXT: %worst, %there = ge.TopKD %x {axis = 0 : i64, k = 0 : i64, smallest} : (tensor<4x8xf32>) -> (tensor<0x8xf32>, tensor<0x8xi32>)
  %worst, %there = ge.TopKD %x {axis = 0 : i64, k = 0 : i64, smallest} : (tensor<4x8xf32>) -> (tensor<0x8xf32>, tensor<0x8xi32>)
  func.return
}

// The host takes what it needs in its own words, and gives any number of results.
// CHECK-LABEL: func.func @sequences_1
func.func @sequences_1(%x: tensor<4x8xf32>) {
  // CHECK-NEXT: %roll = ge.AtenFallback %x {overload = "aten.roll.default", arguments = {{\[\[}}1 : i64], [0 : i64]]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %roll = ge.AtenFallback %x {overload = "aten.roll.default", arguments = [[1 : i64], [0 : i64]]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %a, %b = ge.AtenFallback %x, %x {overload = "aten.foo.bar"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<2xi64>)
  %a, %b = ge.AtenFallback %x, %x {overload = "aten.foo.bar"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<2xi64>)
  // CHECK-NEXT: %random = ge.AtenFallback {overload = "aten.randn.default"} : () -> tensor<4x8xf32>
  %random = ge.AtenFallback {overload = "aten.randn.default"} : () -> tensor<4x8xf32>
  func.return
}
