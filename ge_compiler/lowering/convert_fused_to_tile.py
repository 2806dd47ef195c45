"""
Give every kernel its grid, its loops and its tiles, as its schedule says.

    func.func private @Relu(%x: tensor<100xf16>) -> tensor<100xf16> attributes {schedule = #tile.schedule<m = 1, n = 64>} { ... }
    // becomes
    func.func private @Relu(%x: tensor<100xf16>, %out: tensor<100xf16>) attributes {schedule = ...} {
      %x0 = tile.view %x : tensor<100xf16> to tensor<1x100xf16>      // and %out0
      tile.forall (%i, %j) in (1, 2) {
        %t = tile.load %x0[0, %j0] valid [1, %n] ...                  // then cast, relu, cast, tile.store

A kernel is written once, for one lane. A matmul accumulates over chunks of k in L1 and of k0 in L0; everything else happens to its tile
in the unified buffer.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ge_compiler.dialects import fused
from ge_compiler.dialects.target import target_of
from ge_compiler.lowering.tiling.kernel import KernelWriter


@dataclass(frozen=True)
class ConvertFusedToTilePass(ModulePass):
    """Gives every kernel its grid, its loops and its tiles."""

    name = "convert-fused-to-tile"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for kernel in fused.aicore_kernels(op):
            new = KernelWriter(kernel, target).write()
            op.body.block.insert_op_before(new, kernel)
            kernel.detach()
            kernel.erase()
