// Edges in every direction: 50 rows in tiles of 32, 40 columns in one of 48, 70 products in chunks of 64 and of 32.
// RUN: ge-opt %s --target Ascend910A -p expand-math,to-npu,verify-memory | filecheck %s
// CHECK: npu.mmad
// CHECK-LABEL: func.func @main

!x = tensor<2x50x70xf16>
!w = tensor<40x70xf16>
!b = tensor<40xf16>
!y = tensor<2x50x40xf16>
!a1 = tensor<32x64xf16, #npu.mem<l1>>
!b1 = tensor<48x64xf16, #npu.mem<l1>>
!a0 = tensor<32x32xf16, #npu.mem<l0a>>
!b0 = tensor<32x48xf16, #npu.mem<l0b>>
!acc = tensor<32x48xf32, #npu.mem<l0c>>
!t = tensor<32x48xf32, #npu.mem<ub>>
!row = tensor<1x1024xf32, #npu.mem<ub>>

func.func private @MatMulGelu(%a: !x, %b: !w, %bias: !b, %out: !y) {
  %bias2 = tile.view %bias : !b to tensor<1x40xf16>
  tile.forall (%batch, %i) in (2, 2) {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c50 = arith.constant 50 : index
    %c64 = arith.constant 64 : index
    %c70 = arith.constant 70 : index
    %i0 = arith.muli %i, %c32 : index
    %left = arith.subi %c50, %i0 : index
    %m = arith.minsi %c32, %left : index
    %none = tile.undef : !acc
    %acc = scf.for %k = %c0 to %c70 step %c64 iter_args(%outer = %none) -> (!acc) {
      %k_left = arith.subi %c70, %k : index
      %kk = arith.minsi %c64, %k_left : index
      %a1 = tile.load %a[%batch, %i0, %k] valid [%m, %kk] : !x to !a1
      %b1 = tile.load %b[0, %k] valid [40, %kk] : !w to !b1
      %inner = scf.for %q = %c0 to %kk step %c32 iter_args(%c = %outer) -> (!acc) {
        %q_left = arith.subi %kk, %q : index
        %qq = arith.minsi %c32, %q_left : index
        %a0 = tile.move %a1[0, %q] valid [%m, %qq] : !a1 to !a0
        %b0 = tile.move %b1[0, %q] valid [%qq, 40] {transpose} : !b1 to !b0
        %at = arith.addi %k, %q : index
        %first = arith.cmpi eq, %at, %c0 : index
        %sum = tile.mmad %a0, %b0, %c init %first : !a0, !b0, !acc -> !acc
        scf.yield %sum : !acc
      }
      scf.yield %inner : !acc
    }
    %u = tile.move %acc[0, 0] valid [%m, 40] : !acc to !t
    %row = tile.load %bias2[0, 0] valid [1, 40] : tensor<1x40xf16> to tensor<1x48xf16, #npu.mem<ub>>
    %row32 = tile.cast %row : tensor<1x48xf16, #npu.mem<ub>> to tensor<1x48xf32, #npu.mem<ub>>
    %s = tile.add %u, %row32 : !t, tensor<1x48xf32, #npu.mem<ub>> -> !t
    %g = tile.gelu %s : !t -> !t
    %one = tile.full 1.0 : f32 valid [1, 1] to tensor<1x1xf32, #npu.mem<ub>>
    %ones = tile.broadcast %one valid [%m, 40] : tensor<1x1xf32, #npu.mem<ub>> to !t
    %y = tile.add %g, %ones : !t, !t -> !t
    %h = tile.cast %y : !t to tensor<32x48xf16, #npu.mem<ub>>
    tile.store %h into %out[%batch, %i0, 0] : tensor<32x48xf16, #npu.mem<ub>> into !y
  }
  func.return
}
func.func private @Scale(%x: !y, %out: !y) {
  %x2 = tile.view %x : !y to tensor<1x4000xf16>
  %out2 = tile.view %out : !y to tensor<1x4000xf16>
  tile.forall (%i) in (4) {
    %c1024 = arith.constant 1024 : index
    %c4000 = arith.constant 4000 : index
    %j = arith.muli %i, %c1024 : index
    %left = arith.subi %c4000, %j : index
    %n = arith.minsi %c1024, %left : index
    %t = tile.load %x2[0, %j] valid [1, %n] : tensor<1x4000xf16> to tensor<1x1024xf16, #npu.mem<ub>>
    %w = tile.cast %t : tensor<1x1024xf16, #npu.mem<ub>> to !row
    %y = tile.silu %w : !row -> !row
    %h = tile.cast %y : !row to tensor<1x1024xf16, #npu.mem<ub>>
    tile.store %h into %out2[0, %j] : tensor<1x1024xf16, #npu.mem<ub>> into tensor<1x4000xf16>
  }
  func.return
}
func.func @main(%a: !x, %b: !w, %bias: !b) -> (!y, !y) {
  %d = tensor.empty() : !y
  %x = fused.launch @MatMulGelu(%a, %b, %bias) into (%d) on aicore {ops = ["MatMulV2"], op_name = "fc"} : (!x, !w, !b) into (!y) -> !y
  %y = fused.launch @Scale(%x) into (%d) on aicore {ops = ["Swish"], op_name = "one"} : (!y) into (!y) -> !y
  %z = fused.launch @Scale(%y) into (%d) on aicore {ops = ["Swish"], op_name = "two"} : (!y) into (!y) -> !y
  func.return %z, %x : !y, !y
}
