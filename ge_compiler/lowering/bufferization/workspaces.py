"""Workspaces of a kernel in global memory, which `@main` plans and hands to it: tiles of each core, and tensors that all cores share."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import SubviewOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Attribute, Operation, SSAValue

from ge_compiler.dialects.npu import BlockIdxOp
from ge_compiler.dialects.types import Tensor, tensor_type
from ge_compiler.lowering.bufferization.buffers import memref_of
from ge_compiler.transforms.rewriting.inserter import Inserter


@dataclass
class Workspaces:
    """Adds workspace arguments to `kernel`."""

    kernel: FuncOp
    cores: int

    def of_core(self, op: Operation, type_: Tensor, name: str) -> SSAValue:
        """The running core's part, made before `op`, of a new argument with room for a tile of `type_` for each core."""
        rows, columns = type_.get_shape()
        argument = self._argument(MemRefType(type_.get_element_type(), [self.cores, rows, columns]), name)
        layout = StridedLayoutAttr([columns, 1], None)
        part = MemRefType[Attribute](type_.get_element_type(), [rows, columns], layout, NoneAttr())
        insert = Inserter(op)
        core = insert(BlockIdxOp(), "core").result
        return insert(SubviewOp.get(argument, [core, 0, 0], [1, rows, columns], [1, 1, 1], part), name).result

    def of_all(self, op: EmptyOp) -> None:
        """Replace a tensor that all cores share, made in the kernel, by a new argument."""
        op.tensor.replace_all_uses_with(self._argument(memref_of(tensor_type(op.tensor)), op.tensor.name_hint or "workspace"))
        op.detach()
        op.erase()

    def _argument(self, type_: MemRefType[Attribute], name: str) -> SSAValue:
        block = self.kernel.body.block
        argument = block.insert_arg(type_, len(block.args))
        argument.name_hint = name
        return argument
