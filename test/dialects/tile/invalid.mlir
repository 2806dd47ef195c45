// Tests that ops on tiles which break a rule of theirs are refused with the operand, the rule and what to do.
// RUN: ge-opt %s --split-input-file --verify-diagnostics

func.func private @coordinates() {
  // expected-error@+1 {{names 1 coordinates for a grid of 2 dimensions}}
  tile.forall (%i) in (2, 3) {
  }
  func.return
}

// -----

func.func private @coordinate_types() {
  // expected-error@+1 {{'tile.forall' op needs one index argument for each of the 1 dimensions of its grid}}
  "tile.forall"() <{bounds = array<i64: 4>}> ({
  ^bb0(%i: i32):
  }) : () -> ()
  func.return
}

// -----

func.func private @negative_grid() {
  // expected-error@+1 {{'tile.forall' op a grid has no negative extents, got (2, -1)}}
  tile.forall (%i, %j) in (2, -1) {
  }
  func.return
}

// -----

func.func private @load_from_chip(%x: tensor<4x8xf16, #npu.mem<ub>>) {
  // expected-error@+1 {{'tile.load' op the source must be in gm, got tensor<4x8xf16, #npu.mem<ub>>}}
  %0 = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf16, #npu.mem<ub>> to tensor<4x8xf16, #npu.mem<l1>>
  func.return
}

// -----

