// RUN: ge-opt %s --target Ascend910A -p verify-memory --split-input-file --verify-diagnostics

!t = memref<64x64xf32>
func.func private @with(%x: !t, %out: !t, %ws: !t) {
  func.return
}
// What a launch writes without reading it needs none of its old contents: "b" may lie in the workspace between the launches.
func.func @fine(%x: !t, %out0: !t) attributes {results = 1 : i64} {
  %ws = buf.at "ws" [0] : !t
  %a = buf.at "a" [16384] : !t
  fused.launch @with(%x) into (%a, %ws) on aicore {ops = ["A"], op_name = "a"} : (!t) into (!t, !t)
  %b = buf.at "b" [0] : !t
  fused.launch @with(%a) into (%b, %out0) on aicore {ops = ["A"], op_name = "a"} : (!t) into (!t, !t)
  %c = buf.at "c" [16384] : !t
  fused.launch @with(%b) into (%c, %out0) on aicore {ops = ["A"], op_name = "a"} : (!t) into (!t, !t)
  fused.launch @with(%c) into (%out0, %ws) on aicore {ops = ["A"], op_name = "a"} : (!t) into (!t, !t)
  func.return
}

// -----

!t = memref<64x64xf32>
func.func private @with(%x: !t, %out: !t, %ws: !t) {
  func.return
}
// What is read again is needed all the time.
func.func @main(%x: !t, %out0: !t) attributes {results = 1 : i64} {
  // expected-note@+1 {{"ws" is here}}
  %ws = buf.at "ws" [0] : !t
  %a = buf.at "a" [16384] : !t
  fused.launch @with(%x) into (%a, %ws) on aicore {ops = ["A"], op_name = "a"} : (!t) into (!t, !t)
  // expected-error@+1 {{'buf.at' op buffer "b" shares bytes [0, 16384) of gm with "ws", which is still needed}}
  %b = buf.at "b" [0] : !t
  // expected-note@+1 {{b" is first used here}}
  fused.launch @with(%a) into (%b, %out0) on aicore {ops = ["A"], op_name = "a"} : (!t) into (!t, !t)
  // expected-note@+1 {{needed until here}}
  fused.launch @with(%ws) into (%out0, %ws) on aicore {ops = ["A"], op_name = "a"} : (!t) into (!t, !t)
  func.return
}

// -----

!t = memref<64x64xf32>
func.func private @with(%x: !t, %out: !t, %ws: !t) {
  func.return
}
// While a launch runs, its workspace and what it reads are apart.
func.func @main(%x: !t, %out0: !t) attributes {results = 1 : i64} {
  %ws = buf.at "ws" [0] : !t
  // expected-note@+1 {{b" is here}}
  %b = buf.at "b" [16384] : !t
  fused.launch @with(%x) into (%b, %ws) on aicore {ops = ["A"], op_name = "a"} : (!t) into (!t, !t)
  // expected-error@+1 {{shares bytes [16384, 32768) of gm with "b", which is still needed}}
  %other = buf.at "other" [16384] : !t
  // expected-note@+2 {{first used here}}
  // expected-note@+1 {{needed until here}}
  fused.launch @with(%b) into (%out0, %other) on aicore {ops = ["A"], op_name = "a"} : (!t) into (!t, !t)
  func.return
}
