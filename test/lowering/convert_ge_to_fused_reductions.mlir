// Tests that reductions, softmax and norms become sums in f32 with one rounding at the end.
// RUN: ge-opt %s -p convert-ge-to-fused --split-input-file | filecheck %s

// Dimensions vanish, or come back with size 1; a mean is a sum times 1/n.
// CHECK-LABEL: func.func @reductions
// CHECK-NEXT:  %sum = fused.kernel(%x) {ops = ["ReduceSumD"], op_name = "sum"} : (tensor<4x8xf16>) -> tensor<4xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x8xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %x_1 : tensor<4x8xf16> to tensor<4x8xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.reduce <sum> %[[V0]] along [1] : tensor<4x8xf32> to tensor<4xf32>
// CHECK-NEXT:  %[[V2:.*]] = fused.cast %[[V1]] : tensor<4xf32> to tensor<4xf16>
// CHECK-NEXT:  fused.yield %[[V2]] : tensor<4xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %mean = fused.kernel(%x) {ops = ["ReduceMeanD"], op_name = "mean"} : (tensor<4x8xf16>) -> tensor<1x8xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x8xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %x_1 : tensor<4x8xf16> to tensor<4x8xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.reduce <sum> %[[V0]] along [0] : tensor<4x8xf32> to tensor<8xf32>
// CHECK-NEXT:  %[[V2:.*]] = fused.muls %[[V1]] {scalar = 2.500000e-01 : f32} : tensor<8xf32>
// CHECK-NEXT:  %[[V3:.*]] = fused.reshape %[[V2]] : tensor<8xf32> to tensor<1x8xf32>
// CHECK-NEXT:  %[[V4:.*]] = fused.cast %[[V3]] : tensor<1x8xf32> to tensor<1x8xf16>
// CHECK-NEXT:  fused.yield %[[V4]] : tensor<1x8xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %max = fused.kernel(%x) {ops = ["ReduceMaxD"], op_name = "max"} : (tensor<4x8xf16>) -> tensor<f16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x8xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %x_1 : tensor<4x8xf16> to tensor<4x8xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.reduce <max> %[[V0]] along [0, 1] : tensor<4x8xf32> to tensor<f32>
// CHECK-NEXT:  %[[V2:.*]] = fused.cast %[[V1]] : tensor<f32> to tensor<f16>
// CHECK-NEXT:  fused.yield %[[V2]] : tensor<f16>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %sum, %mean, %max : tensor<4xf16>, tensor<1x8xf16>, tensor<f16>
func.func @reductions(%x: tensor<4x8xf16>) -> (tensor<4xf16>, tensor<1x8xf16>, tensor<f16>) {
  %sum = ge.ReduceSumD %x {axes = array<i64: -1>} : (tensor<4x8xf16>) -> tensor<4xf16>
  %mean = ge.ReduceMeanD %x {axes = array<i64: 0>, keep_dims} : (tensor<4x8xf16>) -> tensor<1x8xf16>
  %max = ge.ReduceMaxD %x {axes = array<i64: 1, 0>} : (tensor<4x8xf16>) -> tensor<f16>
  func.return %sum, %mean, %max : tensor<4xf16>, tensor<1x8xf16>, tensor<f16>
}

// -----

