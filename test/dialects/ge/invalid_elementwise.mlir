// Tests that operators which break a rule of theirs are refused with the operand, the rule and what to do.
// RUN: ge-opt %s --split-input-file --verify-diagnostics

func.func @compare_elements(%x: tensor<4xf16>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'ge.Less' op operands differ in element type: #0 is f16, #1 is f32; insert a ge.Cast}}
  %0 = ge.Less %x, %y : (tensor<4xf16>, tensor<4xf32>) -> tensor<4xi1>
  func.return
}

// -----

func.func @compare_result(%x: tensor<4xf16>) {
  // expected-error@+1 {{'ge.Less' op result #0 is tensor<4xf16>, but the operands give tensor<4xi1>}}
  %0 = ge.Less %x, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  func.return
}

// -----

func.func @condition(%x: tensor<4xf16>) {
  // expected-error@+1 {{'ge.SelectV2' op condition must have elements of type i1, got tensor<4xf16>; insert a ge.Cast}}
  %0 = ge.SelectV2 %x, %x, %x : (tensor<4xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  func.return
}

// -----

func.func @choices(%c: tensor<4xi1>, %x: tensor<4xf16>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'ge.SelectV2' op x1 is f16 but x2 is f32; insert a ge.Cast}}
  %0 = ge.SelectV2 %c, %x, %y : (tensor<4xi1>, tensor<4xf16>, tensor<4xf32>) -> tensor<4xf16>
  func.return
}

// -----

func.func @choice_shapes(%c: tensor<4xi1>, %x: tensor<3xf16>) {
  // expected-error@+1 {{'ge.SelectV2' op operand shapes do not broadcast: 4 and 3 and 3}}
  %0 = ge.SelectV2 %c, %x, %x : (tensor<4xi1>, tensor<3xf16>, tensor<3xf16>) -> tensor<4xf16>
  func.return
}

// -----

func.func @logic(%x: tensor<4xi8>) {
  // expected-error@+1 {{'ge.LogicalNot' op operand #0 must have elements of type i1, got tensor<4xi8>; insert a ge.Cast}}
  %0 = ge.LogicalNot %x : (tensor<4xi8>) -> tensor<4xi1>
  func.return
}

// -----

func.func @booleans(%x: tensor<4xi1>) {
  // expected-error@+1 {{'ge.Add' op computes in numbers, not in i1: insert a ge.Cast}}
  %0 = ge.Add %x, %x : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  func.return
}

// -----

func.func @integers(%x: tensor<4xi32>) {
  // expected-error@+1 {{'ge.Sqrt' op takes floats only, got i32: insert a ge.Cast}}
  %0 = ge.Sqrt %x : (tensor<4xi32>) -> tensor<4xi32>
  func.return
}

// -----

func.func @numpy_integers(%x: tensor<4xi64>) {
  // expected-error@+1 {{'ge.Atan' op takes floats only, got i64: insert a ge.Cast}}
  %0 = ge.Atan %x : (tensor<4xi64>) -> tensor<4xi64>
  func.return
}

// -----

func.func @numpy_booleans(%x: tensor<4xi1>) {
  // expected-error@+1 {{'ge.FloorDiv' op computes in numbers, not in i1: insert a ge.Cast}}
  %0 = ge.FloorDiv %x, %x : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  func.return
}

// -----

func.func @bits(%x: tensor<4xf16>) {
  // expected-error@+1 {{'ge.BitwiseAnd' op takes integers only, got f16}}
  %0 = ge.BitwiseAnd %x, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  func.return
}

// -----

func.func @predicate(%x: tensor<4xi32>) {
  // expected-error@+1 {{'ge.IsNan' op x must have elements of a float type, got tensor<4xi32>; insert a ge.Cast}}
  %0 = ge.IsNan %x : (tensor<4xi32>) -> tensor<4xi1>
  func.return
}

// -----

func.func @scalar(%x: tensor<4xi8>) {
  // expected-error@+1 {{'ge.Adds' op value must be a whole number that i8 holds, in which adds computes, got 128}}
  %0 = ge.Adds %x {value = 128 : i64} : (tensor<4xi8>) -> tensor<4xi8>
  func.return
}
