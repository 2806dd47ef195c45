// Tests that primitives, kernels and launches which break a rule of theirs are refused with the operand, the rule and what to do.
// RUN: ge-opt %s --split-input-file --verify-diagnostics

func.func private @element(%x: tensor<4xf16>) {
  // expected-error@+1 {{'fused.exp' op computes in f32, got f16; insert a cast}}
  %0 = fused.exp %x : tensor<4xf16>
  func.return
}

// -----

func.func private @integers(%x: tensor<4xi32>) {
  // expected-error@+1 {{'fused.div' op computes in f32, got i32; insert a cast}}
  %0 = fused.div %x, %x : tensor<4xi32>
  func.return
}

// -----

func.func private @scalar_type(%x: tensor<4xi32>) {
  // expected-error@+1 {{'fused.adds' op scalar is f32, but the operands are i32}}
  %0 = fused.adds %x {scalar = 1.0 : f32} : tensor<4xi32>
  func.return
}

// -----

func.func private @no_scalar(%x: tensor<4xf32>) {
  // expected-error@+1 {{'fused.adds' op property 'scalar' expected}}
  %0 = fused.adds %x : tensor<4xf32>
  func.return
}

// -----

func.func private @shapes(%x: tensor<4xf32>, %y: tensor<1xf32>) {
  // expected-error@+1 {{'fused.add' op keeps the shape, but operand #1 is tensor<1xf32> and the result tensor<4xf32>}}
  %0 = "fused.add"(%x, %y) : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func private @rank(%a: tensor<4xf16>, %b: tensor<4x4xf16>) {
  // expected-error@+1 {{'fused.matmul' op a and b must have at least two dimensions, got tensor<4xf16> and tensor<4x4xf16>}}
  %0 = fused.matmul %a, %b : (tensor<4xf16>, tensor<4x4xf16>) -> tensor<4xf32>
  func.return
}

// -----

func.func private @mixed(%a: tensor<4x4xf16>, %b: tensor<4x4xbf16>) {
  // expected-error@+1 {{'fused.matmul' op a is f16 but b is bf16; both must have one element type}}
  %0 = fused.matmul %a, %b : (tensor<4x4xf16>, tensor<4x4xbf16>) -> tensor<4x4xf32>
  func.return
}

// -----

func.func private @narrow(%a: tensor<4x4xf16>) {
  // expected-error@+1 {{'fused.matmul' op accumulates f16 in f32, got f16; cast it afterwards}}
  %0 = fused.matmul %a, %a : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  func.return
}

// -----

func.func private @narrow_integers(%a: tensor<4x4xi8>) {
  // expected-error@+1 {{'fused.matmul' op accumulates i8 in i32, got f32; cast it afterwards}}
  %0 = fused.matmul %a, %a : (tensor<4x4xi8>, tensor<4x4xi8>) -> tensor<4x4xf32>
  func.return
}

// -----

func.func private @contraction(%a: tensor<4x8xf16>) {
  // expected-error@+1 {{'fused.matmul' op contracting dimensions differ: a 4x8 has 8, b 4x8 has 4}}
  %0 = fused.matmul %a, %a : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x8xf32>
  func.return
}

// -----

func.func private @result(%a: tensor<2x4x8xf16>, %b: tensor<3x4x8xf16>) {
  // expected-error@+1 {{'fused.matmul' op result is tensor<2x4x4xf32>, which a 2x4x8 and b 3x4x8 do not give}}
  %0 = fused.matmul %a, %b {transpose_b} : (tensor<2x4x8xf16>, tensor<3x4x8xf16>) -> tensor<2x4x4xf32>
  func.return
}

// -----

func.func private @cast(%x: tensor<4xf16>) {
  // expected-error@+1 {{'fused.cast' op keeps the shape, but goes from tensor<4xf16> to tensor<4x1xf32>}}
  %0 = fused.cast %x : tensor<4xf16> to tensor<4x1xf32>
  func.return
}

// -----

func.func private @cast_to(%x: tensor<4xf16>) {
  // expected-error@+1 {{'fused.cast' op tensor<4xindex> has elements of type index}}
  %0 = fused.cast %x : tensor<4xf16> to tensor<4xindex>
  func.return
}

// -----

func.func private @broadcast_element(%x: tensor<4xf16>) {
  // expected-error@+1 {{'fused.broadcast' op keeps the element type, but goes from tensor<4xf16> to tensor<2x4xf32>}}
  %0 = fused.broadcast %x along [1] : tensor<4xf16> to tensor<2x4xf32>
  func.return
}

// -----

func.func private @broadcast_count(%x: tensor<4xf32>) {
  // expected-error@+1 {{'fused.broadcast' op needs one increasing dimension of the result for each dimension of tensor<4xf32>, got [0, 1]}}
  %0 = fused.broadcast %x along [0, 1] : tensor<4xf32> to tensor<2x4xf32>
  func.return
}

// -----

func.func private @broadcast_order(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{'fused.broadcast' op needs one increasing dimension of the result for each dimension of tensor<2x4xf32>, got [1, 0]}}
  %0 = fused.broadcast %x along [1, 0] : tensor<2x4xf32> to tensor<4x2xf32>
  func.return
}