// Without axes nothing is combined, and of nothing the mean is NaN.
// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:  %same = fused.kernel(%x) {ops = ["ReduceMinD"], op_name = "same"} : (tensor<4x8xf16>) -> tensor<4x8xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x8xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %x_1 : tensor<4x8xf16> to tensor<4x8xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.cast %[[V0]] : tensor<4x8xf32> to tensor<4x8xf16>
// CHECK-NEXT:  fused.yield %[[V1]] : tensor<4x8xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %nan = fused.kernel(%e) {ops = ["ReduceMeanD"], op_name = "nan"} : (tensor<4x0xf32>) -> tensor<4xf32> {
// CHECK-NEXT:  ^{{.*}}(%e_1: tensor<4x0xf32>):
// CHECK-NEXT:  %[[V0:.*]] = fused.reduce <sum> %e_1 along [1] : tensor<4x0xf32> to tensor<4xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.full 0.000000e+00 : f32 to tensor<4xf32>
// CHECK-NEXT:  %[[V2:.*]] = fused.div %[[V0]], %[[V1]] : tensor<4xf32>
// CHECK-NEXT:  fused.yield %[[V2]] : tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  %lowest = fused.kernel(%i) {ops = ["ReduceMaxD"], op_name = "lowest"} : (tensor<4x0xi8>) -> tensor<4xi8> {
// CHECK-NEXT:  ^{{.*}}(%i_1: tensor<4x0xi8>):
// CHECK-NEXT:  %[[V0:.*]] = fused.full -128 : i8 to tensor<4xi8>
// CHECK-NEXT:  fused.yield %[[V0]] : tensor<4xi8>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %same, %nan, %lowest : tensor<4x8xf16>, tensor<4xf32>, tensor<4xi8>
func.func @nothing(%x: tensor<4x8xf16>, %e: tensor<4x0xf32>, %i: tensor<4x0xi8>) -> (tensor<4x8xf16>, tensor<4xf32>, tensor<4xi8>) {
  %same = ge.ReduceMinD %x {axes = array<i64>} : (tensor<4x8xf16>) -> tensor<4x8xf16>
  %nan = ge.ReduceMeanD %e {axes = array<i64: 1>} : (tensor<4x0xf32>) -> tensor<4xf32>
  %lowest = ge.ReduceMaxD %i {axes = array<i64: 1>} : (tensor<4x0xi8>) -> tensor<4xi8>
  func.return %same, %nan, %lowest : tensor<4x8xf16>, tensor<4xf32>, tensor<4xi8>
}

// -----

// Booleans and short integers widen first, and long ones stay.
// CHECK-LABEL: func.func @integers
// CHECK-NEXT:  %any = fused.kernel(%b) {ops = ["ReduceMaxD"], op_name = "any"} : (tensor<4x8xi1>) -> tensor<4xi1> {
// CHECK-NEXT:  ^{{.*}}(%b_1: tensor<4x8xi1>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %b_1 : tensor<4x8xi1> to tensor<4x8xi32>
// CHECK-NEXT:  %[[V1:.*]] = fused.reduce <max> %[[V0]] along [1] : tensor<4x8xi32> to tensor<4xi32>
// CHECK-NEXT:  %[[V2:.*]] = fused.cast %[[V1]] : tensor<4xi32> to tensor<4xi1>
// CHECK-NEXT:  fused.yield %[[V2]] : tensor<4xi1>
// CHECK-NEXT:  }
// CHECK-NEXT:  %short = fused.kernel(%s) {ops = ["ReduceSumD"], op_name = "short"} : (tensor<4x8xi16>) -> tensor<4xi16> {
// CHECK-NEXT:  ^{{.*}}(%s_1: tensor<4x8xi16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %s_1 : tensor<4x8xi16> to tensor<4x8xi32>
// CHECK-NEXT:  %[[V1:.*]] = fused.reduce <sum> %[[V0]] along [1] : tensor<4x8xi32> to tensor<4xi32>
// CHECK-NEXT:  %[[V2:.*]] = fused.cast %[[V1]] : tensor<4xi32> to tensor<4xi16>
// CHECK-NEXT:  fused.yield %[[V2]] : tensor<4xi16>
// CHECK-NEXT:  }
// CHECK-NEXT:  %long = fused.kernel(%l) {ops = ["ReduceSumD"], op_name = "long"} : (tensor<4x8xi64>) -> tensor<4xi64> {
// CHECK-NEXT:  ^{{.*}}(%l_1: tensor<4x8xi64>):
// CHECK-NEXT:  %[[V0:.*]] = fused.reduce <sum> %l_1 along [1] : tensor<4x8xi64> to tensor<4xi64>
// CHECK-NEXT:  fused.yield %[[V0]] : tensor<4xi64>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %any, %short, %long : tensor<4xi1>, tensor<4xi16>, tensor<4xi64>
func.func @integers(%b: tensor<4x8xi1>, %s: tensor<4x8xi16>, %l: tensor<4x8xi64>) -> (tensor<4xi1>, tensor<4xi16>, tensor<4xi64>) {
  %any = ge.ReduceMaxD %b {axes = array<i64: 1>} : (tensor<4x8xi1>) -> tensor<4xi1>
  %short = ge.ReduceSumD %s {axes = array<i64: 1>} : (tensor<4x8xi16>) -> tensor<4xi16>
  %long = ge.ReduceSumD %l {axes = array<i64: 1>} : (tensor<4x8xi64>) -> tensor<4xi64>
  func.return %any, %short, %long : tensor<4xi1>, tensor<4xi16>, tensor<4xi64>
}

