// Tests that buffers which have no place in memory are refused.
// RUN: ge-opt %s --split-input-file --verify-diagnostics

func.func private @dynamic() {
  // expected-error@+1 {{'buf.alloc' op a buffer has a static shape, got memref<?x8xf32, #npu.mem<ub>>; extents of ragged tiles are sizes of memref.subview}}
  %a = buf.alloc "a" : memref<?x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @strided() {
  // expected-error@+1 {{'buf.alloc' op a buffer lies in one piece, got memref<4x8xf32, strided<[16, 1]>, #npu.mem<ub>>; views of it have strides}}
  %a = buf.alloc "a" : memref<4x8xf32, strided<[16, 1]>, #npu.mem<ub>>
  func.return
}

// -----

func.func private @rank() {
  // expected-error@+1 {{'buf.at' op a buffer in on-chip memory has rank 2, got memref<8xf32, #npu.mem<ub>>}}
  %a = buf.at "a" [0] : memref<8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @elements() {
  // expected-error@+1 {{'buf.alloc' op memref<4x8xindex, #npu.mem<ub>> has elements of type index}}
  %a = buf.alloc "a" : memref<4x8xindex, #npu.mem<ub>>
  func.return
}

// -----

func.func private @space_of_another_kind() {
  // expected-error@+1 {{'buf.alloc' op expected a memory space such as #npu.mem<ub>, got 1 : i32}}
  %a = buf.alloc "a" : memref<4x8xf32, 1 : i32>
  func.return
}

// -----

func.func private @unknown_space() {
  // expected-error@+1 {{expected `gm`, `l1`, `l0a`, `l0b`, `l0c`, or `ub`}}
  %a = buf.alloc "a" : memref<4x8xf32, #npu.mem<foo>>
  func.return
}

// -----

func.func private @unknown_layout() {
  // expected-error@+1 {{expected `nd`, `nz`, `zz`, or `zn`}}
  %a = buf.alloc "a" : memref<4x8xf32, #npu.mem<l1, row>>
  func.return
}

// -----

func.func private @no_offset() {
  // expected-error@+1 {{'buf.at' op needs at least one offset, none of them negative, got []}}
  %a = buf.at "a" [] : memref<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @negative_offset() {
  // expected-error@+1 {{'buf.at' op needs at least one offset, none of them negative, got [-32]}}
  %a = buf.at "a" [-32] : memref<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @no_slot() {
  // expected-error@+1 {{'buf.at' op has 2 offsets; give 'slot' exactly where there are several}}
  %a = buf.at "a" [0, 128] : memref<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @slot(%i: index) {
  // expected-error@+1 {{'buf.at' op has 1 offsets; give 'slot' exactly where there are several}}
  %a = buf.at "a" [0] slot %i : memref<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @tensor() {
  // expected-error@+1 {{'buf.at' op expected memref, got tensor<4x8xf32>}}
  %a = buf.at "a" [0] : tensor<4x8xf32>
  func.return
}
