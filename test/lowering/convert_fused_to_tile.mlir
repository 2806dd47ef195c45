// Tests the grid, the loops and the tiles of kernels: transposes, batches, ragged edges, broadcasts, constants and several results.
// RUN: ge-opt %s --target Ascend910A -p convert-fused-to-tile --split-input-file | filecheck %s

// A matmul whose sizes the tiles divide: constants only. k0 divides k, so that an inner step is always whole.
// CHECK-LABEL: func.func private @even(%a: tensor<32x64xf16>, %w: tensor<64x32xf16>, %out: tensor<32x32xf32>)
// CHECK:       tile.forall (%i, %j) in (2, 1) {
// CHECK-NEXT:    %m0 = arith.muli %i, %c16
// CHECK-NEXT:    %undef = tile.undef : tensor<16x32xf32, #npu.mem<l0c>>
// CHECK-NEXT:    %acc = scf.for %k = %c0 to %c64 step %c32 iter_args(%c = %undef)
// CHECK-NEXT:      %[[A:.*]] = tile.load %a[%m0, %k] valid [16, 32] : tensor<32x64xf16> to tensor<16x32xf16, #npu.mem<l1>>
// CHECK-NEXT:      %[[B:.*]] = tile.load %w[%k, 0] valid [32, 32] : tensor<64x32xf16> to tensor<32x32xf16, #npu.mem<l1>>
// CHECK-NEXT:      scf.for %q = %c0 to %c32 step %c16 iter_args
// CHECK-NEXT:        tile.move %[[A]][0, %q] valid [16, 16] : tensor<16x32xf16, #npu.mem<l1>> to tensor<16x16xf16, #npu.mem<l0a>>
// CHECK-NEXT:        tile.move %[[B]][%q, 0] valid [16, 32] : tensor<32x32xf16, #npu.mem<l1>> to tensor<16x32xf16, #npu.mem<l0b>>
// CHECK-NEXT:        %[[P:.*]] = arith.addi %k, %q
// CHECK-NEXT:        %first = arith.cmpi eq, %[[P]], %c0
// CHECK-NEXT:        tile.mmad %a0, %b0, %{{.*}} init %first
// CHECK:         %[[U:.*]] = tile.move %acc[0, 0] valid [16, 32] : tensor<16x32xf32, #npu.mem<l0c>> to tensor<16x32xf32, #npu.mem<ub>>
// CHECK-NEXT:    tile.store %[[U]] into %out[%m0, 0]
func.func private @even(%a: tensor<32x64xf16>, %w: tensor<64x32xf16>) -> tensor<32x32xf32> attributes {schedule = #tile.schedule<m = 16, n = 32, k = 32, k0 = 16>} {
  %0 = fused.matmul %a, %w : (tensor<32x64xf16>, tensor<64x32xf16>) -> tensor<32x32xf32>
  func.return %0 : tensor<32x32xf32>
}

// -----

// Operands are loaded as they lie in memory, and transposed on the way to L0. Ragged edges are extents.
// CHECK-LABEL: func.func private @transposed
// CHECK:         %m = arith.minsi %c16, %{{.*}}
// CHECK:         %n = arith.minsi %c32, %{{.*}}
// CHECK:           %kk = arith.minsi %c16, %{{.*}}
// CHECK-NEXT:      %[[A:.*]] = tile.load %a[%k, %m0] valid [%kk, %m] : tensor<20x24xf16> to tensor<16x16xf16, #npu.mem<l1>>
// CHECK-NEXT:      %[[B:.*]] = tile.load %w[%n0, %k] valid [%n, %kk] : tensor<40x20xf16> to tensor<32x16xf16, #npu.mem<l1>>
// CHECK:             %kq = arith.minsi %c16, %{{.*}}
// CHECK-NEXT:        tile.move %[[A]][%q, 0] valid [%m, %kq] {transpose} : {{.*}} to tensor<16x16xf16, #npu.mem<l0a>>
// CHECK-NEXT:        tile.move %[[B]][0, %q] valid [%kq, %n] {transpose} : {{.*}} to tensor<16x32xf16, #npu.mem<l0b>>
// CHECK:         tile.move %acc[0, 0] valid [%m, %n]
func.func private @transposed(%a: tensor<20x24xf16>, %w: tensor<40x20xf16>) -> tensor<24x40xf32> attributes {schedule = #tile.schedule<m = 16, n = 32, k = 16, k0 = 16>} {
  %0 = fused.matmul %a, %w {transpose_a, transpose_b} : (tensor<20x24xf16>, tensor<40x20xf16>) -> tensor<24x40xf32>
  func.return %0 : tensor<24x40xf32>
}

