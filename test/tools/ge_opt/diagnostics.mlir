// RUN: ge-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: not ge-opt %s --split-input-file 2>&1 | filecheck %s --check-prefix=ERROR

// ERROR: diagnostics.mlir:13:8: error: 'arith.addi' op operand #1 (%b) is used before it is defined
// ERROR-NEXT:   {{%}}0 = arith.addi %a, %b : i32
// ERROR-NEXT: {{^}}       ^{{$}}
// ERROR: diagnostics.mlir:15:8: note: defined here

// ERROR: diagnostics.mlir:24:3: error: 'func.return' op Expected arguments

func.func @later(%a: i32) -> i32 {
  // expected-error@below {{operand #1 (%b) is used before it is defined}}
  %0 = arith.addi %a, %b : i32
  // expected-note-re@+1 {{^defined h[a-z]+$}}
  %b = arith.addi %0, %a : i32
  func.return %b : i32
}

// -----

// expected-error@+3 {{Expected arguments to have the same types}}
// CHECK-NOT: @wrong_type
func.func @wrong_type() -> i32 {
  func.return
}

// -----

// CHECK: func.func @right
func.func @right() {
  func.return
}

// -----

func.func @unknown_op() {
  ge.NoSuchOperator
  // expected-error@above {{unknown operation 'ge.NoSuchOperator'}}
}
