// Tests that ops on tiles print, and read back to the same text.
// RUN: ge-opt %s | ge-opt | filecheck %s
// RUN: ge-opt %s --mlir-print-op-generic | ge-opt | filecheck %s

!t = tensor<4x8xf32, #npu.mem<ub>>

// The functions of the table, on tiles.
// CHECK-LABEL: func.func private @functions
func.func private @functions(%x: tensor<4x8xf32>, %out: tensor<4x8xf32>) {
  %a = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf32> to !t
  // CHECK: %add = tile.add %a, %a : tensor<4x8xf32, #npu.mem<ub>>, tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %add = tile.add %a, %a : !t, !t -> !t
  // CHECK: %sub = tile.sub %a, %a : tensor<4x8xf32, #npu.mem<ub>>, tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %sub = tile.sub %a, %a : !t, !t -> !t
  // CHECK: %mul = tile.mul %a, %a : tensor<4x8xf32, #npu.mem<ub>>, tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %mul = tile.mul %a, %a : !t, !t -> !t
  // CHECK: %div = tile.div %a, %a : tensor<4x8xf32, #npu.mem<ub>>, tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %div = tile.div %a, %a : !t, !t -> !t
  // CHECK: %max = tile.max %a, %a : tensor<4x8xf32, #npu.mem<ub>>, tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %max = tile.max %a, %a : !t, !t -> !t
  // CHECK: %min = tile.min %a, %a : tensor<4x8xf32, #npu.mem<ub>>, tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %min = tile.min %a, %a : !t, !t -> !t
  // CHECK: %adds = tile.adds %a {scalar = 5.000000e-01 : f32} : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %adds = tile.adds %a {scalar = 5.000000e-01 : f32} : !t -> !t
  // CHECK: %muls = tile.muls %a {scalar = 5.000000e-01 : f32} : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %muls = tile.muls %a {scalar = 5.000000e-01 : f32} : !t -> !t
  // CHECK: %maxs = tile.maxs %a {scalar = 5.000000e-01 : f32} : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %maxs = tile.maxs %a {scalar = 5.000000e-01 : f32} : !t -> !t
  // CHECK: %mins = tile.mins %a {scalar = 5.000000e-01 : f32} : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %mins = tile.mins %a {scalar = 5.000000e-01 : f32} : !t -> !t
  // CHECK: %abs = tile.abs %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %abs = tile.abs %a : !t -> !t
  // CHECK: %exp = tile.exp %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %exp = tile.exp %a : !t -> !t
  // CHECK: %ln = tile.ln %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %ln = tile.ln %a : !t -> !t
  // CHECK: %sqrt = tile.sqrt %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %sqrt = tile.sqrt %a : !t -> !t
  // CHECK: %rec = tile.rec %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %rec = tile.rec %a : !t -> !t
  // CHECK: %relu = tile.relu %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %relu = tile.relu %a : !t -> !t
  // CHECK: %neg = tile.neg %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %neg = tile.neg %a : !t -> !t
  // CHECK: %square = tile.square %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %square = tile.square %a : !t -> !t
  // CHECK: %rsqrt = tile.rsqrt %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %rsqrt = tile.rsqrt %a : !t -> !t
  // CHECK: %sigmoid = tile.sigmoid %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %sigmoid = tile.sigmoid %a : !t -> !t
  // CHECK: %silu = tile.silu %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %silu = tile.silu %a : !t -> !t
  // CHECK: %erf = tile.erf %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %erf = tile.erf %a : !t -> !t
  // CHECK: %tanh = tile.tanh %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %tanh = tile.tanh %a : !t -> !t
  // CHECK: %gelu = tile.gelu %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %gelu = tile.gelu %a : !t -> !t
  // CHECK: %gelu_tanh = tile.gelu_tanh %a : tensor<4x8xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  %gelu_tanh = tile.gelu_tanh %a : !t -> !t
  tile.store %relu into %out[0, 0] : !t into tensor<4x8xf32>
  func.return
}
