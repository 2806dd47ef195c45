// RUN: ge-opt %s -p expand-math | filecheck %s
// RUN: ge-opt %s -p expand-math --mlir-print-debuginfo | filecheck %s --check-prefix=LOC
// RUN: ge-opt %s -p expand-math,expand-math | filecheck %s

!t = tensor<4x8xf32, #npu.mem<ub>>

// CHECK-LABEL: func.func private @silu
func.func private @silu(%x: tensor<4x8xf32>, %out: tensor<4x8xf32>) {
  %a = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf32> to !t
  // CHECK: [[A:%.*]] = tile.load
  // CHECK-NEXT: [[N:%.*]] = tile.muls [[A]] {scalar = -1.000000e+00 : f32}
  // CHECK-NEXT: [[E:%.*]] = tile.exp [[N]]
  // CHECK-NEXT: [[D:%.*]] = tile.adds [[E]] {scalar = 1.000000e+00 : f32}
  // CHECK-NEXT: [[Y:%.*]] = tile.div [[A]], [[D]]
  // CHECK-NEXT: tile.store [[Y]]
  // LOC: tile.exp {{.*}} loc("silu.py":7:3)
  // LOC-NEXT: tile.adds {{.*}} loc("silu.py":7:3)
  // LOC-NEXT: tile.div {{.*}} loc("silu.py":7:3)
  %y = tile.silu %a : !t -> !t loc("silu.py":7:3)
  tile.store %y into %out[0, 0] : !t into tensor<4x8xf32>
  func.return
}

// Expansions that use each other leave native functions only, in i32 with scalars of i32.
// CHECK-LABEL: func.func private @deep
func.func private @deep(%x: tensor<4x8xf32>, %n: tensor<4x8xi32>, %out: tensor<4x8xf32>, %outn: tensor<4x8xi32>) {
  %a = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf32> to !t
  %i = tile.load %n[0, 0] valid [4, 8] : tensor<4x8xi32> to tensor<4x8xi32, #npu.mem<ub>>
  // CHECK-NOT: tile.{{gelu|erf|tanh|rsqrt|neg}}
  // CHECK: tile.muls {{.*}} {scalar = -1 : i32}
  %g = tile.gelu %a : !t -> !t
  %h = tile.gelu_tanh %g : !t -> !t
  %r = tile.rsqrt %h : !t -> !t
  %m = tile.neg %i : tensor<4x8xi32, #npu.mem<ub>> -> tensor<4x8xi32, #npu.mem<ub>>
  tile.store %r into %out[0, 0] : !t into tensor<4x8xf32>
  tile.store %m into %outn[0, 0] : tensor<4x8xi32, #npu.mem<ub>> into tensor<4x8xi32>
  func.return
}
