// RUN: ge-opt %s --target Ascend910A -p verify-sync | ge-opt -p verify-stage{stage=npu} | filecheck %s

// Every instruction once, one at a time: the simplest kernel that is right. The accumulator reaches the unified buffer on the vector pipe.

!u = memref<16x16xf32, #npu.mem<ub>>
!h = memref<16x16xf16, #npu.mem<ub>>

// CHECK-LABEL: @every_instruction
// CHECK-COUNT-27: npu.pipe_barrier
func.func private @every_instruction(%x: memref<16x16xf16>, %w: memref<16x16xf16>, %r: memref<1x16xf32>, %y: memref<16x16xf16>) {
  %true = arith.constant true
  %a1 = buf.at "a1" [0] : memref<16x16xf16, #npu.mem<l1>>
  %b1 = buf.at "b1" [512] : memref<16x16xf16, #npu.mem<l1>>
  %a0 = buf.at "a0" [0] : memref<16x16xf16, #npu.mem<l0a>>
  %b0 = buf.at "b0" [0] : memref<16x16xf16, #npu.mem<l0b>>
  %acc = buf.at "acc" [0] : memref<16x16xf32, #npu.mem<l0c>>
  %u = buf.at "u" [0] : !u
  %row = buf.at "row" [1024] : memref<1x16xf32, #npu.mem<ub>>
  %v = buf.at "v" [2048] : !u
  %h = buf.at "h" [3072] : !h
  tile.forall (%i) in (1) {
    npu.load <nd2nz> ins(%x : memref<16x16xf16>) outs(%a1 : memref<16x16xf16, #npu.mem<l1>>)
    npu.pipe_barrier <all>
    npu.load <nd2nz> ins(%w : memref<16x16xf16>) outs(%b1 : memref<16x16xf16, #npu.mem<l1>>)
    npu.pipe_barrier <all>
    npu.load <nd> ins(%r : memref<1x16xf32>) outs(%row : memref<1x16xf32, #npu.mem<ub>>)
    npu.pipe_barrier <all>
    npu.load2d ins(%a1 : memref<16x16xf16, #npu.mem<l1>>) outs(%a0 : memref<16x16xf16, #npu.mem<l0a>>)
    npu.pipe_barrier <all>
    npu.load2d ins(%b1 : memref<16x16xf16, #npu.mem<l1>>) outs(%b0 : memref<16x16xf16, #npu.mem<l0b>>) {transpose}
    npu.pipe_barrier <all>
    npu.mmad ins(%a0, %b0 : memref<16x16xf16, #npu.mem<l0a>>, memref<16x16xf16, #npu.mem<l0b>>) outs(%acc : memref<16x16xf32, #npu.mem<l0c>>) init %true
    npu.pipe_barrier <all>
    npu.fixpipe ins(%acc : memref<16x16xf32, #npu.mem<l0c>>) outs(%u : !u)
    npu.pipe_barrier <all>
    npu.vdup 2.0 : f32 outs(%v : !u)
    npu.pipe_barrier <all>
    npu.vbrc ins(%row : memref<1x16xf32, #npu.mem<ub>>) outs(%v : !u)
    npu.pipe_barrier <all>
    npu.vadd ins(%u, %v : !u, !u) outs(%u : !u)
    npu.pipe_barrier <all>
    npu.vsub ins(%u, %v : !u, !u) outs(%u : !u)
    npu.pipe_barrier <all>
    npu.vmul ins(%u, %v : !u, !u) outs(%u : !u)
    npu.pipe_barrier <all>
    npu.vdiv ins(%u, %v : !u, !u) outs(%u : !u)
    npu.pipe_barrier <all>
    npu.vmax ins(%u, %v : !u, !u) outs(%u : !u)
    npu.pipe_barrier <all>
    npu.vmin ins(%u, %v : !u, !u) outs(%u : !u)
    npu.pipe_barrier <all>
    npu.vadds ins(%u : !u) outs(%u : !u) {scalar = 3.0 : f32}
    npu.pipe_barrier <all>
    npu.vmuls ins(%u : !u) outs(%u : !u) {scalar = 3.0 : f32}
    npu.pipe_barrier <all>
    npu.vmaxs ins(%u : !u) outs(%u : !u) {scalar = 3.0 : f32}
    npu.pipe_barrier <all>
    npu.vmins ins(%u : !u) outs(%u : !u) {scalar = 3.0 : f32}
    npu.pipe_barrier <all>
    npu.vabs ins(%u : !u) outs(%u : !u)
    npu.pipe_barrier <all>
    npu.vexp ins(%u : !u) outs(%u : !u)
    npu.pipe_barrier <all>
    npu.vln ins(%u : !u) outs(%u : !u)
    npu.pipe_barrier <all>
    npu.vsqrt ins(%u : !u) outs(%u : !u)
    npu.pipe_barrier <all>
    npu.vrec ins(%u : !u) outs(%u : !u)
    npu.pipe_barrier <all>
    npu.vrelu ins(%u : !u) outs(%u : !u)
    npu.pipe_barrier <all>
    npu.vconv ins(%u : !u) outs(%h : !h)
    npu.pipe_barrier <all>
    npu.store ins(%h : !h) outs(%y : memref<16x16xf16>)
    npu.pipe_barrier <all>
  }
  func.return
}
