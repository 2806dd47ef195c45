// Tests that illegal schedules are refused with the rule or a table of bytes, and the smallest fix.
// RUN: ge-opt %s --target Ascend910A -p select-schedule --split-input-file --verify-diagnostics
// RUN: not ge-opt %s --target Ascend910A -p select-schedule --split-input-file 2>&1 | filecheck %s

// The buffers at the peak, most first, the limit, and what to change.
// CHECK:      error: 'func.func' op @l0a: the schedule needs 131072 bytes of l0a, Ascend910A has 65536
// CHECK:      a0
// CHECK:      smallest fix: {{m|k0}} = {{[0-9]+}}
// expected-error@+1 {{@l0a: the schedule needs 131072 bytes of l0a, Ascend910A has 65536}}
func.func private @l0a(%a: tensor<512x768xf16>, %w: tensor<768x512xf16>) -> tensor<512x512xf32> attributes {schedule = #tile.schedule<m = 512, n = 16, k = 128, k0 = 128, l0 = 1>} {
  %0 = fused.matmul %a, %w : (tensor<512x768xf16>, tensor<768x512xf16>) -> tensor<512x512xf32>
  func.return %0 : tensor<512x512xf32>
}

// -----

// expected-error@+1 {{@l0b: the schedule needs 131072 bytes of l0b, Ascend910A has 65536}}
func.func private @l0b(%a: tensor<512x768xf16>, %w: tensor<768x512xf16>) -> tensor<512x512xf32> attributes {schedule = #tile.schedule<m = 16, n = 512, k = 128, k0 = 128, l0 = 1>} {
  %0 = fused.matmul %a, %w : (tensor<512x768xf16>, tensor<768x512xf16>) -> tensor<512x512xf32>
  func.return %0 : tensor<512x512xf32>
}

// -----

// expected-error@+1 {{@l0c: the schedule needs 1048576 bytes of l0c, Ascend910A has 262144}}
func.func private @l0c(%a: tensor<512x768xf16>, %w: tensor<768x512xf16>) -> tensor<512x512xf32> attributes {schedule = #tile.schedule<m = 512, n = 512, k = 32, k0 = 32>} {
  %0 = fused.matmul %a, %w : (tensor<512x768xf16>, tensor<768x512xf16>) -> tensor<512x512xf32>
  func.return %0 : tensor<512x512xf32>
}

// -----

// Slots count.
// expected-error@+1 {{@l1: the schedule needs 1572864 bytes of l1, Ascend910A has 1048576}}
func.func private @l1(%a: tensor<512x768xf16>, %w: tensor<768x512xf16>) -> tensor<512x512xf32> attributes {schedule = #tile.schedule<m = 256, n = 256, k = 768, k0 = 64, l1 = 2>} {
  %0 = fused.matmul %a, %w : (tensor<512x768xf16>, tensor<768x512xf16>) -> tensor<512x512xf32>
  func.return %0 : tensor<512x512xf32>
}

// -----

// CHECK:      error: 'func.func' op @ub: the schedule needs 524288 bytes of ub, Ascend910A has 262144
// CHECK:      smallest fix: n = 65536
// expected-error@+1 {{@ub: the schedule needs 524288 bytes of ub, Ascend910A has 262144}}
func.func private @ub(%x: tensor<16x8192xf32>) -> tensor<16x8192xf32> attributes {schedule = #tile.schedule<m = 1, n = 131072, ub = 1>} {
  %0 = fused.relu %x : tensor<16x8192xf32>
  func.return %0 : tensor<16x8192xf32>
}

// -----

// expected-error@+1 {{@order: k0 = 128 must not exceed k = 64; lower k0 to 64}}
func.func private @order(%a: tensor<32x768xf16>, %w: tensor<768x32xf16>) -> tensor<32x32xf32> attributes {schedule = #tile.schedule<k = 64, k0 = 128>} {
  %0 = fused.matmul %a, %w : (tensor<32x768xf16>, tensor<768x32xf16>) -> tensor<32x32xf32>
  func.return %0 : tensor<32x32xf32>
}

// -----

// expected-error@+1 {{@block: k0 = 40 must be a multiple of 16; use 48}}
func.func private @block(%a: tensor<32x768xf16>, %w: tensor<768x32xf16>) -> tensor<32x32xf32> attributes {schedule = #tile.schedule<k = 80, k0 = 40>} {
  %0 = fused.matmul %a, %w : (tensor<32x768xf16>, tensor<768x32xf16>) -> tensor<32x32xf32>
  func.return %0 : tensor<32x32xf32>
}

