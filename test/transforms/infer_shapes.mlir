// RUN: ge-opt %s -p infer-shapes | filecheck %s
// RUN: ge-opt %s -p infer-shapes | ge-opt -p infer-shapes | filecheck %s
// RUN: ge-opt %s -p infer-shapes --mlir-print-debuginfo | filecheck %s --check-prefix=LOC

// CHECK-LABEL: func.func @main(%x: tensor<32x768xf16>, %w: tensor<3072x768xf16>, %b: tensor<3072xf16>) -> tensor<32x3072xf16>
func.func @main(%x: tensor<32x768xf16>, %w: tensor<3072x768xf16>, %b: tensor<3072xf16>) -> tensor<?x?xf16> {
  // CHECK: -> tensor<32x3072xf16>
  // LOC: ge.MatMulV2 {{.*}} -> tensor<32x3072xf16> loc("mlp.py":14:1){{$}}
  %0 = ge.MatMulV2 %x, %w, %b {transpose_x2} : (tensor<32x768xf16>, tensor<3072x768xf16>, tensor<3072xf16>) -> tensor<?x?xf16> loc("mlp.py":14:1)
  // CHECK: ge.GeluV2 {{.*}} : (tensor<32x3072xf16>) -> tensor<32x3072xf16>
  %1 = ge.GeluV2 %0 : (tensor<?x?xf16>) -> tensor<?x?xf16>
  // A dimension that is written stays, and helps those that follow.
  // CHECK: func.return {{.*}} : tensor<32x3072xf16>
  func.return %1 : tensor<?x?xf16>
}

// What the operands leave open stays open.
// CHECK-LABEL: func.func @open(%x: tensor<?x8xf32>, %y: tensor<4x8xf32>) -> (tensor<?x8xf32>, tensor<4x8xf32>)
func.func @open(%x: tensor<?x8xf32>, %y: tensor<4x8xf32>) -> (tensor<?x?xf32>, tensor<?x8xf32>) {
  %0 = ge.Relu %x : (tensor<?x8xf32>) -> tensor<?x?xf32>
  // CHECK: ge.Add %x, %y : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = ge.Add %x, %y : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x8xf32>
  func.return %0, %1 : tensor<?x?xf32>, tensor<?x8xf32>
}

// CHECK-LABEL: func.func @known(%x: tensor<?x8xf32>) -> tensor<4x8xf32>
func.func @known(%x: tensor<?x8xf32>) -> tensor<4x?xf32> {
  %0 = ge.Relu %x : (tensor<?x8xf32>) -> tensor<4x?xf32>
  %1 = ge.Exp %0 : (tensor<4x?xf32>) -> tensor<?x?xf32>
  // CHECK: ge.Exp {{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = ge.Sqrt %1 : (tensor<?x?xf32>) -> tensor<4x?xf32>
  func.return %2 : tensor<4x?xf32>
}
