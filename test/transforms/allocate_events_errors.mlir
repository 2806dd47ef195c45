// What cannot be numbered is an error that says what is short, or a barrier.
// RUN: ge-opt %s --split-input-file -p allocate-events{overflow=error} --verify-diagnostics
// RUN: not ge-opt %s --split-input-file -p allocate-events{overflow=barriers} 2>&1 | filecheck %s --check-prefix=OPTION

// OPTION: option 'overflow' of pass 'allocate-events' takes

!t = memref<4x8xf32, #npu.mem<ub>>
builtin.module attributes {ge.target = "Ascend910A"} {
func.func private @too_many(%k: index) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %s = arith.remui %k, %c2 : index
  %q = arith.remui %k, %c3 : index
  npu.set_flag <mte2>, <v>[%s] event "a_ready"
  npu.set_flag <mte2>, <v>[%q] event "b_ready"
  npu.set_flag <mte2>, <v>[3] event "c_ready"
  npu.wait_flag <mte2>, <v>[%s] event "a_ready"
  npu.wait_flag <mte2>, <v>[%q] event "b_ready"
  // expected-error@+1 {{between <mte2> and <v> 9 numbers are needed, but there are 8 on Ascend910A: "a_ready" 2, "b_ready" 3, "c_ready" 4; use fewer slots}}
  npu.wait_flag <mte2>, <v>[3] event "c_ready"
  func.return
}
}

// -----

builtin.module attributes {ge.target = "Ascend910A"} {
func.func private @never_waited_for() {
  // expected-error@+1 {{event "a_ready" of these pipes is set but never waited for}}
  npu.set_flag <mte2>, <v>[0] event "a_ready"
  func.return
}
}

// -----

builtin.module attributes {ge.target = "Ascend910A"} {
func.func private @never_set() {
  // expected-error@+1 {{event "a_ready" of these pipes is waited for but never set}}
  npu.wait_flag <mte2>, <v>[0] event "a_ready"
  func.return
}
}

// -----

builtin.module attributes {ge.target = "Ascend910A"} {
func.func private @unbounded(%k: index) {
  // expected-error@+1 {{has a number without a known limit; it must be the slot of a buf.at, or a remainder by a constant}}
  npu.set_flag <mte2>, <v>[%k] event "a_ready"
  npu.wait_flag <mte2>, <v>[%k] event "a_ready"
  func.return
}
}