// -----

// One transposed operand each.
// CHECK-LABEL: func.func private @transposed_a
// CHECK:         tile.move %{{.*}}[%q, 0] valid [16, 16] {transpose} : {{.*}} to tensor<16x16xf16, #npu.mem<l0a>>
// CHECK-NEXT:    tile.move %{{.*}}[%q, 0] valid [16, 16] : {{.*}} to tensor<16x16xf16, #npu.mem<l0b>>
func.func private @transposed_a(%a: tensor<16x16xf16>, %w: tensor<16x16xf16>) -> tensor<16x16xf32> attributes {schedule = #tile.schedule<m = 16, n = 16, k = 16, k0 = 16>} {
  %0 = fused.matmul %a, %w {transpose_a} : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf32>
  func.return %0 : tensor<16x16xf32>
}

// CHECK-LABEL: func.func private @transposed_b
// CHECK:         tile.move %{{.*}}[0, %q] valid [16, 16] : {{.*}} to tensor<16x16xf16, #npu.mem<l0a>>
// CHECK-NEXT:    tile.move %{{.*}}[0, %q] valid [16, 16] {transpose} : {{.*}} to tensor<16x16xf16, #npu.mem<l0b>>
func.func private @transposed_b(%a: tensor<16x16xf16>, %w: tensor<16x16xf16>) -> tensor<16x16xf32> attributes {schedule = #tile.schedule<m = 16, n = 16, k = 16, k0 = 16>} {
  %0 = fused.matmul %a, %w {transpose_b} : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf32>
  func.return %0 : tensor<16x16xf32>
}

// -----

// Batches that share the right operand are rows of one matrix.
// CHECK-LABEL: func.func private @merged
// CHECK:       %[[A:.*]] = tile.view %a : tensor<3x5x32xf16> to tensor<15x32xf16>
// CHECK:       %[[O:.*]] = tile.view %out : tensor<3x5x16xf32> to tensor<15x16xf32>
// CHECK:       tile.forall (%i, %j) in (1, 1) {
// CHECK:         tile.load %[[A]][0, %k] valid [15, 32]
// CHECK:         tile.store %{{.*}} into %[[O]][0, 0]
func.func private @merged(%a: tensor<3x5x32xf16>, %w: tensor<32x16xf16>) -> tensor<3x5x16xf32> attributes {schedule = #tile.schedule<m = 16, n = 16, k = 32, k0 = 32>} {
  %0 = fused.matmul %a, %w : (tensor<3x5x32xf16>, tensor<32x16xf16>) -> tensor<3x5x16xf32>
  func.return %0 : tensor<3x5x16xf32>
}

// -----

// With a transposed left operand they are not: its rows do not lie one after the other.
// CHECK-LABEL: func.func private @not_merged
// CHECK:       tile.forall (%b0, %i, %j) in (3, 1, 1) {
// CHECK:         tile.load %a[%b0, %k, 0] valid [32, 5]
// CHECK:         tile.load %{{.*}}[0, %k, 0] valid [32, 16] : tensor<1x32x16xf16>
func.func private @not_merged(%a: tensor<3x32x5xf16>, %w: tensor<32x16xf16>) -> tensor<3x5x16xf32> attributes {schedule = #tile.schedule<m = 16, n = 16, k = 32, k0 = 32>} {
  %0 = fused.matmul %a, %w {transpose_a} : (tensor<3x32x5xf16>, tensor<32x16xf16>) -> tensor<3x5x16xf32>
  func.return %0 : tensor<3x5x16xf32>
}

// -----

