// Tests that kernels which are not scheduled, or have no domain, are refused.
// RUN: ge-opt %s -p convert-fused-to-tile --split-input-file --verify-diagnostics

// expected-error@+1 {{@unscheduled has no m, n, k, k0 in its schedule; run select-schedule first}}
func.func private @unscheduled(%a: tensor<16x16xf16>) -> tensor<16x16xf32> {
  %0 = fused.matmul %a, %a : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf32>
  func.return %0 : tensor<16x16xf32>
}

// -----

// expected-error@+1 {{@partly has no n in its schedule; run select-schedule first}}
func.func private @partly(%x: tensor<16xf32>) -> tensor<16xf32> attributes {schedule = #tile.schedule<m = 1>} {
  func.return %x : tensor<16xf32>
}

// -----

// expected-error@+1 {{@nothing: a kernel has at least one result, whose elements are its domain}}
func.func private @nothing(%x: tensor<16xf32>) attributes {schedule = #tile.schedule<m = 1, n = 16>} {
  func.return
}
