// RUN: ge-opt %s -p bufferize-tile --split-input-file --verify-diagnostics

!t = tensor<4x8xf32, #npu.mem<ub>>

// Two extents with nothing in common.
func.func private @extents(%x: tensor<4x8xf32>, %m: index, %n: index) {
  %a = tile.load %x[0, 0] valid [%m, 8] : tensor<4x8xf32> to !t
  %b = tile.load %x[0, 0] valid [%n, 8] : tensor<4x8xf32> to !t
  // expected-error@+1 {{'tile.add' op cannot tell that its operands have equally many valid rows: %m and %n; name one extent for both}}
  %c = tile.add %a, %b : !t, !t -> !t
  func.return
}

// -----

!acc = tensor<16x16xf32, #npu.mem<l0c>>
!a1 = tensor<16x16xf16, #npu.mem<l1>>
!a = tensor<16x16xf16, #npu.mem<l0a>>
!b = tensor<16x16xf16, #npu.mem<l0b>>

func.func private @loop_extent(%x: tensor<16x16xf16>, %first: i1) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %none = tile.undef : !acc
  // expected-error@+1 {{'scf.for' op yields tile #0 with the extent %k, which its own body computes; compute the extents of an accumulator before the loop}}
  %acc = scf.for %k = %c0 to %c16 step %c16 iter_args(%c = %none) -> (!acc) {
    %s = tile.load %x[0, 0] valid [%k, 16] : tensor<16x16xf16> to !a1
    %a = tile.move %s[0, 0] valid [%k, 16] : !a1 to !a
    %b = tile.move %s[0, 0] valid [16, 16] : !a1 to !b
    %r = tile.mmad %a, %b, %c init %first : !a, !b, !acc -> !acc
    scf.yield %r : !acc
  }
  func.return
}

// -----

!acc = tensor<16x16xf32, #npu.mem<l0c>>
!a1 = tensor<16x16xf16, #npu.mem<l1>>
!a = tensor<16x16xf16, #npu.mem<l0a>>
!b = tensor<16x16xf16, #npu.mem<l0b>>

func.func private @used_again(%x: tensor<16x16xf16>, %t: i1) {
  %s = tile.load %x[0, 0] valid [16, 16] : tensor<16x16xf16> to !a1
  %a = tile.move %s[0, 0] valid [16, 16] : !a1 to !a
  %b = tile.move %s[0, 0] valid [16, 16] : !a1 to !b
  %none = tile.undef : !acc
  %r = tile.mmad %a, %b, %none init %t : !a, !b, !acc -> !acc
  // expected-error@+1 {{'tile.mmad' op updates %r in place, but its old contents are used again; keep a copy}}
  %q = tile.mmad %a, %b, %r init %t : !a, !b, !acc -> !acc
  // expected-note@+1 {{used again here}}
  %u = tile.move %r[0, 0] valid [16, 16] : !acc to tensor<16x16xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @unwritten() {
  %none = tile.undef : tensor<16x16xf32, #npu.mem<l0c>>
  // expected-error@+1 {{'tile.move' op reads %none, a tile without contents; fill it with tile.full}}
  %u = tile.move %none[0, 0] valid [16, 16] : tensor<16x16xf32, #npu.mem<l0c>> to tensor<16x16xf32, #npu.mem<ub>>
  func.return
}

// -----

// expected-error@+1 {{'func.func' op returns tensors; a kernel with loops writes into destinations: run convert-fused-to-tile first}}
func.func private @fused(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = fused.add %x, %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'func.return' op result #0 is the input %x itself; it needs a kernel that copies it}}
  func.return %x : tensor<4xf32>
}

// -----

ge.weight @w : tensor<4xf32>
func.func @main() -> tensor<4xf32> {
  %w = ge.load_weight @w : tensor<4xf32>
  // expected-error@+1 {{'func.return' op result #0 is a weight itself; it needs a kernel that copies it}}
  func.return %w : tensor<4xf32>
}

// -----

func.func private @k(%out: tensor<4xf32>) {
  func.return
}
func.func @main() -> (tensor<4xf32>, tensor<4xf32>) {
  %d = tensor.empty() : tensor<4xf32>
  %y = fused.launch @k() into (%d) on aicore {ops = ["Abs"], op_name = "k"} : () into (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'func.return' op result #1 is the same value as result #0; it needs a kernel that copies it}}
  func.return %y, %y : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func private @k(%x: tensor<4xf32>, %out: tensor<4xf32>) {
  func.return
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note@+1 {{made here}}
  %d = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  // expected-error@+1 {{'fused.launch' op reads an empty tensor, which nobody has written}}
  %y = fused.launch @k(%d) into (%e) on aicore {ops = ["Abs"], op_name = "k"} : (tensor<4xf32>) into (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// The new contents of a state must lie in its own bytes.
func.func private @k(%out: tensor<4xf32>) {
  func.return
}
func.func @main(%x: tensor<4xf32> {ge.updated_by = 0 : i64}) -> tensor<4xf32> {
  %d = tensor.empty() : tensor<4xf32>
  %y = fused.launch @k() into (%d) on aicore {ops = ["Abs"], op_name = "k"} : () into (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'func.return' op result #0 is to be the new contents of %x, but is computed elsewhere; it needs a kernel that copies it into %x}}
  func.return %y : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'ge.Relu' op has no place here; once kernels have loops, a function is a list of launches}}
  %y = ge.Relu %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// expected-error@+1 {{'func.func' op @declared has 0 blocks; a body is one block}}
func.func private @declared(tensor<4x8xf32>)

// -----

func.func @main() -> tensor<4xf32> {
  %d = tensor.empty() : tensor<4xf32>
  // expected-error@+1 {{'func.return' op result #0 is an empty tensor that nobody has written; it needs a kernel that copies it}}
  func.return %d : tensor<4xf32>
}

// -----

func.func private @k(%out: tensor<?xf32>) {
  func.return
}
func.func @main(%n: index) -> tensor<?xf32> {
  %d = tensor.empty(%n) : tensor<?xf32>
  // expected-error@+1 {{'fused.launch' op writes into tensor<?xf32>; a buffer needs a static shape, so compile for fixed input sizes}}
  %y = fused.launch @k() into (%d) on aicore {ops = ["Abs"], op_name = "k"} : () into (tensor<?xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
