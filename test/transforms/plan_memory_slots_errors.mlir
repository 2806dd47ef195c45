// RUN: ge-opt %s --target Ascend910A -p plan-memory --split-input-file --verify-diagnostics
// RUN: not ge-opt %s --target Ascend910A -p plan-memory --split-input-file 2>&1 | filecheck %s

// expected-error@+7 {{@wide needs 786432 bytes of ub, but Ascend910A has 262144; lower ub to 1 (needs 262144 bytes of ub)}}
// CHECK: @wide needs 786432 bytes of ub, but Ascend910A has 262144; lower ub to 1 (needs 262144 bytes of ub)
// CHECK-NEXT: a      128x256xf32 x 3  393216  lines 13-15
// CHECK-NEXT: b      128x256xf32 x 3  393216  lines 15
// CHECK-NEXT: total                   786432
// CHECK-NEXT: limit                   262144
!t = memref<128x256xf32, #npu.mem<ub>>
func.func private @wide(%x: memref<128x256xf32>, %s: index) attributes {schedule = #tile.schedule<m = 128, n = 256, ub = 3>} {
  %a = buf.alloc "a" slots 3 slot %s : !t
  tile.load %x[0, 0] valid [128, 256] into %a : memref<128x256xf32> into !t
  %b = buf.alloc "b" slots 3 slot %s : !t
  tile.exp %a into %b : !t into !t
  func.return
}

// -----

func.func private @none_chosen() {
  // expected-error@+1 {{'buf.alloc' op has 2 slots, of which none is chosen; run multi-buffer first}}
  %a = buf.alloc "a" slots 2 : memref<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @label(%s: index) {
  // expected-note@+1 {{the other one}}
  %a = buf.alloc "a" slots 2 slot %s : memref<4x8xf32, #npu.mem<ub>>
  // expected-error@+1 {{'buf.alloc' op has the label of another buffer, "a", but not its type and slots}}
  %b = buf.alloc "a" slots 3 slot %s : memref<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @age() {
  // expected-error@+1 {{'buf.alloc' op with 2 slots has an age from 0 to 1, got 2}}
  %a = buf.alloc "a" slots 2 age 2 : memref<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @single(%s: index) {
  // expected-error@+1 {{'buf.alloc' op chooses a slot, but has only one; give 'slots'}}
  %a = buf.alloc "a" slot %s : memref<4x8xf32, #npu.mem<ub>>
  func.return
}
