// RUN: ge-opt %s -p verify-sync --split-input-file --verify-diagnostics

!v = memref<4x8xf32, strided<[8, 1], offset: ?>>
!t = memref<4x8xf32, #npu.mem<ub>>

// What derives from the lane's number must not reach loops, flags, or the cube.
builtin.module attributes {ge.target = "Ascend910B2"} {
  func.func private @varying(%x: memref<64x16xf16>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    // expected-note@+1 3 {{the number of the lane is read here}}
    %lane = npu.sub_block_idx
    %r = arith.muli %lane, %c16 : index
    %a = buf.at "a" [0] : memref<16x16xf16, #npu.mem<l1>>
    // expected-error@+1 {{'scf.for' op runs as often as %lane, which differs from lane to lane; only instructions of the vector lanes may depend on it}}
    scf.for %i = %c0 to %lane step %c1 {
    }
    // expected-note@+1 {{npu.set_flag: takes its number from %lane, which differs from lane to lane}}
    npu.set_flag <aiv.mte2>, <aiv.v>[%lane]
    %xs = memref.subview %x[%r, 0] [16, 16] [1, 1] : memref<64x16xf16> to memref<16x16xf16, strided<[16, 1], offset: ?>>
    // expected-note@+1 {{npu.load: runs on <aic.mte2>, a pipe of the cube, but uses %xs, which differs from lane to lane}}
    npu.load <nd2nz> ins(%xs : memref<16x16xf16, strided<[16, 1], offset: ?>>) outs(%a : memref<16x16xf16, #npu.mem<l1>>)
    func.return
  }
}

// -----

!v = memref<4x8xf32, strided<[8, 1], offset: ?>>
!t = memref<4x8xf32, #npu.mem<ub>>

// Both lanes of a cluster write the same rows.
builtin.module attributes {ge.target = "Ascend910B2"} {
  func.func private @lanes(%y: memref<96x8xf32>) {
    %c4 = arith.constant 4 : index
    %core = npu.block_idx
    %row = arith.muli %core, %c4 : index
    %ys = memref.subview %y[%row, 0] [4, 8] [1, 1] : memref<96x8xf32> to !v
    %a = buf.at "a" [0] : !t
    npu.vdup 1.0 : f32 outs(%a : !t)
    npu.pipe_barrier <aiv.all>
    // expected-error@+1 {{WAW race: writes global memory bytes [0, 128) of %y on lane 1, which itself writes on lane 0; missing: bytes of their own for every lane, or npu.sync_all between them}}
    npu.store ins(%a : !t) outs(%ys : !v)
    func.return
  }
}

// -----

!c = memref<16x16xf32, #npu.mem<l0c>>
!w = memref<16x16xf32, strided<[16, 1], offset: ?>>
!u = memref<16x16xf32, #npu.mem<ub>>

// Cube to lanes without a cross-core flag, and no way back: the workspace has one slot.
builtin.module attributes {ge.target = "Ascend910B2"} {
  func.func private @forward(%ws: memref<24x16x16xf32>) {
    %true = arith.constant true
    %core = npu.block_idx
    %slot = memref.subview %ws[%core, 0, 0] [1, 16, 16] [1, 1, 1] : memref<24x16x16xf32> to !w
    %a0 = buf.at "a0" [0] : memref<16x0xf16, #npu.mem<l0a>>
    %b0 = buf.at "b0" [0] : memref<0x16xf16, #npu.mem<l0b>>
    %acc = buf.at "acc" [0] : !c
    %u = buf.at "u" [0] : !u
    // With K = 0 there is nothing to read: this fills the accumulator.
    npu.mmad ins(%a0, %b0 : memref<16x0xf16, #npu.mem<l0a>>, memref<0x16xf16, #npu.mem<l0b>>) outs(%acc : !c) init %true
    npu.pipe_barrier <aic.all>
    // expected-note@+1 {{it writes them here, on <aic.fix>}}
    npu.fixpipe ins(%acc : !c) outs(%slot : !w)
    // expected-error@+1 {{RAW race: reads global memory bytes [0, 1024) of %ws on lane 0, which 'npu.fixpipe' writes; missing: npu.cross_core_set_flag <aic.fix> after the first, npu.cross_core_wait_flag <aiv.mte2> before the second}}
    npu.load <nd> ins(%slot : !w) outs(%u : !u)
    func.return
  }
}

// -----

// A token of every lane is needed; nothing gives any.
builtin.module attributes {ge.target = "Ascend910B2"} {
  func.func private @token() {
    // expected-error@+1 {{'npu.cross_core_wait_flag' op deadlock: pipe <aic.fix> waits for cross-core flag 3, which nothing sets any more}}
    npu.cross_core_wait_flag <aic.fix>[3]
    func.return
  }
}

// -----

// A token too many, for each lane.
builtin.module attributes {ge.target = "Ascend910B2"} {
  func.func private @left_over() {
    npu.cross_core_set_flag <aic.fix>[3]
    // expected-error@+1 {{a token of cross-core flag 3, set, is never waited for: it is still set when the kernel ends}}
    npu.cross_core_set_flag <aic.fix>[3]
    npu.cross_core_wait_flag <aiv.mte2>[3]
    func.return
  }
}

// -----

// Flags count to 15: nothing holds the cube back.
builtin.module attributes {ge.target = "Ascend910B2"} {
  func.func private @limit() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    scf.for %i = %c0 to %c16 step %c1 iter_args(%keep = %c0) -> (index) {
      // expected-error@+1 {{cross-core flag 0 may hold more than 15 tokens at %i = 15: nothing orders this after earlier waits}}
      npu.cross_core_set_flag <aic.fix>[0]
      npu.cross_core_wait_flag <aiv.mte2>[0]
      scf.yield %keep : index
    }
    func.return
  }
}

// -----

// One number, two waiting pipes: it is open who takes which token.
builtin.module attributes {ge.target = "Ascend910B2"} {
  func.func private @two_users() {
    npu.cross_core_set_flag <aic.fix>[0]
    npu.cross_core_set_flag <aic.fix>[0]
    npu.cross_core_wait_flag <aiv.mte2>[0]
    // expected-error@+1 {{cross-core flag 0 is waited for on <aiv.mte2> and on <aiv.v>; give each pair of pipes a number of its own}}
    npu.cross_core_wait_flag <aiv.v>[0]
    func.return
  }
}