// -----

// The largest element is taken off, so that no exponential overflows.
// CHECK-LABEL: func.func @softmax
// CHECK-NEXT:  %y = fused.kernel(%x) {ops = ["SoftmaxV2"], op_name = "y"} : (tensor<4x8xf16>) -> tensor<4x8xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x8xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %x_1 : tensor<4x8xf16> to tensor<4x8xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.reduce <max> %[[V0]] along [1] : tensor<4x8xf32> to tensor<4xf32>
// CHECK-NEXT:  %[[V2:.*]] = fused.broadcast %[[V1]] along [0] : tensor<4xf32> to tensor<4x8xf32>
// CHECK-NEXT:  %[[V3:.*]] = fused.sub %[[V0]], %[[V2]] : tensor<4x8xf32>
// CHECK-NEXT:  %[[V4:.*]] = fused.exp %[[V3]] : tensor<4x8xf32>
// CHECK-NEXT:  %[[V5:.*]] = fused.reduce <sum> %[[V4]] along [1] : tensor<4x8xf32> to tensor<4xf32>
// CHECK-NEXT:  %[[V6:.*]] = fused.broadcast %[[V5]] along [0] : tensor<4xf32> to tensor<4x8xf32>
// CHECK-NEXT:  %[[V7:.*]] = fused.div %[[V4]], %[[V6]] : tensor<4x8xf32>
// CHECK-NEXT:  %[[V8:.*]] = fused.cast %[[V7]] : tensor<4x8xf32> to tensor<4x8xf16>
// CHECK-NEXT:  fused.yield %[[V8]] : tensor<4x8xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %y : tensor<4x8xf16>
func.func @softmax(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %y = ge.SoftmaxV2 %x {axes = array<i64: -1>} : (tensor<4x8xf16>) -> tensor<4x8xf16>
  func.return %y : tensor<4x8xf16>
}

// -----