func.func private @load_rank(%x: tensor<8xf16>) {
  // expected-error@+1 {{'tile.load' op the source must have rows and columns, got tensor<8xf16>; give it another shape with tile.view}}
  %0 = tile.load %x[0] valid [1, 8] : tensor<8xf16> to tensor<1x8xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @load_to(%x: tensor<4x8xf16>) {
  // expected-error@+1 {{'tile.load' op the tile must be in l1 or ub, got tensor<4x8xf16, #npu.mem<l0a>>}}
  %0 = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf16> to tensor<4x8xf16, #npu.mem<l0a>>
  func.return
}

// -----

func.func private @load_tile_rank(%x: tensor<2x4x8xf16>) {
  // expected-error@+1 {{'tile.load' op the tile must have rank 2, got tensor<1x4x8xf16, #npu.mem<ub>>}}
  %0 = tile.load %x[0, 0, 0] valid [4, 8] : tensor<2x4x8xf16> to tensor<1x4x8xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @load_dynamic(%x: tensor<4x8xf16>, %m: index) {
  // expected-error@+1 {{'tile.load' op the tile must have a static shape, got tensor<?x8xf16, #npu.mem<ub>>; 'valid' names the extents of ragged tiles}}
  %0 = tile.load %x[0, 0] valid [%m, 8] : tensor<4x8xf16> to tensor<?x8xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @load_element(%x: tensor<4x8xf16>) {
  // expected-error@+1 {{'tile.load' op moves elements unchanged, but goes from tensor<4x8xf16> to tensor<4x8xf32, #npu.mem<ub>>; insert a tile.cast}}
  %0 = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf16> to tensor<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @load_elements(%x: tensor<4x8xi4>) {
  // expected-error@+1 {{'tile.load' op tensor<4x8xi4> has elements of type i4}}
  %0 = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xi4> to tensor<4x8xi4, #npu.mem<ub>>
  func.return
}

// -----

func.func private @load_offsets(%x: tensor<4x8xf16>) {
  // expected-error@+1 {{'tile.load' op needs 2 offsets, got 1}}
  %0 = tile.load %x[0] valid [4, 8] : tensor<4x8xf16> to tensor<4x8xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @load_negative(%x: tensor<4x8xf16>) {
  // expected-error@+1 {{'tile.load' op has negative offsets: [0, -8]}}
  %0 = tile.load %x[0, -8] valid [4, 8] : tensor<4x8xf16> to tensor<4x8xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @load_valid(%x: tensor<4x8xf16>, %m: index) {
  // expected-error@+1 {{'tile.load' op needs 2 valid extents, got 3}}
  %0 = tile.load %x[0, 0] valid [1, 4, %m] : tensor<4x8xf16> to tensor<4x8xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @load_room(%x: tensor<4x8xf16>, %m: index) {
  // expected-error@+1 {{'tile.load' op valid extents [?, 8] exceed the tile 4x4}}
  %0 = tile.load %x[0, 0] valid [%m, 8] : tensor<4x8xf16> to tensor<4x4xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @load_beyond(%x: tensor<4x8xf16>) {
  // expected-error@+1 {{'tile.load' op reaches from 2 to 6 in dimension 0 of the source tensor<4x8xf16>}}
  %0 = tile.load %x[2, 0] valid [4, 8] : tensor<4x8xf16> to tensor<4x8xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @load_point(%x: tensor<3x4x8xf16>) {
  // expected-error@+1 {{'tile.load' op reaches from 3 to 4 in dimension 0 of the source tensor<3x4x8xf16>}}
  %0 = tile.load %x[3, 0, 0] valid [4, 8] : tensor<3x4x8xf16> to tensor<4x8xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @load_marks(%x: tensor<4x8xf16>, %m: index) {
  // expected-error@+1 {{'tile.load' op has 1 values for the dynamic offsets of [0, 0]}}
  %0 = "tile.load"(%x, %m) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: 0, 0>, static_valid = array<i64: 4, 8>}>
    : (tensor<4x8xf16>, index) -> tensor<4x8xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @two_forms(%x: tensor<4x8xf16>, %out: memref<4x8xf16, #npu.mem<ub>>) {
  // expected-error@+1 {{'tile.load' op has either a tensor result or a memref that it writes 'into'}}
  %0 = tile.load %x[0, 0] valid [4, 8] into %out : tensor<4x8xf16> into memref<4x8xf16, #npu.mem<ub>> to tensor<4x8xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @no_form(%x: tensor<4x8xf16, #npu.mem<ub>>) {
  // expected-error@+1 {{'tile.exp' op has either a tensor result or a memref that it writes 'into'}}
  tile.exp %x : tensor<4x8xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @mixed_forms(%x: tensor<4x8xf16>, %out: memref<4x8xf16, #npu.mem<ub>>) {
  // expected-error@+1 {{'tile.load' op mixes tensors and memrefs: tensor<4x8xf16>, memref<4x8xf16, #npu.mem<ub>>}}
  tile.load %x[0, 0] valid [4, 8] into %out : tensor<4x8xf16> into memref<4x8xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @move_nowhere(%x: tensor<4x8xf16, #npu.mem<l1>>) {
  // expected-error@+1 {{'tile.move' op goes from one}}
  %0 = tile.move %x[0, 0] valid [4, 8] : tensor<4x8xf16, #npu.mem<l1>> to tensor<4x8xf16, #npu.mem<l1>>
  func.return
}

// -----

func.func private @move_beyond(%x: tensor<4x8xf16, #npu.mem<l1>>) {
  // expected-error@+1 {{'tile.move' op reaches from 0 to 16 in dimension 1 of the source tensor<4x8xf16, #npu.mem<l1>>}}
  %0 = tile.move %x[0, 0] valid [16, 4] {transpose} : tensor<4x8xf16, #npu.mem<l1>> to tensor<16x4xf16, #npu.mem<l0b>>
  func.return
}

// -----

func.func private @undef() {
  // expected-error@+1 {{'tile.undef' op the tile must be in l0c}}
  %0 = tile.undef : tensor<16x16xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @mmad_space(%a: tensor<4x8xf16, #npu.mem<l0a>>, %b: tensor<8x4xf16, #npu.mem<l0a>>, %c: tensor<4x4xf32, #npu.mem<l0c>>, %i: i1) {
  // expected-error@+1 {{'tile.mmad' op b must be in l0b, got tensor<8x4xf16, #npu.mem<l0a>>}}
  %0 = tile.mmad %a, %b, %c init %i : tensor<4x8xf16, #npu.mem<l0a>>, tensor<8x4xf16, #npu.mem<l0a>>, tensor<4x4xf32, #npu.mem<l0c>> -> tensor<4x4xf32, #npu.mem<l0c>>
  func.return
}

// -----

func.func private @mmad_elements(%a: tensor<4x8xf16, #npu.mem<l0a>>, %b: tensor<8x4xf16, #npu.mem<l0b>>, %c: tensor<4x4xf16, #npu.mem<l0c>>, %i: i1) {
  // expected-error@+1 {{'tile.mmad' op accumulates f16 in f32, got f16; cast it afterwards}}
  %0 = tile.mmad %a, %b, %c init %i : tensor<4x8xf16, #npu.mem<l0a>>, tensor<8x4xf16, #npu.mem<l0b>>, tensor<4x4xf16, #npu.mem<l0c>> -> tensor<4x4xf16, #npu.mem<l0c>>
  func.return
}

// -----

func.func private @mmad_extents(%a: tensor<4x8xf16, #npu.mem<l0a>>, %b: tensor<4x8xf16, #npu.mem<l0b>>, %c: tensor<4x8xf32, #npu.mem<l0c>>, %i: i1) {
  // expected-error@+1 {{'tile.mmad' op extents differ: a 4x8, b 4x8, accumulator 4x8}}
  %0 = tile.mmad %a, %b, %c init %i : tensor<4x8xf16, #npu.mem<l0a>>, tensor<4x8xf16, #npu.mem<l0b>>, tensor<4x8xf32, #npu.mem<l0c>> -> tensor<4x8xf32, #npu.mem<l0c>>
  func.return
}

// -----

func.func private @mmad_result(%a: tensor<4x8xf16, #npu.mem<l0a>>, %b: tensor<8x4xf16, #npu.mem<l0b>>, %c: tensor<4x4xf32, #npu.mem<l0c>>, %i: i1) {
  // expected-error@+1 {{'tile.mmad' op the result is tensor<4x4xf32, #npu.mem<ub>>, but the accumulator tensor<4x4xf32, #npu.mem<l0c>>}}
  %0 = tile.mmad %a, %b, %c init %i : tensor<4x8xf16, #npu.mem<l0a>>, tensor<8x4xf16, #npu.mem<l0b>>, tensor<4x4xf32, #npu.mem<l0c>> -> tensor<4x4xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @cast_shape(%x: tensor<4x8xf32, #npu.mem<ub>>) {
  // expected-error@+1 {{'tile.cast' op keeps the shape, but goes from tensor<4x8xf32, #npu.mem<ub>> to tensor<8x4xf16, #npu.mem<ub>>}}
  %0 = tile.cast %x : tensor<4x8xf32, #npu.mem<ub>> to tensor<8x4xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @cast_space(%x: tensor<4x8xf32, #npu.mem<l0c>>) {
  // expected-error@+1 {{'tile.cast' op x must be in ub, got tensor<4x8xf32, #npu.mem<l0c>>}}
  %0 = tile.cast %x : tensor<4x8xf32, #npu.mem<l0c>> to tensor<4x8xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @full_value() {
  // expected-error@+1 {{'tile.full' op value is f32, but the tile is tensor<4x8xf16, #npu.mem<ub>>}}
  %0 = tile.full 1.0 : f32 valid [4, 8] to tensor<4x8xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @full_room() {
  // expected-error@+1 {{'tile.full' op valid extents [4, 9] exceed the tile 4x8}}
  %0 = tile.full 1.0 : f16 valid [4, 9] to tensor<4x8xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @full_rank() {
  // expected-error@+1 {{'tile.full' op the tile must have rank 2, got tensor<f16, #npu.mem<ub>>}}
  %0 = tile.full 1.0 : f16 valid [1, 1] to tensor<f16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @broadcast_element(%x: tensor<1x8xf16, #npu.mem<ub>>) {
  // expected-error@+1 {{'tile.broadcast' op keeps the element type, but goes from}}
  %0 = tile.broadcast %x valid [4, 8] : tensor<1x8xf16, #npu.mem<ub>> to tensor<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @broadcast_size(%x: tensor<2x8xf16, #npu.mem<ub>>) {
  // expected-error@+1 {{cannot be repeated to tensor<4x8xf16, #npu.mem<ub>>: each extent must be 1 or equal}}
  %0 = tile.broadcast %x valid [4, 8] : tensor<2x8xf16, #npu.mem<ub>> to tensor<4x8xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @broadcast_rank(%x: tensor<8xf16, #npu.mem<ub>>) {
  // expected-error@+1 {{'tile.broadcast' op x must have rank 2, got tensor<8xf16, #npu.mem<ub>>}}
  %0 = tile.broadcast %x valid [4, 8] : tensor<8xf16, #npu.mem<ub>> to tensor<4x8xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @function_element(%x: tensor<4x8xf16, #npu.mem<ub>>) {
  // expected-error@+1 {{'tile.gelu' op computes in f32, got f16; insert a cast}}
  %0 = tile.gelu %x : tensor<4x8xf16, #npu.mem<ub>> -> tensor<4x8xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @function_mixed(%x: tensor<4x8xf32, #npu.mem<ub>>, %y: tensor<4x8xi32, #npu.mem<ub>>) {
  // expected-error@+1 {{'tile.add' op operand #1 is tensor<4x8xi32, #npu.mem<ub>>, but the result is tensor<4x8xf32, #npu.mem<ub>>}}
  %0 = tile.add %x, %y : tensor<4x8xf32, #npu.mem<ub>>, tensor<4x8xi32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @function_space(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'tile.abs' op operand #0 must be in ub, got tensor<4x8xf32>}}
  %0 = tile.abs %x : tensor<4x8xf32> -> tensor<4x8xf32>
  func.return
}

// -----

func.func private @function_shapes(%x: tensor<4x8xf32, #npu.mem<ub>>, %y: tensor<4x4xf32, #npu.mem<ub>>) {
  // expected-error@+1 {{'tile.add' op operands 4x8 and 4x4 do not broadcast to 4x8}}
  %0 = tile.add %x, %y : tensor<4x8xf32, #npu.mem<ub>>, tensor<4x4xf32, #npu.mem<ub>> -> tensor<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @view_elements(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'tile.view' op keeps the elements, but goes from tensor<4x8xf32> to tensor<4x9xf32>}}
  %0 = tile.view %x : tensor<4x8xf32> to tensor<4x9xf32>
  func.return
}

// -----

func.func private @view_dynamic(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{'tile.view' op the source must have a static shape, got tensor<?x8xf32>}}
  %0 = tile.view %x : tensor<?x8xf32> to tensor<8x?xf32>
  func.return
}

// -----

func.func private @view_on_chip(%x: tensor<4x8xf32, #npu.mem<ub>>) {
  // expected-error@+1 {{'tile.view' op the source must be in gm, got tensor<4x8xf32, #npu.mem<ub>>}}
  %0 = tile.view %x : tensor<4x8xf32, #npu.mem<ub>> to tensor<8x4xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @store_element(%x: tensor<4x8xf32, #npu.mem<ub>>, %out: tensor<4x8xf16>) {
  // expected-error@+1 {{'tile.store' op moves elements unchanged, but goes from tensor<4x8xf32, #npu.mem<ub>> to tensor<4x8xf16>; insert a tile.cast}}
  tile.store %x into %out[0, 0] : tensor<4x8xf32, #npu.mem<ub>> into tensor<4x8xf16>
  func.return
}

// -----

func.func private @store_mixed(%x: tensor<4x8xf32, #npu.mem<ub>>, %out: memref<4x8xf32>) {
  // expected-error@+1 {{'tile.store' op mixes tensors and memrefs}}
  tile.store %x into %out[0, 0] : tensor<4x8xf32, #npu.mem<ub>> into memref<4x8xf32>
  func.return
}

// -----

func.func private @store_offsets(%x: tensor<4x8xf32, #npu.mem<ub>>, %out: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'tile.store' op needs 3 offsets, got 2}}
  tile.store %x into %out[0, 0] : tensor<4x8xf32, #npu.mem<ub>> into tensor<2x4x8xf32>
  func.return
}

// -----

func.func private @space_of_another_kind(%x: tensor<4x8xf32, "ub">) {
  // expected-error@+1 {{'tile.abs' op expected a memory space such as #npu.mem<ub>, got "ub"}}
  %0 = tile.abs %x : tensor<4x8xf32, "ub"> -> tensor<4x8xf32, "ub">
  func.return
}

// -----

func.func private @no_trip() {
  // expected-error@+1 {{'tile.grid_loop' op needs an index argument that counts the blocks of a core}}
  "tile.grid_loop"() <{bounds = array<i64>}> ({
  ^bb0:
  }) : () -> ()
  func.return
}

// -----

func.func private @trip_only() {
  // expected-error@+1 {{'tile.grid_loop' op needs one index argument for each of the 1 dimensions of its grid}}
  "tile.grid_loop"() <{bounds = array<i64: 4>}> ({
  ^bb0(%t: index):
  }) : () -> ()
  func.return
}

// -----

func.func private @no_slots(%x: tensor<8x16xf32>) {
  // expected-error@+1 {{'tile.load' op has a positive number of slots while it makes a value; a buffer's are on its buf.alloc}}
  %a = tile.load %x[0, 0] valid [1, 1] {slots = 0} : tensor<8x16xf32> to tensor<1x1xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @slots_of_a_buffer(%x: memref<8x16xf32>, %a: memref<1x1xf32, #npu.mem<ub>>) {
  // expected-error@+1 {{'tile.load' op has a positive number of slots while it makes a value; a buffer's are on its buf.alloc}}
  tile.load %x[0, 0] valid [1, 1] into %a {slots = 2} : memref<8x16xf32> into memref<1x1xf32, #npu.mem<ub>>
  func.return
}
