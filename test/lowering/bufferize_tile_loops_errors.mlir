// RUN: ge-opt %s -p bufferize-tile --split-input-file --verify-diagnostics

!t = tensor<4x8xf32, #npu.mem<ub>>

func.func private @used_again(%x: tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %start = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf32> to !t
  %sum = scf.for %k = %c0 to %c4 step %c4 iter_args(%s = %start) -> (!t) {
    // expected-error@+1 {{'tile.exp' op makes %next, which a loop carries on as %s, but its old contents are used again; copy the new tile with tile.broadcast behind their last use, and yield that}}
    %next = tile.exp %s : !t -> !t
    // expected-note@+1 {{used again here}}
    tile.store %s into %x[0, 0] : !t into tensor<4x8xf32>
    scf.yield %next : !t
  }
  func.return
}

// -----

!t = tensor<8x8xf32, #npu.mem<ub>>

func.func private @no_elementwise_function(%x: tensor<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %start = tile.load %x[0, 0] valid [8, 8] : tensor<8x8xf32> to !t
  %sum = scf.for %k = %c0 to %c4 step %c4 iter_args(%s = %start) -> (!t) {
    // expected-error@+2 {{'tile.transpose' op makes %next, which a loop carries on as %s, but its old contents are used again}}
    // expected-note@+1 {{it is no elementwise function}}
    %next = tile.transpose %s : !t to !t
    scf.yield %next : !t
  }
  func.return
}

// -----

!t = tensor<4x8xf32, #npu.mem<ub>>

func.func private @exchanged(%x: tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %a = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf32> to !t
  %b = tile.full 1.0 : f32 valid [4, 8] to !t
  // expected-error@+1 {{'scf.for' op carries tile #0, but its body yields %b, a tile in another buffer; yield one that the body makes, for this tile only, others need slots = 2}}
  %c:2 = scf.for %k = %c0 to %c4 step %c4 iter_args(%p = %a, %q = %b) -> (!t, !t) {
    scf.yield %q, %p : !t, !t
  }
  func.return
}

// -----

!t = tensor<4x8xf32, #npu.mem<ub>>

func.func private @made_elsewhere(%x: tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %a = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf32> to !t
  %b = tile.full 1.0 : f32 valid [4, 8] to !t
  // expected-error@+1 {{'scf.for' op carries tile #0, but its body yields %b, a tile in another buffer}}
  %c = scf.for %k = %c0 to %c4 step %c4 iter_args(%p = %a) -> (!t) {
    scf.yield %b : !t
  }
  func.return
}

// -----

!t = tensor<4x8xf32, #npu.mem<ub>>

func.func private @one_for_two(%x: tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %a = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf32> to !t
  %b = tile.full 1.0 : f32 valid [4, 8] to !t
  // expected-error@+1 {{'scf.for' op carries tile #1, but its body yields %a, a tile in another buffer}}
  %c:2 = scf.for %k = %c0 to %c4 step %c4 iter_args(%p = %a, %q = %b) -> (!t, !t) {
    %r = tile.add %p, %q : !t, !t -> !t
    scf.yield %r, %r : !t, !t
  }
  func.return
}

// -----

!t = tensor<4x8xf32, #npu.mem<ub>>

func.func private @start_used_again(%x: tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %start = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf32> to !t
  // expected-error@+1 {{'scf.for' op updates %start in place, but its old contents are used again; keep a copy}}
  %sum = scf.for %k = %c0 to %c4 step %c4 iter_args(%s = %start) -> (!t) {
    %next = tile.exp %s : !t -> !t
    scf.yield %next : !t
  }
  // expected-note@+1 {{used again here}}
  tile.store %start into %x[0, 0] : !t into tensor<4x8xf32>
  func.return
}

// -----

!t = tensor<4x8xf32, #npu.mem<ub>>

func.func private @other_extents(%x: tensor<4x8xf32>, %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %start = tile.load %x[0, 0] valid [%m, 8] : tensor<4x8xf32> to !t
  // expected-error@+1 {{'scf.for' op cannot tell that tile #0 has the same valid extents before and after a trip: %mx8 and %nx8}}
  %sum = scf.for %k = %c0 to %c4 step %c4 iter_args(%s = %start) -> (!t) {
    %next = tile.full 1.0 : f32 valid [%n, 8] to !t
    scf.yield %next : !t
  }
  func.return
}

// -----

!t = tensor<4x8xf32, #npu.mem<ub>>

// An inner loop takes the carried tile over: what it makes of it is in the same buffer.
func.func private @handed_on(%x: tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %start = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf32> to !t
  %sum = scf.for %k = %c0 to %c4 step %c4 iter_args(%s = %start) -> (!t) {
    %inner = scf.for %j = %c0 to %c4 step %c4 iter_args(%i = %s) -> (!t) {
      %e = tile.exp %i : !t -> !t
      scf.yield %e : !t
    }
    // expected-error@+1 {{'tile.load' op makes %next, which a loop carries on as %s, but its old contents are used again}}
    %next = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf32> to !t
    // expected-note@+1 {{used again here}}
    tile.store %inner into %x[0, 0] : !t into tensor<4x8xf32>
    scf.yield %next : !t
  }
  func.return
}
