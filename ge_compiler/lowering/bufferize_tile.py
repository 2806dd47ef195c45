"""
Gives every tile a buffer, and every op a buffer to write into. Valid extents become the sizes of memref.subview.

    %a = tile.load %x[%i, 0] valid [%m, 64] : tensor<50x64xf32> to tensor<32x64xf32, #npu.mem<ub>>

becomes

    %a = buf.alloc "a" : memref<32x64xf32, #npu.mem<ub>>
    %v = memref.subview %a[0, 0] [%m, 64] [1, 1] : ... to memref<?x64xf32, strided<[64, 1]>, #npu.mem<ub>>
    tile.load %x[%i, 0] valid [%m, 64] into %v : ...
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.fused import aicore_kernels, kernels
from ge_compiler.dialects.target import target_of
from ge_compiler.lowering.bufferization.entry import bufferize_main
from ge_compiler.lowering.bufferization.kernel import bufferize_kernel


@dataclass(frozen=True)
class BufferizeTilePass(ModulePass):
    """Turns tensors into memrefs: tiles get buffers, ops write into them, and results of `@main` become its last arguments."""

    name = "bufferize-tile"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        of_kernels = kernels(op)
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and len(function.body.blocks) != 1:
                raise CompileError.at(function, f"@{function.sym_name.data} has {len(function.body.blocks)} blocks; a body is one block")
        for kernel in aicore_kernels(op):
            bufferize_kernel(kernel, target_of(op).cores)
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and function not in of_kernels:
                bufferize_main(function)
