// RUN: ge-opt %s -p pipeline-stages --split-input-file --verify-diagnostics

!a1 = tensor<16x32xf16, #npu.mem<l1>>

// expected-error@+1 {{@vector: skew = 1, but no loop loads tiles into l1; leave skew out}}
func.func private @vector(%x: tensor<16x8xf32>) attributes {schedule = #tile.schedule<skew = 1>} {
  func.return
}

// -----

!a1 = tensor<16x32xf16, #npu.mem<l1>>

func.func private @slots(%x: tensor<16x64xf16>) attributes {schedule = #tile.schedule<l1 = 1, skew = 1>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  scf.for %k = %c0 to %c32 step %c32 {
    // expected-error@+1 {{'tile.load' op must have a slot to load into while another is read; with skew = 1, l1 is at least 2}}
    %a = tile.load %x[0, %k] valid [16, 32] : tensor<16x64xf16> to !a1
  }
  func.return
}

// -----

!a1 = tensor<16x32xf16, #npu.mem<l1>>

func.func private @beside(%x: tensor<16x64xf16>) attributes {schedule = #tile.schedule<l1 = 2, skew = 1>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  scf.for %k = %c0 to %c32 step %c32 {
    %a = tile.load %x[0, %k] valid [16, 32] : tensor<16x64xf16> to !a1
    // expected-error@+1 {{'tile.move' op stands beside the loads of a loop with skew = 1, where only an inner loop can be absent}}
    %a0 = tile.move %a[0, 0] valid [16, 16] : !a1 to tensor<16x16xf16, #npu.mem<l0a>>
  }
  func.return
}

// -----

!a1 = tensor<16x32xf16, #npu.mem<l1>>

func.func private @counter(%x: tensor<16x64xf16>) attributes {schedule = #tile.schedule<l1 = 2, skew = 1>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  // expected-error@+1 {{'scf.for' op carries a value that one trip more would change; with skew = 1, a loop carries tiles only}}
  scf.for %k = %c0 to %c32 step %c32 iter_args(%count = %c0) -> (index) {
    %a = tile.load %x[0, %k] valid [16, 32] : tensor<16x64xf16> to !a1
    %next = arith.addi %count, %c32 : index
    scf.yield %next : index
  }
  func.return
}

// -----

func.func private @number(%x: tensor<16x64xf16>) {
  // expected-error@+1 {{'tile.load' op has a positive number of slots while it makes a value; a buffer's are on its buf.alloc}}
  %a = tile.load %x[0, 0] valid [16, 32] {slots = 0} : tensor<16x64xf16> to tensor<16x32xf16, #npu.mem<l1>>
  func.return
}

// -----

// expected-error@+1 {{skew of a schedule must be 0 or 1, got 2}}
func.func private @skew(%x: tensor<16x64xf16>) attributes {schedule = #tile.schedule<skew = 2>} {
  func.return
}
