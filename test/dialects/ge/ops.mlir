// Tests that operators print, and read back to the same text.
// RUN: ge-opt %s | ge-opt | filecheck %s
// RUN: ge-opt %s --mlir-print-op-generic | ge-opt | filecheck %s

// Operators of one operand.
// CHECK-LABEL: func.func @unary
func.func @unary(%x: tensor<4x8xf32>) {
  // CHECK-NEXT: %abs = ge.Abs %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %abs = ge.Abs %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %erf = ge.Erf %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %erf = ge.Erf %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %exp = ge.Exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %exp = ge.Exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %log = ge.Log %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %log = ge.Log %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %neg = ge.Neg %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %neg = ge.Neg %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %reciprocal = ge.Reciprocal %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %reciprocal = ge.Reciprocal %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %relu = ge.Relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %relu = ge.Relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %rsqrt = ge.Rsqrt %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %rsqrt = ge.Rsqrt %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %sigmoid = ge.Sigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %sigmoid = ge.Sigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %sqrt = ge.Sqrt %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %sqrt = ge.Sqrt %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %square = ge.Square %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %square = ge.Square %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %swish = ge.Swish %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %swish = ge.Swish %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %tanh = ge.Tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %tanh = ge.Tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %gelu = ge.GeluV2 %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %gelu = ge.GeluV2 %x {approximate = "none"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %gelu_tanh = ge.GeluV2 %x {approximate = "tanh"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %gelu_tanh = ge.GeluV2 %x {approximate = "tanh"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %cast = ge.Cast %x : (tensor<4x8xf32>) -> tensor<4x8xf16>
  %cast = ge.Cast %x : (tensor<4x8xf32>) -> tensor<4x8xf16>
  func.return
}

// Operators with a constant second operand.
// CHECK-LABEL: func.func @scalar
func.func @scalar(%x: tensor<4x8xf32>) {
  // CHECK-NEXT: %adds = ge.Adds %x {value = 5.000000e-01 : f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %adds = ge.Adds %x {value = 5.000000e-01 : f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %muls = ge.Muls %x {value = 5.000000e-01 : f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %muls = ge.Muls %x {value = 5.000000e-01 : f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %maxs = ge.Maxs %x {value = 5.000000e-01 : f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %maxs = ge.Maxs %x {value = 5.000000e-01 : f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %mins = ge.Mins %x {value = 5.000000e-01 : f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %mins = ge.Mins %x {value = 5.000000e-01 : f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// Operators of two operands, which broadcast.
// CHECK-LABEL: func.func @binary
func.func @binary(%x: tensor<4x8xf32>, %row: tensor<8xf32>) {
  // CHECK-NEXT: %add = ge.Add %x, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %add = ge.Add %x, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %sub = ge.Sub %x, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %sub = ge.Sub %x, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %mul = ge.Mul %x, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %mul = ge.Mul %x, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %realdiv = ge.RealDiv %x, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %realdiv = ge.RealDiv %x, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %maximum = ge.Maximum %x, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %maximum = ge.Maximum %x, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %minimum = ge.Minimum %x, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %minimum = ge.Minimum %x, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  func.return
}

// Products, with the operands as they lie in memory.
// CHECK-LABEL: func.func @products
func.func @products(%a: tensor<2x3xf16>, %b: tensor<5x3xf16>, %bias: tensor<5xf16>, %s: tensor<7x3x2xf16>) {
  // CHECK-NEXT: %0 = ge.MatMulV2 %a, %b, %bias {transpose_x2} : (tensor<2x3xf16>, tensor<5x3xf16>, tensor<5xf16>) -> tensor<2x5xf16>
  %0 = ge.MatMulV2 %a, %b, %bias {transpose_x2} : (tensor<2x3xf16>, tensor<5x3xf16>, tensor<5xf16>) -> tensor<2x5xf16>
  // CHECK-NEXT: %1 = ge.BatchMatMulV2 %s, %b {transpose_x1, transpose_x2} : (tensor<7x3x2xf16>, tensor<5x3xf16>) -> tensor<7x2x5xf16>
  %1 = ge.BatchMatMulV2 %s, %b {transpose_x1, transpose_x2} : (tensor<7x3x2xf16>, tensor<5x3xf16>) -> tensor<7x2x5xf16>
  func.return
}

// Weights are symbols whose bytes lie outside the text; tiny constants are inline.
// CHECK: ge.weight @w : tensor<5x3xf16>
ge.weight @w : tensor<5x3xf16>
// CHECK-LABEL: func.func @values
func.func @values() {
  // CHECK-NEXT: %w = ge.load_weight @w : tensor<5x3xf16>
  %w = ge.load_weight @w : tensor<5x3xf16>
  // CHECK-NEXT: %c = ge.Const dense<[1.000000e+00, 0xFC00]> : tensor<2xf16>
  %c = ge.Const dense<[1.000000e+00, 0xFC00]> : tensor<2xf16>
  func.return
}
