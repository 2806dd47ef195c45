// On a chip with cube and vector cores of their own, what goes through a workspace is ordered by cross-core flags, in both directions.
// RUN: ge-opt %s -p insert-sync{mode=flags} | filecheck %s
// RUN: ge-opt %s -p insert-sync{mode=flags},allocate-events,verify-sync | filecheck %s --check-prefix=NUMBERS
// RUN: ge-opt %s -p insert-sync{mode=flags},remove-redundant-sync,allocate-events,verify-sync -o /dev/null
// RUN: ge-opt %s -p insert-sync{mode=barrier-all},allocate-events,verify-sync | filecheck %s --check-prefix=BARRIER

!acc = memref<16x16xf32, #npu.mem<l0c>>
!view = memref<16x16xf32, strided<[16, 1], offset: ?>>
!part = memref<8x16xf32, strided<[16, 1], offset: ?>>

builtin.module attributes {ge.target = "Ascend910B2"} {
  // CHECK-LABEL: func.func private @to_the_lanes
  // NUMBERS-LABEL: func.func private @to_the_lanes
  // BARRIER-LABEL: func.func private @to_the_lanes
  func.func private @to_the_lanes(%x: memref<16x16xf16>, %out: memref<48x16x16xf32>, %ws: memref<24x2x16x16xf32>) {
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %true = arith.constant true
    %core = npu.block_idx
    %lane = npu.sub_block_idx
    %first = arith.muli %lane, %c8 : index
    // Every lane arms both slots of the workspace for the cube.
    // CHECK: npu.cross_core_set_flag <aiv.mte2>[0] event "ws_free"
    // CHECK: npu.cross_core_set_flag <aiv.mte2>[1] event "ws_free"
    // NUMBERS: npu.cross_core_set_flag <aiv.mte2>[0]
    // NUMBERS: npu.cross_core_set_flag <aiv.mte2>[1]
    // CHECK: tile.grid_loop
    tile.grid_loop %t (%i) in (48) {
      // NUMBERS: [[S:%.*]] = arith.remui
      // NUMBERS: [[FULL:%.*]] = arith.addi {{%.*}}, [[S]]
      %s = arith.remui %t, %c2 : index
      %slot = memref.subview %ws[%core, %s, 0, 0] [1, 1, 16, 16] [1, 1, 1, 1] : memref<24x2x16x16xf32> to !view
      %l1 = buf.at "l1" [0] : memref<16x16xf16, #npu.mem<l1>>
      %a = buf.at "a" [0] : memref<16x16xf16, #npu.mem<l0a>>
      %b = buf.at "b" [0] : memref<16x16xf16, #npu.mem<l0b>>
      %acc = buf.at "acc" [0] : !acc
      npu.load <nd2nz> ins(%x : memref<16x16xf16>) outs(%l1 : memref<16x16xf16, #npu.mem<l1>>)
      npu.load2d ins(%l1 : memref<16x16xf16, #npu.mem<l1>>) outs(%a : memref<16x16xf16, #npu.mem<l0a>>)
      npu.load2d ins(%l1 : memref<16x16xf16, #npu.mem<l1>>) outs(%b : memref<16x16xf16, #npu.mem<l0b>>)
      npu.mmad ins(%a, %b : memref<16x16xf16, #npu.mem<l0a>>, memref<16x16xf16, #npu.mem<l0b>>) outs(%acc : !acc) init %true
      // CHECK: npu.cross_core_wait_flag <aic.fix>[%s] event "ws_free"
      // CHECK-NEXT: npu.fixpipe
      // NUMBERS: npu.cross_core_wait_flag <aic.fix>[[[S]]]
      // BARRIER: npu.cross_core_wait_flag <aic.fix>
      // BARRIER-NEXT: npu.fixpipe
      // BARRIER-NEXT: npu.pipe_barrier <aic.all>
      // BARRIER-NEXT: npu.cross_core_set_flag <aic.fix>
      npu.fixpipe ins(%acc : !acc) outs(%slot : !view)
      // CHECK: npu.cross_core_set_flag <aic.fix>[%s] event "ws_ready"
      // NUMBERS: npu.cross_core_set_flag <aic.fix>[[[FULL]]]
      %u = buf.at "u" [0] : memref<8x16xf32, #npu.mem<ub>>
      %rows = memref.subview %slot[%first, 0] [8, 16] [1, 1] : !view to !part
      // CHECK: npu.cross_core_wait_flag <aiv.mte2>[%s] event "ws_ready"
      // CHECK: npu.load <nd>
      // CHECK-NEXT: npu.cross_core_set_flag <aiv.mte2>[%s] event "ws_free"
      // BARRIER: npu.cross_core_wait_flag <aiv.mte2>
      // BARRIER-NEXT: npu.load <nd>
      // BARRIER-NEXT: npu.pipe_barrier <aiv.all>
      npu.load <nd> ins(%rows : !part) outs(%u : memref<8x16xf32, #npu.mem<ub>>)
      %o = memref.subview %out[%i, %first, 0] [1, 8, 16] [1, 1, 1] : memref<48x16x16xf32> to !part
      npu.store ins(%u : memref<8x16xf32, #npu.mem<ub>>) outs(%o : !part)
    }
    // CHECK: npu.cross_core_wait_flag <aic.fix>[0] event "ws_free"
    // CHECK-NEXT: npu.cross_core_wait_flag <aic.fix>[1] event "ws_free"
    func.return
  }
}
