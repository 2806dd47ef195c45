// RUN: ge-opt %s -p canonicalize,cse | filecheck %s
// RUN: ge-opt %s --pass-pipeline='builtin.module(canonicalize, builtin.module(cse))' | filecheck %s
// RUN: ge-opt %s | filecheck %s --check-prefix=SAME
// RUN: ge-opt %s | ge-opt | filecheck %s --check-prefix=SAME
// RUN: ge-opt %s --mlir-print-op-generic | ge-opt - | filecheck %s --check-prefix=SAME
// RUN: ge-opt %s -p cse -o %t && cat %t | filecheck %s
// RUN: ge-opt %s -p cse --mlir-print-ir-before-all --mlir-print-ir-after=cse 2>&1 | filecheck %s --check-prefix=DUMP
// RUN: ge-opt %s -p cse,cse --mlir-timing 2>&1 | filecheck %s --check-prefix=TIMING
// RUN: ge-opt %s --target Ascend910A | filecheck %s --check-prefix=TARGET

// CHECK-LABEL: func.func @twice
// CHECK-NEXT:    %[[X:.*]] = arith.addi %a, %a : i32
// CHECK-NEXT:    %[[Y:.*]] = arith.muli %[[X]], %[[X]] : i32
// CHECK-NEXT:    func.return %[[Y]] : i32

// SAME: arith.addi
// SAME-NEXT: arith.addi

// DUMP:      IR Dump Before cse
// DUMP:      arith.addi
// DUMP:      arith.addi
// DUMP:      IR Dump After cse
// DUMP:      arith.addi
// DUMP-NEXT: arith.muli

// TIMING:      execution time report: {{[0-9.]+}} seconds in 2 passes
// TIMING-NEXT: s ({{.*}}%)  cse
// TIMING-NEXT: s ({{.*}}%)  cse

// TARGET: builtin.module attributes {ge.target = "Ascend910A"} {
func.func @twice(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %0, %1 : i32
  func.return %2 : i32
}
