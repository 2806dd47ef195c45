// Tests the sizes and slots that are chosen, around what a schedule in the text or an option gives.
// RUN: ge-opt %s --target Ascend910A -p select-schedule | filecheck %s
// RUN: ge-opt %s --target Ascend910A -p 'select-schedule{tiling="linear=m:16,n:128,k:256,k0:64","relu=n:512"}' | filecheck %s --check-prefix=GIVEN
// RUN: ge-opt %s --target Ascend910A -p select-schedule | ge-opt -p select-schedule | filecheck %s

// Every core has one tile: 3072 columns on 32 cores.
// CHECK: @linear({{.*}} attributes {schedule = #tile.schedule<m = 32, n = 96, k = {{[0-9]+}}, k0 = {{[0-9]+}}, l1 = 2, l0 = 2, {{.*}}>}
// GIVEN: @linear({{.*}} attributes {schedule = #tile.schedule<m = 16, n = 128, k = 256, k0 = 64, {{.*}}>}
func.func private @linear(%a: tensor<32x768xf16>, %w: tensor<3072x768xf16>) -> tensor<32x3072xf32> {
  %0 = fused.matmul %a, %w {transpose_b} : (tensor<32x768xf16>, tensor<3072x768xf16>) -> tensor<32x3072xf32>
  func.return %0 : tensor<32x3072xf32>
}

// A square tile loads least.
// CHECK: @large({{.*}} attributes {schedule = #tile.schedule<m = 256, n = 256, {{.*}}>}
func.func private @large(%a: tensor<4096x4096xf16>, %w: tensor<4096x4096xf16>) -> tensor<4096x4096xf32> {
  %0 = fused.matmul %a, %w : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf32>
  func.return %0 : tensor<4096x4096xf32>
}

// What is smaller than a fractal is one tile with one slot.
// CHECK: @tiny({{.*}} attributes {schedule = #tile.schedule<m = 16, n = 16, k = 16, k0 = 16, l1 = 1, l0 = 1, ub = 1, {{.*}}>}
func.func private @tiny(%a: tensor<1x3xf16>, %w: tensor<3x1xf16>) -> tensor<1x1xf32> {
  %0 = fused.matmul %a, %w : (tensor<1x3xf16>, tensor<3x1xf16>) -> tensor<1x1xf32>
  func.return %0 : tensor<1x1xf32>
}

// A block of 8-bit elements holds 32 of them.
// CHECK: @bytes({{.*}} attributes {schedule = #tile.schedule<m = 16, n = 16, k = 32, k0 = 32, {{.*}}>}
func.func private @bytes(%a: tensor<1x3xi8>, %w: tensor<3x1xi8>) -> tensor<1x1xi32> {
  %0 = fused.matmul %a, %w : (tensor<1x3xi8>, tensor<3x1xi8>) -> tensor<1x1xi32>
  func.return %0 : tensor<1x1xi32>
}

// What the text gives stays.
// CHECK: @partial({{.*}} attributes {schedule = #tile.schedule<m = {{[0-9]+}}, n = 48, k = {{[0-9]+}}, k0 = 32, {{.*}}>}
func.func private @partial(%a: tensor<32x768xf16>, %w: tensor<3072x768xf16>) -> tensor<32x3072xf32> attributes {schedule = #tile.schedule<k0 = 32, n = 48>} {
  %0 = fused.matmul %a, %w {transpose_b} : (tensor<32x768xf16>, tensor<3072x768xf16>) -> tensor<32x3072xf32>
  func.return %0 : tensor<32x3072xf32>
}

// A k below the block of a fractal bounds k0 as well.
// CHECK: @short_k({{.*}} attributes {schedule = #tile.schedule<m = {{[0-9]+}}, n = {{[0-9]+}}, k = 5, k0 = 5, {{.*}}>}
func.func private @short_k(%a: tensor<32x768xf16>, %w: tensor<3072x768xf16>) -> tensor<32x3072xf32> attributes {schedule = #tile.schedule<k = 5>} {
  %0 = fused.matmul %a, %w {transpose_b} : (tensor<32x768xf16>, tensor<3072x768xf16>) -> tensor<32x3072xf32>
  func.return %0 : tensor<32x3072xf32>
}

// Vector kernels have no contraction.
// CHECK: @relu({{.*}} attributes {schedule = #tile.schedule<m = {{[0-9]+}}, n = {{[0-9]+}}, ub = {{[12]}}>}
// GIVEN: @relu({{.*}} attributes {schedule = #tile.schedule<m = {{[0-9]+}}, n = 512, ub = {{[12]}}>}
func.func private @relu(%x: tensor<32x3072xf32>) -> tensor<32x3072xf32> {
  %0 = fused.relu %x : tensor<32x3072xf32>
  func.return %0 : tensor<32x3072xf32>
}

// CHECK: @scalar({{.*}} attributes {schedule = #tile.schedule<m = 1, n = 1, ub = 1>}
func.func private @scalar(%x: tensor<f32>) -> tensor<f32> {
  %0 = fused.relu %x : tensor<f32>
  func.return %0 : tensor<f32>
}

// CHECK: @empty({{.*}} attributes {schedule = #tile.schedule<{{.*}}>}
func.func private @empty(%x: tensor<0x8xf32>) -> tensor<0x8xf32> {
  %0 = fused.relu %x : tensor<0x8xf32>
  func.return %0 : tensor<0x8xf32>
}

// RUN: not ge-opt %s --target Ascend910A -p 'select-schedule{tiling="linaer=m:16"}' 2>&1 | filecheck %s --check-prefix=KERNEL
// KERNEL: error: tiling names kernel 'linaer', which does not exist (did you mean 'linear'?); kernels: linear, large
// RUN: not ge-opt %s --target Ascend910A -p 'select-schedule{tiling="linear=q:16"}' 2>&1 | filecheck %s --check-prefix=KEY
// KEY: error: tiling 'linear=q:16': 'q' is not a key of a schedule; keys: m, n, k, k0
// RUN: not ge-opt %s --target Ascend910A -p 'select-schedule{tiling="linear=m:0"}' 2>&1 | filecheck %s --check-prefix=ZERO
// ZERO: error: tiling 'linear=m:0': m must be a positive integer below 2^31, got '0'
// RUN: not ge-opt %s --target Ascend910A -p 'select-schedule{tiling="linear=m:x"}' 2>&1 | filecheck %s --check-prefix=WORD
// WORD: error: tiling 'linear=m:x': m must be a positive integer below 2^31, got 'x'
// RUN: not ge-opt %s --target Ascend910A -p 'select-schedule{tiling="linear=m:16,m:32"}' 2>&1 | filecheck %s --check-prefix=TWICE
// TWICE: error: tiling 'linear=m:16,m:32': m is given twice
// RUN: not ge-opt %s --target Ascend910A -p 'select-schedule{tiling="linear"}' 2>&1 | filecheck %s --check-prefix=FORM
// FORM: error: tiling 'linear': expected KERNEL=key:size,..., for example MatMulV2Gelu=m:16,n:128
// RUN: not ge-opt %s --target Ascend910A -p 'select-schedule{tiling="relu=k:16"}' 2>&1 | filecheck %s --check-prefix=UNUSED
// UNUSED: error: 'func.func' op @relu is a vector kernel and does not use k; its keys: m, n
