// Tests that a rounding between floats is dropped where its result is only widened again, and nothing else is.
// RUN: ge-opt %s -p elide-roundings | filecheck %s

// CHECK-LABEL: func.func @narrowed
func.func @narrowed(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: fused.exp %x : tensor<4xf32>
  // CHECK-NEXT: fused.abs %x : tensor<4xf32>
  // CHECK-NEXT: func.return
  %a = fused.cast %x : tensor<4xf32> to tensor<4xf16>
  %b = fused.cast %a : tensor<4xf16> to tensor<4xf32>
  %c = fused.exp %b : tensor<4xf32>
  %d = fused.cast %x : tensor<4xf32> to tensor<4xbf16>
  %e = fused.cast %d : tensor<4xbf16> to tensor<4xf32>
  %f = fused.abs %e : tensor<4xf32>
  func.return %c, %f : tensor<4xf32>, tensor<4xf32>
}

// A rounded value that something else needs stays, but not for the wide use.
// CHECK-LABEL: func.func @both
func.func @both(%x: tensor<4xf32>) -> (tensor<4xf16>, tensor<4xf32>) {
  // CHECK-NEXT: %a = fused.cast %x : tensor<4xf32> to tensor<4xf16>
  // CHECK-NEXT: %c = fused.exp %x : tensor<4xf32>
  // CHECK-NEXT: func.return %a, %c
  %a = fused.cast %x : tensor<4xf32> to tensor<4xf16>
  %b = fused.cast %a : tensor<4xf16> to tensor<4xf32>
  %c = fused.exp %b : tensor<4xf32>
  func.return %a, %c : tensor<4xf16>, tensor<4xf32>
}

// Chains collapse.
// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: func.return %x
  %a = fused.cast %x : tensor<4xf32> to tensor<4xf16>
  %b = fused.cast %a : tensor<4xf16> to tensor<4xf32>
  %c = fused.cast %b : tensor<4xf32> to tensor<4xf16>
  %d = fused.cast %c : tensor<4xf16> to tensor<4xf32>
  func.return %d : tensor<4xf32>
}

// Widening is exact, so that narrowing back gives the same value: no rounding is dropped.
// CHECK-LABEL: func.func @widened
func.func @widened(%x: tensor<4xf16>) -> tensor<4xf16> {
  // CHECK-NEXT: %a = fused.cast %x : tensor<4xf16> to tensor<4xf32>
  // CHECK-NEXT: %b = fused.cast %a : tensor<4xf32> to tensor<4xf16>
  %a = fused.cast %x : tensor<4xf16> to tensor<4xf32>
  %b = fused.cast %a : tensor<4xf32> to tensor<4xf16>
  func.return %b : tensor<4xf16>
}

// A cast through integers is the model's own, and so is one to a third type.
// CHECK-LABEL: func.func @meant
func.func @meant(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xbf16>, tensor<4xf32>) {
  // CHECK-NEXT: %a = fused.cast %x : tensor<4xf32> to tensor<4xi32>
  // CHECK-NEXT: %b = fused.cast %a : tensor<4xi32> to tensor<4xf32>
  // CHECK-NEXT: %c = fused.cast %x : tensor<4xf32> to tensor<4xf16>
  // CHECK-NEXT: %d = fused.cast %c : tensor<4xf16> to tensor<4xbf16>
  // CHECK-NEXT: %e = fused.cast %x : tensor<4xf32> to tensor<4xi8>
  // CHECK-NEXT: %f = fused.cast %e : tensor<4xi8> to tensor<4xf32>
  %a = fused.cast %x : tensor<4xf32> to tensor<4xi32>
  %b = fused.cast %a : tensor<4xi32> to tensor<4xf32>
  %c = fused.cast %x : tensor<4xf32> to tensor<4xf16>
  %d = fused.cast %c : tensor<4xf16> to tensor<4xbf16>
  %e = fused.cast %x : tensor<4xf32> to tensor<4xi8>
  %f = fused.cast %e : tensor<4xi8> to tensor<4xf32>
  func.return %b, %d, %f : tensor<4xf32>, tensor<4xbf16>, tensor<4xf32>
}

// The two 16-bit floats are equally wide: neither undoes the other.
// CHECK-LABEL: func.func @equally_wide
func.func @equally_wide(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  // CHECK-NEXT: fused.cast
  // CHECK-NEXT: fused.cast
  %a = fused.cast %x : tensor<4xbf16> to tensor<4xf16>
  %b = fused.cast %a : tensor<4xf16> to tensor<4xbf16>
  func.return %b : tensor<4xbf16>
}

// Tests that a conversion which the model asks for stays: what overflows in it is meant to be infinite.
// CHECK-LABEL: func.func private @asked_for
// CHECK:         fused.cast %x {required} : tensor<4xf32> to tensor<4xf16>
// CHECK-NEXT:    fused.cast %{{.*}} : tensor<4xf16> to tensor<4xf32>
func.func private @asked_for(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fused.cast %x {required} : tensor<4xf32> to tensor<4xf16>
  %b = fused.cast %a : tensor<4xf16> to tensor<4xf32>
  func.return %b : tensor<4xf32>
}

// Tests that a rounding is dropped through views, and stays where the rounded value is a result, too.
// CHECK-LABEL: func.func @viewed
// CHECK-NEXT:    %a = fused.cast %x : tensor<4x6xf32> to tensor<4x6xf16>
// CHECK-NEXT:    %[[R:.*]] = fused.reshape %x : tensor<4x6xf32> to tensor<2x2x6xf32>
// CHECK-NEXT:    %[[T:.*]] = fused.transpose %[[R]] permutation [2, 0, 1] : tensor<2x2x6xf32> to tensor<6x2x2xf32>
// CHECK-NEXT:    %e = fused.exp %[[T]] : tensor<6x2x2xf32>
// CHECK-NEXT:    func.return %a, %e
func.func @viewed(%x: tensor<4x6xf32>) -> (tensor<4x6xf16>, tensor<6x2x2xf32>) {
  %a = fused.cast %x : tensor<4x6xf32> to tensor<4x6xf16>
  %b = fused.reshape %a : tensor<4x6xf16> to tensor<2x2x6xf16>
  %c = fused.transpose %b permutation [2, 0, 1] : tensor<2x2x6xf16> to tensor<6x2x2xf16>
  %d = fused.cast %c : tensor<6x2x2xf16> to tensor<6x2x2xf32>
  %e = fused.exp %d : tensor<6x2x2xf32>
  func.return %a, %e : tensor<4x6xf16>, tensor<6x2x2xf32>
}

// A reduction sees what was not rounded yet; an index or a condition is never widened again.
// CHECK-LABEL: func.func @reduced
// CHECK-NEXT:    fused.reduce <sum> %x along [0]
// CHECK-NEXT:    fused.gt %x, %x
// CHECK-NEXT:    fused.cast %{{.*}} : tensor<4xi1> to tensor<4xf32>
// CHECK-NEXT:    func.return
func.func @reduced(%x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %a = fused.cast %x : tensor<4xf32> to tensor<4xf16>
  %b = fused.cast %a : tensor<4xf16> to tensor<4xf32>
  %c = fused.reduce <sum> %b along [0] : tensor<4xf32> to tensor<f32>
  %d = fused.gt %b, %b : tensor<4xf32> to tensor<4xi1>
  %e = fused.cast %d : tensor<4xi1> to tensor<4xf32>
  func.return %c, %e : tensor<f32>, tensor<4xf32>
}
