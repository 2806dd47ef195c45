"""Tensors in global memory under other shapes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, opt_prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.index_list import DYNAMIC
from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.tile.rules import verify_space
from ge_compiler.dialects.tile.window import Window, row_major
from ge_compiler.dialects.types import Tensor, tensor_type


class _View(IRDLOperation):
    """What is known of a `tile.view`."""

    source = operand_def(TensorType)
    offset = opt_prop_def(IntegerAttr.constr(i64))
    strides = opt_prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)

    def window(self) -> Window:
        """The elements of the source that the view shows."""
        shape = tensor_type(self.result).get_shape()
        strides = row_major(shape) if self.strides is None else self.strides.get_values()
        return Window(0 if self.offset is None else self.offset.value.data, tuple(shape), tuple(strides))

    @property
    def shows_all(self) -> bool:
        """Whether the view has all elements of the source in the same order."""
        window = self.window()
        return window.offset == 0 and window.is_contiguous and tensor_type(self.source).element_count() == window.last + 1


@irdl_op_definition
class ViewOp(_View):
    """A tensor in global memory under another shape: no cost.

    Without `strides` the elements stand one after the other, from element `offset` (else 0) on. `strides` has an entry for each dimension
    of the result, in elements of the source, none negative; with 0, one element is read again and again. Where the view says neither, it
    keeps all elements of the source.
    """

    name = "tile.view"

    traits = traits_def(Pure())
    assembly_format = "$source (`offset` $offset^)? (`strides` $strides^)? attr-dict `:` type($source) `to` type($result)"

    def __init__(self, source: SSAValue, result: Tensor, offset: int | None = None, strides: Sequence[int] | None = None):
        place = None if offset is None else IntegerAttr(offset, i64)
        steps = None if strides is None else DenseArrayBase.from_list(i64, strides)
        super().__init__(operands=[source], properties={"offset": place, "strides": steps}, result_types=[result])

    def verify_(self) -> None:
        source, result = tensor_type(self.source), tensor_type(self.result)
        for name, type_ in (("the source", source), ("the result", result)):
            verify_space(type_, name, Space.GM)
            if DYNAMIC in type_.get_shape():
                raise VerifyException(f"{name} must have a static shape, got {type_}")
        keeps_all = self.offset is not None or self.strides is not None or source.element_count() == result.element_count()
        if source.get_element_type() != result.get_element_type() or not keeps_all:
            raise VerifyException(f"keeps the elements, but goes from {source} to {result}")
        if self.strides is not None and len(self.strides) != len(result.get_shape()):
            raise VerifyException(f"needs a stride for each dimension of {result}, got {list(self.strides.get_values())}")
        self.window().verify_inside(source)
        if isinstance(self.source.owner, ViewOp) and not self.source.owner.window().is_contiguous:
            raise VerifyException("is a view of a strided view; make it of the tensor itself")


def verify_stored_view(into: SSAValue) -> None:
    """Raises `VerifyException` if a store may write an element of `into` twice: what stands there then depends on the order."""
    if isinstance(into.owner, ViewOp) and into.owner.window().may_overlap_itself:
        raise VerifyException(f"writes into a view that overlaps itself: {into.owner.window()}")
