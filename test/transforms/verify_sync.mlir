// RUN: ge-opt %s --target Ascend910A -p verify-sync --split-input-file --verify-diagnostics

!t = memref<4x8xf32, #npu.mem<ub>>
!v = memref<4x8xf32, strided<[8, 1], offset: ?>>

// What is in order passes; a remark says what was run.
// expected-remark@+1 {{[verify-sync] coverage: @fine: 96 instructions and 128 synchronisations visited on 32 cores (1 different), global memory of all cores compared}}
func.func private @fine(%x: memref<4x8xf32>, %y: memref<32x4x8xf32>) {
  %core = npu.block_idx
  %mine = memref.subview %y[%core, 0, 0] [1, 4, 8] [1, 1, 1] : memref<32x4x8xf32> to !v
  %a = buf.at "a" [0] : !t
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  npu.set_flag <mte2>, <v>[0]
  npu.wait_flag <mte2>, <v>[0]
  npu.vexp ins(%a : !t) outs(%a : !t)
  npu.set_flag <v>, <mte3>[0]
  npu.wait_flag <v>, <mte3>[0]
  npu.store ins(%a : !t) outs(%mine : !v)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

// Read after write.
func.func private @raw(%x: memref<4x8xf32>) {
  %a = buf.at "a" [0] : !t
  %b = buf.at "b" [128] : !t
  // expected-note@+1 {{it writes them here, on <mte2>}}
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  // expected-error@+1 {{'npu.vexp' op RAW race: reads ub bytes [0, 128) of "a", which 'npu.load' writes; missing: npu.set_flag <mte2>, <v> after the first, npu.wait_flag <mte2>, <v> before the second}}
  npu.vexp ins(%a : !t) outs(%b : !t)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>
!v = memref<4x8xf32, strided<[8, 1], offset: ?>>

// Write after read, across iterations: a loop needs the way back, too. Without it the forward flag is set again as well.
func.func private @war(%x: memref<16x8xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c4 {
    %a = buf.at "a" [0] : !t
    %b = buf.at "b" [128] : !t
    %xs = memref.subview %x[%i, 0] [4, 8] [1, 1] : memref<16x8xf32> to !v
    // expected-error@+1 {{WAR race: writes ub bytes [0, 128) of "a" at %i = 4, which 'npu.vexp' reads at %i = 0; missing: npu.set_flag <v>, <mte2> after the first}}
    npu.load <nd> ins(%xs : !v) outs(%a : !t)
    // expected-note@+1 {{npu.set_flag: event <mte2>, <v>[0] is set again at %i = 4, while it may still be set: nothing orders this after the wait for the last set}}
    npu.set_flag <mte2>, <v>[0]
    npu.wait_flag <mte2>, <v>[0]
    npu.pipe_barrier <v>
    // expected-note@+1 {{it reads them here, on <v>}}
    npu.vexp ins(%a : !t) outs(%b : !t)
  }
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

// Write after write: the load may land before vdup does.
func.func private @waw(%x: memref<4x8xf32>) {
  %a = buf.at "a" [0] : !t
  // expected-note@+1 {{it writes them here, on <v>}}
  npu.vdup 0.0 : f32 outs(%a : !t)
  // expected-error@+1 {{WAW race: writes ub bytes [0, 128) of "a", which 'npu.vdup' writes; missing: npu.set_flag <v>, <mte2>}}
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

// The vector unit is not in order.
func.func private @barrier() {
  %a = buf.at "a" [0] : !t
  %b = buf.at "b" [128] : !t
  // expected-note@+1 {{it writes them here, on <v>}}
  npu.vdup 1.0 : f32 outs(%a : !t)
  // expected-error@+1 {{RAW race: reads ub bytes [0, 128) of "a", which 'npu.vdup' writes; missing: npu.pipe_barrier <v> between them}}
  npu.vexp ins(%a : !t) outs(%b : !t)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

// A wait for what nothing sets: every pipe that is stuck is named.
func.func private @deadlock(%x: memref<4x8xf32>) {
  %a = buf.at "a" [0] : !t
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  // expected-error@+1 {{'npu.wait_flag' op deadlock: pipe <v> waits for event <mte2>, <v>[1], which nothing sets any more}}
  npu.wait_flag <mte2>, <v>[1]
  npu.vexp ins(%a : !t) outs(%a : !t)
  npu.set_flag <v>, <mte3>[0]
  // expected-note@+1 {{pipe <mte3> is stuck here: waits for event <v>, <mte3>[0], which is set only behind another blocked op}}
  npu.wait_flag <v>, <mte3>[0]
  func.return
}

// -----

// Two pipes that wait for each other.
func.func private @circle() {
  // expected-error@+1 {{deadlock: pipe <mte2> waits for event <v>, <mte2>[0], which is set only behind another blocked op}}
  npu.wait_flag <v>, <mte2>[0]
  npu.set_flag <mte2>, <v>[0]
  // expected-note@+1 {{pipe <v> is stuck here: waits for event <mte2>, <v>[0], which is set only behind another blocked op}}
  npu.wait_flag <mte2>, <v>[0]
  npu.set_flag <v>, <mte2>[0]
  func.return
}

// -----

// A barrier of all pipes behind a wait that never ends.
func.func private @barrier_all() {
  // expected-error@+1 {{deadlock: pipe <v> waits for event <mte2>, <v>[0], which is set only behind another blocked op}}
  npu.wait_flag <mte2>, <v>[0]
  // expected-note@+1 4 {{waits at a barrier for pipes that do not reach it}}
  npu.pipe_barrier <all>
  npu.set_flag <mte2>, <v>[0]
  func.return
}

// -----

// An event holds one set, not two.
func.func private @twice() {
  // expected-note@+1 {{last set here}}
  npu.set_flag <mte2>, <v>[0]
  // expected-error@+1 {{'npu.set_flag' op event <mte2>, <v>[0] is set again, while it may still be set}}
  npu.set_flag <mte2>, <v>[0]
  npu.wait_flag <mte2>, <v>[0]
  npu.wait_flag <mte2>, <v>[0]
  func.return
}

// -----

func.func private @unmatched() {
  // expected-error@+1 {{event <mte2>, <v>[3], set, is never waited for: it is still set when the kernel ends}}
  npu.set_flag <mte2>, <v>[3]
  func.return
}

// -----

// Numbers that are computed are checked as they come.
func.func private @number() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %i = %c0 to %c9 step %c1 {
    // expected-error@+1 {{'npu.set_flag' op number 8 is beyond the target's 8 (0 to 7) at %i = 8}}
    npu.set_flag <mte2>, <v>[%i]
    // expected-note@+1 {{npu.wait_flag: number 8 is beyond}}
    npu.wait_flag <mte2>, <v>[%i]
  }
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>
!v = memref<4x8xf32, strided<[8, 1], offset: ?>>

// The last block leaves the tensor.
func.func private @global_bounds(%x: memref<10x8xf32>) {
  %c4 = arith.constant 4 : index
  %a = buf.at "a" [0] : !t
  tile.forall (%i) in (3) {
    %row = arith.muli %i, %c4 : index
    // expected-error@+1 {{'memref.subview' op elements [8, 12) of dimension 0 are out of bounds, it has 10 at %i = 2}}
    %xs = memref.subview %x[%row, 0] [4, 8] [1, 1] : memref<10x8xf32> to !v
    npu.load <nd> ins(%xs : !v) outs(%a : !t)
  }
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

func.func private @chip_bounds(%x: memref<4x8xf32>) {
  // expected-error@+1 {{'buf.at' op "a" ends at byte 262240 of ub, which has 262144}}
  %a = buf.at "a" [262112] : !t
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

func.func private @slot_bounds(%x: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %c3 step %c1 {
    // expected-error@+1 {{'buf.at' op "a" has slots 0 to 1, got 2 at %i = 2}}
    %a = buf.at "a" [0, 128] slot %i : !t
    npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  }
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

func.func private @uninitialised() {
  %a = buf.at "a" [0] : !t
  %b = buf.at "b" [128] : !t
  // expected-error@+1 {{'npu.vexp' op reads ub bytes [0, 128) of "a", which nothing has written}}
  npu.vexp ins(%a : !t) outs(%b : !t)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

// Bytes count one by one: three columns were written, eight are read.
func.func private @partly(%x: memref<4x3xf32>) {
  %a = buf.at "a" [0] : !t
  %some = memref.subview %a[0, 0] [4, 3] [1, 1] : !t to memref<4x3xf32, strided<[8, 1]>, #npu.mem<ub>>
  npu.load <nd> ins(%x : memref<4x3xf32>) outs(%some : memref<4x3xf32, strided<[8, 1]>, #npu.mem<ub>>)
  npu.pipe_barrier <all>
  // expected-error@+1 {{'npu.vexp' op reads ub bytes [12, 32) of "a", which nothing has written}}
  npu.vexp ins(%a : !t) outs(%a : !t)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

// A block of tile.forall does not see what another left; in tile.grid_loop it does.
func.func private @other_block() {
  %a = buf.at "a" [0] : !t
  npu.vdup 1.0 : f32 outs(%a : !t)
  npu.pipe_barrier <v>
  tile.grid_loop %t (%i) in (64) {
    npu.vexp ins(%a : !t) outs(%a : !t)
    npu.pipe_barrier <v>
  }
  tile.forall (%i) in (64) {
    // expected-error@+1 {{'npu.vexp' op reads ub bytes [0, 128) of "a", which only another block has written at %i = 0}}
    npu.vexp ins(%a : !t) outs(%a : !t)
    npu.pipe_barrier <v>
  }
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

// Everything is in order, but "b" has taken the bytes of "a" while "a" was still needed.
func.func private @stale() {
  %a = buf.at "a" [0] : !t
  %b = buf.at "b" [64] : !t
  npu.vdup 1.0 : f32 outs(%a : !t)
  npu.pipe_barrier <v>
  // expected-note@+1 {{last written here}}
  npu.vdup 2.0 : f32 outs(%b : !t)
  npu.pipe_barrier <v>
  // expected-error@+1 {{'npu.vexp' op reads ub bytes [64, 128) through buffer "a", but they were last written through buffer "b"}}
  npu.vexp ins(%a : !t) outs(%a : !t)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

// Every core writes the same rows.
func.func private @cores(%y: memref<4x8xf32>) {
  %a = buf.at "a" [0] : !t
  npu.vdup 1.0 : f32 outs(%a : !t)
  npu.pipe_barrier <all>
  // expected-error@+1 {{'npu.store' op core 1 writes global memory bytes [0, 128) of %y, which core 0 writes: cores run at the same time; missing: bytes of their own for every block, or npu.sync_all between them}}
  npu.store ins(%a : !t) outs(%y : memref<4x8xf32>)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>
!v = memref<4x8xf32, strided<[8, 1], offset: ?>>

// Blocks overlap by one row.
func.func private @blocks(%y: memref<100x8xf32>) {
  %c3 = arith.constant 3 : index
  tile.forall (%i) in (2) {
    %a = buf.at "a" [0] : !t
    npu.vdup 1.0 : f32 outs(%a : !t)
    npu.pipe_barrier <all>
    %row = arith.muli %i, %c3 : index
    %ys = memref.subview %y[%row, 0] [4, 8] [1, 1] : memref<100x8xf32> to !v
    // expected-error@+1 {{core 1 writes global memory bytes [96, 128) of %y at %i = 1, which core 0 writes at %i = 0}}
    npu.store ins(%a : !t) outs(%ys : !v)
  }
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>
!v = memref<4x8xf32, strided<[8, 1], offset: ?>>

// The second grid reads what other cores wrote in the first: npu.sync_all is missing between them.
func.func private @grids(%w: memref<8x8xf32>, %y: memref<4x8xf32>) {
  %c4 = arith.constant 4 : index
  %a = buf.at "a" [0] : !t
  tile.forall (%i) in (2) {
    npu.vdup 1.0 : f32 outs(%a : !t)
    npu.pipe_barrier <all>
    %row = arith.muli %i, %c4 : index
    %ws = memref.subview %w[%row, 0] [4, 8] [1, 1] : memref<8x8xf32> to !v
    // expected-note@+1 {{the other core writes them here}}
    npu.store ins(%a : !t) outs(%ws : !v)
    npu.pipe_barrier <all>
  }
  tile.forall (%j) in (1) {
    %b = buf.at "b" [128] : !t
    %ws = memref.subview %w[4, 0] [4, 8] [1, 1] : memref<8x8xf32> to memref<4x8xf32, strided<[8, 1], offset: 32>>
    // expected-error@+1 {{'npu.load' op core 0 reads global memory bytes [128, 256) of %w at %j = 0, which core 1 writes at %i = 1}}
    npu.load <nd> ins(%ws : memref<4x8xf32, strided<[8, 1], offset: 32>>) outs(%b : !t)
    npu.pipe_barrier <all>
    npu.store ins(%b : !t) outs(%y : memref<4x8xf32>)
  }
  func.return
}

// -----

// A barrier of all cores inside a grid whose blocks are shared out unevenly.
func.func private @uneven() {
  tile.grid_loop %t (%i) in (33) {
    // expected-error@+1 {{deadlock: core 0 reaches npu.sync_all 2 times, core 1 1 times; all cores must reach it}}
    npu.sync_all
  }
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

// What launches pass as a destination holds nothing when the kernel starts.
func.func private @destination(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  %a = buf.at "a" [0] : !t
  // expected-error@+1 {{'npu.load' op reads global memory bytes [0, 128) of %y, which nothing has written}}
  npu.load <nd> ins(%y : memref<4x8xf32>) outs(%a : !t)
  func.return
}
func.func @main(%x: memref<4x8xf32>, %out0: memref<4x8xf32>) attributes {results = 1 : i64} {
  fused.launch @destination(%x) into (%out0) on aicore {ops = ["Abs"], op_name = "one"} : (memref<4x8xf32>) into (memref<4x8xf32>)
  func.return
}

// -----

// expected-error@+1 {{'func.func' op %n is index; only kernels whose arguments are tensors in global memory can be checked}}
func.func private @index(%n: index, %y: memref<4x8xf32>) {
  %a = buf.at "a" [0] : memref<4x8xf32, #npu.mem<ub>>
  npu.vdup 1.0 : f32 outs(%a : memref<4x8xf32, #npu.mem<ub>>)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

// A branch is followed the way it goes: here the second iteration finds no flag.
func.func private @branch(%x: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = buf.at "a" [0] : !t
  scf.for %i = %c0 to %c2 step %c1 {
    %first = arith.cmpi eq, %i, %c0 : index
    scf.if %first {
      npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
      npu.set_flag <mte2>, <v>[0]
    }
    // expected-error@+1 {{deadlock at %i = 1: pipe <v> waits for event <mte2>, <v>[0], which nothing sets any more}}
    npu.wait_flag <mte2>, <v>[0]
  }
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

// In the same block of 32 bytes, two pipes are in each other's way even where their bytes differ.
func.func private @block(%x: memref<1x3xf32>) {
  %a = buf.at "a" [0] : memref<1x3xf32, #npu.mem<ub>>
  %b = buf.at "b" [0] : memref<1x8xf32, #npu.mem<ub>>
  %right = memref.subview %b[0, 4] [1, 4] [1, 1] : memref<1x8xf32, #npu.mem<ub>> to memref<1x4xf32, strided<[8, 1], offset: 4>, #npu.mem<ub>>
  // expected-note@+1 {{it writes them here, on <mte2>}}
  npu.load <nd> ins(%x : memref<1x3xf32>) outs(%a : memref<1x3xf32, #npu.mem<ub>>)
  // expected-error@+1 {{WAW race: writes ub bytes [0, 32) of "b", which 'npu.load' writes}}
  npu.vdup 1.0 : f32 outs(%right : memref<1x4xf32, strided<[8, 1], offset: 4>, #npu.mem<ub>>)
  func.return
}

// -----

// An instruction without elements touches nothing.
func.func private @empty(%x: memref<0x8xf32>) {
  %a = buf.at "a" [0] : memref<4x8xf32, #npu.mem<ub>>
  %none = memref.subview %a[4, 0] [0, 8] [1, 1] : memref<4x8xf32, #npu.mem<ub>> to memref<0x8xf32, strided<[8, 1], offset: 32>, #npu.mem<ub>>
  npu.vdup 1.0 : f32 outs(%a : memref<4x8xf32, #npu.mem<ub>>)
  npu.load <nd> ins(%x : memref<0x8xf32>) outs(%none : memref<0x8xf32, strided<[8, 1], offset: 32>, #npu.mem<ub>>)
  func.return
}
