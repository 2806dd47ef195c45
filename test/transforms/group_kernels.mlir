// Tests which kernels become one, what stays a result, and what is said where two stay apart.
// RUN: ge-opt %s -p convert-ge-to-fused,group-kernels --split-input-file --verify-diagnostics | filecheck %s
// RUN: ge-opt %s -p convert-ge-to-fused,group-kernels --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARKS

// A chain behind a matmul is one kernel, with the matmul's place in the model and all their locations.
// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<4x8xf16>, %w: tensor<8x6xf16>, %r: tensor<4x6xf16>) -> tensor<4x6xf16> {
  // CHECK-NEXT: %out = fused.kernel(%x, %w, %r) {ops = ["MatMulV2", "GeluV2", "Add"], op_name = "fc"}
  // CHECK-NEXT: ^{{.*}}(%x_1: tensor<4x8xf16>, %w_1: tensor<8x6xf16>, %r_1: tensor<4x6xf16>):
  // CHECK-NEXT:   fused.matmul %x_1, %w_1
  // CHECK-NEXT:   fused.cast
  // CHECK-NEXT:   fused.cast
  // CHECK-NEXT:   fused.gelu
  // CHECK-NEXT:   fused.cast
  // CHECK-NEXT:   fused.cast
  // CHECK-NEXT:   fused.cast %r_1
  // CHECK-NEXT:   fused.add
  // CHECK-NEXT:   fused.cast
  // CHECK-NEXT:   fused.yield
  // CHECK-NOT:  fused.kernel
  %fc = ge.MatMulV2 %x, %w : (tensor<4x8xf16>, tensor<8x6xf16>) -> tensor<4x6xf16>
  %act = ge.GeluV2 %fc : (tensor<4x6xf16>) -> tensor<4x6xf16>
  %out = ge.Add %act, %r : (tensor<4x6xf16>, tensor<4x6xf16>) -> tensor<4x6xf16>
  func.return %out : tensor<4x6xf16>
}

// -----

// Two producers of one consumer; an input of several is one input of the kernel, and what both compute is computed once.
// CHECK-LABEL: func.func @diamond
func.func @diamond(%x: tensor<4xf16>) -> tensor<4xf16> {
  // CHECK-NEXT: fused.kernel(%x) {ops = ["Abs", "Exp", "Mul"], op_name = "a"} : (tensor<4xf16>) -> tensor<4xf16>
  // CHECK:      fused.cast %x_1
  // CHECK-NOT:  fused.cast %x_1
  // CHECK-NOT:  fused.kernel
  // CHECK:      func.return
  %a = ge.Abs %x : (tensor<4xf16>) -> tensor<4xf16>
  %b = ge.Exp %x : (tensor<4xf16>) -> tensor<4xf16>
  %c = ge.Mul %a, %b : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  func.return %c : tensor<4xf16>
}

// -----

