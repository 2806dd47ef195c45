// Tests that the rule of each kind of operator fills in sizes, and leaves open what it cannot know.
// RUN: ge-opt %s -p infer-shapes | filecheck %s

// CHECK-LABEL: func.func @views
func.func @views(%x: tensor<4x8xf16>, %o: tensor<?x8xf16>) {
  // CHECK-NEXT: ge.Reshape %x : (tensor<4x8xf16>) -> tensor<2x16xf16>
  %0 = ge.Reshape %x : (tensor<4x8xf16>) -> tensor<2x?xf16>
  // CHECK-NEXT: ge.Reshape %o : (tensor<?x8xf16>) -> tensor<2x?xf16>
  %1 = ge.Reshape %o : (tensor<?x8xf16>) -> tensor<2x?xf16>
  // CHECK-NEXT: ge.TransposeD {{.*}} -> tensor<8x?xf16>
  %2 = ge.TransposeD %o {perm = array<i64: 1, 0>} : (tensor<?x8xf16>) -> tensor<?x?xf16>
  // CHECK-NEXT: ge.StridedSliceD {{.*}} -> tensor<2x3xf16>
  %3 = ge.StridedSliceD %o {begin = array<i64: 1, 0>, end = array<i64: 3, 7>, strides = array<i64: 1, 3>} : (tensor<?x8xf16>) -> tensor<?x?xf16>
  // CHECK-NEXT: ge.ConcatD {{.*}} -> tensor<?x8xf16>
  %4 = ge.ConcatD %x, %o {concat_dim = 0 : i64} : (tensor<4x8xf16>, tensor<?x8xf16>) -> tensor<?x?xf16>
  // CHECK-NEXT: ge.ConcatD {{.*}} -> tensor<4x16xf16>
  %5 = ge.ConcatD %o, %x {concat_dim = 1 : i64} : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x?xf16>
  // CHECK-NEXT: ge.PadD {{.*}} -> tensor<?x9xf16>
  %6 = ge.PadD %o {paddings = array<i64: 1, 0, 0, 1>, value = 0.0 : f32} : (tensor<?x8xf16>) -> tensor<?x?xf16>
  func.return
}

// CHECK-LABEL: func.func @reductions
func.func @reductions(%x: tensor<4x8xf16>, %o: tensor<?x8xf16>) {
  // CHECK-NEXT: ge.ReduceSumD {{.*}} -> tensor<4xf16>
  %0 = ge.ReduceSumD %x {axes = array<i64: -1>} : (tensor<4x8xf16>) -> tensor<?xf16>
  // CHECK-NEXT: ge.ReduceMaxD {{.*}} -> tensor<?x1xf16>
  %1 = ge.ReduceMaxD %o {axes = array<i64: 1>, keep_dims} : (tensor<?x8xf16>) -> tensor<?x?xf16>
  // CHECK-NEXT: ge.SoftmaxV2 {{.*}} -> tensor<?x8xf16>
  %2 = ge.SoftmaxV2 %o {axes = array<i64: 0>} : (tensor<?x8xf16>) -> tensor<?x?xf16>
  // CHECK-NEXT: ge.RmsNorm {{.*}} -> tensor<4x8xf16>
  %3 = ge.RmsNorm %x {normalized_dims = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<4x8xf16>) -> tensor<?x?xf16>
  // CHECK-NEXT: ge.ArgMaxD {{.*}} -> tensor<4xi64>
  %4 = ge.ArgMaxD %x {axis = 1 : i64} : (tensor<4x8xf16>) -> tensor<?xi64>
  // CHECK-NEXT: ge.TopKD {{.*}} -> (tensor<?x3xf16>, tensor<?x3xi64>)
  %5, %6 = ge.TopKD %o {axis = 1 : i64, k = 3 : i64} : (tensor<?x8xf16>) -> (tensor<?x?xf16>, tensor<?x?xi64>)
  func.return
}

// CHECK-LABEL: func.func @indexing
func.func @indexing(%x: tensor<4x8xf16>, %i: tensor<?xi64>, %c: tensor<?x8xi1>) {
  // CHECK-NEXT: ge.GatherV2 {{.*}} -> tensor<4x?xf16>
  %0 = ge.GatherV2 %x, %i {axis = 1 : i64} : (tensor<4x8xf16>, tensor<?xi64>) -> tensor<?x?xf16>
  // CHECK-NEXT: ge.ScatterUpdate {{.*}} -> tensor<4x8xf16>
  %1 = ge.ScatterUpdate %x, %i, %0 {axis = 1 : i64} : (tensor<4x8xf16>, tensor<?xi64>, tensor<?x?xf16>) -> tensor<?x?xf16>
  // CHECK-NEXT: ge.SelectV2 {{.*}} -> tensor<4x8xf16>
  %2 = ge.SelectV2 %c, %x, %x : (tensor<?x8xi1>, tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<?x?xf16>
  // CHECK-NEXT: ge.Less {{.*}} -> tensor<4x8xi1>
  %3 = ge.Less %x, %x : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<?x?xi1>
  func.return
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<?x4x5x8xf16>, %k: tensor<2x2x?x8xf16>, %v: tensor<2x2x?x6xf16>, %m: tensor<5x?xi1>) {
  // CHECK-NEXT: ge.FlashAttentionScore {{.*}} -> tensor<2x4x5x6xf16>
  %0 = ge.FlashAttentionScore %q, %k, %v, %m {scale_value = 1.0 : f32} : (tensor<?x4x5x8xf16>, tensor<2x2x?x8xf16>, tensor<2x2x?x6xf16>, tensor<5x?xi1>) -> tensor<?x?x?x?xf16>
  func.return
}
