// Tests that what compares, chooses and computes elements print, and read back to the same text.
// RUN: ge-opt %s | ge-opt | filecheck %s
// RUN: ge-opt %s --mlir-print-op-generic | ge-opt | filecheck %s

// Comparisons give booleans; booleans are chosen by and combined.
// CHECK-LABEL: func.func @elementwise_0
func.func @elementwise_0(%x: tensor<4x8xf32>, %y: tensor<8xf32>, %c: tensor<4x8xi1>, %d: tensor<i1>, %i: tensor<4x8xi32>) {
  // CHECK-NEXT: %equal = ge.Equal %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
  %equal = ge.Equal %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: %notequal = ge.NotEqual %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
  %notequal = ge.NotEqual %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: %less = ge.Less %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
  %less = ge.Less %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: %lessequal = ge.LessEqual %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
  %lessequal = ge.LessEqual %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: %greater = ge.Greater %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
  %greater = ge.Greater %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: %greaterequal = ge.GreaterEqual %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
  %greaterequal = ge.GreaterEqual %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: %select = ge.SelectV2 %c, %x, %y : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %select = ge.SelectV2 %c, %x, %y : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %and = ge.LogicalAnd %c, %d : (tensor<4x8xi1>, tensor<i1>) -> tensor<4x8xi1>
  %and = ge.LogicalAnd %c, %d : (tensor<4x8xi1>, tensor<i1>) -> tensor<4x8xi1>
  // CHECK-NEXT: %or = ge.LogicalOr %c, %d : (tensor<4x8xi1>, tensor<i1>) -> tensor<4x8xi1>
  %or = ge.LogicalOr %c, %d : (tensor<4x8xi1>, tensor<i1>) -> tensor<4x8xi1>
  // CHECK-NEXT: %not = ge.LogicalNot %c : (tensor<4x8xi1>) -> tensor<4x8xi1>
  %not = ge.LogicalNot %c : (tensor<4x8xi1>) -> tensor<4x8xi1>
  // CHECK-NEXT: %adds = ge.Adds %i {value = 16777217 : i64} : (tensor<4x8xi32>) -> tensor<4x8xi32>
  %adds = ge.Adds %i {value = 16777217 : i64} : (tensor<4x8xi32>) -> tensor<4x8xi32>
  func.return
}

// Functions of the vector unit.
// CHECK-LABEL: func.func @elementwise_1
func.func @elementwise_1(%x: tensor<4x8xf32>) {
  // CHECK-NEXT: %ceil = ge.Ceil %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %ceil = ge.Ceil %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %cos = ge.Cos %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %cos = ge.Cos %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %floor = ge.Floor %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %floor = ge.Floor %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %rint = ge.Rint %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %rint = ge.Rint %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %sin = ge.Sin %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %sin = ge.Sin %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %trunc = ge.Trunc %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %trunc = ge.Trunc %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// Functions of numpy.
// CHECK-LABEL: func.func @elementwise_2
func.func @elementwise_2(%x: tensor<4x8xf32>, %y: tensor<8xf32>, %i: tensor<4x8xi32>) {
  // CHECK-NEXT: %acos = ge.Acos %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %acos = ge.Acos %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %acosh = ge.Acosh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %acosh = ge.Acosh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %asin = ge.Asin %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %asin = ge.Asin %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %asinh = ge.Asinh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %asinh = ge.Asinh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %atan = ge.Atan %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %atan = ge.Atan %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %atanh = ge.Atanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %atanh = ge.Atanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %cosh = ge.Cosh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %cosh = ge.Cosh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %expm1 = ge.Expm1 %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %expm1 = ge.Expm1 %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %log1p = ge.Log1p %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %log1p = ge.Log1p %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %sign = ge.Sign %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %sign = ge.Sign %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %sinh = ge.Sinh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %sinh = ge.Sinh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %tan = ge.Tan %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %tan = ge.Tan %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %atan2 = ge.Atan2 %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %atan2 = ge.Atan2 %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %floordiv = ge.FloorDiv %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %floordiv = ge.FloorDiv %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %floormod = ge.FloorMod %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %floormod = ge.FloorMod %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %mod = ge.Mod %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %mod = ge.Mod %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %pow = ge.Pow %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %pow = ge.Pow %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %bitwiseand = ge.BitwiseAnd %i, %i : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  %bitwiseand = ge.BitwiseAnd %i, %i : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  // CHECK-NEXT: %bitwiseor = ge.BitwiseOr %i, %i : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  %bitwiseor = ge.BitwiseOr %i, %i : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  // CHECK-NEXT: %bitwisexor = ge.BitwiseXor %i, %i : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  %bitwisexor = ge.BitwiseXor %i, %i : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  // CHECK-NEXT: %leftshift = ge.LeftShift %i, %i : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  %leftshift = ge.LeftShift %i, %i : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  // CHECK-NEXT: %rightshift = ge.RightShift %i, %i : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  %rightshift = ge.RightShift %i, %i : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  // CHECK-NEXT: %invert = ge.Invert %i : (tensor<4x8xi32>) -> tensor<4x8xi32>
  %invert = ge.Invert %i : (tensor<4x8xi32>) -> tensor<4x8xi32>
  // CHECK-NEXT: %isfinite = ge.IsFinite %x : (tensor<4x8xf32>) -> tensor<4x8xi1>
  %isfinite = ge.IsFinite %x : (tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: %isinf = ge.IsInf %x : (tensor<4x8xf32>) -> tensor<4x8xi1>
  %isinf = ge.IsInf %x : (tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: %isnan = ge.IsNan %x : (tensor<4x8xf32>) -> tensor<4x8xi1>
  %isnan = ge.IsNan %x : (tensor<4x8xf32>) -> tensor<4x8xi1>
  func.return
}
