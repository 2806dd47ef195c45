// What insert-sync cannot order.
// RUN: ge-opt %s --split-input-file -p insert-sync{mode=flags} --verify-diagnostics
// RUN: ge-opt %s --split-input-file -p insert-sync{mode=barrier-all} --verify-diagnostics

builtin.module attributes {ge.target = "Ascend910A"} {
func.func private @flags_there() {
  // expected-error@+1 {{stands there before insert-sync, which cannot tell what it is for; remove the kernel's flags, or the pass}}
  npu.set_flag <mte2>, <v>[0]
  npu.wait_flag <mte2>, <v>[0]
  func.return
}
}

// -----

builtin.module attributes {ge.target = "Ascend910A"} {
// expected-error@+1 {{@blocks has several blocks; a kernel has one, with loops in it}}
func.func private @blocks() {
^first:
  func.return
^second:
  func.return
}
}