// -----

func.func private @broadcast_size(%x: tensor<4xf32>) {
  // expected-error@+1 {{'fused.broadcast' op tensor<4xf32> cannot be repeated along [0] to tensor<2x4xf32>: size 4 must be 1 or equal}}
  %0 = fused.broadcast %x along [0] : tensor<4xf32> to tensor<2x4xf32>
  func.return
}

// -----

func.func private @broadcast_dimension(%x: tensor<4xf32>) {
  // expected-error@+1 {{'fused.broadcast' op tensor<4xf32> cannot be repeated along [2] to tensor<2x4xf32>}}
  %0 = fused.broadcast %x along [2] : tensor<4xf32> to tensor<2x4xf32>
  func.return
}

// -----

func.func private @broadcast_negative(%x: tensor<4xf32>) {
  // expected-error@+1 {{'fused.broadcast' op tensor<4xf32> cannot be repeated along [-1] to tensor<2x4xf32>}}
  %0 = fused.broadcast %x along [-1] : tensor<4xf32> to tensor<2x4xf32>
  func.return
}

// -----

func.func private @full() {
  // expected-error@+1 {{'fused.full' op value is f32, but the result is tensor<4xf16>}}
  %0 = fused.full 1.0 : f32 to tensor<4xf16>
  func.return
}

// -----

func.func @no_terminator(%x: tensor<4xf16>) {
  // expected-error@+1 {{'fused.kernel' op the body must end with fused.yield}}
  %0 = fused.kernel(%x) {ops = ["Exp"], op_name = "e"} : (tensor<4xf16>) -> tensor<4xf16> {
  ^bb0(%a: tensor<4xf16>):
    %b = fused.cast %a : tensor<4xf16> to tensor<4xf32>
  }
  func.return
}

// -----

func.func @empty_body(%x: tensor<4xf16>) {
  // expected-error@+1 {{'fused.kernel' op}}
  %0 = fused.kernel(%x) {ops = ["Exp"], op_name = "e"} : (tensor<4xf16>) -> tensor<4xf16> {
  }
  func.return
}

// -----

func.func @no_ops(%x: tensor<4xf16>) {
  // expected-error@+1 {{'fused.kernel' op ops must name at least one operator: the kernel is called after them}}
  %0 = fused.kernel(%x) {ops = [], op_name = "e"} : (tensor<4xf16>) -> tensor<4xf16> {
  ^bb0(%a: tensor<4xf16>):
    fused.yield %a : tensor<4xf16>
  }
  func.return
}

// -----

func.func @arguments(%x: tensor<4xf16>) {
  // expected-error@+1 {{'fused.kernel' op argument types (tensor<4xf32>) differ from the op's (tensor<4xf16>)}}
  %0 = fused.kernel(%x) {ops = ["Exp"], op_name = "e"} : (tensor<4xf16>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    fused.yield %a : tensor<4xf32>
  }
  func.return
}

