// Numbers of cross-core flags run out.
// RUN: ge-opt %s -p allocate-events --verify-diagnostics

// Nothing but a flag orders the cube and its lanes: no barrier can take its place.
builtin.module attributes {ge.target = "Ascend910B2"} {
  func.func private @across(%k: index) {
    npu.cross_core_set_flag <aic.fix>[7] event "a"
    npu.cross_core_set_flag <aic.fix>[7] event "b"
    npu.cross_core_set_flag <aic.fix>[0] event "c"
    npu.cross_core_wait_flag <aiv.mte2>[7] event "a"
    npu.cross_core_wait_flag <aiv.mte2>[7] event "b"
    // expected-error@+1 {{between the cube and its vector lanes 17 numbers are needed, but there are 16 on Ascend910B2: "a" 8, "b" 8, "c" 1; use fewer slots}}
    npu.cross_core_wait_flag <aiv.mte2>[0] event "c"
    func.return
  }
}
