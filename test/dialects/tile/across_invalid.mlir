// RUN: ge-opt %s --split-input-file --verify-diagnostics

!t = tensor<8x16xf32, #npu.mem<ub>>

func.func private @axis(%x: !t) {
  // expected-error@+1 {{'tile.reduce' op reduces along axis 0 or 1, got 2}}
  %s = tile.reduce <sum> %x along 2 : !t to tensor<8x1xf32, #npu.mem<ub>>
  func.return
}

// -----

!t = tensor<8x16xf32, #npu.mem<ub>>

func.func private @what_is_left(%x: !t) {
  // expected-error@+1 {{'tile.reduce' op along 1 must leave one element of each row, but tensor<8x16xf32, #npu.mem<ub>> is reduced to tensor<1x16xf32, #npu.mem<ub>>}}
  %s = tile.reduce <sum> %x along 1 : !t to tensor<1x16xf32, #npu.mem<ub>>
  func.return
}

// -----

!t = tensor<8x16xf16, #npu.mem<ub>>

func.func private @reduced_element(%x: !t) {
  // expected-error@+1 {{'tile.reduce' op reduces in f32, i32 or i64, got tensor<8x1xf16, #npu.mem<ub>>}}
  %s = tile.reduce <max> %x along 1 : !t to tensor<8x1xf16, #npu.mem<ub>>
  func.return
}

// -----

!t = tensor<8x16xf32, #npu.mem<l1>>

