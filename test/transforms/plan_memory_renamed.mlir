// RUN: ge-opt %s -p plan-memory --verify-diagnostics

func.func private @renamed(%n: index) {
  %a = buf.alloc "a" : memref<4x8xf32, #npu.mem<ub>>
  // expected-error@+1 {{'scf.for' op gives a buffer another name, which hides how long it is held; only views may}}
  %r = scf.for %i = %n to %n step %n iter_args(%c = %a) -> (memref<4x8xf32, #npu.mem<ub>>) {
    scf.yield %c : memref<4x8xf32, #npu.mem<ub>>
  }
  func.return
}
