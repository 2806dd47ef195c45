"""Memrefs for tensors: their types, their labels, and the views that ragged tiles need."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, IntegerAttr, MemRefType, NoneAttr, StridedLayoutAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import ReinterpretCastOp, SubviewOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from ge_compiler.dialects.memory import Space, mem_of
from ge_compiler.dialects.tile import ViewOp
from ge_compiler.dialects.tile.window import row_major
from ge_compiler.dialects.types import Buffer, Tensor, buffer_type, tensor_type
from ge_compiler.transforms.rewriting.inserter import Inserter

Extent = SSAValue | int
"""Valid rows or columns of a tile: a number where it is known, else an index value."""


@dataclass(frozen=True)
class Tile:
    """Where a tile lies: its whole buffer, and how much of it is valid."""

    buffer: SSAValue
    extents: tuple[Extent, Extent]

    def view(self, insert: Inserter) -> SSAValue:
        """The valid part of the buffer: the buffer itself where all of it is valid."""
        type_ = buffer_type(self.buffer)
        if self.extents == type_.get_shape():
            return self.buffer
        strides = [stride for stride in type_.get_strides() or () if stride is not None]
        shape = [extent if isinstance(extent, int) else DYNAMIC_INDEX for extent in self.extents]
        result = MemRefType(type_.get_element_type(), shape, StridedLayoutAttr(strides), type_.memory_space)
        return insert(SubviewOp.get(self.buffer, [0, 0], self.extents, [1, 1], result), self.buffer.name_hint).result


def known_extent(extent: Extent) -> Extent:
    """The number that `extent` stands for, where it is a constant."""
    owner = extent.owner if isinstance(extent, SSAValue) else None
    if isinstance(owner, ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return extent


def known_extents(extents: Sequence[Extent]) -> tuple[Extent, Extent]:
    """The two valid extents of an op, constants as numbers."""
    rows, columns = (known_extent(extent) for extent in extents)
    return rows, columns


def show_extent(extent: Extent) -> str:
    """An extent as messages name it."""
    if isinstance(extent, int):
        return str(extent)
    return f"%{extent.name_hint}" if extent.name_hint else "an unnamed value"


@functools.cache
def memref_of(type_: Tensor) -> Buffer:
    """The memref that holds a tensor: row-major in global memory, else in the tensor's own memory."""
    space = NoneAttr() if mem_of(type_).space is Space.GM else type_.encoding
    return MemRefType(type_.get_element_type(), type_.get_shape(), NoneAttr(), space)


@dataclass
class Labels:
    """Names for buffers, each given once in a function."""

    taken: set[str] = field(default_factory=set[str])

    def unique(self, name: str) -> str:
        """`name`, or `name_1`, `name_2`, ... if it is taken: as values are named when they are printed."""
        label, count = name, 0
        while label in self.taken:
            count += 1
            label = f"{name}_{count}"
        self.taken.add(label)
        return label


def bufferize_arguments(function: FuncOp) -> None:
    """Turns the tensor arguments of `function` into memrefs; its body is for the caller to follow up."""
    for argument in function.body.block.args:
        if isinstance(argument.type, TensorType):
            Rewriter.replace_value_with_new_type(argument, memref_of(tensor_type(argument)))
    update_signature(function)


def update_signature(function: FuncOp) -> None:
    """Makes the type of a function that returns nothing follow its arguments."""
    function.function_type = FunctionType.from_lists([argument.type for argument in function.body.block.args], [])


def bufferize_view(op: ViewOp) -> None:
    """A view of a tensor in global memory is the same memory under another shape."""
    window, source = op.window(), buffer_type(op.source)
    contiguous = window.is_contiguous and window.offset == 0
    strides = row_major(window.shape) if contiguous else window.strides
    layout = NoneAttr() if contiguous else StridedLayoutAttr(strides, window.offset)
    type_ = MemRefType[Attribute](source.get_element_type(), window.shape, layout, source.memory_space)
    cast = Inserter(op)(ReinterpretCastOp.from_dynamic(op.source, [window.offset], window.shape, strides, type_), op.result.name_hint)
    op.result.replace_all_uses_with(cast.result)
    op.detach()
    op.erase()
