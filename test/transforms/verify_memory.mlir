// RUN: ge-opt %s --target Ascend910A -p verify-memory --split-input-file --verify-diagnostics

!t = memref<4x8xf32, #npu.mem<ub>>

// One after the other, in the same bytes.
func.func private @fine(%x: memref<4x8xf32>, %out: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %a = buf.at "a" [0] : !t
  %b = buf.at "b" [128] : !t
  %c = buf.at "c" [0] : !t
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  npu.vexp ins(%a : !t) outs(%b : !t)
  npu.vabs ins(%b : !t) outs(%c : !t)
  scf.for %i = %c0 to %c4 step %c1 {
    %d = buf.at "d" [128] : !t
    %e = buf.at "e" [256] : !t
    npu.vexp ins(%c : !t) outs(%d : !t)
    npu.vexp ins(%d : !t) outs(%e : !t)
    %f = buf.at "f" [128] : !t
    npu.vexp ins(%e : !t) outs(%f : !t)
  }
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

func.func private @operand(%x: memref<4x8xf32>) {
  // expected-note@+1 {{"a" is here}}
  %a = buf.at "a" [0] : !t
  // expected-error@+1 {{'buf.at' op buffer "b" shares bytes [96, 128) of ub with "a", which is still needed}}
  %b = buf.at "b" [96] : !t
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  // expected-note@+2 {{"b" is first used here}}
  // expected-note@+1 {{"a" is needed until here}}
  npu.vexp ins(%a : !t) outs(%b : !t)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>
!v = memref<2x8xf32, strided<[8, 1]>, #npu.mem<ub>>

// Only the second iteration needs "kept" again; the use is through a view.
func.func private @loop(%x: memref<4x8xf32>, %out: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // expected-note@+1 {{"kept" is here}}
  %kept = buf.at "kept" [0] : !t
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%kept : !t)
  %view = memref.subview %kept[0, 0] [2, 8] [1, 1] : !t to !v
  scf.for %i = %c0 to %c4 step %c1 {
    %a = buf.at "a" [128] : !t
    %av = memref.subview %a[0, 0] [2, 8] [1, 1] : !t to !v
    // expected-note@+1 {{"kept" is needed until here}}
    npu.vexp ins(%view : !v) outs(%av : !v)
    // expected-error@+1 {{buffer "b" shares bytes [0, 128) of ub with "kept"}}
    %b = buf.at "b" [0] : !t
    // expected-note@+1 {{"b" is first used here}}
    npu.vexp ins(%a : !t) outs(%b : !t)
  }
  func.return
}

// -----

func.func private @alignment() {
  // expected-error@+1 {{'buf.at' op offset 16 of "a" is no multiple of 32, as ub requires}}
  %a = buf.at "a" [16] : memref<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @capacity() {
  // expected-error@+1 {{'buf.at' op buffer "a" at [262112, 262240) exceeds ub (262144 bytes of Ascend910A) by 96 bytes}}
  %a = buf.at "a" [262112] : memref<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @slots(%s: index) {
  // expected-error@+1 {{'buf.at' op slots of "a" overlap: 128 bytes each at [0, 64]}}
  %a = buf.at "a" [0, 64] slot %s : memref<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @unplanned() {
  // expected-error@+1 {{'buf.alloc' op has no address yet; run plan-memory first}}
  %a = buf.alloc "a" : memref<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @k(%x: memref<4x8xf32>, %out: memref<4x8xf32>) {
  func.return
}
func.func @main(%x: memref<4x8xf32>, %out0: memref<4x8xf32>) attributes {results = 1 : i64} {
  // expected-note@+1 {{"one" is here}}
  %one = buf.at "one" [0] : memref<4x8xf32>
  fused.launch @k(%x) into (%one) on aicore {ops = ["Abs"], op_name = "one"} : (memref<4x8xf32>) into (memref<4x8xf32>)
  // expected-error@+1 {{buffer "two" shares bytes [0, 128) of gm with "one"}}
  %two = buf.at "two" [0] : memref<4x8xf32>
  // expected-note@+1 {{"two" is first used here}}
  fused.launch @k(%x) into (%two) on aicore {ops = ["Abs"], op_name = "two"} : (memref<4x8xf32>) into (memref<4x8xf32>)
  // expected-note@+1 {{"one" is needed until here}}
  fused.launch @k(%one) into (%out0) on aicore {ops = ["Abs"], op_name = "three"} : (memref<4x8xf32>) into (memref<4x8xf32>)
  func.return
}

// -----

func.func private @renamed(%t: i1) {
  %a = buf.at "a" [0] : memref<4x8xf32, #npu.mem<ub>>
  %b = buf.at "b" [0] : memref<4x8xf32, #npu.mem<ub>>
  // expected-error@+1 {{'arith.select' op gives buffer "a" another name, under which it cannot be followed}}
  %c = arith.select %t, %a, %b : memref<4x8xf32, #npu.mem<ub>>
  func.return
}
