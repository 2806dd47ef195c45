// RUN: ge-opt %s --target Ascend910B2 -p select-schedule --split-input-file --verify-diagnostics

// expected-error @+1 {{@splits is an attention and does not use splits; its keys: m, n, k0, l1, l0, ub}}
func.func private @splits(%q: tensor<20x16xf16>, %k: tensor<40x16xf16>) -> tensor<20x16xf32> attributes {schedule = #tile.schedule<splits = 2>} {
  %0 = fused.attention %q, %k, %k {scale = 0.25 : f32} : (tensor<20x16xf16>, tensor<40x16xf16>, tensor<40x16xf16>) -> tensor<20x16xf32>
  func.return %0 : tensor<20x16xf32>
}

// -----

// expected-error @+1 {{@step: k0 = 20 must be a multiple of 16; use 32}}
func.func private @step(%q: tensor<20x64xf16>, %k: tensor<40x64xf16>) -> tensor<20x64xf32> attributes {schedule = #tile.schedule<k0 = 20>} {
  %0 = fused.attention %q, %k, %k {scale = 0.25 : f32} : (tensor<20x64xf16>, tensor<40x64xf16>, tensor<40x64xf16>) -> tensor<20x64xf32>
  func.return %0 : tensor<20x64xf32>
}

// -----

// expected-error @+1 {{@large: the schedule needs 2424832 bytes of l1, Ascend910B2 has 524288}}
func.func private @large(%q: tensor<512x64xf16>, %k: tensor<2048x64xf16>) -> tensor<512x64xf32> attributes {schedule = #tile.schedule<m = 512, n = 2048, l1 = 1>} {
  %0 = fused.attention %q, %k, %k {scale = 0.25 : f32} : (tensor<512x64xf16>, tensor<2048x64xf16>, tensor<2048x64xf16>) -> tensor<512x64xf32>
  func.return %0 : tensor<512x64xf32>
}