// A value that is a result as well stays one of the merged kernel.
// CHECK-LABEL: func.func @kept
func.func @kept(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %b, %a = fused.kernel(%x) {ops = ["Abs", "Exp"], op_name = "a"} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK:      fused.yield %1, %0
  // CHECK:      func.return %a, %b
  %a = ge.Abs %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = ge.Exp %a : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// What is cheap to compute again is, where two kernels that stay apart use it.
// CHECK-LABEL: func.func @again
func.func @again(%x: tensor<4xf16>, %y: tensor<8x4xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  // CHECK-NEXT: fused.kernel(%x) {ops = ["Cast", "Exp"]
  // CHECK:      fused.kernel(%y, %x) {ops = ["Cast", "Mul", "ReduceSumD"]
  // CHECK-NOT:  fused.kernel
  // CHECK:      func.return
  %a = ge.Cast %x : (tensor<4xf16>) -> tensor<4xf32>
  %b = ge.Exp %a : (tensor<4xf32>) -> tensor<4xf32>
  %c = ge.Mul %y, %a : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %d = ge.ReduceSumD %c {axes = array<i64: 1>} : (tensor<8x4xf32>) -> tensor<8xf32>
  func.return %b, %d : tensor<4xf32>, tensor<8xf32>
}

// -----

// A matmul reads its operands from memory.
// CHECK-LABEL: func.func @anchor
func.func @anchor(%x: tensor<4x4xf16>) -> tensor<4x4xf16> {
  %a = ge.Abs %x : (tensor<4x4xf16>) -> tensor<4x4xf16>
  // CHECK: fused.kernel(%a, %x) {ops = ["MatMulV2"], op_name = "fc"}
  // expected-remark@+1 {{[group-kernels] anchor: a (Abs) stays apart: 'fused.matmul' op must read its operands from global memory}}
  %fc = ge.MatMulV2 %a, %x : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  func.return %fc : tensor<4x4xf16>
}
// REMARKS: group_kernels.mlir:{{[0-9]+}}:9: remark: [group-kernels] anchor: a (Abs) stays apart: 'fused.matmul' op must read

// -----

// A tile of a matmul holds a part of each row only.
// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<64x64xf16>) -> tensor<64xf32> {
  // CHECK: %fc = fused.kernel(%x) {ops = ["MatMulV2"], op_name = "fc"}
  %fc = ge.MatMulV2 %x, %x : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  // CHECK: fused.kernel(%fc) {ops = ["Cast", "Square", "ReduceSumD"]
  // expected-remark@+1 {{[group-kernels] reduction: fc (MatMulV2) stays apart: a tile of fc (MatMulV2) holds a part of each row only}}
  %c = ge.Cast %fc : (tensor<64x64xf16>) -> tensor<64x64xf32>
  %q = ge.Square %c : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = ge.ReduceSumD %q {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  func.return %s : tensor<64xf32>
}

// -----

// A row that is repeated is computed for each tile; that costs less than to write it and to read it back.
// CHECK-LABEL: func.func @repeated
func.func @repeated(%row: tensor<4xf32>, %x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK-NEXT: fused.kernel(%x, %row) {ops = ["Exp", "Add"], op_name = "a"}
  %a = ge.Exp %row : (tensor<4xf32>) -> tensor<4xf32>
  %b = ge.Add %x, %a : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  func.return %b : tensor<8x4xf32>
}

// -----

// A long sum would be computed for each of many tiles.
// CHECK-LABEL: func.func @dear
func.func @dear(%w: tensor<64x65536xf32>, %x: tensor<16384x64xf32>) -> tensor<16384x64xf32> {
  %s = ge.ReduceSumD %w {axes = array<i64: 1>} : (tensor<64x65536xf32>) -> tensor<64xf32>
  // CHECK: fused.kernel(%x, %s) {ops = ["Mul"], op_name = "y"}
  // expected-remark@+1 {{[group-kernels] cost: s (ReduceSumD) stays apart: together they would cost}}
  %y = ge.Mul %x, %s : (tensor<16384x64xf32>, tensor<64xf32>) -> tensor<16384x64xf32>
  func.return %y : tensor<16384x64xf32>
}

// -----

// One kernel has one matmul; the other's result would have to be complete before it starts.
// CHECK-LABEL: func.func @two
func.func @two(%x: tensor<4x4xf16>) -> tensor<4x4xf16> {
  // CHECK: fused.kernel(%x) {ops = ["MatMulV2"], op_name = "a"}
  %a = ge.MatMulV2 %x, %x : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  // CHECK: fused.kernel(%a, %x) {ops = ["MatMulV2", "Add"], op_name = "b"}
  // expected-remark@+1 {{[group-kernels] anchor: a (MatMulV2) stays apart: a (MatMulV2) and b (MatMulV2, Add) both have an anchor}}
  %b = ge.MatMulV2 %a, %x : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  %c = ge.Add %b, %a : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  func.return %c : tensor<4x4xf16>
}

// -----

// The consumer also needs what another kernel makes of the value: they could only be one if all three were.
// CHECK-LABEL: func.func @cycle
func.func @cycle(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %a = fused.kernel(%x) {ops = ["Abs"], op_name = "a"}
  %a = fused.kernel(%x) {ops = ["Abs"], op_name = "a"} : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%p: tensor<4x4xf32>):
    %e = fused.abs %p : tensor<4x4xf32>
    fused.yield %e : tensor<4x4xf32>
  }
  // expected-remark@+1 {{[group-kernels] anchor: a (Abs) stays apart}}
  %b = fused.kernel(%a, %w) {ops = ["MatMul"], op_name = "b"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%p: tensor<4x4xf32>, %q: tensor<4x4xf32>):
    %e = fused.matmul %p, %q : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    fused.yield %e : tensor<4x4xf32>
  }
  // expected-remark@+2 {{[group-kernels] domain: a (Abs) stays apart: it would have results of tensor<4x4xf32> and of tensor<4xf32>}}
  // expected-remark@+1 {{[group-kernels] reduction: b (MatMul) stays apart}}
  %c = fused.kernel(%a, %b) {ops = ["Dot"], op_name = "c"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4x4xf32>, %q: tensor<4x4xf32>):
    %e = fused.mul %p, %q : tensor<4x4xf32>
    %f = fused.reduce <sum> %e along [1] : tensor<4x4xf32> to tensor<4xf32>
    fused.yield %f : tensor<4xf32>
  }
  func.return %c : tensor<4xf32>
}

