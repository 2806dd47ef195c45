// RUN: ge-opt %s --target Ascend910A -p insert-sync | filecheck %s
// RUN: ge-opt %s --target Ascend910A -p insert-sync{mode=barrier-all} | ge-opt -p insert-sync | filecheck %s
// RUN: ge-opt %s --target Ascend910A -p insert-sync --mlir-print-debuginfo | filecheck %s --check-prefix=LOC
// RUN: not ge-opt %s --target Ascend910A -p insert-sync{mode=flag} 2>&1 | filecheck %s --check-prefix=OPTION

// OPTION: option 'mode' of pass 'insert-sync' takes

!t = memref<4x8xf32, #npu.mem<ub>>

// CHECK-LABEL: func.func private @kernel
func.func private @kernel(%x: memref<4x8xf32>, %n: index, %out: memref<4x8xf32>) {
  %a = buf.at "a" [0] : !t
  // CHECK: npu.load <nd>
  // CHECK-NEXT: npu.pipe_barrier <all>
  // LOC: npu.pipe_barrier <all> loc("a.py":1:1)
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t) loc("a.py":1:1)
  // The last instruction of a body may pass the first of the next iteration.
  // CHECK-NEXT: scf.for
  scf.for %i = %n to %n step %n {
    // CHECK-NEXT: npu.vexp
    // CHECK-NEXT: npu.pipe_barrier <all>
    npu.vexp ins(%a : !t) outs(%a : !t)
    // CHECK-NEXT: npu.vabs
    // CHECK-NEXT: npu.pipe_barrier <all>
    // CHECK-NEXT: }
    npu.vabs ins(%a : !t) outs(%a : !t)
  }
  // CHECK-NEXT: npu.store
  // CHECK-NEXT: npu.pipe_barrier <all>
  // CHECK-NEXT: func.return
  npu.store ins(%a : !t) outs(%out : memref<4x8xf32>)
  func.return
}
