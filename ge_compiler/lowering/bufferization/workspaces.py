"""Tiles in global memory: a stack with one for each core, which `@main` plans and hands to the kernel."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import SubviewOp
from xdsl.ir import Attribute, Operation, SSAValue

from ge_compiler.dialects.npu import BlockIdxOp
from ge_compiler.dialects.types import Tensor
from ge_compiler.transforms.rewriting.inserter import Inserter


@dataclass
class Workspaces:
    """Adds workspace arguments to `kernel`."""

    kernel: FuncOp
    cores: int

    def of_core(self, op: Operation, type_: Tensor, name: str) -> SSAValue:
        """The running core's part, made before `op`, of a new argument with room for a tile of `type_` for each core."""
        rows, columns = type_.get_shape()
        block = self.kernel.body.block
        stack = MemRefType[Attribute](type_.get_element_type(), [self.cores, rows, columns])
        argument = block.insert_arg(stack, len(block.args))
        argument.name_hint = name
        layout = StridedLayoutAttr([columns, 1], None)
        part = MemRefType[Attribute](type_.get_element_type(), [rows, columns], layout, NoneAttr())
        insert = Inserter(op)
        core = insert(BlockIdxOp(), "core").result
        return insert(SubviewOp.get(argument, [core, 0, 0], [1, rows, columns], [1, 1, 1], part), name).result