// Batches of both operands are points of the grid; those that both follow alike are one dimension of it.
// CHECK-LABEL: func.func private @batches
// CHECK:       %[[A:.*]] = tile.view %a : tensor<2x3x5x32xf16> to tensor<6x5x32xf16>
// CHECK:       tile.forall (%b0, %i, %j) in (6, 1, 1) {
// CHECK:         tile.load %[[A]][%b0, 0, %k]
// CHECK:         tile.load %{{.*}}[%b0, %k, 0]
// CHECK:         tile.store %{{.*}} into %{{.*}}[%b0, 0, 0]
func.func private @batches(%a: tensor<2x3x5x32xf16>, %w: tensor<2x3x32x16xf16>) -> tensor<2x3x5x16xf32> attributes {schedule = #tile.schedule<m = 16, n = 16, k = 32, k0 = 32>} {
  %0 = fused.matmul %a, %w : (tensor<2x3x5x32xf16>, tensor<2x3x32x16xf16>) -> tensor<2x3x5x16xf32>
  func.return %0 : tensor<2x3x5x16xf32>
}

// -----

// Batches that only one operand has.
// CHECK-LABEL: func.func private @broadcast_batches
// CHECK:       %[[W:.*]] = tile.view %w : tensor<4x32x16xf16> to tensor<1x4x32x16xf16>
// CHECK:       tile.forall (%b0, %b1, %i, %j) in (2, 4, 1, 1) {
// CHECK:         tile.load %a[%b0, 0, 0, %k] valid [5, 32]
// CHECK:         tile.load %[[W]][0, %b1, %k, 0] valid [32, 16]
func.func private @broadcast_batches(%a: tensor<2x1x5x32xf16>, %w: tensor<4x32x16xf16>) -> tensor<2x4x5x16xf32> attributes {schedule = #tile.schedule<m = 16, n = 16, k = 32, k0 = 32>} {
  %0 = fused.matmul %a, %w : (tensor<2x1x5x32xf16>, tensor<4x32x16xf16>) -> tensor<2x4x5x16xf32>
  func.return %0 : tensor<2x4x5x16xf32>
}

// -----

// Tiles are no larger than the domain.
// CHECK-LABEL: func.func private @ones
// CHECK:       tile.forall (%i, %j) in (1, 1) {
// CHECK:         scf.for %k = %c0 to %c1 step %c1
// CHECK:         tile.mmad {{.*}} : tensor<1x1xf16, #npu.mem<l0a>>, tensor<1x1xf16, #npu.mem<l0b>>, tensor<1x1xf32, #npu.mem<l0c>>
func.func private @ones(%a: tensor<1x1xf16>, %w: tensor<1x1xf16>) -> tensor<1x1xf32> attributes {schedule = #tile.schedule<m = 16, n = 16, k = 16, k0 = 16>} {
  %0 = fused.matmul %a, %w : (tensor<1x1xf16>, tensor<1x1xf16>) -> tensor<1x1xf32>
  func.return %0 : tensor<1x1xf32>
}

// -----

// A grid without points does nothing; its tiles still have a shape.
// CHECK-LABEL: func.func private @no_rows
// CHECK:       tile.forall (%i, %j) in (0, 1) {
// CHECK:         tile.undef : tensor<1x16xf32, #npu.mem<l0c>>
// CHECK-LABEL: func.func private @no_elements
// CHECK:       tile.forall (%i, %j) in (1, 0) {
func.func private @no_rows(%a: tensor<0x32xf16>, %w: tensor<32x16xf16>) -> tensor<0x16xf32> attributes {schedule = #tile.schedule<m = 16, n = 16, k = 32, k0 = 32>} {
  %0 = fused.matmul %a, %w : (tensor<0x32xf16>, tensor<32x16xf16>) -> tensor<0x16xf32>
  func.return %0 : tensor<0x16xf32>
}
func.func private @no_elements(%x: tensor<3x0xf32>) -> tensor<3x0xf32> attributes {schedule = #tile.schedule<m = 1, n = 16>} {
  %0 = fused.relu %x : tensor<3x0xf32>
  func.return %0 : tensor<3x0xf32>
}

// -----