// -----

// The same where the merged kernel would have a domain.
// CHECK-LABEL: func.func @cycle_of_equal_domains
func.func @cycle_of_equal_domains(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  // CHECK-NEXT: %a = fused.kernel(%x) {ops = ["Abs"], op_name = "a"}
  %a = fused.kernel(%x) {ops = ["Abs"], op_name = "a"} : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%p: tensor<4x4xf32>):
    %e = fused.abs %p : tensor<4x4xf32>
    fused.yield %e : tensor<4x4xf32>
  }
  // expected-remark@+1 {{[group-kernels] anchor: a (Abs) stays apart}}
  %b = fused.kernel(%a, %w) {ops = ["MatMul"], op_name = "b"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%p: tensor<4x4xf32>, %q: tensor<4x4xf32>):
    %e = fused.matmul %p, %q : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    fused.yield %e : tensor<4x4xf32>
  }
  // CHECK: fused.kernel(%a, %b) {ops = ["Dot"], op_name = "c"}
  // expected-remark@+2 {{[group-kernels] cycle: a (Abs) stays apart: c (Dot) also needs what others make of its result}}
  // expected-remark@+1 {{[group-kernels] reduction: b (MatMul) stays apart}}
  %c = fused.kernel(%a, %b) {ops = ["Dot"], op_name = "c"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%p: tensor<4x4xf32>, %q: tensor<4x4xf32>):
    %e = fused.mul %p, %q : tensor<4x4xf32>
    %f = fused.reduce <sum> %e along [1] : tensor<4x4xf32> to tensor<4xf32>
    %g = fused.broadcast %f along [0] : tensor<4xf32> to tensor<4x4xf32>
    fused.yield %g : tensor<4x4xf32>
  }
  func.return %c, %a : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Others that use the value move behind the merged kernel, which stands where the consumer stood.
// CHECK-LABEL: func.func @moved
func.func @moved(%x: tensor<64x4xf32>) -> (tensor<1xf32>, tensor<64x4xf32>) {
  // CHECK-NEXT: %c, %a = fused.kernel(%x) {ops = ["Softmax", "Relu"], op_name = "a"}
  // CHECK:      %b = fused.kernel(%a) {ops = ["Sum"], op_name = "b"}
  %a = fused.kernel(%x) {ops = ["Softmax"], op_name = "a"} : (tensor<64x4xf32>) -> tensor<64x4xf32> {
  ^bb0(%p: tensor<64x4xf32>):
    %f = fused.reduce <sum> %p along [1] : tensor<64x4xf32> to tensor<64xf32>
    %g = fused.broadcast %f along [0] : tensor<64xf32> to tensor<64x4xf32>
    %h = fused.div %p, %g : tensor<64x4xf32>
    fused.yield %h : tensor<64x4xf32>
  }
  // expected-remark@+1 {{[group-kernels]}}
  %b = fused.kernel(%a) {ops = ["Sum"], op_name = "b"} : (tensor<64x4xf32>) -> tensor<1xf32> {
  ^bb0(%p: tensor<64x4xf32>):
    %e = fused.reshape %p : tensor<64x4xf32> to tensor<1x256xf32>
    %f = fused.reduce <sum> %e along [1] : tensor<1x256xf32> to tensor<1xf32>
    fused.yield %f : tensor<1xf32>
  }
  %c = fused.kernel(%a) {ops = ["Relu"], op_name = "c"} : (tensor<64x4xf32>) -> tensor<64x4xf32> {
  ^bb0(%p: tensor<64x4xf32>):
    %e = fused.relu %p : tensor<64x4xf32>
    fused.yield %e : tensor<64x4xf32>
  }
  func.return %b, %c : tensor<1xf32>, tensor<64x4xf32>
}

