// Tests that operators which break a rule of theirs are refused with the operand, the rule and what to do.
// RUN: ge-opt %s --split-input-file --verify-diagnostics

func.func @indices(%x: tensor<4x6xf16>, %i: tensor<3xf32>) {
  // expected-error@+1 {{'ge.GatherV2' op indices must have elements of type i32 or i64, got tensor<3xf32>; insert a ge.Cast}}
  %0 = ge.GatherV2 %x, %i {axis = 0 : i64} : (tensor<4x6xf16>, tensor<3xf32>) -> tensor<3x6xf16>
  func.return
}

// -----

func.func @axis(%x: tensor<4x6xf16>, %i: tensor<3xi32>) {
  // expected-error@+1 {{'ge.GatherV2' op axis must be in [-2, 2) for a tensor of rank 2, got -3}}
  %0 = ge.GatherV2 %x, %i {axis = -3 : i64} : (tensor<4x6xf16>, tensor<3xi32>) -> tensor<3x6xf16>
  func.return
}

// -----

func.func @scatter_rank(%x: tensor<4x6xf16>, %i: tensor<1x3xi32>) {
  // expected-error@+1 {{'ge.ScatterUpdate' op indices must have one dimension, got tensor<1x3xi32>}}
  %0 = ge.ScatterUpdate %x, %i, %x {axis = 0 : i64} : (tensor<4x6xf16>, tensor<1x3xi32>, tensor<4x6xf16>) -> tensor<4x6xf16>
  func.return
}

// -----

func.func @scatter_updates(%x: tensor<4x6xf16>, %i: tensor<3xi32>) {
  // expected-error@+1 {{'ge.ScatterUpdate' op updates must be 4x3, var with 3 slices along 1, got tensor<4x6xf16>}}
  %0 = ge.ScatterUpdate %x, %i, %x {axis = 1 : i64} : (tensor<4x6xf16>, tensor<3xi32>, tensor<4x6xf16>) -> tensor<4x6xf16>
  func.return
}

// -----

func.func @elements_rank(%x: tensor<4x6xf16>, %i: tensor<3xi32>) {
  // expected-error@+1 {{'ge.GatherElements' op index must have the rank of tensor<4x6xf16>, got tensor<3xi32>}}
  %0 = ge.GatherElements %x, %i {dim = 1 : i64} : (tensor<4x6xf16>, tensor<3xi32>) -> tensor<3xf16>
  func.return
}

// -----

func.func @elements_size(%x: tensor<4x6xf16>, %i: tensor<5x2xi32>) {
  // expected-error@+1 {{'ge.GatherElements' op index has 5 places in dimension 0, which has 4}}
  %0 = ge.GatherElements %x, %i {dim = 1 : i64} : (tensor<4x6xf16>, tensor<5x2xi32>) -> tensor<5x2xf16>
  func.return
}

// -----

func.func @reduction(%x: tensor<4x6xf16>, %i: tensor<4x6xi32>) {
  // expected-error@+1 {{'ge.ScatterElements' op reduction must be "add", or left out to replace elements, got "mul"}}
  %0 = ge.ScatterElements %x, %i, %x {axis = 1 : i64, reduction = "mul"} : (tensor<4x6xf16>, tensor<4x6xi32>, tensor<4x6xf16>) -> tensor<4x6xf16>
  func.return
}

// -----

func.func @attention_rank(%x: tensor<4x6xf16>) {
  // expected-error@+1 {{'ge.FlashAttentionScore' op query must have at least three dimensions: heads, rows and the head size, got tensor<4x6xf16>}}
  %0 = ge.FlashAttentionScore %x, %x, %x {scale_value = 1.0 : f32} : (tensor<4x6xf16>, tensor<4x6xf16>, tensor<4x6xf16>) -> tensor<4x6xf16>
  func.return
}

// -----

func.func @attention_size(%q: tensor<2x4x6xf16>, %k: tensor<2x4x5xf16>) {
  // expected-error@+1 {{'ge.FlashAttentionScore' op query has head size 6, but key has 5}}
  %0 = ge.FlashAttentionScore %q, %k, %k {scale_value = 1.0 : f32} : (tensor<2x4x6xf16>, tensor<2x4x5xf16>, tensor<2x4x5xf16>) -> tensor<2x4x5xf16>
  func.return
}

// -----

func.func @attention_heads(%q: tensor<3x4x6xf16>, %k: tensor<2x4x6xf16>) {
  // expected-error@+1 {{'ge.FlashAttentionScore' op the 2 heads of key must divide the 3 heads of query}}
  %0 = ge.FlashAttentionScore %q, %k, %k {scale_value = 1.0 : f32} : (tensor<3x4x6xf16>, tensor<2x4x6xf16>, tensor<2x4x6xf16>) -> tensor<3x4x6xf16>
  func.return
}

// -----

func.func @attention_value(%q: tensor<2x4x6xf16>, %v: tensor<2x5x6xf16>) {
  // expected-error@+1 {{'ge.FlashAttentionScore' op key and value must agree in heads and rows, got 2x4x6 and 2x5x6}}
  %0 = ge.FlashAttentionScore %q, %q, %v {scale_value = 1.0 : f32} : (tensor<2x4x6xf16>, tensor<2x4x6xf16>, tensor<2x5x6xf16>) -> tensor<2x4x6xf16>
  func.return
}

// -----

func.func @attention_batch(%q: tensor<2x2x4x6xf16>, %k: tensor<3x2x4x6xf16>) {
  // expected-error@+1 {{'ge.FlashAttentionScore' op batch dimensions do not broadcast: 2 and 3 and 3}}
  %0 = ge.FlashAttentionScore %q, %k, %k {scale_value = 1.0 : f32} : (tensor<2x2x4x6xf16>, tensor<3x2x4x6xf16>, tensor<3x2x4x6xf16>) -> tensor<2x2x4x6xf16>
  func.return
}

// -----

func.func @attention_mask(%q: tensor<2x4x6xf16>, %m: tensor<4x5xi1>) {
  // expected-error@+1 {{'ge.FlashAttentionScore' op atten_mask must broadcast to the scores, 2x4x4, got tensor<4x5xi1>}}
  %0 = ge.FlashAttentionScore %q, %q, %q, %m {scale_value = 1.0 : f32} : (tensor<2x4x6xf16>, tensor<2x4x6xf16>, tensor<2x4x6xf16>, tensor<4x5xi1>) -> tensor<2x4x6xf16>
  func.return
}

// -----

func.func @attention_mask_element(%q: tensor<2x4x6xf16>, %m: tensor<4x4xi8>) {
  // expected-error@+1 {{'ge.FlashAttentionScore' op atten_mask must have elements of type i1 or of a float type, got tensor<4x4xi8>}}
  %0 = ge.FlashAttentionScore %q, %q, %q, %m {scale_value = 1.0 : f32} : (tensor<2x4x6xf16>, tensor<2x4x6xf16>, tensor<2x4x6xf16>, tensor<4x4xi8>) -> tensor<2x4x6xf16>
  func.return
}
