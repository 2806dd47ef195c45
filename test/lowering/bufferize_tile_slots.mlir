// RUN: ge-opt %s -p bufferize-tile --split-input-file --verify-diagnostics | filecheck %s

!a1 = tensor<16x32xf16, #npu.mem<l1>>
!ub = tensor<4x8xf32, #npu.mem<ub>>

// The number of slots goes to the buffer. A tile that a loop carries to its next trip is the slot that was filled a trip ago.
// CHECK-LABEL: func.func private @carried
func.func private @carried(%x: tensor<16x64xf16>, %y: tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c96 = arith.constant 96 : index
  %undef = tile.undef : !a1
  // CHECK: scf.for %k = %c0 to %c96 step %c32 {
  scf.for %k = %c0 to %c96 step %c32 iter_args(%before = %undef) -> (!a1) {
    // CHECK-NEXT: %before = buf.alloc "a" slots 2 age 1 : memref<16x32xf16, #npu.mem<l1>>
    // CHECK-NEXT: %a = buf.alloc "a" slots 2 : memref<16x32xf16, #npu.mem<l1>>
    // CHECK-NEXT: tile.load %x[0, %k] valid [16, 32] into %a : memref<16x64xf16> into memref<16x32xf16, #npu.mem<l1>>
    %a = tile.load %x[0, %k] valid [16, 32] {slots = 2} : tensor<16x64xf16> to !a1
    // CHECK: tile.move %before[0, 0]
    %a0 = tile.move %before[0, 0] valid [16, 16] : !a1 to tensor<16x16xf16, #npu.mem<l0a>>
    scf.yield %a : !a1
  }
  // CHECK: %e = buf.alloc "e" slots 3 :
  %t = tile.load %y[0, 0] valid [4, 8] : tensor<4x8xf32> to !ub
  // CHECK-NEXT: tile.exp %t into %e :
  %e = tile.exp %t {slots = 3} : !ub -> !ub
  func.return
}

// -----

!a1 = tensor<16x32xf16, #npu.mem<l1>>

func.func private @start(%x: tensor<16x64xf16>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %start = tile.load %x[0, 0] valid [16, 32] : tensor<16x64xf16> to !a1
  // expected-error@+1 {{'scf.for' op carries tile #0 from slot to slot; it must start as tile.undef, with nothing to read in trip 0}}
  scf.for %k = %c0 to %c32 step %c32 iter_args(%before = %start) -> (!a1) {
    %a = tile.load %x[0, %k] valid [16, 32] {slots = 2} : tensor<16x64xf16> to !a1
    scf.yield %a : !a1
  }
  func.return
}

// -----

!a1 = tensor<16x32xf16, #npu.mem<l1>>

func.func private @after(%x: tensor<16x64xf16>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %undef = tile.undef : !a1
  // expected-note@+1 {{the loop}}
  %last = scf.for %k = %c0 to %c32 step %c32 iter_args(%before = %undef) -> (!a1) {
    %a = tile.load %x[0, %k] valid [16, 32] {slots = 2} : tensor<16x64xf16> to !a1
    scf.yield %a : !a1
  }
  // expected-error@+1 {{'tile.move' op uses the tile that a loop loaded last; load it after the loop}}
  %a0 = tile.move %last[0, 0] valid [16, 16] : !a1 to tensor<16x16xf16, #npu.mem<l0a>>
  func.return
}

// -----

!a1 = tensor<16x32xf16, #npu.mem<l1>>

func.func private @one_slot(%x: tensor<16x64xf16>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %undef = tile.undef : !a1
  // expected-error@+1 {{yields %a, a tile in another buffer; only tile.mmad updates the tile it is given, others need slots = 2}}
  scf.for %k = %c0 to %c32 step %c32 iter_args(%before = %undef) -> (!a1) {
    %a = tile.load %x[0, %k] valid [16, 32] : tensor<16x64xf16> to !a1
    scf.yield %a : !a1
  }
  func.return
}
