// RUN: ge-opt %s --target Ascend910B2 -p verify-sync --split-input-file --verify-diagnostics

!t = memref<4x8xf32, #npu.mem<ub>>
!n = memref<4x1xi32, #npu.mem<ub>>

// All cores and lanes scatter into one table: which rows they write is data.
// expected-remark@+1 {{[verify-sync] coverage: @scatter}}
func.func private @scatter(%x: memref<4x8xf32>, %i: memref<4x1xi32>, %y: memref<50x8xf32>) {
  %a = buf.at "a" [0] : !t
  %n = buf.at "n" [128] : !n
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  npu.load <nd> ins(%i : memref<4x1xi32>) outs(%n : !n)
  npu.set_flag <aiv.mte2>, <aiv.mte3>[0]
  npu.wait_flag <aiv.mte2>, <aiv.mte3>[0]
  npu.store_rows ins(%a, %n : !t, !n) outs(%y : memref<50x8xf32>)
  npu.store_rows ins(%a, %n : !t, !n) outs(%y : memref<50x8xf32>)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>
!n = memref<4x1xi32, #npu.mem<ub>>

// Indices are read by the pipe that moves the rows.
func.func private @indices(%x: memref<50x8xf32>) {
  %a = buf.at "a" [0] : !t
  %n = buf.at "n" [128] : !n
  // expected-note@+1 {{it writes them here, on <aiv.v>}}
  npu.viota [0] steps [1, 0] outs(%n : !n)
  // expected-error@+1 {{'npu.load_rows' op RAW race: reads ub bytes [128, 256) of "n" on lane 0, which 'npu.viota' writes on lane 0; missing: npu.set_flag <aiv.v>, <aiv.mte2> after the first}}
  npu.load_rows ins(%x, %n : memref<50x8xf32>, !n) outs(%a : !t)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>
!n = memref<4x1xi32, #npu.mem<ub>>
!v = memref<4x8xf32, strided<[8, 1], offset: ?>>

// What is gathered may be any row that another core has scattered, or stored.
func.func private @gather_from_cores(%y: memref<50x8xf32>, %i: memref<4x1xi32>) {
  %a = buf.at "a" [0] : !t
  %n = buf.at "n" [128] : !n
  npu.load <nd> ins(%i : memref<4x1xi32>) outs(%n : !n)
  // expected-note@+2 {{it reads them here, on <aiv.mte2>}}
  // expected-note@+1 {{npu.load_rows: core 0 reads global memory bytes [0, 1600) of %y, which core 1 writes: cores run at the same time}}
  npu.load_rows ins(%y, %n : memref<50x8xf32>, !n) outs(%a : !t)
  npu.set_flag <aiv.mte2>, <aiv.mte3>[0]
  npu.wait_flag <aiv.mte2>, <aiv.mte3>[0]
  // expected-note@+2 {{the other core writes them here}}
  // expected-error@+1 {{'npu.store_rows' op WAR race: writes global memory bytes [0, 1600) of %y on lane 0, which 'npu.load_rows' reads on lane 1}}
  npu.store_rows ins(%a, %n : !t, !n) outs(%y : memref<50x8xf32>)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>
!n = memref<4x1xi32, #npu.mem<ub>>
!v = memref<4x8xf32, strided<[8, 1], offset: ?>>

// A plain store is held against what others scatter.
func.func private @store_and_scatter(%x: memref<4x8xf32>, %i: memref<4x1xi32>, %y: memref<48x8xf32>) {
  %core = npu.block_idx
  %lane = npu.sub_block_idx
  %two = arith.constant 2 : index
  %b = arith.muli %core, %two : index
  %row = arith.addi %b, %lane : index
  %a = buf.at "a" [0] : !t
  %n = buf.at "n" [128] : !n
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  npu.load <nd> ins(%i : memref<4x1xi32>) outs(%n : !n)
  npu.set_flag <aiv.mte2>, <aiv.mte3>[0]
  npu.wait_flag <aiv.mte2>, <aiv.mte3>[0]
  %as = memref.subview %a[0, 0] [1, 8] [1, 1] : !t to memref<1x8xf32, strided<[8, 1]>, #npu.mem<ub>>
  %ys = memref.subview %y[%row, 0] [1, 8] [1, 1] : memref<48x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
  // expected-note@+2 {{it writes them here, on <aiv.mte3>}}
  // expected-note@+1 {{the other core writes them here}}
  npu.store ins(%as : memref<1x8xf32, strided<[8, 1]>, #npu.mem<ub>>) outs(%ys : memref<1x8xf32, strided<[8, 1], offset: ?>>)
  // expected-note@+2 {{npu.store_rows: core 1 writes global memory bytes [0, 32) of %y, which core 0 writes: cores run at the same time}}
  // expected-error@+1 {{'npu.store_rows' op WAW race: writes global memory bytes}}
  npu.store_rows ins(%a, %n : !t, !n) outs(%y : memref<48x8xf32>)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>
!n = memref<4x1xi32, #npu.mem<ub>>

// Lanes of one cluster: what one gathers, the other may have scattered.
func.func private @lanes(%i: memref<4x1xi32>, %y: memref<24x50x8xf32>) {
  %core = npu.block_idx
  %mine = memref.subview %y[%core, 0, 0] [1, 50, 8] [1, 1, 1] : memref<24x50x8xf32> to memref<50x8xf32, strided<[8, 1], offset: ?>>
  %a = buf.at "a" [0] : !t
  %n = buf.at "n" [128] : !n
  npu.load <nd> ins(%i : memref<4x1xi32>) outs(%n : !n)
  npu.vdup 1.0 : f32 outs(%a : !t)
  npu.set_flag <aiv.v>, <aiv.mte3>[0]
  npu.wait_flag <aiv.v>, <aiv.mte3>[0]
  npu.set_flag <aiv.mte2>, <aiv.mte3>[0]
  npu.wait_flag <aiv.mte2>, <aiv.mte3>[0]
  // expected-note@+1 {{it writes them here, on <aiv.mte3>}}
  npu.store_rows ins(%a, %n : !t, !n) outs(%mine : memref<50x8xf32, strided<[8, 1], offset: ?>>)
  npu.set_flag <aiv.mte3>, <aiv.mte2>[0]
  npu.wait_flag <aiv.mte3>, <aiv.mte2>[0]
  // expected-error@+1 {{'npu.load_rows' op RAW race: reads global memory bytes [0, 1600) of %y on lane 0, which 'npu.store_rows' writes on lane 1; missing: bytes of their own for every lane, or npu.sync_all between them}}
  npu.load_rows ins(%mine, %n : memref<50x8xf32, strided<[8, 1], offset: ?>>, !n) outs(%a : !t)
  func.return
}