// The epilogue of a matmul: the bias is a row of tiles, a residual a tile of its own; all of it stays in the unified buffer.
// CHECK-LABEL: func.func private @epilogue
// CHECK:       %[[BIAS:.*]] = tile.view %b : tensor<16xf16> to tensor<1x16xf16>
// CHECK:         %[[ACC:.*]] = tile.move %acc[0, 0]
// CHECK-NEXT:    %[[ROW:.*]] = tile.load %[[BIAS]][0, 0] valid [1, 16] : tensor<1x16xf16> to tensor<1x16xf16, #npu.mem<ub>>
// CHECK-NEXT:    %[[WIDE:.*]] = tile.cast %[[ROW]] : {{.*}} to tensor<1x16xf32, #npu.mem<ub>>
// CHECK-NEXT:    %[[SUM:.*]] = tile.add %[[ACC]], %[[WIDE]]
// CHECK-NEXT:    %[[R:.*]] = tile.load %r[0, 0] valid [16, 16] : tensor<16x16xf32> to tensor<16x16xf32, #npu.mem<ub>>
// CHECK-NEXT:    %[[ALL:.*]] = tile.add %[[SUM]], %[[R]]
// CHECK-NEXT:    %[[Y:.*]] = tile.cast %[[ALL]] : {{.*}} to tensor<16x16xf16, #npu.mem<ub>>
// CHECK-NEXT:    tile.store %[[Y]] into %out[0, 0]
func.func private @epilogue(%a: tensor<16x16xf16>, %w: tensor<16x16xf16>, %b: tensor<16xf16>, %r: tensor<16x16xf32>) -> tensor<16x16xf16> attributes {schedule = #tile.schedule<m = 16, n = 16, k = 16, k0 = 16>} {
  %0 = fused.matmul %a, %w : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf32>
  %1 = fused.cast %b : tensor<16xf16> to tensor<16xf32>
  %2 = fused.broadcast %1 along [1] : tensor<16xf32> to tensor<16x16xf32>
  %3 = fused.add %0, %2 : tensor<16x16xf32>
  %4 = fused.add %3, %r : tensor<16x16xf32>
  %5 = fused.cast %4 : tensor<16x16xf32> to tensor<16x16xf16>
  func.return %5 : tensor<16x16xf16>
}

// -----

// Rows, columns and single elements are loaded once a tile, at their own size.
// CHECK-LABEL: func.func private @broadcasts
// CHECK:       %[[ROW:.*]] = tile.view %row : tensor<100xf32> to tensor<1x100xf32>
// CHECK:       %[[S:.*]] = tile.view %s : tensor<f32> to tensor<1x1xf32>
// CHECK:       tile.forall (%i, %j) in (2, 2) {
// CHECK-DAG:     tile.load %[[ROW]][0, %n0] valid [1, %n] : tensor<1x100xf32> to tensor<1x64xf32, #npu.mem<ub>>
// CHECK-DAG:     tile.load %col[%m0, 0] valid [%m, 1] : tensor<24x1xf32> to tensor<16x1xf32, #npu.mem<ub>>
// CHECK-DAG:     tile.load %[[S]][0, 0] valid [1, 1] : tensor<1x1xf32> to tensor<1x1xf32, #npu.mem<ub>>
// CHECK-DAG:     tile.load %x[%m0, %n0] valid [%m, %n] : tensor<24x100xf32> to tensor<16x64xf32, #npu.mem<ub>>
// CHECK:         tile.add {{.*}} : tensor<16x64xf32, #npu.mem<ub>>, tensor<1x64xf32, #npu.mem<ub>>
// CHECK-NEXT:    tile.mul {{.*}} : tensor<16x64xf32, #npu.mem<ub>>, tensor<16x1xf32, #npu.mem<ub>>
// CHECK-NEXT:    tile.max {{.*}} : tensor<16x64xf32, #npu.mem<ub>>, tensor<1x1xf32, #npu.mem<ub>>
func.func private @broadcasts(%x: tensor<24x100xf32>, %row: tensor<100xf32>, %col: tensor<24x1xf32>, %s: tensor<f32>) -> tensor<24x100xf32> attributes {schedule = #tile.schedule<m = 16, n = 64>} {
  %r = fused.broadcast %row along [1] : tensor<100xf32> to tensor<24x100xf32>
  %c = fused.broadcast %col along [0, 1] : tensor<24x1xf32> to tensor<24x100xf32>
  %b = fused.broadcast %s along [] : tensor<f32> to tensor<24x100xf32>
  %0 = fused.add %x, %r : tensor<24x100xf32>
  %1 = fused.mul %0, %c : tensor<24x100xf32>
  %2 = fused.max %1, %b : tensor<24x100xf32>
  func.return %2 : tensor<24x100xf32>
}