// -----

// expected-error@+1 {{@bytes: k0 = 48 must be a multiple of 32; use 64}}
func.func private @bytes(%a: tensor<32x768xi8>, %w: tensor<768x32xi8>) -> tensor<32x32xi32> attributes {schedule = #tile.schedule<k = 96, k0 = 48>} {
  %0 = fused.matmul %a, %w : (tensor<32x768xi8>, tensor<768x32xi8>) -> tensor<32x32xi32>
  func.return %0 : tensor<32x32xi32>
}

// -----

// expected-error@+1 {{@ahead: with skew = 1 loads run ahead into a slot of their own; use l1 = 2, or leave skew out}}
func.func private @ahead(%a: tensor<32x768xf16>, %w: tensor<768x32xf16>) -> tensor<32x32xf32> attributes {schedule = #tile.schedule<l1 = 1, skew = 1>} {
  %0 = fused.matmul %a, %w : (tensor<32x768xf16>, tensor<768x32xf16>) -> tensor<32x32xf32>
  func.return %0 : tensor<32x32xf32>
}

// -----

// expected-error@+1 {{@unused is a vector kernel and does not use k, l1; its keys: m, n, ub}}
func.func private @unused(%x: tensor<4xf32>) -> tensor<4xf32> attributes {schedule = #tile.schedule<k = 64, l1 = 2, m = 1>} {
  %0 = fused.relu %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{@number: schedule must be #tile.schedule<...>, got 7 : i64}}
func.func private @number(%x: tensor<4xf32>) -> tensor<4xf32> attributes {schedule = 7} {
  %0 = fused.relu %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{'q' is not a key of a schedule; keys: m, n, k, k0}}
func.func private @key(%x: tensor<4xf32>) attributes {schedule = #tile.schedule<q = 1>} {
  func.return
}

// -----

// expected-error@+1 {{m of a schedule must be a positive integer below 2^31, got 0}}
func.func private @zero(%x: tensor<4xf32>) attributes {schedule = #tile.schedule<m = 0>} {
  func.return
}

// -----

// expected-error@+1 {{expected integer literal}}
func.func private @negative(%x: tensor<4xf32>) attributes {schedule = #tile.schedule<m = -16>} {
  func.return
}

// -----

// expected-error@+1 {{'m' is given twice}}
func.func private @twice(%x: tensor<4xf32>) attributes {schedule = #tile.schedule<m = 1, m = 2>} {
  func.return
}

// -----

func.func private @shapes(%x: tensor<4xf32>, %y: tensor<5xf32>) -> (tensor<4xf32>, tensor<5xf32>) {
  // expected-error@+1 {{has a result of tensor<4xf32> and one of 5 elements; the results of a kernel run over the same elements, its domain}}
  func.return %x, %y : tensor<4xf32>, tensor<5xf32>
}

// -----

func.func private @anchors(%x: tensor<4x4xf16>) -> tensor<4x4xf32> {
  %0 = fused.matmul %x, %x : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf32>
  // expected-error@+1 {{'fused.matmul' op is the second anchor of its kernel; a kernel has one matmul or attention at most}}
  %1 = fused.matmul %x, %x : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf32>
  %2 = fused.add %0, %1 : tensor<4x4xf32>
  func.return %2 : tensor<4x4xf32>
}

// -----

func.func private @prologue(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = fused.cast %x : tensor<4x4xf32> to tensor<4x4xf16>
  // expected-error@+1 {{'fused.matmul' op must read its operands from global memory: from arguments of the kernel, or views of them}}
  %1 = fused.matmul %0, %0 : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf32>
  func.return %1 : tensor<4x4xf32>
}

// -----

func.func private @repeated(%x: tensor<4x4xf16>) -> tensor<2x4x4xf32> {
  // expected-error@+1 {{'fused.matmul' op must have the elements of the kernel's results and not be repeated}}
  %0 = fused.matmul %x, %x : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf32>
  %1 = fused.broadcast %0 along [1, 2] : tensor<4x4xf32> to tensor<2x4x4xf32>
  func.return %1 : tensor<2x4x4xf32>
}

// -----

// expected-error@+1 {{@dynamic: a kernel takes and gives tensors of static shapes, got tensor<?xf32>}}
func.func private @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = fused.relu %x : tensor<?xf32>
  func.return %0 : tensor<?xf32>
}

// -----

// expected-error@+1 {{@declared has no body}}
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
