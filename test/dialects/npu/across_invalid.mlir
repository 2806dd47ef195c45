// RUN: ge-opt %s --split-input-file --verify-diagnostics

func.func private @reduced(%x: memref<8x16xf32, #npu.mem<ub>>, %y: memref<8x2xf32, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.vreduce' op along 1 must leave one element of each row, but memref<8x16xf32, #npu.mem<ub>> is reduced to memref<8x2xf32, #npu.mem<ub>>}}
  npu.vreduce <sum> ins(%x : memref<8x16xf32, #npu.mem<ub>>) outs(%y : memref<8x2xf32, #npu.mem<ub>>) along 1
  func.return
}

// -----

func.func private @reduced_rows(%x: memref<8x16xf32, #npu.mem<ub>>, %y: memref<1x15xf32, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.vreduce' op along 0 must leave one element of each column}}
  npu.vreduce <sum> ins(%x : memref<8x16xf32, #npu.mem<ub>>) outs(%y : memref<1x15xf32, #npu.mem<ub>>) along 0
  func.return
}

// -----

func.func private @reduced_element(%x: memref<8x16xi8, #npu.mem<ub>>, %y: memref<8x1xi8, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.vreduce' op reduces in f32, i32 or i64, got memref<8x1xi8, #npu.mem<ub>>}}
  npu.vreduce <sum> ins(%x : memref<8x16xi8, #npu.mem<ub>>) outs(%y : memref<8x1xi8, #npu.mem<ub>>) along 1
  func.return
}

// -----

func.func private @iota(%y: memref<8x1xi8, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.viota' op counts in f32, i32 or i64, got memref<8x1xi8, #npu.mem<ub>>}}
  npu.viota [0] steps [1, 0] outs(%y : memref<8x1xi8, #npu.mem<ub>>)
  func.return
}

// -----

func.func private @iota_steps(%y: memref<8x1xi32, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.viota' op needs a step from row to row and one from column to column, got [1, 0, 0]}}
  npu.viota [0] steps [1, 0, 0] outs(%y : memref<8x1xi32, #npu.mem<ub>>)
  func.return
}

// -----

func.func private @transposed(%x: memref<8x16xf32, #npu.mem<ub>>, %y: memref<8x16xf32, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.vtranspose' op extents differ: memref<8x16xf32, #npu.mem<ub>> and memref<8x16xf32, #npu.mem<ub>> (transposed)}}
  npu.vtranspose ins(%x : memref<8x16xf32, #npu.mem<ub>>) outs(%y : memref<8x16xf32, #npu.mem<ub>>)
  func.return
}

// -----

func.func private @table_space(%x: memref<8x16xf32, #npu.mem<ub>>, %n: memref<8x1xi32, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.load_rows' op the table must be in gm, got memref<8x16xf32, #npu.mem<ub>>}}
  npu.load_rows ins(%x, %n : memref<8x16xf32, #npu.mem<ub>>, memref<8x1xi32, #npu.mem<ub>>) outs(%x : memref<8x16xf32, #npu.mem<ub>>)
  func.return
}

// -----

func.func private @table_rank(%t: memref<2x50x16xf32>, %x: memref<8x16xf32, #npu.mem<ub>>, %n: memref<8x1xi32, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.load_rows' op the table must have rank 2, got memref<2x50x16xf32>}}
  npu.load_rows ins(%t, %n : memref<2x50x16xf32>, memref<8x1xi32, #npu.mem<ub>>) outs(%x : memref<8x16xf32, #npu.mem<ub>>)
  func.return
}

// -----

func.func private @table_columns(%t: memref<50x64xf32>, %x: memref<8x16xf32, #npu.mem<ub>>, %n: memref<8x1xi32, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.store_rows' op rows of memref<50x64xf32> and of memref<8x16xf32, #npu.mem<ub>> differ in length}}
  npu.store_rows ins(%x, %n : memref<8x16xf32, #npu.mem<ub>>, memref<8x1xi32, #npu.mem<ub>>) outs(%t : memref<50x64xf32>)
  func.return
}

// -----

func.func private @indices(%t: memref<50x16xf32>, %x: memref<8x16xf32, #npu.mem<ub>>, %n: memref<9x1xi32, #npu.mem<ub>>) {
  // expected-error@+1 {{'npu.store_rows' op needs one index for each of the tile's 8 rows, as a column, got memref<9x1xi32, #npu.mem<ub>>}}
  npu.store_rows ins(%x, %n : memref<8x16xf32, #npu.mem<ub>>, memref<9x1xi32, #npu.mem<ub>>) outs(%t : memref<50x16xf32>)
  func.return
}
