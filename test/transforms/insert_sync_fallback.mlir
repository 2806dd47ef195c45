// Kernels that cannot be understood are ordered by barriers, with a remark.
// RUN: ge-opt %s --split-input-file -p insert-sync{mode=flags} | filecheck %s

!t = memref<4x8xf32, #npu.mem<ub>>

builtin.module attributes {ge.target = "Ascend910A"} {
// CHECK-LABEL: func.func private @branch
func.func private @branch(%x: memref<4x8xf32>, %c: i1) {
  %a = buf.at "a" [0] : !t
  // CHECK: npu.load
  // CHECK-NEXT: npu.pipe_barrier <all>
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  // CHECK-NEXT: scf.if
  scf.if %c {
    // CHECK-NEXT: npu.vabs
    // CHECK-NEXT: npu.pipe_barrier <all>
    npu.vabs ins(%a : !t) outs(%a : !t)
  }
  func.return
}
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

builtin.module attributes {ge.target = "Ascend910A"} {
// CHECK-LABEL: func.func private @carried_memref
func.func private @carried_memref(%x: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = buf.at "a" [0] : !t
  %b = buf.at "b" [128] : !t
  %r = scf.for %i = %c0 to %c1 step %c1 iter_args(%m = %a) -> (!t) {
    // CHECK: npu.load
    // CHECK-NEXT: npu.pipe_barrier <all>
    npu.load <nd> ins(%x : memref<4x8xf32>) outs(%m : !t)
    // CHECK-NEXT: npu.vabs
    // CHECK-NEXT: npu.pipe_barrier <all>
    npu.vabs ins(%m : !t) outs(%m : !t)
    scf.yield %b : !t
  }
  func.return
}
}
