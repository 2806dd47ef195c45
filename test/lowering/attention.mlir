// RUN: ge-opt %s -p select-schedule,convert-fused-to-tile | filecheck %s

// Heads lie side by side in memory: queries, keys, values and the result are windows of their tensors, and nothing is transposed. Two query
// heads share a key head, whose dimension for them has one element. Where queries do not look ahead, blocks behind the last one are skipped, and
// blocks of the same queries are shared out among the cores.

builtin.module attributes {ge.target = "Ascend910B2"} {
  // CHECK-LABEL: @heads
  // CHECK-SAME: schedule = #tile.schedule<m = 16, n = 16, k0 = 16, l1 = 2, l0 = 2, ub = 1>
  func.func private @heads(%q: tensor<2x20x64xf16>, %k: tensor<2x40x32xf16>, %v: tensor<2x40x32xf16>, %mask: tensor<2x40xi1>) -> tensor<2x20x64xf16> attributes {schedule = #tile.schedule<m = 16, n = 16>} {
    // CHECK-DAG: %[[Q:.*]] = tile.view %q offset 0 strides [1280, 32, 16, 64, 1] : tensor<2x20x64xf16> to tensor<2x2x2x20x16xf16>
    // CHECK-DAG: %[[K:.*]] = tile.view %k offset 0 strides [1280, 16, 1, 32, 1] : tensor<2x40x32xf16> to tensor<2x2x1x40x16xf16>
    // CHECK-DAG: %[[V:.*]] = tile.view %v offset 0 strides [1280, 16, 1, 32, 1] : tensor<2x40x32xf16> to tensor<2x2x1x40x16xf16>
    // CHECK-DAG: %[[OUT:.*]] = tile.view %out offset 0 strides [1280, 32, 16, 64, 1] : tensor<2x20x64xf16> to tensor<2x2x2x20x16xf16>
    // CHECK: tile.forall (%i, %b0, %b1, %b2, %j) in (2, 2, 2, 2, 1) {
    // CHECK: tile.load %[[Q]][%b0, %b1, %b2, %m0, 0] valid [%m, 16]
    // CHECK: %[[BEHIND:.*]] = arith.addi %m0, %m : index
    // CHECK: %end = arith.minsi %c40, %[[BEHIND]] : index
    // CHECK: scf.for %j_1 = %c0 to %end step %c16 iter_args({{.*}}) -> (tensor<8x1xf32, #npu.mem<ub>>, tensor<8x1xf32, #npu.mem<ub>>, tensor<8x16xf32, #npu.mem<ub>>)
    // CHECK: tile.load %[[K]][%b0, %b1, 0, %j_1, 0] valid [%keys, 16] {{.*}} to tensor<16x16xf16, #npu.mem<l1>>
    // CHECK: tile.move {{.*}} {transpose}
    // CHECK: tile.mmad
    // A mask that is the same for all queries is a row.
    // CHECK: tile.load %{{.*}}[%b0, 0, 0, 0, %j_1] valid [1, %keys] : {{.*}} to tensor<1x16xi1, #npu.mem<ub>>
    // CHECK: tile.select
    // CHECK: tile.iota [%ahead] steps [-1, 1] valid [%part, %keys]
    // CHECK: tile.le
    // CHECK: tile.reduce <max>
    // CHECK: tile.reduce <sum>
    // CHECK: tile.load %[[V]][%b0, %b1, 0, %j_1, 0] valid [%keys, 16]
    // CHECK: tile.assemble {{.*}}[%start, 0] valid [%m, %keys] : tensor<8x16xf16, #npu.mem<ub>> to tensor<16x16xf16, #npu.mem<gm>>
    // CHECK: tile.mmad
    // CHECK: scf.yield
    // CHECK: tile.div
    // CHECK: tile.store {{.*}} into %[[OUT]][%b0, %b1, %b2, %{{.*}}, 0]
    %0 = fused.reshape %q : tensor<2x20x64xf16> to tensor<2x20x2x2x16xf16>
    %1 = fused.transpose %0 permutation [0, 2, 3, 1, 4] : tensor<2x20x2x2x16xf16> to tensor<2x2x2x20x16xf16>
    %2 = fused.reshape %k : tensor<2x40x32xf16> to tensor<2x40x2x1x16xf16>
    %3 = fused.transpose %2 permutation [0, 2, 3, 1, 4] : tensor<2x40x2x1x16xf16> to tensor<2x2x1x40x16xf16>
    %4 = fused.reshape %v : tensor<2x40x32xf16> to tensor<2x40x2x1x16xf16>
    %5 = fused.transpose %4 permutation [0, 2, 3, 1, 4] : tensor<2x40x2x1x16xf16> to tensor<2x2x1x40x16xf16>
    %6 = fused.reshape %mask : tensor<2x40xi1> to tensor<2x1x1x1x40xi1>
    %7 = fused.attention %1, %3, %5 mask %6 {scale = 0.25 : f32, causal} : (tensor<2x2x2x20x16xf16>, tensor<2x2x1x40x16xf16>, tensor<2x2x1x40x16xf16>, tensor<2x1x1x1x40xi1>) -> tensor<2x2x2x20x16xf32>
    %8 = fused.cast %7 : tensor<2x2x2x20x16xf32> to tensor<2x2x2x20x16xf16>
    %9 = fused.transpose %8 permutation [0, 3, 1, 2, 4] : tensor<2x2x2x20x16xf16> to tensor<2x20x2x2x16xf16>
    %10 = fused.reshape %9 : tensor<2x20x2x2x16xf16> to tensor<2x20x64xf16>
    func.return %10 : tensor<2x20x64xf16>
  }

  // One query for each head: those that share a key head are rows of one tile.
  // CHECK-LABEL: @decode
  // CHECK: tile.forall (%b0, %i, %j) in (2, 1, 1) {
  // CHECK: tile.load %{{.*}}[%b0, 0, 0] valid [4, 16] : tensor<2x4x16xf16> to tensor<4x16xf16, #npu.mem<l1>>
  func.func private @decode(%q: tensor<2x4x1x16xf16>, %k: tensor<2x1x40x16xf16>, %v: tensor<2x1x40x16xf16>) -> tensor<2x4x1x16xf32> {
    %0 = fused.attention %q, %k, %v {scale = 0.25 : f32} : (tensor<2x4x1x16xf16>, tensor<2x1x40x16xf16>, tensor<2x1x40x16xf16>) -> tensor<2x4x1x16xf32>
    func.return %0 : tensor<2x4x1x16xf32>
  }
}
