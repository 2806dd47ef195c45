// RUN: not ge-opt %s --target Ascend910A -p plan-memory 2>&1 | filecheck %s
// RUN: not ge-opt %s --target Ascend910A -p plan-memory{reuse=none} 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not ge-opt %s --target Ascend910A -p plan-memory{reuse=some} 2>&1 | filecheck %s --check-prefix=OPTION

// CHECK: plan_memory_errors.mlir:[[N:[0-9]+]]:1: error: @wide needs 131072 bytes of l0b, but Ascend910A has 65536; lower k0 to 128 (needs 65536 bytes of l0b)
// CHECK-NEXT:   b      256x256xf16  131072  lines 23-24
// CHECK-NEXT:   total               131072
// CHECK-NEXT:   limit                65536
// CHECK-NEXT: func.func private @wide
// CHECK: plan_memory_errors.mlir:{{.*}} note: launched here as fc1 and 1 more{{$}}

// NONE: error: @wide needs 131072 bytes of l0b, but Ascend910A has 65536; allow reuse, or lower k0 to 128

// OPTION: option 'reuse' of pass 'plan-memory' takes one of greedy, none

!l1 = memref<256x256xf16, #npu.mem<l1>>
!l0b = memref<256x256xf16, #npu.mem<l0b>>

func.func private @wide(%x: memref<256x256xf16>) attributes {schedule = #tile.schedule<m = 16, n = 256, k = 256, k0 = 256>} {
  %s = buf.alloc "s" : !l1
  tile.load %x[0, 0] valid [256, 256] into %s : memref<256x256xf16> into !l1
  %b = buf.alloc "b" : !l0b
  tile.move %s[0, 0] valid [256, 256] into %b : !l1 into !l0b
  tile.move %s[0, 0] valid [256, 256] into %b : !l1 into !l0b
  func.return
}

func.func @main(%x: memref<256x256xf16>) {
  fused.launch @wide(%x) into () on aicore {ops = ["Abs"], op_name = "fc1"} : (memref<256x256xf16>) into ()
  fused.launch @wide(%x) into () on aicore {ops = ["Abs"], op_name = "fc2"} : (memref<256x256xf16>) into ()
  func.return
}
