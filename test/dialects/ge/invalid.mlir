// Tests that operators which break a rule of theirs are refused with the operand, the rule and what to do.
// RUN: ge-opt %s --split-input-file --verify-diagnostics

func.func @element_types(%x: tensor<4xf16>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'ge.Add' op operands differ in element type: #0 is f16, #1 is f32; insert a ge.Cast}}
  %0 = ge.Add %x, %y : (tensor<4xf16>, tensor<4xf32>) -> tensor<4xf16>
  func.return
}

// -----

func.func @unknown_elements(%x: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{'ge.Relu' op tensor<4xcomplex<f32>> has elements of type complex<f32>; known are f16, bf16, f32, f64, i1, i8, i16, i32, i64}}
  %0 = ge.Relu %x : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  func.return
}

// -----

func.func @unsigned(%x: tensor<4xui8>) {
  // expected-error@+1 {{'ge.Cast' op tensor<4xui8> has elements of type ui8}}
  %0 = ge.Cast %x : (tensor<4xui8>) -> tensor<4xf32>
  func.return
}

// -----

func.func @broadcast(%x: tensor<4x8xf16>, %y: tensor<4xf16>) {
  // expected-error@+1 {{'ge.Mul' op operand shapes do not broadcast: 4x8 and 4}}
  %0 = ge.Mul %x, %y : (tensor<4x8xf16>, tensor<4xf16>) -> tensor<4x8xf16>
  func.return
}

// -----

func.func @result(%x: tensor<4x8xf16>, %s: tensor<f16>) {
  // expected-error@+1 {{'ge.Sub' op result #0 is tensor<8x4xf16>, but the operands give tensor<4x8xf16>}}
  %0 = ge.Sub %x, %s : (tensor<4x8xf16>, tensor<f16>) -> tensor<8x4xf16>
  func.return
}

// -----

func.func @result_rank(%s: tensor<f16>) {
  // expected-error@+1 {{'ge.Exp' op result #0 is tensor<1xf16>, but the operands give tensor<f16>}}
  %0 = ge.Exp %s : (tensor<f16>) -> tensor<1xf16>
  func.return
}

// -----

func.func @not_a_tensor(%x: vector<4xf16>) {
  // expected-error@+1 {{'ge.Exp' op operand 'x' at position 0 does not verify; expected tensor, got vector<4xf16>}}
  %0 = ge.Exp %x : (vector<4xf16>) -> vector<4xf16>
  func.return
}

// -----

func.func @unranked(%x: tensor<*xf16>) {
  // expected-error@+1 {{'ge.Exp' op operand 'x' at position 0 does not verify; expected tensor, got tensor<*xf16>}}
  %0 = ge.Exp %x : (tensor<*xf16>) -> tensor<*xf16>
  func.return
}

// -----

func.func @cast(%x: tensor<4xf16>) {
  // expected-error@+1 {{'ge.Cast' op result #0 is tensor<5xf32>, but the operands give tensor<4xf32>}}
  %0 = ge.Cast %x : (tensor<4xf16>) -> tensor<5xf32>
  func.return
}

// -----

func.func @approximate(%x: tensor<4xf16>) {
  // expected-error@+1 {{'ge.GeluV2' op approximate must be "none" or "tanh", got "fast"}}
  %0 = ge.GeluV2 %x {approximate = "fast"} : (tensor<4xf16>) -> tensor<4xf16>
  func.return
}

// -----

func.func @misspelt(%x: tensor<4xf16>) {
  // expected-error@+1 {{'ge.GeluV2' op has no attribute 'aproximate' (did you mean 'approximate'?)}}
  %0 = ge.GeluV2 %x {aproximate = "tanh"} : (tensor<4xf16>) -> tensor<4xf16>
  func.return
}

// -----

func.func @whole(%x: tensor<4xi32>) {
  // expected-error@+1 {{'ge.Adds' op value must be a whole number that i32 holds, in which adds computes, got 1.5}}
  %0 = ge.Adds %x {value = 1.5 : f32} : (tensor<4xi32>) -> tensor<4xi32>
  func.return
}

// -----

func.func @infinite(%x: tensor<4xi32>) {
  // expected-error@+1 {{'ge.Maxs' op value must be a whole number that i32 holds, in which maxs computes, got inf}}
  %0 = ge.Maxs %x {value = 0x7F800000 : f32} : (tensor<4xi32>) -> tensor<4xi32>
  func.return
}

// -----

func.func @large_value(%x: tensor<4xi32>) {
  // expected-error@+1 {{'ge.Muls' op value must be a whole number that i32 holds, in which muls computes, got 2147483648.0}}
  %0 = ge.Muls %x {value = 2147483648.0 : f32} : (tensor<4xi32>) -> tensor<4xi32>
  func.return
}

// -----

