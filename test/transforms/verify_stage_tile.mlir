// RUN: ge-opt %s --target Ascend910A -p verify-stage{stage=tile} --split-input-file --verify-diagnostics

!t = tensor<4x8xf32, #npu.mem<ub>>

func.func private @k(%x: tensor<4x8xf32>, %out: tensor<4x8xf32>) {
  tile.forall (%i) in (1) {
    %a = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf32> to !t
    %b = tile.exp %a : !t -> !t
    tile.store %b into %out[0, 0] : !t into tensor<4x8xf32>
  }
  func.return
}

// -----

!t = tensor<4x8xf32, #npu.mem<ub>>

func.func private @k(%x: tensor<4x8xf32>) {
  %a = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xf32> to !t
  // expected-error@+1 {{'tile.erf' op has no place in a kernel at stage tile; run convert-fused-to-tile and expand-math}}
  %b = tile.erf %a : !t -> !t
  func.return
}

// -----

func.func private @k(%a: tensor<4x8xf32, #npu.mem<l0c>>) {
  // expected-error@+1 {{'tile.move' op moves l0c→l1, but Ascend910A has no such path; its paths are}}
  %b = tile.move %a[0, 0] valid [4, 8] : tensor<4x8xf32, #npu.mem<l0c>> to tensor<4x8xf32, #npu.mem<l1>>
  func.return
}

// -----

func.func private @k(%x: tensor<4x8xbf16>) {
  %a = tile.load %x[0, 0] valid [4, 8] : tensor<4x8xbf16> to tensor<4x8xbf16, #npu.mem<ub>>
  // expected-error@+1 {{'tile.cast' op bf16 is not a vector dtype of Ascend910A (f16, f32, i64, i32, i16, i8, i1)}}
  %b = tile.cast %a : tensor<4x8xbf16, #npu.mem<ub>> to tensor<4x8xf32, #npu.mem<ub>>
  func.return
}

// -----

func.func private @k(%a: tensor<4x4xf32, #npu.mem<l0a>>, %b: tensor<4x4xf32, #npu.mem<l0b>>, %c: tensor<4x4xf32, #npu.mem<l0c>>, %t: i1) {
  // expected-error@+1 {{'tile.mmad' op f32 is not a cube dtype of Ascend910A (f16, i8)}}
  %d = tile.mmad %a, %b, %c init %t : tensor<4x4xf32, #npu.mem<l0a>>, tensor<4x4xf32, #npu.mem<l0b>>, tensor<4x4xf32, #npu.mem<l0c>> -> tensor<4x4xf32, #npu.mem<l0c>>
  func.return
}
