// A row of 100,000 elements does not fit the unified buffer: the largest element, the sum and the results are phases over chunks of it.
// RUN: ge-opt %s -p to-tile | filecheck %s
// RUN: ge-opt %s -p to-npu | filecheck %s --check-prefix=NPU

// CHECK-LABEL: func.func private @SoftmaxV2
// CHECK:         %[[LOWEST:.*]] = tile.full 0xff800000 : f32
// CHECK:         %[[MAX:.*]] = scf.for %n0 = %c0 to %c100000 {{.*}} iter_args({{.*}} = %[[LOWEST]])
// CHECK:           tile.reduce <max>
// CHECK:           tile.max
// CHECK:         %[[ZERO:.*]] = tile.full 0.{{0*e\+00|0}} : f32
// CHECK:         scf.for %n0{{.*}} iter_args({{.*}} = %[[ZERO]])
// CHECK:           tile.sub %{{.*}}, %[[MAX]]
// CHECK:           tile.reduce <sum>
// CHECK:           tile.add
// CHECK:         scf.for
// CHECK:           tile.sub %{{.*}}, %[[MAX]]
// CHECK:           tile.div
// CHECK:           tile.store
// NPU:           npu.vreduce <max>
// NPU:           npu.vreduce <sum>
func.func @main(%x: tensor<30x100000xf16>) -> tensor<30x100000xf16> {
  %0 = ge.SoftmaxV2 %x {axes = array<i64: 1>} : (tensor<30x100000xf16>) -> tensor<30x100000xf16>
  func.return %0 : tensor<30x100000xf16>
}
