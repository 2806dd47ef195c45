// Tests that primitives, kernels and launches print, and read back to the same text.
// RUN: ge-opt %s | ge-opt | filecheck %s
// RUN: ge-opt %s --mlir-print-op-generic | ge-opt | filecheck %s

// The functions of the table, on tensors of one shape.
// CHECK-LABEL: func.func private @functions
func.func private @functions(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: %add = fused.add %x, %y : tensor<4x8xf32>
  %add = fused.add %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %sub = fused.sub %x, %y : tensor<4x8xf32>
  %sub = fused.sub %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %mul = fused.mul %x, %y : tensor<4x8xf32>
  %mul = fused.mul %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %div = fused.div %x, %y : tensor<4x8xf32>
  %div = fused.div %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %max = fused.max %x, %y : tensor<4x8xf32>
  %max = fused.max %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %min = fused.min %x, %y : tensor<4x8xf32>
  %min = fused.min %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %adds = fused.adds %x {scalar = 5.000000e-01 : f32} : tensor<4x8xf32>
  %adds = fused.adds %x {scalar = 5.000000e-01 : f32} : tensor<4x8xf32>
  // CHECK-NEXT: %muls = fused.muls %x {scalar = 5.000000e-01 : f32} : tensor<4x8xf32>
  %muls = fused.muls %x {scalar = 5.000000e-01 : f32} : tensor<4x8xf32>
  // CHECK-NEXT: %maxs = fused.maxs %x {scalar = 5.000000e-01 : f32} : tensor<4x8xf32>
  %maxs = fused.maxs %x {scalar = 5.000000e-01 : f32} : tensor<4x8xf32>
  // CHECK-NEXT: %mins = fused.mins %x {scalar = 5.000000e-01 : f32} : tensor<4x8xf32>
  %mins = fused.mins %x {scalar = 5.000000e-01 : f32} : tensor<4x8xf32>
  // CHECK-NEXT: %abs = fused.abs %x : tensor<4x8xf32>
  %abs = fused.abs %x : tensor<4x8xf32>
  // CHECK-NEXT: %exp = fused.exp %x : tensor<4x8xf32>
  %exp = fused.exp %x : tensor<4x8xf32>
  // CHECK-NEXT: %ln = fused.ln %x : tensor<4x8xf32>
  %ln = fused.ln %x : tensor<4x8xf32>
  // CHECK-NEXT: %sqrt = fused.sqrt %x : tensor<4x8xf32>
  %sqrt = fused.sqrt %x : tensor<4x8xf32>
  // CHECK-NEXT: %rec = fused.rec %x : tensor<4x8xf32>
  %rec = fused.rec %x : tensor<4x8xf32>
  // CHECK-NEXT: %relu = fused.relu %x : tensor<4x8xf32>
  %relu = fused.relu %x : tensor<4x8xf32>
  // CHECK-NEXT: %neg = fused.neg %x : tensor<4x8xf32>
  %neg = fused.neg %x : tensor<4x8xf32>
  // CHECK-NEXT: %square = fused.square %x : tensor<4x8xf32>
  %square = fused.square %x : tensor<4x8xf32>
  // CHECK-NEXT: %rsqrt = fused.rsqrt %x : tensor<4x8xf32>
  %rsqrt = fused.rsqrt %x : tensor<4x8xf32>
  // CHECK-NEXT: %sigmoid = fused.sigmoid %x : tensor<4x8xf32>
  %sigmoid = fused.sigmoid %x : tensor<4x8xf32>
  // CHECK-NEXT: %silu = fused.silu %x : tensor<4x8xf32>
  %silu = fused.silu %x : tensor<4x8xf32>
  // CHECK-NEXT: %erf = fused.erf %x : tensor<4x8xf32>
  %erf = fused.erf %x : tensor<4x8xf32>
  // CHECK-NEXT: %tanh = fused.tanh %x : tensor<4x8xf32>
  %tanh = fused.tanh %x : tensor<4x8xf32>
  // CHECK-NEXT: %gelu = fused.gelu %x : tensor<4x8xf32>
  %gelu = fused.gelu %x : tensor<4x8xf32>
  // CHECK-NEXT: %gelu_tanh = fused.gelu_tanh %x : tensor<4x8xf32>
  %gelu_tanh = fused.gelu_tanh %x : tensor<4x8xf32>
  func.return %add : tensor<4x8xf32>
}