// -----

func.func @yielded(%x: tensor<4xf16>) {
  // expected-error@+1 {{'fused.kernel' op fused.yield operand types () differ from the op's (tensor<4xf16>)}}
  %0 = fused.kernel(%x) {ops = ["Exp"], op_name = "e"} : (tensor<4xf16>) -> tensor<4xf16> {
  ^bb0(%a: tensor<4xf16>):
    fused.yield
  }
  func.return
}

// -----

func.func @from_outside(%x: tensor<4xf16>) {
  // expected-error@+1 {{'fused.kernel' op}}
  %0 = fused.kernel() {ops = ["Exp"], op_name = "e"} : () -> tensor<4xf16> {
    fused.yield %x : tensor<4xf16>
  }
  func.return
}

// -----

func.func @missing_kernel(%x: tensor<4xf16>) {
  %d = tensor.empty() : tensor<4xf16>
  // expected-error@+1 {{'fused.launch' op @Exp is not a kernel (a private function) of this module}}
  %0 = fused.launch @Exp(%x) into (%d) on aicore {ops = ["Exp"], op_name = "e"} : (tensor<4xf16>) into (tensor<4xf16>) -> tensor<4xf16>
  func.return
}

// -----

ge.weight @Exp : tensor<4xf16>
func.func @weight_as_kernel(%x: tensor<4xf16>) {
  %d = tensor.empty() : tensor<4xf16>
  // expected-error@+1 {{'fused.launch' op @Exp is not a kernel (a private function) of this module}}
  %0 = fused.launch @Exp(%x) into (%d) on aicore {ops = ["Exp"], op_name = "e"} : (tensor<4xf16>) into (tensor<4xf16>) -> tensor<4xf16>
  func.return
}

// -----

func.func @main(%x: tensor<4xf16>) -> tensor<4xf16> {
  %d = tensor.empty() : tensor<4xf16>
  // expected-error@+1 {{'fused.launch' op @main is not a kernel (a private function) of this module}}
  %0 = fused.launch @main(%x) into (%d) on aicore {ops = ["Exp"], op_name = "e"} : (tensor<4xf16>) into (tensor<4xf16>) -> tensor<4xf16>
  func.return %0 : tensor<4xf16>
}

// -----

func.func private @k(%x: tensor<4xf16>) -> tensor<4xf16> {
  func.return %x : tensor<4xf16>
}
func.func @types(%x: tensor<8xf16>) {
  %d = tensor.empty() : tensor<4xf16>
  // expected-error@+1 {{'fused.launch' op @k takes (tensor<4xf16>) -> (tensor<4xf16>), got (tensor<8xf16>) into (tensor<4xf16>)}}
  %0 = fused.launch @k(%x) into (%d) on aicore {ops = ["Exp"], op_name = "e"} : (tensor<8xf16>) into (tensor<4xf16>) -> tensor<4xf16>
  func.return
}

// -----

func.func private @k(%x: tensor<4xf16>) -> tensor<4xf16> {
  func.return %x : tensor<4xf16>
}
func.func @no_destination(%x: tensor<4xf16>) {
  // expected-error@+1 {{'fused.launch' op results (tensor<4xf16>) must be the tensor destinations ()}}
  %0 = fused.launch @k(%x) into () on aicore {ops = ["Exp"], op_name = "e"} : (tensor<4xf16>) into () -> tensor<4xf16>
  func.return
}

// -----

func.func private @k(%x: tensor<4xf16>) -> tensor<4xf16> {
  func.return %x : tensor<4xf16>
}
func.func @engine(%x: tensor<4xf16>) {
  %d = tensor.empty() : tensor<4xf16>
  // expected-error@+1 {{expected `aicore`}}
  %0 = fused.launch @k(%x) into (%d) on gpu {ops = ["Exp"], op_name = "e"} : (tensor<4xf16>) into (tensor<4xf16>) -> tensor<4xf16>
  func.return
}