// The logarithm of a softmax divides nothing.
// CHECK-LABEL: func.func @log_softmax
// CHECK-NEXT:  %y = fused.kernel(%x) {ops = ["LogSoftmaxV2"], op_name = "y"} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x8xf32>):
// CHECK-NEXT:  %[[V0:.*]] = fused.reduce <max> %x_1 along [0] : tensor<4x8xf32> to tensor<8xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.broadcast %[[V0]] along [1] : tensor<8xf32> to tensor<4x8xf32>
// CHECK-NEXT:  %[[V2:.*]] = fused.sub %x_1, %[[V1]] : tensor<4x8xf32>
// CHECK-NEXT:  %[[V3:.*]] = fused.exp %[[V2]] : tensor<4x8xf32>
// CHECK-NEXT:  %[[V4:.*]] = fused.reduce <sum> %[[V3]] along [0] : tensor<4x8xf32> to tensor<8xf32>
// CHECK-NEXT:  %[[V5:.*]] = fused.ln %[[V4]] : tensor<8xf32>
// CHECK-NEXT:  %[[V6:.*]] = fused.broadcast %[[V5]] along [1] : tensor<8xf32> to tensor<4x8xf32>
// CHECK-NEXT:  %[[V7:.*]] = fused.sub %[[V2]], %[[V6]] : tensor<4x8xf32>
// CHECK-NEXT:  fused.yield %[[V7]] : tensor<4x8xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %y : tensor<4x8xf32>
func.func @log_softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = ge.LogSoftmaxV2 %x {axes = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// -----

// The variance comes from what is left of the elements without their mean; so does what is left of the mean.
// CHECK-LABEL: func.func @layer_norm
// CHECK-NEXT:  %y = fused.kernel(%x, %g, %b) {ops = ["LayerNormV4"], op_name = "y"} : (tensor<4x8xf16>, tensor<8xf16>, tensor<8xf32>) -> tensor<4x8xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<4x8xf16>, %g_1: tensor<8xf16>, %b_1: tensor<8xf32>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %x_1 : tensor<4x8xf16> to tensor<4x8xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.reduce <sum> %[[V0]] along [1] : tensor<4x8xf32> to tensor<4xf32>
// CHECK-NEXT:  %[[V2:.*]] = fused.muls %[[V1]] {scalar = 1.250000e-01 : f32} : tensor<4xf32>
// CHECK-NEXT:  %[[V3:.*]] = fused.broadcast %[[V2]] along [0] : tensor<4xf32> to tensor<4x8xf32>
// CHECK-NEXT:  %[[V4:.*]] = fused.sub %[[V0]], %[[V3]] : tensor<4x8xf32>
// CHECK-NEXT:  %[[V5:.*]] = fused.reduce <sum> %[[V4]] along [1] : tensor<4x8xf32> to tensor<4xf32>
// CHECK-NEXT:  %[[V6:.*]] = fused.muls %[[V5]] {scalar = 1.250000e-01 : f32} : tensor<4xf32>
// CHECK-NEXT:  %[[V7:.*]] = fused.square %[[V4]] : tensor<4x8xf32>
// CHECK-NEXT:  %[[V8:.*]] = fused.reduce <sum> %[[V7]] along [1] : tensor<4x8xf32> to tensor<4xf32>
// CHECK-NEXT:  %[[V9:.*]] = fused.muls %[[V8]] {scalar = 1.250000e-01 : f32} : tensor<4xf32>
// CHECK-NEXT:  %[[V10:.*]] = fused.square %[[V6]] : tensor<4xf32>
// CHECK-NEXT:  %[[V11:.*]] = fused.sub %[[V9]], %[[V10]] : tensor<4xf32>
// CHECK-NEXT:  %[[V12:.*]] = fused.broadcast %[[V6]] along [0] : tensor<4xf32> to tensor<4x8xf32>
// CHECK-NEXT:  %[[V13:.*]] = fused.sub %[[V4]], %[[V12]] : tensor<4x8xf32>
// CHECK-NEXT:  %[[V14:.*]] = fused.maxs %[[V11]] {scalar = 0.000000e+00 : f32} : tensor<4xf32>
// CHECK-NEXT:  %[[V15:.*]] = fused.adds %[[V14]] {scalar = 1.000000e-05 : f32} : tensor<4xf32>
// CHECK-NEXT:  %[[V16:.*]] = fused.rsqrt %[[V15]] : tensor<4xf32>
// CHECK-NEXT:  %[[V17:.*]] = fused.broadcast %[[V16]] along [0] : tensor<4xf32> to tensor<4x8xf32>
// CHECK-NEXT:  %[[V18:.*]] = fused.mul %[[V13]], %[[V17]] : tensor<4x8xf32>
// CHECK-NEXT:  %[[V19:.*]] = fused.cast %g_1 : tensor<8xf16> to tensor<8xf32>
// CHECK-NEXT:  %[[V20:.*]] = fused.broadcast %[[V19]] along [1] : tensor<8xf32> to tensor<4x8xf32>
// CHECK-NEXT:  %[[V21:.*]] = fused.mul %[[V18]], %[[V20]] : tensor<4x8xf32>
// CHECK-NEXT:  %[[V22:.*]] = fused.broadcast %b_1 along [1] : tensor<8xf32> to tensor<4x8xf32>
// CHECK-NEXT:  %[[V23:.*]] = fused.add %[[V21]], %[[V22]] : tensor<4x8xf32>
// CHECK-NEXT:  %[[V24:.*]] = fused.cast %[[V23]] : tensor<4x8xf32> to tensor<4x8xf16>
// CHECK-NEXT:  fused.yield %[[V24]] : tensor<4x8xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %y : tensor<4x8xf16>
func.func @layer_norm(%x: tensor<4x8xf16>, %g: tensor<8xf16>, %b: tensor<8xf32>) -> tensor<4x8xf16> {
  %y = ge.LayerNormV4 %x, %g, %b {normalized_dims = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<4x8xf16>, tensor<8xf16>, tensor<8xf32>) -> tensor<4x8xf16>
  func.return %y : tensor<4x8xf16>
}

// -----

// Several dimensions are normalized together.
// CHECK-LABEL: func.func @rms_norm
// CHECK-NEXT:  %y = fused.kernel(%x, %g) {ops = ["RmsNorm"], op_name = "y"} : (tensor<2x4x8xf16>, tensor<4x8xf16>) -> tensor<2x4x8xf16> {
// CHECK-NEXT:  ^{{.*}}(%x_1: tensor<2x4x8xf16>, %g_1: tensor<4x8xf16>):
// CHECK-NEXT:  %[[V0:.*]] = fused.cast %x_1 : tensor<2x4x8xf16> to tensor<2x4x8xf32>
// CHECK-NEXT:  %[[V1:.*]] = fused.square %[[V0]] : tensor<2x4x8xf32>
// CHECK-NEXT:  %[[V2:.*]] = fused.reduce <sum> %[[V1]] along [1, 2] : tensor<2x4x8xf32> to tensor<2xf32>
// CHECK-NEXT:  %[[V3:.*]] = fused.muls %[[V2]] {scalar = 3.125000e-02 : f32} : tensor<2xf32>
// CHECK-NEXT:  %[[V4:.*]] = fused.adds %[[V3]] {scalar = 1.000000e-05 : f32} : tensor<2xf32>
// CHECK-NEXT:  %[[V5:.*]] = fused.rsqrt %[[V4]] : tensor<2xf32>
// CHECK-NEXT:  %[[V6:.*]] = fused.broadcast %[[V5]] along [0] : tensor<2xf32> to tensor<2x4x8xf32>
// CHECK-NEXT:  %[[V7:.*]] = fused.mul %[[V0]], %[[V6]] : tensor<2x4x8xf32>
// CHECK-NEXT:  %[[V8:.*]] = fused.cast %g_1 : tensor<4x8xf16> to tensor<4x8xf32>
// CHECK-NEXT:  %[[V9:.*]] = fused.broadcast %[[V8]] along [1, 2] : tensor<4x8xf32> to tensor<2x4x8xf32>
// CHECK-NEXT:  %[[V10:.*]] = fused.mul %[[V7]], %[[V9]] : tensor<2x4x8xf32>
// CHECK-NEXT:  %[[V11:.*]] = fused.cast %[[V10]] : tensor<2x4x8xf32> to tensor<2x4x8xf16>
// CHECK-NEXT:  fused.yield %[[V11]] : tensor<2x4x8xf16>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %y : tensor<2x4x8xf16>
func.func @rms_norm(%x: tensor<2x4x8xf16>, %g: tensor<4x8xf16>) -> tensor<2x4x8xf16> {
  %y = ge.RmsNorm %x, %g {normalized_dims = 2 : i64, epsilon = 1.0e-5 : f32} : (tensor<2x4x8xf16>, tensor<4x8xf16>) -> tensor<2x4x8xf16>
  func.return %y : tensor<2x4x8xf16>
}
