// Tests that every operator becomes a kernel of primitives, with each rounding, repetition and constant written down.
// RUN: ge-opt %s -p convert-ge-to-fused --split-input-file | filecheck %s

// Floats are computed in f32 and rounded once; the operator's name and its place in the model stay with the kernel.
// CHECK-LABEL: func.func @unary
func.func @unary(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {
  // CHECK-NEXT: %act = fused.kernel(%x) {ops = ["GeluV2"], op_name = "act"} : (tensor<4x8xf16>) -> tensor<4x8xf16> {
  // CHECK-NEXT: ^{{.*}}(%x_1: tensor<4x8xf16>):
  // CHECK-NEXT:   %[[WIDE:.*]] = fused.cast %x_1 : tensor<4x8xf16> to tensor<4x8xf32>
  // CHECK-NEXT:   %[[GELU:.*]] = fused.gelu_tanh %[[WIDE]] : tensor<4x8xf32>
  // CHECK-NEXT:   %[[NARROW:.*]] = fused.cast %[[GELU]] : tensor<4x8xf32> to tensor<4x8xf16>
  // CHECK-NEXT:   fused.yield %[[NARROW]] : tensor<4x8xf16>
  %act = ge.GeluV2 %x {approximate = "tanh"} : (tensor<4x8xf16>) -> tensor<4x8xf16>
  func.return %act : tensor<4x8xf16>
}

// -----

// f32 and i32 need no casts; the value of an operator becomes a scalar of the type that is computed in.
// CHECK-LABEL: func.func @scalars
func.func @scalars(%x: tensor<4xf32>, %i: tensor<4xi32>, %b: tensor<4xbf16>) -> (tensor<4xf32>, tensor<4xi32>, tensor<4xbf16>) {
  // CHECK:      ^{{.*}}(%x_1: tensor<4xf32>):
  // CHECK-NEXT:   fused.adds %x_1 {scalar = 5.000000e-01 : f32} : tensor<4xf32>
  // CHECK-NEXT:   fused.yield
  %0 = ge.Adds %x {value = 0.5 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK:      ^{{.*}}(%i_1: tensor<4xi32>):
  // CHECK-NEXT:   fused.maxs %i_1 {scalar = -3 : i32} : tensor<4xi32>
  // CHECK-NEXT:   fused.yield
  %1 = ge.Maxs %i {value = -3.0 : f32} : (tensor<4xi32>) -> tensor<4xi32>
  // CHECK:        fused.cast %{{.*}} : tensor<4xbf16> to tensor<4xf32>
  // CHECK-NEXT:   fused.muls %{{.*}} {scalar = 3.000000e+00 : f32} : tensor<4xf32>
  // CHECK-NEXT:   fused.cast %{{.*}} : tensor<4xf32> to tensor<4xbf16>
  %2 = ge.Muls %b {value = 3.0 : f32} : (tensor<4xbf16>) -> tensor<4xbf16>
  func.return %0, %1, %2 : tensor<4xf32>, tensor<4xi32>, tensor<4xbf16>
}

// -----

// Operands are repeated to the shape of the result, aligned at the last dimension.
// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%x: tensor<2x1x8xf32>, %y: tensor<4x1xf32>, %s: tensor<f32>) -> tensor<2x4x8xf32> {
  // CHECK:      fused.broadcast %{{.*}} along [0, 1, 2] : tensor<2x1x8xf32> to tensor<2x4x8xf32>
  // CHECK-NEXT: fused.broadcast %{{.*}} along [1, 2] : tensor<4x1xf32> to tensor<2x4x8xf32>
  // CHECK-NEXT: fused.mul
  %0 = ge.Mul %x, %y : (tensor<2x1x8xf32>, tensor<4x1xf32>) -> tensor<2x4x8xf32>
  // CHECK:      fused.broadcast %{{.*}} along [] : tensor<f32> to tensor<2x4x8xf32>
  // CHECK-NEXT: fused.add
  %1 = ge.Add %0, %s : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
  func.return %1 : tensor<2x4x8xf32>
}

// -----

// An operand that is given twice is one input.
// CHECK-LABEL: func.func @twice
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: fused.kernel(%x) {ops = ["Mul"], op_name = "Mul"} : (tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: fused.mul %x_1, %x_1 : tensor<4xf32>
  %0 = ge.Mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// Splat constants are written inside kernels, all others are inputs; unused ones are dropped.
// CHECK-LABEL: func.func @constants
// CHECK-NEXT:  %table = ge.Const dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NOT:   ge.Const
func.func @constants(%x: tensor<2xf32>) -> tensor<2xf32> {
  %half = ge.Const dense<0.5> : tensor<f32>
  %table = ge.Const dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: fused.kernel(%x) {ops = ["Mul"], op_name = "Mul"}
  // CHECK: %[[HALF:.*]] = fused.full 5.000000e-01 : f32 to tensor<f32>
  // CHECK: fused.broadcast %[[HALF]] along [] : tensor<f32> to tensor<2xf32>
  %0 = ge.Mul %x, %half : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  // CHECK: fused.kernel({{.*}}, %table)
  %1 = ge.Sub %0, %table : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// A product accumulates in f32; the bias is widened and repeated to every row; one rounding at the end.
// CHECK-LABEL: func.func @linear
func.func @linear(%x: tensor<4x8xf16>, %w: tensor<6x8xf16>, %b: tensor<6xf16>) -> tensor<4x6xf16> {
  // CHECK-NEXT: %fc = fused.kernel(%x, %w, %b) {ops = ["MatMulV2"], op_name = "fc"}
  // CHECK-NEXT: ^{{.*}}(%x_1: tensor<4x8xf16>, %w_1: tensor<6x8xf16>, %b_1: tensor<6xf16>):
  // CHECK-NEXT:   %[[P:.*]] = fused.matmul %x_1, %w_1 {transpose_b} : (tensor<4x8xf16>, tensor<6x8xf16>) -> tensor<4x6xf32>
  // CHECK-NEXT:   %[[B:.*]] = fused.cast %b_1 : tensor<6xf16> to tensor<6xf32>
  // CHECK-NEXT:   %[[R:.*]] = fused.broadcast %[[B]] along [1] : tensor<6xf32> to tensor<4x6xf32>
  // CHECK-NEXT:   %[[S:.*]] = fused.add %[[P]], %[[R]] : tensor<4x6xf32>
  // CHECK-NEXT:   %[[Y:.*]] = fused.cast %[[S]] : tensor<4x6xf32> to tensor<4x6xf16>
  // CHECK-NEXT:   fused.yield %[[Y]] : tensor<4x6xf16>
  %fc = ge.MatMulV2 %x, %w, %b {transpose_x2} : (tensor<4x8xf16>, tensor<6x8xf16>, tensor<6xf16>) -> tensor<4x6xf16>
  func.return %fc : tensor<4x6xf16>
}

// -----

// 8-bit integers accumulate in i32.
// CHECK-LABEL: func.func @integers
func.func @integers(%x: tensor<2x8x4xi8>, %w: tensor<8x6xi8>, %b: tensor<6xi32>) -> tensor<2x4x6xi32> {
  // CHECK:      fused.matmul %{{.*}}, %{{.*}} {transpose_a} : (tensor<2x8x4xi8>, tensor<8x6xi8>) -> tensor<2x4x6xi32>
  // CHECK-NEXT: fused.broadcast %{{.*}} along [2] : tensor<6xi32> to tensor<2x4x6xi32>
  // CHECK-NEXT: fused.add
  // CHECK-NEXT: fused.yield
  %0 = ge.BatchMatMulV2 %x, %w, %b {transpose_x1} : (tensor<2x8x4xi8>, tensor<8x6xi8>, tensor<6xi32>) -> tensor<2x4x6xi32>
  func.return %0 : tensor<2x4x6xi32>
}

// -----

// Without anything to sum, a product is a tensor of zeros.
// CHECK-LABEL: func.func @empty_sum
func.func @empty_sum(%x: tensor<4x0xf16>, %w: tensor<0x6xf16>, %b: tensor<6xf16>) -> tensor<4x6xf16> {
  // CHECK-NOT: fused.matmul
  // CHECK:     %[[Z:.*]] = fused.full 0.000000e+00 : f32 to tensor<4x6xf32>
  // CHECK:     fused.add %[[Z]],
  %0 = ge.MatMulV2 %x, %w, %b : (tensor<4x0xf16>, tensor<0x6xf16>, tensor<6xf16>) -> tensor<4x6xf16>
  func.return %0 : tensor<4x6xf16>
}

// -----

// Casts round once, whatever they go between.
// CHECK-LABEL: func.func @casts
func.func @casts(%x: tensor<4xi32>, %y: tensor<4xf32>) -> (tensor<4xf16>, tensor<4xi8>, tensor<4xf32>) {
  // CHECK:      ^{{.*}}
  // CHECK-NEXT:   fused.cast %x_1 {required} : tensor<4xi32> to tensor<4xf16>
  // CHECK-NEXT:   fused.yield
  %0 = ge.Cast %x : (tensor<4xi32>) -> tensor<4xf16>
  // CHECK:      ^{{.*}}
  // CHECK-NEXT:   fused.cast %y_1 {required} : tensor<4xf32> to tensor<4xi8>
  // CHECK-NEXT:   fused.yield
  %1 = ge.Cast %y : (tensor<4xf32>) -> tensor<4xi8>
  // A cast to the same type is a copy.
  // CHECK:      ^{{.*}}
  // CHECK-NEXT:   fused.yield %{{.*}} : tensor<4xf32>
  %2 = ge.Cast %y : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1, %2 : tensor<4xf16>, tensor<4xi8>, tensor<4xf32>
}

// -----

// Every result has memory of its own: arguments, weights, constants and values that are returned twice are copied.
ge.weight @w : tensor<4xf32>
// CHECK-LABEL: func.func @results
func.func @results(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %w = ge.load_weight @w : tensor<4xf32>
  %c = ge.Const dense<1.0> : tensor<4xf32>
  // CHECK: %y = fused.kernel(%x) {ops = ["Relu"], op_name = "y"}
  %y = ge.Relu %x : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %[[A:.*]] = fused.kernel(%x) {ops = ["TensorMove"], op_name = "output"}
  // CHECK: %[[B:.*]] = fused.kernel(%w) {ops = ["TensorMove"], op_name = "output"}
  // CHECK: %[[C:.*]] = fused.kernel(%c) {ops = ["TensorMove"], op_name = "output"}
  // CHECK: %[[D:.*]] = fused.kernel(%y) {ops = ["TensorMove"], op_name = "output"}
  // CHECK: func.return %y, %[[A]], %[[B]], %[[C]], %[[D]]
  func.return %y, %x, %w, %c, %y : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:  func.return
func.func @nothing() {
  func.return
}