// -----

// What is done with two halves is done with each of them; a kernel writes them into the rows of a state, or where they stand.
// CHECK-LABEL: func.func @rotary
func.func @rotary(%x: tensor<4x8xf32>, %cos: tensor<4x8xf32>, %sin: tensor<4x8xf32>, %i: tensor<4xi64>,
    %cache: tensor<16x8xf32> {ge.updated_by = 1 : i64}) -> (tensor<4x8xf32>, tensor<16x8xf32>) {
  // CHECK-NEXT: fused.kernel(%x, %cos, %sin) {ops = [{{.*}}"Neg"{{.*}}"ConcatD"
  // CHECK:        %[[C:.*]] = fused.concat
  // CHECK-NEXT:   fused.yield %[[C]]
  // CHECK:      fused.kernel(%cache, %i, %x) {ops = ["Exp", "ConcatD", "Add", "ScatterUpdate"
  // CHECK:        %[[D:.*]] = fused.concat
  // CHECK-NEXT:   fused.scatter %[[D]] at
  // CHECK-NOT:  fused.kernel(
  // CHECK:      func.return
  %a = ge.StridedSliceD %x {begin = array<i64: 0, 0>, end = array<i64: 4, 4>, strides = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %b = ge.StridedSliceD %x {begin = array<i64: 0, 4>, end = array<i64: 4, 8>, strides = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %n = ge.Neg %b : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = ge.ConcatD %n, %a {concat_dim = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  %p = ge.Mul %x, %cos : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %q = ge.Mul %r, %sin : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = ge.Add %p, %q : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = ge.Exp %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %f = ge.ConcatD %e, %a {concat_dim = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  %g = ge.Add %f, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = ge.ScatterUpdate %cache, %i, %g {axis = 0 : i64} : (tensor<16x8xf32>, tensor<4xi64>, tensor<4x8xf32>) -> tensor<16x8xf32>
  func.return %y, %s : tensor<4x8xf32>, tensor<16x8xf32>
}

// -----

// What a kernel reads is not overwritten by that kernel.
// CHECK-LABEL: func.func @aliasing
func.func @aliasing(%x: tensor<2x4xf32>, %s: tensor<4x4xf32> {ge.updated_by = 0 : i64}) -> tensor<4x4xf32> {
  // CHECK-NEXT: %a = fused.kernel(%s)
  %a = fused.kernel(%s) {ops = ["Relu"], op_name = "a"} : (tensor<4x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%p: tensor<4x4xf32>):
    %e = fused.slice %p offsets [2, 0] strides [1, 1] : tensor<4x4xf32> to tensor<2x4xf32>
    %f = fused.relu %e : tensor<2x4xf32>
    fused.yield %f : tensor<2x4xf32>
  }
  // CHECK:      fused.kernel(%a, %s)
  // expected-remark@+1 {{[group-kernels] aliasing: a (Relu) stays apart: the kernel would also read %s, which it updates in place}}
  %b = fused.kernel(%a, %s) {ops = ["Update"], op_name = "b"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%p: tensor<2x4xf32>, %q: tensor<4x4xf32>):
    %e = fused.insert %p into %q offsets [0, 0] strides [1, 1] : tensor<2x4xf32> into tensor<4x4xf32> to tensor<4x4xf32>
    fused.yield %e : tensor<4x4xf32>
  }
  func.return %b : tensor<4x4xf32>
}
