// RUN: ge-opt %s -p verify-memory --split-input-file --verify-diagnostics

!t = memref<4x8xf32, #npu.mem<ub>>

// An elementwise instruction may write exactly over what it reads last.
func.func private @fine(%x: memref<4x8xf32>) {
  %a = buf.at "a" [0] : !t
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  %b = buf.at "b" [0] : !t
  npu.vexp ins(%a : !t) outs(%b : !t)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>

func.func private @again(%x: memref<4x8xf32>) {
  // expected-note@+1 {{"a" is here}}
  %a = buf.at "a" [0] : !t
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  // expected-error@+1 {{buffer "b" shares bytes [0, 128) of ub with "a", which is still needed}}
  %b = buf.at "b" [0] : !t
  // expected-note@+1 {{"b" is first used here}}
  npu.vexp ins(%a : !t) outs(%b : !t)
  %c = buf.at "c" [128] : !t
  // expected-note@+1 {{"a" is needed until here}}
  npu.vadd ins(%a, %b : !t, !t) outs(%c : !t)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>
!i = memref<4x8xi32, #npu.mem<ub>>

func.func private @cast(%x: memref<4x8xf32>) {
  // expected-note@+1 {{"a" is here}}
  %a = buf.at "a" [0] : !t
  npu.load <nd> ins(%x : memref<4x8xf32>) outs(%a : !t)
  // expected-error@+1 {{buffer "b" shares bytes [0, 128) of ub with "a", which is still needed}}
  %b = buf.at "b" [0] : !i
  // expected-note@+2 {{"b" is first used here}}
  // expected-note@+1 {{"a" is needed until here}}
  npu.vconv ins(%a : !t) outs(%b : !i)
  func.return
}

// -----

!t = memref<4x8xf32, #npu.mem<ub>>
!row = memref<1x32xf32, #npu.mem<ub>>

// A row that repeats is read again after elements of the result are written.
func.func private @repeated(%x: memref<1x32xf32>, %y: memref<4x32xf32>) {
  // expected-note@+1 {{"row" is here}}
  %row = buf.at "row" [0] : !row
  npu.load <nd> ins(%x : memref<1x32xf32>) outs(%row : !row)
  %y1 = buf.at "y" [512] : memref<4x32xf32, #npu.mem<ub>>
  npu.load <nd> ins(%y : memref<4x32xf32>) outs(%y1 : memref<4x32xf32, #npu.mem<ub>>)
  // expected-error@+1 {{buffer "b" shares bytes [0, 128) of ub with "row", which is still needed}}
  %b = buf.at "b" [0] : memref<4x32xf32, #npu.mem<ub>>
  // expected-note@+2 {{"b" is first used here}}
  // expected-note@+1 {{"row" is needed until here}}
  npu.vadd ins(%row, %y1 : !row, memref<4x32xf32, #npu.mem<ub>>) outs(%b : memref<4x32xf32, #npu.mem<ub>>)
  func.return
}
