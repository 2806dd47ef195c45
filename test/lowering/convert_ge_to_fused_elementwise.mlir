// Tests the types in which comparisons, choices and functions are computed.
// RUN: ge-opt %s -p convert-ge-to-fused --split-input-file | filecheck %s

// Comparisons give booleans; what is compared widens, booleans among it.
// CHECK-LABEL: func.func @comparisons
// CHECK-NEXT:  %a = fused.kernel(%x) {ops = ["Less"], op_name = "a"} : (tensor<4xf16>) -> tensor<4xi1> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %x_1 : tensor<4xf16> to tensor<4xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.lt %[[V0]], %[[V0]] : tensor<4xf32> to tensor<4xi1>
// CHECK-NEXT:  fused.yield %[[V1]] : tensor<4xi1>
// CHECK-NEXT:  }
// CHECK-NEXT:  %c = fused.kernel(%i) {ops = ["GreaterEqual"], op_name = "c"} : (tensor<4xi64>) -> tensor<4xi1> {
// CHECK-NEXT:  ^{{.*}}(%i_1: tensor<4xi64>):
// CHECK-NEXT:  %[[V0:.*]] = fused.ge %i_1, %i_1 : tensor<4xi64> to tensor<4xi1>
// CHECK-NEXT:  fused.yield %[[V0]] : tensor<4xi1>
// CHECK-NEXT:  }
// CHECK-NEXT:  %d = fused.kernel(%b) {ops = ["Equal"], op_name = "d"} : (tensor<4xi1>) -> tensor<4xi1> {
// CHECK-NEXT:  ^{{.*}}(%b_1: tensor<4xi1>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %b_1 : tensor<4xi1> to tensor<4xi32>
// CHECK-NEXT:  %[[V1:.*]] = fused.eq %[[V0]], %[[V0]] : tensor<4xi32> to tensor<4xi1>
// CHECK-NEXT:  fused.yield %[[V1]] : tensor<4xi1>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %a, %c, %d : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
func.func @comparisons(%x: tensor<4xf16>, %i: tensor<4xi64>, %b: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %a = ge.Less %x, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xi1>
  %c = ge.GreaterEqual %i, %i : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
  %d = ge.Equal %b, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  func.return %a, %c, %d : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// -----

// Conditions repeat like other operands; booleans are chosen as they are.
// CHECK-LABEL: func.func @choices
// CHECK-NEXT:  %a = fused.kernel(%c, %x, %s) {ops = ["SelectV2"], op_name = "a"} : (tensor<4x1xi1>, tensor<3xf16>, tensor<f16>) -> tensor<4x3xf16> {
// CHECK-NEXT:  ^{{.*}}(%c_1: tensor<4x1xi1>, %x_1: tensor<3xf16>, %s_1: tensor<f16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %x_1 : tensor<3xf16> to tensor<3xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.cast %s_1 : tensor<f16> to tensor<f32>
// CHECK-NEXT:  %[[V2:.*]] = fused.broadcast %c_1 along [0, 1] : tensor<4x1xi1> to tensor<4x3xi1>
// CHECK-NEXT:  %[[V3:.*]] = fused.broadcast %[[V0]] along [1] : tensor<3xf32> to tensor<4x3xf32>
// CHECK-NEXT:  %[[V4:.*]] = fused.broadcast %[[V1]] along [] : tensor<f32> to tensor<4x3xf32>
// CHECK-NEXT:  %[[V5:.*]] = fused.select %[[V2]], %[[V3]], %[[V4]] : tensor<4x3xi1>, tensor<4x3xf32>
// CHECK-NEXT:  %[[V6:.*]] = fused.cast %[[V5]] : tensor<4x3xf32> to tensor<4x3xf16>
// CHECK-NEXT:  fused.yield %[[V6]] : tensor<4x3xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %d = fused.kernel(%c, %b) {ops = ["SelectV2"], op_name = "d"} : (tensor<4x1xi1>, tensor<4x3xi1>) -> tensor<4x3xi1> {
// CHECK-NEXT:  ^{{.*}}(%c_1: tensor<4x1xi1>, %b_1: tensor<4x3xi1>):
// CHECK-NEXT:  %[[V0:.*]] = fused.broadcast %c_1 along [0, 1] : tensor<4x1xi1> to tensor<4x3xi1>
// CHECK-NEXT:  %[[V1:.*]] = fused.select %[[V0]], %b_1, %b_1 : tensor<4x3xi1>, tensor<4x3xi1>
// CHECK-NEXT:  fused.yield %[[V1]] : tensor<4x3xi1>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %a, %d : tensor<4x3xf16>, tensor<4x3xi1>
func.func @choices(%c: tensor<4x1xi1>, %x: tensor<3xf16>, %s: tensor<f16>, %b: tensor<4x3xi1>) -> (tensor<4x3xf16>, tensor<4x3xi1>) {
  %a = ge.SelectV2 %c, %x, %s : (tensor<4x1xi1>, tensor<3xf16>, tensor<f16>) -> tensor<4x3xf16>
  %d = ge.SelectV2 %c, %b, %b : (tensor<4x1xi1>, tensor<4x3xi1>, tensor<4x3xi1>) -> tensor<4x3xi1>
  func.return %a, %d : tensor<4x3xf16>, tensor<4x3xi1>
}

// -----

// Logic on booleans, also under the names of bits.
// CHECK-LABEL: func.func @logic
// CHECK-NEXT:  %a = fused.kernel(%b, %d) {ops = ["LogicalAnd"], op_name = "a"} : (tensor<4xi1>, tensor<i1>) -> tensor<4xi1> {
// CHECK-NEXT:  ^{{.*}}(%b_1: tensor<4xi1>, %d_1: tensor<i1>):
// CHECK-NEXT:  %[[V0:.*]] = fused.broadcast %d_1 along [] : tensor<i1> to tensor<4xi1>
// CHECK-NEXT:  %[[V1:.*]] = fused.logical_and %b_1, %[[V0]] : tensor<4xi1>
// CHECK-NEXT:  fused.yield %[[V1]] : tensor<4xi1>
// CHECK-NEXT:  }
// CHECK-NEXT:  %c = fused.kernel(%a) {ops = ["LogicalNot"], op_name = "c"} : (tensor<4xi1>) -> tensor<4xi1> {
// CHECK-NEXT:  ^{{.*}}(%a_1: tensor<4xi1>):
// CHECK-NEXT:  %[[V0:.*]] = fused.logical_not %a_1 : tensor<4xi1>
// CHECK-NEXT:  fused.yield %[[V0]] : tensor<4xi1>
// CHECK-NEXT:  }
// CHECK-NEXT:  %e = fused.kernel(%b, %d) {ops = ["BitwiseOr"], op_name = "e"} : (tensor<4xi1>, tensor<i1>) -> tensor<4xi1> {
// CHECK-NEXT:  ^{{.*}}(%b_1: tensor<4xi1>, %d_1: tensor<i1>):
// CHECK-NEXT:  %[[V0:.*]] = fused.broadcast %d_1 along [] : tensor<i1> to tensor<4xi1>
// CHECK-NEXT:  %[[V1:.*]] = fused.logical_or %b_1, %[[V0]] : tensor<4xi1>
// CHECK-NEXT:  fused.yield %[[V1]] : tensor<4xi1>
// CHECK-NEXT:  }
// CHECK-NEXT:  %f = fused.kernel(%b) {ops = ["BitwiseXor"], op_name = "f"} : (tensor<4xi1>) -> tensor<4xi1> {
// CHECK-NEXT:  ^{{.*}}(%b_1: tensor<4xi1>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %b_1 : tensor<4xi1> to tensor<4xi32>
// CHECK-NEXT:  %[[V1:.*]] = fused.ne %[[V0]], %[[V0]] : tensor<4xi32> to tensor<4xi1>
// CHECK-NEXT:  fused.yield %[[V1]] : tensor<4xi1>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %a, %c, %e, %f : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
func.func @logic(%b: tensor<4xi1>, %d: tensor<i1>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %a = ge.LogicalAnd %b, %d : (tensor<4xi1>, tensor<i1>) -> tensor<4xi1>
  %c = ge.LogicalNot %a : (tensor<4xi1>) -> tensor<4xi1>
  %e = ge.BitwiseOr %b, %d : (tensor<4xi1>, tensor<i1>) -> tensor<4xi1>
  %f = ge.BitwiseXor %b, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  func.return %a, %c, %e, %f : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// -----

// Short integers are computed in 32 bits and wrap around when they are made short again.
// CHECK-LABEL: func.func @integers
// CHECK-NEXT:  %a = fused.kernel(%s) {ops = ["Mul"], op_name = "a"} : (tensor<4xi8>) -> tensor<4xi8> {
// CHECK-NEXT:  ^{{.*}}(%s_1: tensor<4xi8>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %s_1 : tensor<4xi8> to tensor<4xi32>
// CHECK-NEXT:  %[[V1:.*]] = fused.mul %[[V0]], %[[V0]] : tensor<4xi32>
// CHECK-NEXT:  %[[V2:.*]] = fused.cast %[[V1]] : tensor<4xi32> to tensor<4xi8>
// CHECK-NEXT:  fused.yield %[[V2]] : tensor<4xi8>
// CHECK-NEXT:  }
// CHECK-NEXT:  %b = fused.kernel(%l) {ops = ["Abs"], op_name = "b"} : (tensor<4xi64>) -> tensor<4xi64> {
// CHECK-NEXT:  ^{{.*}}(%l_1: tensor<4xi64>):
// CHECK-NEXT:  %[[V0:.*]] = fused.neg %l_1 : tensor<4xi64>
// CHECK-NEXT:  %[[V1:.*]] = fused.max %l_1, %[[V0]] : tensor<4xi64>
// CHECK-NEXT:  fused.yield %[[V1]] : tensor<4xi64>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %a, %b : tensor<4xi8>, tensor<4xi64>
func.func @integers(%s: tensor<4xi8>, %l: tensor<4xi64>) -> (tensor<4xi8>, tensor<4xi64>) {
  %a = ge.Mul %s, %s : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %b = ge.Abs %l : (tensor<4xi64>) -> tensor<4xi64>
  func.return %a, %b : tensor<4xi8>, tensor<4xi64>
}

// -----

// Powers to a constant are products and roots.
// CHECK-LABEL: func.func @powers
// CHECK-NEXT:  %a = fused.kernel(%x) {ops = ["Pow"], op_name = "a"} : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4xf32>):
// CHECK-NEXT:  %[[V0:.*]] = fused.mul %x_1, %x_1 : tensor<4xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.mul %[[V0]], %x_1 : tensor<4xf32>
// CHECK-NEXT:  fused.yield %[[V1]] : tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  %b = fused.kernel(%x) {ops = ["Pow"], op_name = "b"} : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4xf32>):
// CHECK-NEXT:  %[[V0:.*]] = fused.sqrt %x_1 : tensor<4xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.rec %[[V0]] : tensor<4xf32>
// CHECK-NEXT:  fused.yield %[[V1]] : tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  %c = fused.kernel(%x) {ops = ["Pow"], op_name = "c"} : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4xf32>):
// CHECK-NEXT:  %[[V0:.*]] = fused.full 1.000000e+00 : f32 to tensor<4xf32>
// CHECK-NEXT:  fused.yield %[[V0]] : tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
func.func @powers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %three = ge.Const dense<3.0> : tensor<f32>
  %half = ge.Const dense<-0.5> : tensor<f32>
  %zero = ge.Const dense<0.0> : tensor<f32>
  %a = ge.Pow %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = ge.Pow %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = ge.Pow %x, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// What is infinite or no number, from a difference with itself.
// CHECK-LABEL: func.func @predicates
// CHECK-NEXT:  %a = fused.kernel(%x) {ops = ["IsNan"], op_name = "a"} : (tensor<4xf16>) -> tensor<4xi1> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %x_1 : tensor<4xf16> to tensor<4xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.ne %[[V0]], %[[V0]] : tensor<4xf32> to tensor<4xi1>
// CHECK-NEXT:  fused.yield %[[V1]] : tensor<4xi1>
// CHECK-NEXT:  }
// CHECK-NEXT:  %b = fused.kernel(%x) {ops = ["IsFinite"], op_name = "b"} : (tensor<4xf16>) -> tensor<4xi1> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %x_1 : tensor<4xf16> to tensor<4xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.sub %[[V0]], %[[V0]] : tensor<4xf32>
// CHECK-NEXT:  %[[V2:.*]] = fused.eq %[[V1]], %[[V1]] : tensor<4xf32> to tensor<4xi1>
// CHECK-NEXT:  fused.yield %[[V2]] : tensor<4xi1>
// CHECK-NEXT:  }
// CHECK-NEXT:  %c = fused.kernel(%x) {ops = ["IsInf"], op_name = "c"} : (tensor<4xf16>) -> tensor<4xi1> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %x_1 : tensor<4xf16> to tensor<4xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.sub %[[V0]], %[[V0]] : tensor<4xf32>
// CHECK-NEXT:  %[[V2:.*]] = fused.eq %[[V0]], %[[V0]] : tensor<4xf32> to tensor<4xi1>
// CHECK-NEXT:  %[[V3:.*]] = fused.ne %[[V1]], %[[V1]] : tensor<4xf32> to tensor<4xi1>
// CHECK-NEXT:  %[[V4:.*]] = fused.logical_and %[[V2]], %[[V3]] : tensor<4xi1>
// CHECK-NEXT:  fused.yield %[[V4]] : tensor<4xi1>
// CHECK-NEXT:  }
// CHECK-NEXT:  %d = fused.kernel(%x) {ops = ["Sign"], op_name = "d"} : (tensor<4xf16>) -> tensor<4xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %x_1 : tensor<4xf16> to tensor<4xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.full 0.000000e+00 : f32 to tensor<4xf32>
// CHECK-NEXT:  %[[V2:.*]] = fused.gt %[[V0]], %[[V1]] : tensor<4xf32> to tensor<4xi1>
// CHECK-NEXT:  %[[V3:.*]] = fused.cast %[[V2]] : tensor<4xi1> to tensor<4xf32>
// CHECK-NEXT:  %[[V4:.*]] = fused.lt %[[V0]], %[[V1]] : tensor<4xf32> to tensor<4xi1>
// CHECK-NEXT:  %[[V5:.*]] = fused.cast %[[V4]] : tensor<4xi1> to tensor<4xf32>
// CHECK-NEXT:  %[[V6:.*]] = fused.sub %[[V3]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT:  %[[V7:.*]] = fused.cast %[[V6]] : tensor<4xf32> to tensor<4xf16>
// CHECK-NEXT:  fused.yield %[[V7]] : tensor<4xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %a, %b, %c, %d : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xf16>
func.func @predicates(%x: tensor<4xf16>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xf16>) {
  %a = ge.IsNan %x : (tensor<4xf16>) -> tensor<4xi1>
  %b = ge.IsFinite %x : (tensor<4xf16>) -> tensor<4xi1>
  %c = ge.IsInf %x : (tensor<4xf16>) -> tensor<4xi1>
  %d = ge.Sign %x : (tensor<4xf16>) -> tensor<4xf16>
  func.return %a, %b, %c, %d : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xf16>
}