// A matmul with a bias: casts are the only roundings, broadcasts are explicit.
// CHECK-LABEL: func.func private @MatMulV2
func.func private @MatMulV2(%a: tensor<2x3xf16>, %b: tensor<5x3xf16>, %bias: tensor<5xf16>) -> tensor<2x5xf16> {
  // CHECK-NEXT: %0 = fused.matmul %a, %b {transpose_b} : (tensor<2x3xf16>, tensor<5x3xf16>) -> tensor<2x5xf32>
  %0 = fused.matmul %a, %b {transpose_b} : (tensor<2x3xf16>, tensor<5x3xf16>) -> tensor<2x5xf32>
  // CHECK-NEXT: %1 = fused.cast %bias : tensor<5xf16> to tensor<5xf32>
  %1 = fused.cast %bias : tensor<5xf16> to tensor<5xf32>
  // CHECK-NEXT: %2 = fused.broadcast %1 along [1] : tensor<5xf32> to tensor<2x5xf32>
  %2 = fused.broadcast %1 along [1] : tensor<5xf32> to tensor<2x5xf32>
  // CHECK-NEXT: %3 = fused.full 2.500000e-01 : f32 to tensor<2x5xf32>
  %3 = fused.full 2.500000e-01 : f32 to tensor<2x5xf32>
  // CHECK-NEXT: %4 = fused.add %0, %2 : tensor<2x5xf32>
  %4 = fused.add %0, %2 : tensor<2x5xf32>
  // CHECK-NEXT: %5 = fused.mul %4, %3 : tensor<2x5xf32>
  %5 = fused.mul %4, %3 : tensor<2x5xf32>
  // CHECK-NEXT: %6 = fused.cast %5 : tensor<2x5xf32> to tensor<2x5xf16>
  %6 = fused.cast %5 : tensor<2x5xf32> to tensor<2x5xf16>
  func.return %6 : tensor<2x5xf16>
}

// Before outlining a kernel is a region; afterwards it is launched into a destination.
// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<2x3xf16>, %b: tensor<5x3xf16>, %bias: tensor<5xf16>) -> tensor<2x5xf16> {
  // CHECK-NEXT: %0 = fused.kernel(%a) {ops = ["Relu"], op_name = "act"} : (tensor<2x3xf16>) -> tensor<2x3xf16> {
  %0 = fused.kernel(%a) {ops = ["Relu"], op_name = "act"} : (tensor<2x3xf16>) -> tensor<2x3xf16> {
  // CHECK-NEXT: ^{{.*}}(%x: tensor<2x3xf16>):
  ^bb0(%x : tensor<2x3xf16>):
  // CHECK-NEXT: fused.yield %x : tensor<2x3xf16>
    fused.yield %x : tensor<2x3xf16>
  }
  // CHECK: %d = tensor.empty() : tensor<2x5xf16>
  %d = tensor.empty() : tensor<2x5xf16>
  // CHECK-NEXT: %1 = fused.launch @MatMulV2(%0, %b, %bias) into{{ ?}}(%d) on aicore {ops = ["MatMulV2"], op_name = "fc"} : (tensor<2x3xf16>, tensor<5x3xf16>, tensor<5xf16>) into{{ ?}}(tensor<2x5xf16>) -> tensor<2x5xf16>
  %1 = fused.launch @MatMulV2(%0, %b, %bias) into (%d) on aicore {ops = ["MatMulV2"], op_name = "fc"} : (tensor<2x3xf16>, tensor<5x3xf16>, tensor<5xf16>) into (tensor<2x5xf16>) -> tensor<2x5xf16>
  func.return %1 : tensor<2x5xf16>
}
