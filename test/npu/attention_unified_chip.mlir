// RUN: ge-opt %s -p to-npu | filecheck %s

// Flash attention by hand, for a chip whose cube and vector unit share a core. 20 queries in tiles of 16, over 40 keys in blocks of 16;
// queries do not look ahead, so that the loop ends with the last key that one of the tile sees. Weights go from the unified buffer to L1.

// CHECK-LABEL: @attention
// CHECK: scf.for
// CHECK: npu.mmad
// CHECK: npu.fixpipe
// CHECK: npu.vreduce <max>
// CHECK: npu.set_flag <v>, <mte3>
// CHECK: npu.wait_flag <v>, <mte3>
// CHECK: npu.copy ins({{.*}}#npu.mem<ub>>) outs({{.*}}#npu.mem<l1>>)
// CHECK: npu.set_flag <mte3>, <mte1>
// CHECK: npu.wait_flag <mte3>, <mte1>
// CHECK: npu.load2d
// CHECK: npu.mmad
// CHECK: npu.fixpipe
// CHECK: npu.vdiv
// CHECK: npu.store

!acc = tensor<16x16xf32, #npu.mem<l0c>>
!col = tensor<16x1xf32, #npu.mem<ub>>
!part = tensor<16x16xf32, #npu.mem<ub>>
!numbers = tensor<16x16xi32, #npu.mem<ub>>
!seen = tensor<16x16xi1, #npu.mem<ub>>
!half = tensor<16x16xf16, #npu.mem<ub>>
!l1 = tensor<16x16xf16, #npu.mem<l1>>
!a0 = tensor<16x16xf16, #npu.mem<l0a>>
!b0 = tensor<16x16xf16, #npu.mem<l0b>>
!one = tensor<1x1xf32, #npu.mem<ub>>
!zero = tensor<1x1xi32, #npu.mem<ub>>
!q = tensor<2x20x16xf16>
!k = tensor<2x40x16xf16>
!y = tensor<2x20x16xf32>

builtin.module attributes {ge.target = "Ascend910A"} {
  func.func private @attention(%q: !q, %k: !k, %v: !k, %out: !y) {
    %c16 = arith.constant 16 : index
    %c20 = arith.constant 20 : index
    %c40 = arith.constant 40 : index
    %c0 = arith.constant 0 : index
    tile.forall (%b, %i) in (2, 2) {
      %m0 = arith.muli %i, %c16 : index
      %0 = arith.subi %c20, %m0 : index
      %m = arith.minsi %c16, %0 : index
      %queries = tile.load %q[%b, %m0, 0] valid [%m, 16] : !q to !l1
      %m_first = tile.full -3.40282347e+38 : f32 valid [%m, 1] to !col
      %l_first = tile.full 0.000000e+00 : f32 valid [%m, 1] to !col
      %o_first = tile.full 0.000000e+00 : f32 valid [%m, 16] to !part
      %1 = arith.addi %m0, %m : index
      %end = arith.minsi %c40, %1 : index
      %m_last, %l_last, %o_last = scf.for %j = %c0 to %end step %c16 iter_args(%m_before = %m_first, %l_before = %l_first, %o_before = %o_first) -> (!col, !col, !part) {
        %2 = arith.subi %c40, %j : index
        %keys = arith.minsi %c16, %2 : index
        %block = tile.load %k[%b, %j, 0] valid [%keys, 16] : !k to !l1
        %undef = tile.undef : !acc
        %true = arith.constant true
        %a0 = tile.move %queries[0, 0] valid [%m, 16] : !l1 to !a0
        %b0 = tile.move %block[0, 0] valid [16, %keys] {transpose} : !l1 to !b0
        %s = tile.mmad %a0, %b0, %undef init %true : !a0, !b0, !acc -> !acc
        %raw = tile.move %s[0, 0] valid [%m, %keys] : !acc to !part
        %scaled = tile.muls %raw {scalar = 2.500000e-01 : f32} : !part -> !part
        %ahead = arith.subi %j, %m0 : index
        %distance = tile.iota [%ahead] steps [-1, 1] valid [%m, %keys] to !numbers
        %zero = tile.full 0 : i32 valid [1, 1] to !zero
        %sees = tile.le %distance, %zero : !numbers, !zero -> !seen
        %unseen = tile.full 0xff800000 : f32 valid [1, 1] to !one
        %scores = tile.select %sees, %scaled, %unseen : !seen, !part, !one -> !part
        %largest = tile.reduce <max> %scores along 1 : !part to !col
        %m_new = tile.max %m_before, %largest : !col, !col -> !col
        %drop = tile.sub %m_before, %m_new : !col, !col -> !col
        %shrink = tile.exp %drop : !col -> !col
        %m_after = tile.max %m_before, %largest : !col, !col -> !col
        %below = tile.sub %scores, %m_new : !part, !col -> !part
        %weights = tile.exp %below : !part -> !part
        %l_shrunk = tile.mul %l_before, %shrink : !col, !col -> !col
        %sum = tile.reduce <sum> %weights along 1 : !part to !col
        %l_after = tile.add %l_shrunk, %sum : !col, !col -> !col
        %weights_f16 = tile.cast %weights : !part to !half
        %values = tile.load %v[%b, %j, 0] valid [%keys, 16] : !k to !l1
        %p = tile.assemble %weights_f16[0, 0] valid [%m, %keys] : !half to !l1
        %undef_1 = tile.undef : !acc
        %true_1 = arith.constant true
        %a0_1 = tile.move %p[0, 0] valid [%m, %keys] : !l1 to !a0
        %b0_1 = tile.move %values[0, 0] valid [%keys, 16] : !l1 to !b0
        %pv = tile.mmad %a0_1, %b0_1, %undef_1 init %true_1 : !a0, !b0, !acc -> !acc
        %product = tile.move %pv[0, 0] valid [%m, 16] : !acc to !part
        %o_shrunk = tile.mul %o_before, %shrink : !part, !col -> !part
        %o_after = tile.add %o_shrunk, %product : !part, !part -> !part
        scf.yield %m_after, %l_after, %o_after : !col, !col, !part
      }
      %total = tile.maxs %l_last {scalar = 1.17549435e-38 : f32} : !col -> !col
      %result = tile.div %o_last, %total : !part, !col -> !part
      tile.store %result into %out[%b, %m0, 0] : !part into !y
    }
    func.return
  }
  func.func @main(%q: !q, %k: !k, %v: !k) -> !y {
    %e = tensor.empty() : !y
    %y = fused.launch @attention(%q, %k, %v) into(%e) on aicore {ops = ["FlashAttentionScore"], op_name = "attention"} : (!q, !k, !k) into(!y) -> !y
    func.return %y : !y
  }
}