func.func private @reduced_space(%x: !t) {
  // expected-error@+1 {{'tile.reduce' op x must be in ub, got tensor<8x16xf32, #npu.mem<l1>>}}
  %s = tile.reduce <max> %x along 1 : !t to tensor<8x1xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @kind(%x: tensor<8x16xf32, #npu.mem<ub>>) {
  // expected-error@+1 {{expected `sum`, `max`, or `min`}}
  %s = tile.reduce <mean> %x along 1 : tensor<8x16xf32, #npu.mem<ub>> to tensor<8x1xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @iota_element() {
  // expected-error@+1 {{'tile.iota' op counts in f32, i32 or i64, got tensor<8x16xf16, #npu.mem<ub>>}}
  %n = tile.iota [0] steps [1, 0] valid [8, 16] to tensor<8x16xf16, #npu.mem<ub>>
  func.return
}

// -----

func.func private @iota_steps() {
  // expected-error@+1 {{'tile.iota' op needs a step from row to row and one from column to column, got [1]}}
  %n = tile.iota [0] steps [1] valid [8, 16] to tensor<8x16xi32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @iota_base() {
  // expected-error@+1 {{'tile.iota' op starts from one number, got [0, 1]}}
  %n = tile.iota [0, 1] steps [1, 0] valid [8, 16] to tensor<8x16xi32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @iota_room() {
  // expected-error@+1 {{'tile.iota' op valid extents [9, 16] exceed the tile 8x16}}
  %n = tile.iota [0] steps [1, 0] valid [9, 16] to tensor<8x16xi32, #npu.mem<ub>>
  func.return
}

// -----

!t = tensor<8x16xf32, #npu.mem<ub>>

func.func private @transposed(%x: !t) {
  // expected-error@+1 {{'tile.transpose' op changes rows and columns, but goes from tensor<8x16xf32, #npu.mem<ub>> to tensor<8x16xf32, #npu.mem<ub>>}}
  %y = tile.transpose %x : !t to !t
  func.return
}

// -----

!t = tensor<8x16xf32, #npu.mem<ub>>

func.func private @index_element(%table: tensor<50x64xf32>, %n: tensor<8x1xf32, #npu.mem<ub>>) {
  // expected-error@+1 {{'tile.load_rows' op indices are i32 or i64, got tensor<8x1xf32, #npu.mem<ub>>}}
  %x = tile.load_rows %table[0] rows %n valid [8, 16] : tensor<50x64xf32>, tensor<8x1xf32, #npu.mem<ub>> to !t
  func.return
}

// -----

!t = tensor<8x16xf32, #npu.mem<ub>>

func.func private @index_count(%table: tensor<50x64xf32>, %n: tensor<1x8xi32, #npu.mem<ub>>) {
  // expected-error@+1 {{'tile.load_rows' op needs one index for each of the tile's 8 rows, as a column, got tensor<1x8xi32, #npu.mem<ub>>}}
  %x = tile.load_rows %table[0] rows %n valid [8, 16] : tensor<50x64xf32>, tensor<1x8xi32, #npu.mem<ub>> to !t
  func.return
}

// -----

!t = tensor<8x16xf32, #npu.mem<ub>>

func.func private @index_space(%table: tensor<50x64xf32>, %n: tensor<8x1xi32>) {
  // expected-error@+1 {{'tile.load_rows' op the indices must be in ub, got tensor<8x1xi32>}}
  %x = tile.load_rows %table[0] rows %n valid [8, 16] : tensor<50x64xf32>, tensor<8x1xi32> to !t
  func.return
}

// -----

!t = tensor<8x16xf32, #npu.mem<ub>>
!n = tensor<8x1xi32, #npu.mem<ub>>

func.func private @offsets(%table: tensor<4x50x64xf32>, %n: !n) {
  // expected-error@+1 {{'tile.load_rows' op needs 2 offsets (points, then a column), got 1}}
  %x = tile.load_rows %table[0] rows %n valid [8, 16] : tensor<4x50x64xf32>, !n to !t
  func.return
}

// -----

!t = tensor<8x16xf32, #npu.mem<ub>>
!n = tensor<8x1xi32, #npu.mem<ub>>

func.func private @columns(%table: tensor<50x64xf32>, %n: !n) {
  // expected-error@+1 {{'tile.load_rows' op reaches from 60 to 76 in dimension 1 of the table tensor<50x64xf32>}}
  %x = tile.load_rows %table[60] rows %n valid [8, 16] : tensor<50x64xf32>, !n to !t
  func.return
}

// -----

!t = tensor<8x16xf32, #npu.mem<ub>>
!n = tensor<8x1xi32, #npu.mem<ub>>

func.func private @point(%x: !t, %table: tensor<4x50x64xf32>, %n: !n) {
  // expected-error@+1 {{'tile.store_rows' op reaches from 4 to 5 in dimension 0 of the table tensor<4x50x64xf32>}}
  tile.store_rows %x rows %n into %table[4, 0] : !t, !n into tensor<4x50x64xf32>
  func.return
}

// -----

!t = tensor<8x16xf32, #npu.mem<ub>>
!n = tensor<8x1xi32, #npu.mem<ub>>

func.func private @table_element(%x: !t, %table: tensor<50x64xf16>, %n: !n) {
  // expected-error@+1 {{'tile.store_rows' op moves elements unchanged, but goes from tensor<8x16xf32, #npu.mem<ub>> to tensor<50x64xf16>; insert a tile.cast}}
  tile.store_rows %x rows %n into %table[0] : !t, !n into tensor<50x64xf16>
  func.return
}

// -----

!t = tensor<8x16xf32, #npu.mem<ub>>

func.func private @compared(%x: !t) {
  // expected-error@+1 {{'tile.lt' op is true or false, so its result has elements of type i1, got tensor<8x16xf32, #npu.mem<ub>>}}
  %y = tile.lt %x, %x : !t, !t -> !t
  func.return
}

// -----

!t = tensor<8x16xf32, #npu.mem<ub>>
!i = tensor<8x16xi32, #npu.mem<ub>>

func.func private @compared_mixed(%x: !t, %y: !i) {
  // expected-error@+1 {{'tile.lt' op operand #0 is tensor<8x16xf32, #npu.mem<ub>>, but operand #1 is tensor<8x16xi32, #npu.mem<ub>>}}
  %z = tile.lt %x, %y : !t, !i -> tensor<8x16xi1, #npu.mem<ub>>
  func.return
}

// -----

!t = tensor<8x16xf32, #npu.mem<ub>>

func.func private @condition(%x: !t) {
  // expected-error@+1 {{'tile.select' op operand #0 is a condition, so it has elements of type i1, got tensor<8x16xf32, #npu.mem<ub>>}}
  %y = tile.select %x, %x, %x : !t, !t, !t -> !t
  func.return
}

// -----

!t = tensor<8x16xf32, #npu.mem<ub>>

func.func private @logic(%x: !t) {
  // expected-error@+1 {{'tile.logical_or' op computes in i1, got f32; insert a cast}}
  %y = tile.logical_or %x, %x : !t, !t -> !t
  func.return
}
