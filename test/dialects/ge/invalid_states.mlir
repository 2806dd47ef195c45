// Tests that an argument which a result updates fits that result.
// RUN: ge-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'func.func' op argument #0 has ge.updated_by = 1 : i64, but results are numbered 0 to 0}}
func.func @number(%x: tensor<4xf16> {ge.updated_by = 1 : i64}) -> tensor<4xf16> {
  func.return %x : tensor<4xf16>
}

// -----

// expected-error@+1 {{'func.func' op argument #0 has ge.updated_by = "y", but results are numbered 0 to 0}}
func.func @text(%x: tensor<4xf16> {ge.updated_by = "y"}) -> tensor<4xf16> {
  func.return %x : tensor<4xf16>
}

// -----

// expected-error@+1 {{'func.func' op argument #1 is tensor<3xf16>, but result #0, its new contents, is tensor<4xf16>}}
func.func @type(%x: tensor<4xf16>, %s: tensor<3xf16> {ge.updated_by = 0 : i64}) -> tensor<4xf16> {
  func.return %x : tensor<4xf16>
}

// -----

// expected-error@+1 {{'func.func' op result #0 is the new contents of both argument #0 and argument #1}}
func.func @both(%x: tensor<4xf16> {ge.updated_by = 0 : i64}, %y: tensor<4xf16> {ge.updated_by = 0 : i64}) -> tensor<4xf16> {
  func.return %x : tensor<4xf16>
}
