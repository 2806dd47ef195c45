// Tests that instructions which no unit can execute are refused with the operand, the rule and what would do.
// RUN: ge-opt %s --split-input-file --verify-diagnostics

module attributes {ge.target = "Ascend910A"} {
func.func private @load_from(%a: memref<4x8xf16, #npu.mem<ub>>, %b: memref<4x8xf16, #npu.mem<l1>>) {
  // expected-error@+1 {{'npu.load' op the source must be in gm, got memref<4x8xf16, #npu.mem<ub>>}}
  npu.load <nd2nz> ins(%a : memref<4x8xf16, #npu.mem<ub>>) outs(%b : memref<4x8xf16, #npu.mem<l1>>)
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @load_to(%a: memref<4x8xf16>, %b: memref<4x8xf16, #npu.mem<l0a>>) {
  // expected-error@+1 {{'npu.load' op the destination must be in l1 or ub, got memref<4x8xf16, #npu.mem<l0a>>}}
  npu.load <nd2nz> ins(%a : memref<4x8xf16>) outs(%b : memref<4x8xf16, #npu.mem<l0a>>)
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @load_rank(%a: memref<2x4x8xf16>, %b: memref<4x8xf16, #npu.mem<l1>>) {
  // expected-error@+1 {{'npu.load' op the source must have rank 2, got memref<2x4x8xf16>}}
  npu.load <nd2nz> ins(%a : memref<2x4x8xf16>) outs(%b : memref<4x8xf16, #npu.mem<l1>>)
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @load_element(%a: memref<4x8xf32>, %b: memref<4x8xf16, #npu.mem<l1>>) {
  // expected-error@+1 {{'npu.load' op moves elements unchanged, but goes from memref<4x8xf32> to memref<4x8xf16, #npu.mem<l1>>}}
  npu.load <nd2nz> ins(%a : memref<4x8xf32>) outs(%b : memref<4x8xf16, #npu.mem<l1>>)
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @load_extents(%a: memref<4x8xf16>, %b: memref<8x4xf16, #npu.mem<l1>>) {
  // expected-error@+1 {{'npu.load' op extents differ: memref<4x8xf16> and memref<8x4xf16, #npu.mem<l1>>}}
  npu.load <nd2nz> ins(%a : memref<4x8xf16>) outs(%b : memref<8x4xf16, #npu.mem<l1>>)
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @load_format(%a: memref<4x8xf16>, %b: memref<4x8xf16, #npu.mem<l1>>) {
  // expected-error@+1 {{'npu.load' op to memref<4x8xf16, #npu.mem<l1>> must be <nd2nz>, got <nd>}}
  npu.load <nd> ins(%a : memref<4x8xf16>) outs(%b : memref<4x8xf16, #npu.mem<l1>>)
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @load_word(%a: memref<4x8xf16>, %b: memref<4x8xf16, #npu.mem<l1>>) {
  // expected-error@+1 {{expected `nd`, or `nd2nz`}}
  npu.load <zz> ins(%a : memref<4x8xf16>) outs(%b : memref<4x8xf16, #npu.mem<l1>>)
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @load2d(%a: memref<4x8xf16, #npu.mem<l1>>, %b: memref<4x8xf16, #npu.mem<l0b>>) {
  // expected-error@+1 {{'npu.load2d' op extents differ: memref<4x8xf16, #npu.mem<l1>> and memref<4x8xf16, #npu.mem<l0b>> (transposed)}}
  npu.load2d ins(%a : memref<4x8xf16, #npu.mem<l1>>) outs(%b : memref<4x8xf16, #npu.mem<l0b>>) {transpose}
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @load2d_to(%a: memref<4x8xf16, #npu.mem<l1>>, %b: memref<4x8xf16, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.load2d' op the destination must be in l0a or l0b, got memref<4x8xf16, #npu.mem<ub>>}}
  npu.load2d ins(%a : memref<4x8xf16, #npu.mem<l1>>) outs(%b : memref<4x8xf16, #npu.mem<ub>>)
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @fixpipe(%a: memref<4x8xf32, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.fixpipe' op the source must be in l0c, got memref<4x8xf32, #npu.mem<ub>>}}
  npu.fixpipe ins(%a : memref<4x8xf32, #npu.mem<ub>>) outs(%a : memref<4x8xf32, #npu.mem<ub>>)
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @store(%a: memref<4x8xf32, #npu.mem<l0c>>, %b: memref<4x8xf32>) {
  // expected-error@+1 {{'npu.store' op the source must be in ub, got memref<4x8xf32, #npu.mem<l0c>>}}
  npu.store ins(%a : memref<4x8xf32, #npu.mem<l0c>>) outs(%b : memref<4x8xf32>)
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @mmad_spaces(%a: memref<4x8xf16, #npu.mem<l1>>, %b: memref<8x4xf16, #npu.mem<l0b>>, %c: memref<4x4xf32, #npu.mem<l0c>>, %i: i1) {
  // expected-error@+1 {{'npu.mmad' op a must be in l0a, got memref<4x8xf16, #npu.mem<l1>>}}
  npu.mmad ins(%a, %b : memref<4x8xf16, #npu.mem<l1>>, memref<8x4xf16, #npu.mem<l0b>>) outs(%c : memref<4x4xf32, #npu.mem<l0c>>) init %i
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @mmad_elements(%a: memref<4x8xf16, #npu.mem<l0a>>, %b: memref<8x4xbf16, #npu.mem<l0b>>, %c: memref<4x4xf32, #npu.mem<l0c>>, %i: i1) {
  // expected-error@+1 {{'npu.mmad' op a is f16 but b is bf16; both must have one element type}}
  npu.mmad ins(%a, %b : memref<4x8xf16, #npu.mem<l0a>>, memref<8x4xbf16, #npu.mem<l0b>>) outs(%c : memref<4x4xf32, #npu.mem<l0c>>) init %i
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @mmad_accumulator(%a: memref<4x8xi8, #npu.mem<l0a>>, %b: memref<8x4xi8, #npu.mem<l0b>>, %c: memref<4x4xf32, #npu.mem<l0c>>, %i: i1) {
  // expected-error@+1 {{'npu.mmad' op accumulates i8 in i32, got f32; cast it afterwards}}
  npu.mmad ins(%a, %b : memref<4x8xi8, #npu.mem<l0a>>, memref<8x4xi8, #npu.mem<l0b>>) outs(%c : memref<4x4xf32, #npu.mem<l0c>>) init %i
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @mmad_extents(%a: memref<4x8xf16, #npu.mem<l0a>>, %b: memref<16x4xf16, #npu.mem<l0b>>, %c: memref<4x4xf32, #npu.mem<l0c>>, %i: i1) {
  // expected-error@+1 {{'npu.mmad' op extents differ: a 4x8, b 16x4, accumulator 4x4}}
  npu.mmad ins(%a, %b : memref<4x8xf16, #npu.mem<l0a>>, memref<16x4xf16, #npu.mem<l0b>>) outs(%c : memref<4x4xf32, #npu.mem<l0c>>) init %i
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @vector_element(%x: memref<4x8xf16, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.vexp' op computes in f32, got f16; insert a cast}}
  npu.vexp ins(%x : memref<4x8xf16, #npu.mem<ub>>) outs(%x : memref<4x8xf16, #npu.mem<ub>>)
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @vector_mixed(%x: memref<4x8xf32, #npu.mem<ub>>, %y: memref<4x8xi32, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.vadd' op operand #1 is memref<4x8xi32, #npu.mem<ub>>, but the result is memref<4x8xf32, #npu.mem<ub>>}}
  npu.vadd ins(%x, %y : memref<4x8xf32, #npu.mem<ub>>, memref<4x8xi32, #npu.mem<ub>>) outs(%x : memref<4x8xf32, #npu.mem<ub>>)
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @vector_space(%x: memref<4x8xf32, #npu.mem<l1>>, %y: memref<4x8xf32, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.vrelu' op operand #0 must be in ub, got memref<4x8xf32, #npu.mem<l1>>}}
  npu.vrelu ins(%x : memref<4x8xf32, #npu.mem<l1>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @vector_shapes(%x: memref<4x8xf32, #npu.mem<ub>>, %y: memref<2x8xf32, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.vmul' op operands 4x8 and 2x8 do not broadcast to 4x8}}
  npu.vmul ins(%x, %y : memref<4x8xf32, #npu.mem<ub>>, memref<2x8xf32, #npu.mem<ub>>) outs(%x : memref<4x8xf32, #npu.mem<ub>>)
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @scalar(%x: memref<4x8xf32, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.vadds' op scalar is i32, but the operands are f32}}
  npu.vadds ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%x : memref<4x8xf32, #npu.mem<ub>>) {scalar = 1 : i32}
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @vconv(%x: memref<4x8xf32, #npu.mem<ub>>, %y: memref<8x4xf16, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.vconv' op extents differ: memref<4x8xf32, #npu.mem<ub>> and memref<8x4xf16, #npu.mem<ub>>}}
  npu.vconv ins(%x : memref<4x8xf32, #npu.mem<ub>>) outs(%y : memref<8x4xf16, #npu.mem<ub>>)
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @vbrc(%x: memref<2x8xf32, #npu.mem<ub>>, %y: memref<4x8xf32, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.vbrc' op memref<2x8xf32, #npu.mem<ub>> cannot be repeated to memref<4x8xf32, #npu.mem<ub>>: each extent must be 1 or equal}}
  npu.vbrc ins(%x : memref<2x8xf32, #npu.mem<ub>>) outs(%y : memref<4x8xf32, #npu.mem<ub>>)
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @vdup(%y: memref<4x8xf16, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.vdup' op value is f32, but the tile is memref<4x8xf16, #npu.mem<ub>>}}
  npu.vdup 1.0 : f32 outs(%y : memref<4x8xf16, #npu.mem<ub>>)
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @tensors(%y: tensor<4x8xf16>) {
  // expected-error@+1 {{'npu.vdup' op expected memref, got tensor<4x8xf16>}}
  npu.vdup 1.0 : f16 outs(%y : tensor<4x8xf16>)
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @barrier() {
  // expected-error@+1 {{'npu.pipe_barrier' op Ascend910A has no pipe <mte9>; its pipes: mte1, mte2, mte3, m, v, all}}
  npu.pipe_barrier <mte9>
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @flag() {
  // expected-error@+1 {{'npu.set_flag' op Ascend910A has no pipe <aiv.v>; its pipes: mte1, mte2, mte3, m, v}}
  npu.set_flag <mte2>, <aiv.v>[0]
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @flag_to_itself() {
  // expected-error@+1 {{'npu.wait_flag' op is between <v> and itself; use npu.pipe_barrier}}
  npu.wait_flag <v>, <v>[0]
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @event() {
  // expected-error@+1 {{'npu.set_flag' op number 8 is beyond the target's 8 (0 to 7)}}
  npu.set_flag <mte2>, <v>[8]
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @event_count() {
  // expected-error@+1 {{'npu.set_flag' op needs 1 number, got 2}}
  npu.set_flag <mte2>, <v>[0, 1]
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @negative_event() {
  // expected-error@+1 {{'npu.set_flag' op has negative number: [-1]}}
  npu.set_flag <mte2>, <v>[-1]
  func.return
}
}

// -----

module attributes {ge.target = "Ascend910A"} {
func.func private @cross_core() {
  // expected-error@+1 {{'npu.cross_core_set_flag' op needs a cube and vector lanes on cores of their own, but Ascend910A has them on one}}
  npu.cross_core_set_flag <v>[0]
  func.return
}
}

// -----

builtin.module attributes {ge.target = "Ascend910B2"} {
  func.func private @two_kinds() {
    // expected-error@+1 {{'npu.set_flag' op is between pipes of two core kinds, <aic.fix> and <aiv.mte2>; use a cross-core flag}}
    npu.set_flag <aic.fix>, <aiv.mte2>[0]
    func.return
  }
}

// -----

builtin.module attributes {ge.target = "Ascend910B2"} {
  func.func private @cross_core_number() {
    // expected-error@+1 {{'npu.cross_core_wait_flag' op number 16 is beyond the target's 16 (0 to 15)}}
    npu.cross_core_wait_flag <aiv.mte2>[16]
    func.return
  }
}

// -----

// expected-error@+1 {{unknown target 'Ascend910'}}
builtin.module attributes {ge.target = "Ascend910"} {
  func.func private @target() {
    npu.pipe_barrier <v>
    func.return
  }
}
