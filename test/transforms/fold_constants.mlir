// Tests that operators on constants are computed, that what they make is written as a constant of its type, and that large results are not.
// RUN: ge-opt %s -p fold-constants,dce --split-input-file | filecheck %s
// RUN: ge-opt %s -p fold-constants,dce --split-input-file | ge-opt --split-input-file | filecheck %s

// A mask from positions: operators without operands are constants too.
// CHECK-LABEL: func.func @mask
// CHECK-NEXT:  %keep = ge.Const dense<{{\[\[}}true, false, false], [true, true, false]]> : tensor<2x3xi1>
// CHECK-NEXT:  func.return %keep
func.func @mask() -> tensor<2x3xi1> {
  %row = ge.Range {start = 0 : i64, delta = 1 : i64} : tensor<2xi64>
  %column = ge.Range {start = 0 : i64, delta = 1 : i64} : tensor<3xi64>
  %rows = ge.Reshape %row : (tensor<2xi64>) -> tensor<2x1xi64>
  %keep = ge.LessEqual %column, %rows : (tensor<3xi64>, tensor<2x1xi64>) -> tensor<2x3xi1>
  func.return %keep : tensor<2x3xi1>
}

// -----

// Elements of one value stay one value; roundings are those of the operators.
// CHECK-LABEL: func.func @splats
// CHECK-NEXT:  %[[X:.*]] = ge.Const dense<3.332520e-01> : tensor<64xf16>
// CHECK-NEXT:  %[[Y:.*]] = ge.Const dense<true> : tensor<2x2xi1>
// CHECK-NEXT:  func.return %[[X]], %[[Y]]
func.func @splats() -> (tensor<64xf16>, tensor<2x2xi1>) {
  %one = ge.Const dense<1.0> : tensor<f16>
  %three = ge.Const dense<3.0> : tensor<64xf16>
  %x = ge.RealDiv %one, %three : (tensor<f16>, tensor<64xf16>) -> tensor<64xf16>
  %flag = ge.Const dense<true> : tensor<i1>
  %y = ge.BroadcastToD %flag : (tensor<i1>) -> tensor<2x2xi1>
  func.return %x, %y : tensor<64xf16>, tensor<2x2xi1>
}

// -----

// All results of an operator, special values, no elements.
// CHECK-LABEL: func.func @several
// CHECK-NEXT:  %[[V:.*]] = ge.Const dense<[2.000000e+00, 1.000000e+00]> : tensor<2xbf16>
// CHECK-NEXT:  %[[I:.*]] = ge.Const dense<[1, 0]> : tensor<2xi32>
// CHECK-NEXT:  %[[L:.*]] = ge.Const dense<[0.000000e+00, 0xFF800000]> : tensor<2xf32>
// CHECK-NEXT:  %[[E:.*]] = ge.Const dense<> : tensor<0x2xi8>
// CHECK-NEXT:  func.return %[[V]], %[[I]], %[[L]], %[[E]]
func.func @several() -> (tensor<2xbf16>, tensor<2xi32>, tensor<2xf32>, tensor<0x2xi8>) {
  %x = ge.Const dense<[1.0, 2.0]> : tensor<2xbf16>
  %v, %i = ge.SortD %x {axis = 0 : i64, descending} : (tensor<2xbf16>) -> (tensor<2xbf16>, tensor<2xi32>)
  %z = ge.Const dense<[1.0, 0.0]> : tensor<2xf32>
  %l = ge.Log %z : (tensor<2xf32>) -> tensor<2xf32>
  %e = ge.Const dense<> : tensor<2x0xi8>
  %t = ge.TransposeD %e {perm = array<i64: 1, 0>} : (tensor<2x0xi8>) -> tensor<0x2xi8>
  func.return %v, %i, %l, %t : tensor<2xbf16>, tensor<2xi32>, tensor<2xf32>, tensor<0x2xi8>
}

// -----

// What depends on an argument or a weight stays, and so do operators of the host and results that are too large.
ge.weight @w : tensor<4xf32>
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<4xf32>) {
  // CHECK-NEXT: %w = ge.load_weight @w
  // CHECK-NEXT: %one = ge.Const dense<1.000000e+00>
  %w = ge.load_weight @w : tensor<4xf32>
  %one = ge.Const dense<1.0> : tensor<f32>
  // CHECK-NEXT: %a = ge.Add %x, %one
  %a = ge.Add %x, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK-NEXT: %b = ge.Add %w, %one
  %b = ge.Add %w, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK-NEXT: %c = ge.AtenFallback %one
  %c = ge.AtenFallback %one {overload = "aten.bernoulli.default"} : (tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: %d = ge.Range {start = 0 : i64, delta = 1 : i64} : tensor<8193xi64>
  %d = ge.Range {start = 0 : i64, delta = 1 : i64} : tensor<8193xi64>
  // CHECK-NEXT: ge.AtenFallback %a, %b, %d
  ge.AtenFallback %a, %b, %d {overload = "aten.foo.default"} : (tensor<4xf32>, tensor<4xf32>, tensor<8193xi64>) -> ()
  func.return
}
