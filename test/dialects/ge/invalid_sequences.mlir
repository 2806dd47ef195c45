// Tests that operators which break a rule of theirs are refused with the operand, the rule and what to do.
// RUN: ge-opt %s --split-input-file --verify-diagnostics

func.func @rank() {
  // expected-error@+1 {{'ge.Range' op result must have one dimension of known size, got tensor<2x3xi64>}}
  %0 = ge.Range {start = 0 : i64, delta = 1 : i64} : tensor<2x3xi64>
  func.return
}

// -----

func.func @kind() {
  // expected-error@+1 {{'ge.Range' op delta must be a whole number such as 0 : i64 for elements of type i64, got 5.000000e-01 : f32}}
  %0 = ge.Range {start = 0 : i64, delta = 0.5 : f32} : tensor<3xi64>
  func.return
}

// -----

func.func @float_kind() {
  // expected-error@+1 {{'ge.Range' op start must be a float such as 0.0 : f32 for elements of type f32, got 0 : i64}}
  %0 = ge.Range {start = 0 : i64, delta = 0.5 : f32} : tensor<3xf32>
  func.return
}

// -----

func.func @paddings(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.PadD' op paddings needs two numbers, none negative, for each of 2 dimensions, got [1, -1, 0, 0]}}
  %0 = ge.PadD %x {paddings = array<i64: 1, -1, 0, 0>, value = 0.0 : f32} : (tensor<4x6xf16>) -> tensor<4x6xf16>
  func.return
}

// -----

func.func @triangle(%x: tensor<4xf16>) {
  // expected-error@+1 {{'ge.Tril' op x must have at least two dimensions, got tensor<4xf16>}}
  %0 = ge.Tril %x {diagonal = 0 : i64} : (tensor<4xf16>) -> tensor<4xf16>
  func.return
}

// -----

func.func @no_choice(%x: tensor<4x0xf16>) {
  // expected-error@+1 {{'ge.ArgMaxD' op axis 1 of x, 4x0, has no element to choose}}
  %0 = ge.ArgMaxD %x {axis = 1 : i64} : (tensor<4x0xf16>) -> tensor<4xi64>
  func.return
}

// -----

func.func @places(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.ArgMinD' op result must have elements of type i32 or i64, got tensor<4xf32>; insert a ge.Cast}}
  %0 = ge.ArgMinD %x {axis = 1 : i64} : (tensor<4x6xf16>) -> tensor<4xf32>
  func.return
}

// -----

func.func @too_many(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.TopKD' op k must be from 0 to the 6 elements of dimension 1, got 7}}
  %0, %1 = ge.TopKD %x {axis = 1 : i64, k = 7 : i64} : (tensor<4x6xf16>) -> (tensor<4x7xf16>, tensor<4x7xi64>)
  func.return
}

// -----

func.func @overload(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.AtenFallback' op overload must be written as "aten.roll.default", got "roll"}}
  %0 = ge.AtenFallback %x {overload = "roll"} : (tensor<4x6xf16>) -> tensor<4x6xf16>
  func.return
}
