// RUN: ge-opt %s -p verify-memory --split-input-file --verify-diagnostics

!t = memref<4x8xf32, #npu.mem<ub>>

// A slot is free between the last read of a trip and the write of the next that uses it.
func.func private @fine(%x: memref<4x8xf32>, %out: memref<4x8xf32>) {
  %c2 = arith.constant 2 : index
  tile.grid_loop %t (%i) in (64) {
    %slot = arith.remui %t, %c2 : index
    %a = buf.at "a" [0, 128] slot %slot : !t
    npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
    %b = buf.at "b" [256] : !t
    npu.vexp ins(%a : !t) outs(%b : !t)
    %c = buf.at "c" [128] : !t
    npu.vexp ins(%b : !t) outs(%c : !t)
    npu.store ins(%c : !t) outs(%out : memref<4x8xf32>)
  }
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

// Only in the second trip, which uses slot 1.
func.func private @second_slot(%x: memref<4x8xf32>, %out: memref<4x8xf32>) {
  %c2 = arith.constant 2 : index
  tile.grid_loop %t (%i) in (64) {
    %slot = arith.remui %t, %c2 : index
    // expected-note@+1 {{"a" is here}}
    %a = buf.at "a" [0, 128] slot %slot : !t
    npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
    // expected-error@+1 {{buffer "b" shares bytes [128, 256) of ub with "a", which is still needed}}
    %b = buf.at "b" [128] : !t
    // expected-note@+2 {{"b" is first used here}}
    // expected-note@+1 {{"a" is needed until here}}
    npu.vbrc ins(%a : !t) outs(%b : !t)
  }
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

// The tile that waits for the next trip is still needed at the end of this one.
func.func private @skewed(%x: memref<4x8xf32>, %out: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c9 = arith.constant 9 : index
  scf.for %i = %c0 to %c9 step %c1 {
    %slot = arith.remui %i, %c2 : index
    %next = arith.addi %i, %c1 : index
    %slot_before = arith.remui %next, %c2 : index
    // expected-note@+1 {{"a" is here}}
    %a = buf.at "a" [0, 128] slot %slot : !t
    npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
    %before = buf.at "a" [0, 128] slot %slot_before : !t
    %b = buf.at "b" [256] : !t
    // expected-note@+1 {{"a" is needed until here}}
    npu.vexp ins(%before : !t) outs(%b : !t)
    // expected-error@+1 {{buffer "c" shares bytes [0, 128) of ub with "a", which is still needed}}
    %c = buf.at "c" [0] : !t
    // expected-note@+1 {{"c" is first used here}}
    npu.vexp ins(%b : !t) outs(%c : !t)
  }
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

// Where the slot is not known, it may be any.
func.func private @unknown(%x: memref<4x8xf32>, %slot: index) {
  // expected-note@+1 {{"a" is here}}
  %a = buf.at "a" [0, 128] slot %slot : !t
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  // expected-error@+1 {{buffer "b" shares bytes [128, 256) of ub with "a", which is still needed}}
  %b = buf.at "b" [128] : !t
  // expected-note@+2 {{"b" is first used here}}
  // expected-note@+1 {{"a" is needed until here}}
  npu.vbrc ins(%a : !t) outs(%b : !t)
  func.return
}

// -----

func.func private @beyond() {
  tile.grid_loop %t (%i) in (64) {
    // expected-error@+1 {{'buf.at' op chooses slot 2 of "a", which has slots 0 to 1}}
    %a = buf.at "a" [0, 128] slot %t : memref<4x8xf32, #npu.mem<ub>>
  }
  func.return
}