// -----

// Dimensions that every operand follows alike are one; a broadcast between them keeps them apart.
// CHECK-LABEL: func.func private @points
// CHECK:       tile.view %y : tensor<2x1x4x16xf32> to tensor<2x1x64xf32>
// CHECK:       tile.forall (%b0, %i, %j) in (2, 1, 1) {
// CHECK:         tile.load %{{.*}}[%b0, 0, 0] valid [1, 64]
// CHECK:         tile.load %{{.*}}[%b0, 0, 0] valid [3, 64]
func.func private @points(%x: tensor<2x3x4x16xf32>, %y: tensor<2x1x4x16xf32>) -> tensor<2x3x4x16xf32> attributes {schedule = #tile.schedule<m = 4, n = 64>} {
  %b = fused.broadcast %y along [0, 1, 2, 3] : tensor<2x1x4x16xf32> to tensor<2x3x4x16xf32>
  %0 = fused.add %x, %b : tensor<2x3x4x16xf32>
  func.return %0 : tensor<2x3x4x16xf32>
}

// -----

// An argument that is used as it is and repeated is loaded under both accesses.
// CHECK-LABEL: func.func private @outer
// CHECK:         tile.load %{{.*}} valid [4, 1] : tensor<4x1xf32> to tensor<4x1xf32, #npu.mem<ub>>
// CHECK:         tile.load %{{.*}} valid [1, 4] : tensor<1x4xf32> to tensor<1x4xf32, #npu.mem<ub>>
// CHECK:         tile.mul {{.*}} : tensor<4x1xf32, #npu.mem<ub>>, tensor<1x4xf32, #npu.mem<ub>> -> tensor<4x4xf32, #npu.mem<ub>>
func.func private @outer(%x: tensor<4xf32>) -> tensor<4x4xf32> attributes {schedule = #tile.schedule<m = 16, n = 16>} {
  %c = fused.broadcast %x along [0] : tensor<4xf32> to tensor<4x4xf32>
  %r = fused.broadcast %x along [1] : tensor<4xf32> to tensor<4x4xf32>
  %0 = fused.mul %c, %r : tensor<4x4xf32>
  func.return %0 : tensor<4x4xf32>
}

// -----

// A binary function of a constant has a form with a scalar, seen through casts and broadcasts; the others take a tile of one element.
// CHECK-LABEL: func.func private @scalars
// CHECK:         tile.adds {{.*}} {scalar = 2.000000e+00 : f32}
// CHECK-NEXT:    tile.sub %{{.*}} : tensor<1x1xf32, #npu.mem<ub>>, tensor<1x7xf32, #npu.mem<ub>>
// CHECK-NEXT:    tile.adds {{.*}} {scalar = -2.000000e+00 : f32}
// CHECK-NEXT:    tile.mins {{.*}} {scalar = 2.000000e+00 : f32}
// CHECK-NEXT:    tile.div {{.*}} : tensor<1x7xf32, #npu.mem<ub>>, tensor<1x1xf32, #npu.mem<ub>>
func.func private @scalars(%x: tensor<7xf32>) -> tensor<7xf32> attributes {schedule = #tile.schedule<m = 1, n = 16>} {
  %c = fused.full 2.0 : f16 to tensor<f16>
  %w = fused.cast %c : tensor<f16> to tensor<f32>
  %b = fused.broadcast %w along [] : tensor<f32> to tensor<7xf32>
  %0 = fused.add %x, %b : tensor<7xf32>
  %1 = fused.sub %b, %0 : tensor<7xf32>
  %2 = fused.sub %1, %b : tensor<7xf32>
  %3 = fused.min %b, %2 : tensor<7xf32>
  %4 = fused.div %3, %b : tensor<7xf32>
  func.return %4 : tensor<7xf32>
}

