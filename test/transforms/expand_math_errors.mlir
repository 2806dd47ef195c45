// RUN: ge-opt %s -p expand-math --verify-diagnostics

func.func private @late(%x: memref<4x8xf32, #npu.mem<ub>>) {
  // expected-error@+1 {{run expand-math before bufferize-tile}}
  tile.erf %x into %x : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32, #npu.mem<ub>>
  func.return
}
