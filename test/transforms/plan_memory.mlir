// RUN: ge-opt %s -p plan-memory | filecheck %s
// RUN: ge-opt %s -p plan-memory{reuse=greedy} | filecheck %s
// RUN: ge-opt %s -p plan-memory{reuse=none} | filecheck %s --check-prefix=NONE
// RUN: ge-opt %s -p plan-memory --mlir-print-debuginfo | filecheck %s --check-prefix=LOC
// RUN: ge-opt %s -p plan-memory,verify-memory | filecheck %s
// RUN: ge-opt %s -p plan-memory{reuse=none},verify-memory | filecheck %s --check-prefix=NONE

!t = memref<4x8xf32, #npu.mem<ub>>
!big = memref<8x8xf32, #npu.mem<ub>>

// A chain: the third buffer takes the bytes of the first.
// CHECK-LABEL: func.func private @chain
// NONE-LABEL: func.func private @chain
func.func private @chain(%x: memref<4x8xf32>, %out: memref<4x8xf32>) {
  // CHECK: %a = buf.at "a" [0] : memref<4x8xf32, #npu.mem<ub>>
  // CHECK: %b = buf.at "b" [128]
  // CHECK: %c = buf.at "c" [0]
  // NONE: buf.at "a" [0]
  // NONE: buf.at "b" [128]
  // NONE: buf.at "c" [256]
  // LOC: buf.at "a" {{.*}} loc("chain.py":3:1)
  %a = buf.alloc "a" : !t loc("chain.py":3:1)
  tile.load %x[0, 0] valid [4, 8] into %a : memref<4x8xf32> into !t
  %b = buf.alloc "b" : !t
  tile.broadcast %a valid [4, 8] into %b : !t into !t
  %c = buf.alloc "c" : !t
  tile.broadcast %b valid [4, 8] into %c : !t into !t
  tile.store %c into %out[0, 0] : !t into memref<4x8xf32>
  func.return
}

// A buffer from outside a loop is held through all of it, one from inside only within the body; a use through a view counts.
// CHECK-LABEL: func.func private @loop
func.func private @loop(%x: memref<4x8xf32>, %out: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // CHECK: buf.at "kept" [0]
  %kept = buf.alloc "kept" : !t
  tile.load %x[0, 0] valid [4, 8] into %kept : memref<4x8xf32> into !t
  scf.for %i = %c0 to %c4 step %c4 {
    // CHECK: buf.at "first" [128]
    %first = buf.alloc "first" : !t
    %view = memref.subview %first[0, 0] [2, 8] [1, 1] : !t to memref<2x8xf32, strided<[8, 1]>, #npu.mem<ub>>
    %top = memref.subview %kept[0, 0] [2, 8] [1, 1] : !t to memref<2x8xf32, strided<[8, 1]>, #npu.mem<ub>>
    tile.exp %top into %view : memref<2x8xf32, strided<[8, 1]>, #npu.mem<ub>> into memref<2x8xf32, strided<[8, 1]>, #npu.mem<ub>>
    // CHECK: buf.at "second" [256]
    %second = buf.alloc "second" : !t
    tile.broadcast %first valid [4, 8] into %second : !t into !t
    // "kept" is not used below, but the next iteration needs it.
    // CHECK: buf.at "third" [128]
    %third = buf.alloc "third" : !t
    tile.broadcast %second valid [4, 8] into %third : !t into !t
    tile.store %third into %out[0, 0] : !t into memref<4x8xf32>
  }
  // CHECK: buf.at "after" [0]
  %after = buf.alloc "after" : !big
  tile.full 0.0 : f32 valid [8, 8] into %after into !big
  func.return
}

// Each memory is planned for itself, at its own alignment; in global memory there is one arena.
// CHECK-LABEL: func.func private @spaces
func.func private @spaces(%x: memref<4x8xf16>) {
  // CHECK: buf.at "l1" [0]
  %l1 = buf.alloc "l1" : memref<4x8xf16, #npu.mem<l1>>
  // CHECK: buf.at "l0a" [0]
  %l0a = buf.alloc "l0a" : memref<4x8xf16, #npu.mem<l0a>>
  // CHECK: buf.at "more" [512]
  %more = buf.alloc "more" : memref<4x8xf16, #npu.mem<l0a>>
  tile.load %x[0, 0] valid [4, 8] into %l1 : memref<4x8xf16> into memref<4x8xf16, #npu.mem<l1>>
  tile.move %l1[0, 0] valid [4, 8] into %l0a : memref<4x8xf16, #npu.mem<l1>> into memref<4x8xf16, #npu.mem<l0a>>
  tile.move %l1[0, 0] valid [4, 8] into %more : memref<4x8xf16, #npu.mem<l1>> into memref<4x8xf16, #npu.mem<l0a>>
  tile.move %l1[0, 0] valid [4, 8] into %l0a : memref<4x8xf16, #npu.mem<l1>> into memref<4x8xf16, #npu.mem<l0a>>
  func.return
}

// CHECK-LABEL: func.func @main
func.func @main(%x: memref<4x8xf32>, %out0: memref<4x8xf32>) attributes {results = 1 : i64} {
  // CHECK: buf.at "one" [0] : memref<4x8xf32>
  %one = buf.alloc "one" : memref<4x8xf32>
  fused.launch @chain(%x) into (%one) on aicore {ops = ["Abs"], op_name = "one"} : (memref<4x8xf32>) into (memref<4x8xf32>)
  // CHECK: buf.at "two" [512] : memref<4x8xf32>
  %two = buf.alloc "two" : memref<4x8xf32>
  fused.launch @chain(%one) into (%two) on aicore {ops = ["Abs"], op_name = "two"} : (memref<4x8xf32>) into (memref<4x8xf32>)
  // CHECK: buf.at "three" [0] : memref<4x8xf32>
  %three = buf.alloc "three" : memref<4x8xf32>
  fused.launch @chain(%two) into (%three) on aicore {ops = ["Abs"], op_name = "three"} : (memref<4x8xf32>) into (memref<4x8xf32>)
  fused.launch @chain(%three) into (%out0) on aicore {ops = ["Abs"], op_name = "four"} : (memref<4x8xf32>) into (memref<4x8xf32>)
  func.return
}
