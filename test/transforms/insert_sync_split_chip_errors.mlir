// What insert-sync cannot order where cube and vector lanes are cores of their own.
// RUN: ge-opt %s -p insert-sync{mode=flags} --verify-diagnostics
// RUN: ge-opt %s -p insert-sync{mode=barrier-all} --verify-diagnostics

builtin.module attributes {ge.target = "Ascend910B2"} {
  func.func private @no_pipe(%acc: memref<16x16xf32, #npu.mem<l0c>>, %u: memref<16x16xf32, #npu.mem<ub>>) {
    // expected-error@+1 {{runs on no pipe of Ascend910B2; its paths and pipes do not have this move}}
    npu.fixpipe ins(%acc : memref<16x16xf32, #npu.mem<l0c>>) outs(%u : memref<16x16xf32, #npu.mem<ub>>)
    func.return
  }
}