// -----

// The smallest integer has no negative: it is subtracted as a tile.
// CHECK-LABEL: func.func private @smallest
// CHECK:         tile.adds {{.*}} {scalar = -7 : i32}
// CHECK:         tile.sub {{.*}} : tensor<1x7xi32, #npu.mem<ub>>, tensor<1x1xi32, #npu.mem<ub>>
func.func private @smallest(%x: tensor<7xi32>) -> tensor<7xi32> attributes {schedule = #tile.schedule<m = 1, n = 16>} {
  %a = fused.full 7 : i32 to tensor<7xi32>
  %b = fused.full -2147483648 : i32 to tensor<7xi32>
  %0 = fused.sub %x, %a : tensor<7xi32>
  %1 = fused.sub %0, %b : tensor<7xi32>
  func.return %1 : tensor<7xi32>
}

// -----

// Each result has an argument to write to; one that is smaller than the tile is repeated before it is stored.
// CHECK-LABEL: func.func private @results(%x: tensor<4x16xf32>, %row: tensor<16xf32>, %out0: tensor<4x16xf32>, %out1: tensor<4x16xf16>, %out2: tensor<4x16xf32>)
// CHECK:         tile.store %{{.*}} into %out0[0, 0] : tensor<4x16xf32, #npu.mem<ub>>
// CHECK-NEXT:    tile.store %{{.*}} into %out1[0, 0] : tensor<4x16xf16, #npu.mem<ub>>
// CHECK-NEXT:    %[[R:.*]] = tile.broadcast %{{.*}} valid [4, 16] : tensor<1x16xf32, #npu.mem<ub>> to tensor<4x16xf32, #npu.mem<ub>>
// CHECK-NEXT:    tile.store %[[R]] into %out2[0, 0]
func.func private @results(%x: tensor<4x16xf32>, %row: tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf16>, tensor<4x16xf32>) attributes {schedule = #tile.schedule<m = 4, n = 16>} {
  %0 = fused.exp %x : tensor<4x16xf32>
  %1 = fused.cast %0 : tensor<4x16xf32> to tensor<4x16xf16>
  %r = fused.broadcast %row along [1] : tensor<16xf32> to tensor<4x16xf32>
  func.return %0, %1, %r : tensor<4x16xf32>, tensor<4x16xf16>, tensor<4x16xf32>
}

// -----

// Scalars, constants and copies are kernels like any other.
// CHECK-LABEL: func.func private @rank0
// CHECK:         tile.load %{{.*}}[0, 0] valid [1, 1] : tensor<1x1xf32>
// CHECK-LABEL: func.func private @constant(%out: tensor<4x16xf32>)
// CHECK:         %[[F:.*]] = tile.full 0.000000e+00 : f32 valid [1, 1]
// CHECK-NEXT:    %[[R:.*]] = tile.broadcast %[[F]] valid [1, 16]
// CHECK-NEXT:    tile.store %[[R]]
// CHECK-LABEL: func.func private @copy
// CHECK:         %[[T:.*]] = tile.load
// CHECK-NEXT:    tile.store %[[T]]
func.func private @rank0(%x: tensor<f32>) -> tensor<f32> attributes {schedule = #tile.schedule<m = 1, n = 16>} {
  %0 = fused.exp %x : tensor<f32>
  func.return %0 : tensor<f32>
}
func.func private @constant() -> tensor<4x16xf32> attributes {schedule = #tile.schedule<m = 4, n = 16>} {
  %0 = fused.full 0.0 : f32 to tensor<4x16xf32>
  func.return %0 : tensor<4x16xf32>
}
func.func private @copy(%x: tensor<4x16xi64>) -> tensor<4x16xi64> attributes {schedule = #tile.schedule<m = 4, n = 16>} {
  func.return %x : tensor<4x16xi64>
}
