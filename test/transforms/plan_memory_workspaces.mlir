// A workspace that launches share holds nothing between them: intermediates take its bytes.
// RUN: ge-opt %s --target Ascend910A -p plan-memory,verify-memory | filecheck %s

!t = memref<64x64xf32>
func.func private @with(%x: !t, %out: !t, %ws: !t) {
  func.return
}
func.func private @without(%x: !t, %out: !t) {
  func.return
}
// CHECK-LABEL: func.func @main
func.func @main(%x: !t, %out0: !t) attributes {results = 1 : i64} {
  %ws = buf.alloc "ws" : !t
  // CHECK: %ws = buf.at "ws" [[[WS:[0-9]+]]]
  %a = buf.alloc "a" : !t
  // CHECK: %a = buf.at "a" [[[A:[0-9]+]]]
  fused.launch @with(%x) into (%a, %ws) on aicore {ops = ["A"], op_name = "a"} : (!t) into (!t, !t)
  %b = buf.alloc "b" : !t
  // CHECK: %b = buf.at "b" [[[WS]]]
  fused.launch @without(%a) into (%b) on aicore {ops = ["B"], op_name = "b"} : (!t) into (!t)
  %c = buf.alloc "c" : !t
  // CHECK: %c = buf.at "c" [[[A]]]
  fused.launch @without(%b) into (%c) on aicore {ops = ["B"], op_name = "b"} : (!t) into (!t)
  fused.launch @with(%c) into (%out0, %ws) on aicore {ops = ["A"], op_name = "a"} : (!t) into (!t, !t)
  func.return
}
