// RUN: ge-opt %s -p to-npu | filecheck %s

// Flash attention by hand, for a chip with two vector lanes beside each cube. 20 queries in tiles of 16, of which each lane has 8 (the last
// tile has 4, all of them lane 0's), over 40 keys in blocks of 16; queries do not look ahead, so that the loop ends with the last key that
// one of the tile sees. Scores and products go from the cube to the lanes through global memory, weights the other way.

// CHECK-LABEL: @attention
// CHECK-SAME: %raw: memref<24x16x16xf32>, %p: memref<24x16x16xf16>, %product: memref<24x16x16xf32>
// Flag 0 says that scores are there for the lanes, flag 1 weights for the cube, flag 2 products for the lanes. That a place is free again
// follows from these: the cube and the lanes take turns.
// CHECK: scf.for
// CHECK: npu.fixpipe
// CHECK-NEXT: npu.cross_core_set_flag <aic.fix>[0]
// CHECK: npu.cross_core_wait_flag <aiv.mte2>[0]
// CHECK: npu.load <nd>
// CHECK: npu.vreduce <max>
// CHECK: npu.store
// CHECK-NEXT: npu.cross_core_set_flag <aiv.mte3>[1]
// CHECK: npu.cross_core_wait_flag <aic.mte2>[1]
// CHECK-NEXT: npu.load <nd2nz>
// CHECK: npu.mmad
// CHECK: npu.fixpipe
// CHECK: npu.cross_core_set_flag <aic.fix>[2]
// CHECK: npu.cross_core_wait_flag <aiv.mte2>[2]
// CHECK: npu.load <nd>
// CHECK: npu.vdiv
// CHECK: npu.store

!acc = tensor<16x16xf32, #npu.mem<l0c>>
!col = tensor<8x1xf32, #npu.mem<ub>>
!part = tensor<8x16xf32, #npu.mem<ub>>
!numbers = tensor<8x16xi32, #npu.mem<ub>>
!seen = tensor<8x16xi1, #npu.mem<ub>>
!half = tensor<8x16xf16, #npu.mem<ub>>
!l1 = tensor<16x16xf16, #npu.mem<l1>>
!a0 = tensor<16x16xf16, #npu.mem<l0a>>
!b0 = tensor<16x16xf16, #npu.mem<l0b>>
!one = tensor<1x1xf32, #npu.mem<ub>>
!zero = tensor<1x1xi32, #npu.mem<ub>>
!wide = tensor<16x16xf32, #npu.mem<gm>>
!weights = tensor<16x16xf16, #npu.mem<gm>>
!q = tensor<2x20x16xf16>
!k = tensor<2x40x16xf16>
!y = tensor<2x20x16xf32>

builtin.module attributes {ge.target = "Ascend910B2"} {
  func.func private @attention(%q: !q, %k: !k, %v: !k, %out: !y) {
    %c16 = arith.constant 16 : index
    %c20 = arith.constant 20 : index
    %c8 = arith.constant 8 : index
    %c0 = arith.constant 0 : index
    %c40 = arith.constant 40 : index
    tile.forall (%b, %i) in (2, 2) {
      %m0 = arith.muli %i, %c16 : index
      %0 = arith.subi %c20, %m0 : index
      %m = arith.minsi %c16, %0 : index
      %lane = npu.sub_block_idx
      %start = arith.muli %lane, %c8 : index
      %1 = arith.subi %m, %start : index
      %2 = arith.minsi %c8, %1 : index
      %part = arith.maxsi %2, %c0 : index
      %queries = tile.load %q[%b, %m0, 0] valid [%m, 16] : !q to !l1
      %m_first = tile.full -3.40282347e+38 : f32 valid [%part, 1] to !col
      %l_first = tile.full 0.000000e+00 : f32 valid [%part, 1] to !col
      %o_first = tile.full 0.000000e+00 : f32 valid [%part, 16] to !part
      %3 = arith.addi %m0, %m : index
      %end = arith.minsi %c40, %3 : index
      %m_last, %l_last, %o_last = scf.for %j = %c0 to %end step %c16 iter_args(%m_before = %m_first, %l_before = %l_first, %o_before = %o_first) -> (!col, !col, !part) {
        %4 = arith.subi %c40, %j : index
        %keys = arith.minsi %c16, %4 : index
        %block = tile.load %k[%b, %j, 0] valid [%keys, 16] : !k to !l1
        %undef = tile.undef : !acc
        %true = arith.constant true
        %a0 = tile.move %queries[0, 0] valid [%m, 16] : !l1 to !a0
        %b0 = tile.move %block[0, 0] valid [16, %keys] {transpose} : !l1 to !b0
        %s = tile.mmad %a0, %b0, %undef init %true : !a0, !b0, !acc -> !acc
        %raw = tile.move %s[0, 0] valid [%m, %keys] : !acc to !wide
        %s_ub = tile.load %raw[%start, 0] valid [%part, %keys] : !wide to !part
        %scaled = tile.muls %s_ub {scalar = 2.500000e-01 : f32} : !part -> !part
        %5 = arith.addi %m0, %start : index
        %ahead = arith.subi %j, %5 : index
        %distance = tile.iota [%ahead] steps [-1, 1] valid [%part, %keys] to !numbers
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
        %p = tile.assemble %weights_f16[%start, 0] valid [%m, %keys] : !half to !weights
        %p_l1 = tile.load %p[0, 0] valid [%m, %keys] : !weights to !l1
        %undef_1 = tile.undef : !acc
        %true_1 = arith.constant true
        %a0_1 = tile.move %p_l1[0, 0] valid [%m, %keys] : !l1 to !a0
        %b0_1 = tile.move %values[0, 0] valid [%keys, 16] : !l1 to !b0
        %pv = tile.mmad %a0_1, %b0_1, %undef_1 init %true_1 : !a0, !b0, !acc -> !acc
        %product = tile.move %pv[0, 0] valid [%m, 16] : !acc to !wide
        %pv_ub = tile.load %product[%start, 0] valid [%part, 16] : !wide to !part
        %o_shrunk = tile.mul %o_before, %shrink : !part, !col -> !part
        %o_after = tile.add %o_shrunk, %pv_ub : !part, !part -> !part
        scf.yield %m_after, %l_after, %o_after : !col, !col, !part
      }
      %total = tile.maxs %l_last {scalar = 1.17549435e-38 : f32} : !col -> !col
      %result = tile.div %o_last, %total : !part, !col -> !part
      %6 = arith.addi %m0, %start : index
      tile.store %result into %out[%b, %6, 0] : !part into !y
    }
    func.return
  }
  func.func @main(%q: !q, %k: !k, %v: !k) -> !y {
    %e = tensor.empty() : !y
    %y = fused.launch @attention(%q, %k, %v) into(%e) on aicore {ops = ["FlashAttentionScore"], op_name = "attention"} : (!q, !k, !k) into(!y) -> !y
    func.return %y : !y
  }
}
