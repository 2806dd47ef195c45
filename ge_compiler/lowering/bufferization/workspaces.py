"""Tiles in global memory: a stack with one for each core, which `@main` plans and hands to the kernel."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import SubviewOp
from xdsl.ir import Attribute, Operation, SSAValue

from ge_compiler.dialects.locations import located
from ge_compiler.dialects.npu import BlockIdxOp
from ge_compiler.dialects.types import Tensor
from ge_compiler.transforms.rewriting.inserter import Inserter


@dataclass
class Workspaces:
    """Adds workspace arguments to `kernel`."""

    kernel: FuncOp
    cores: int
    core: SSAValue | None = None

    def of_core(self, op: Operation, type_: Tensor, name: str) -> SSAValue:
        """The running core's part, made before `op`, of a new argument with room for a tile of `type_` for each core."""
        rows, columns = type_.get_shape()
        block = self.kernel.body.block
        stack = MemRefType[Attribute](type_.get_element_type(), [self.cores, rows, columns])
        argument = block.insert_arg(stack, len(block.args))
        argument.name_hint = name
        layout = StridedLayoutAttr([columns, 1], DYNAMIC_INDEX)
        part = MemRefType[Attribute](type_.get_element_type(), [rows, columns], layout, NoneAttr())
        view = SubviewOp.get(argument, [self.core_index(), 0, 0], [1, rows, columns], [1, 1, 1], part)
        return Inserter(op)(view, name).result

    def core_index(self) -> SSAValue:
        """The number of the running core, read once at the start of the kernel."""
        if self.core is None:
            first = self.kernel.body.block.first_op
            assert first is not None
            index = located(BlockIdxOp(), self.kernel.location)
            self.kernel.body.block.insert_op_before(index, first)
            index.result.name_hint = "core"
            self.core = index.result
        return self.core
