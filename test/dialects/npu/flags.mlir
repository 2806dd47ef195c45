// Tests that flags, barriers and indices print, and read back to the same text, on a unified and on a split chip.
// RUN: ge-opt %s --split-input-file | ge-opt --split-input-file | filecheck %s
// RUN: ge-opt %s --split-input-file --mlir-print-op-generic | ge-opt --split-input-file | filecheck %s

// CHECK-LABEL: func.func private @unified
module attributes {ge.target = "Ascend910A"} {
func.func private @unified(%slot: index) {
  // CHECK-NEXT: npu.set_flag <mte2>, <v>[0]
  npu.set_flag <mte2>, <v>[0]
  // CHECK-NEXT: npu.wait_flag <mte2>, <v>[%slot]
  npu.wait_flag <mte2>, <v>[%slot]
  // CHECK-NEXT: npu.set_flag <v>, <mte2>[1] event "free"
  npu.set_flag <v>, <mte2>[1] event "free"
  // CHECK-NEXT: npu.wait_flag <v>, <mte2>[1] event "free"
  npu.wait_flag <v>, <mte2>[1] event "free"
  // CHECK-NEXT: npu.pipe_barrier <v>
  npu.pipe_barrier <v>
  // CHECK-NEXT: npu.pipe_barrier <all>
  npu.pipe_barrier <all>
  // CHECK-NEXT: npu.sync_all
  npu.sync_all
  // CHECK-NEXT: %core = npu.block_idx
  %core = npu.block_idx
  func.return
}
}

// -----

builtin.module attributes {ge.target = "Ascend910B2"} {
  // CHECK-LABEL: func.func private @split
  func.func private @split(%slot: index) {
    // CHECK-NEXT: npu.set_flag <aiv.mte2>, <aiv.v>[0]
    npu.set_flag <aiv.mte2>, <aiv.v>[0]
    // CHECK-NEXT: npu.wait_flag <aiv.mte2>, <aiv.v>[0]
    npu.wait_flag <aiv.mte2>, <aiv.v>[0]
    // CHECK-NEXT: npu.pipe_barrier <aiv.all>
    npu.pipe_barrier <aiv.all>
    // CHECK-NEXT: npu.cross_core_set_flag <aic.fix>[3]
    npu.cross_core_set_flag <aic.fix>[3]
    // CHECK-NEXT: npu.cross_core_wait_flag <aiv.mte2>[%slot]
    npu.cross_core_wait_flag <aiv.mte2>[%slot]
    // CHECK-NEXT: %lane = npu.sub_block_idx
    %lane = npu.sub_block_idx
    func.return
  }
}