func.func @without_value(%x: tensor<4xf32>) {
  // expected-error@+1 {{'ge.Muls' op property 'value' expected}}
  %0 = ge.Muls %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @stack(%x: tensor<2x4x8xf16>, %w: tensor<8x8xf16>) {
  // expected-error@+1 {{'ge.MatMulV2' op x1 must be a matrix, got tensor<2x4x8xf16>; use ge.BatchMatMulV2 for stacks of matrices}}
  %0 = ge.MatMulV2 %x, %w : (tensor<2x4x8xf16>, tensor<8x8xf16>) -> tensor<2x4x8xf16>
  func.return
}

// -----

func.func @vector(%x: tensor<8xf16>, %w: tensor<8x8xf16>) {
  // expected-error@+1 {{'ge.BatchMatMulV2' op x1 must have at least two dimensions, got tensor<8xf16>}}
  %0 = ge.BatchMatMulV2 %x, %w : (tensor<8xf16>, tensor<8x8xf16>) -> tensor<8xf16>
  func.return
}

// -----

func.func @mixed(%x: tensor<4x8xf16>, %w: tensor<8x8xbf16>) {
  // expected-error@+1 {{'ge.MatMulV2' op x1 is f16 but x2 is bf16; insert a ge.Cast}}
  %0 = ge.MatMulV2 %x, %w : (tensor<4x8xf16>, tensor<8x8xbf16>) -> tensor<4x8xf16>
  func.return
}

// -----

func.func @contraction(%x: tensor<32x768xf16>, %w: tensor<768x3072xf16>) {
  // expected-error@+1 {{'ge.MatMulV2' op contracting dimensions differ: x1 32x768 gives K=768, x2 768x3072 (transpose_x2) gives K=3072}}
  %0 = ge.MatMulV2 %x, %w {transpose_x2} : (tensor<32x768xf16>, tensor<768x3072xf16>) -> tensor<32x768xf16>
  func.return
}

// -----

func.func @batches(%x: tensor<2x4x8xf16>, %w: tensor<3x8x8xf16>) {
  // expected-error@+1 {{'ge.BatchMatMulV2' op batch dimensions do not broadcast: x1 has 2, x2 has 3}}
  %0 = ge.BatchMatMulV2 %x, %w : (tensor<2x4x8xf16>, tensor<3x8x8xf16>) -> tensor<2x4x8xf16>
  func.return
}

// -----

func.func @bias(%x: tensor<4x8xf16>, %w: tensor<8x6xf16>, %b: tensor<1x6xf16>) {
  // expected-error@+1 {{'ge.MatMulV2' op bias must have one element per column (6) of type f16, got tensor<1x6xf16>}}
  %0 = ge.MatMulV2 %x, %w, %b : (tensor<4x8xf16>, tensor<8x6xf16>, tensor<1x6xf16>) -> tensor<4x6xf16>
  func.return
}

// -----

func.func @integer_product(%x: tensor<4x8xi8>, %w: tensor<8x6xi8>) {
  // expected-error@+1 {{'ge.MatMulV2' op result #0 is tensor<4x6xi8>, but the operands give tensor<4x6xi32>}}
  %0 = ge.MatMulV2 %x, %w : (tensor<4x8xi8>, tensor<8x6xi8>) -> tensor<4x6xi8>
  func.return
}

// -----

func.func @two_biases(%x: tensor<4x8xf16>, %b: tensor<8xf16>) {
  // expected-error@+1 {{'ge.MatMulV2' op Expected 2 or 3 operands, but got 4}}
  %0 = "ge.MatMulV2"(%x, %x, %b, %b) : (tensor<4x8xf16>, tensor<4x8xf16>, tensor<8xf16>, tensor<8xf16>) -> tensor<4x8xf16>
  func.return
}

// -----

func.func @constant() {
  // expected-error@+1 {{expected a constant such as dense<1.0> : tensor<4xf16>}}
  %0 = ge.Const 1.0 : f16
  func.return
}

// -----

func.func @constant_vector() {
  // expected-error@+1 {{'ge.Const' op value must be a tensor constant such as dense<1.0> : tensor<4xf16>, got one of type vector<4xf16>}}
  %0 = "ge.Const"() <{value = dense<1.0> : vector<4xf16>}> : () -> tensor<4xf16>
  func.return
}

// -----

func.func @constant_type() {
  // expected-error@+1 {{'ge.Const' op result #0 is memref<5xf16>, but the operands give tensor<4xf16>}}
  %0 = ge.Const dense<1.0> : tensor<4xf16> -> memref<5xf16>
  func.return
}

// -----

// expected-error@+1 {{'ge.weight' op weight @w must have a static shape, got tensor<?x4xf16>}}
ge.weight @w : tensor<?x4xf16>

// -----

// expected-error@+1 {{'ge.weight' op tensor<4xi4> has elements of type i4}}
ge.weight @w : tensor<4xi4>

// -----

// expected-note@+1 {{defined here first}}
ge.weight @w : tensor<4xf16>
// expected-error@+1 {{'ge.weight' op defines the symbol "w" a second time}}
ge.weight @w : tensor<4xf16>

// -----

func.func @undeclared() {
  // expected-error@+1 {{'ge.load_weight' op @w is not a weight of this module; declare it with 'ge.weight @w : ...'}}
  %0 = ge.load_weight @w : tensor<4xf16>
  func.return
}

// -----

func.func private @w()
func.func @wrong_kind() {
  // expected-error@+1 {{'ge.load_weight' op @w is not a weight of this module}}
  %0 = ge.load_weight @w : tensor<4xf16>
  func.return
}

// -----

ge.weight @w : tensor<4xf16>
func.func @other_type() {
  // expected-error@+1 {{'ge.load_weight' op @w is declared as tensor<4xf16>, but loaded as tensor<4x1xf16>}}
  %0 = ge.load_weight @w : tensor<4x1xf16>
  func.return
}

// -----

ge.weight @w : tensor<4xf16>
func.func @nested() {
  // expected-error@+1 {{'ge.load_weight' op Expected SymbolRefAttr with no nested symbols}}
  %0 = ge.load_weight @w::@x : tensor<4xf16>
  func.return
}
