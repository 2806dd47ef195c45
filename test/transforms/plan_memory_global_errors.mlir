// Global memory holds what the caller gives and gets, weights and states too: all of it is counted.
// RUN: not ge-opt %s --target Ascend910A -p plan-memory 2>&1 | filecheck %s

// CHECK: error: @main needs 34896609280 bytes of gm, but Ascend910A has 34359738368; use a smaller batch
// CHECK-NEXT:   weights  17179869184xi8   17179869184
// CHECK-NEXT:   %cache   32768x65536xf32   8589934592
// CHECK-NEXT:   a        32768x65536xf32   8589934592  lines 20-21
// CHECK-NEXT:   %out0    1024x65536xf32     268435456
// CHECK-NEXT:   %x       1024x65536xf32     268435456
// CHECK-NEXT:   total                     34896609280
// CHECK-NEXT:   limit                     34359738368

!big = memref<32768x65536xf32>
ge.weight @w : tensor<65536x65536xf32>
func.func private @k(%x: !big, %out: !big) {
  func.return
}
func.func @main(%x: memref<1024x65536xf32>, %cache: !big {ge.updated_by = 1 : i64}, %out0: memref<1024x65536xf32>) attributes {results = 1 : i64} {
  %a = buf.alloc "a" : !big
  fused.launch @k(%cache) into (%a) on aicore {ops = ["Abs"], op_name = "a"} : (!big) into (!big)
  fused.launch @k(%a) into (%cache) on aicore {ops = ["Abs"], op_name = "b"} : (!big) into (!big)
  func.return
}
