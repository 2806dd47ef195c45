"""The `buf` dialect: buffers with a space, an offset, a size and slots. The order of instructions between pipes is left open.

Ops of `tile` stand here in destination-passing form on memrefs. `buf.alloc` asks for room; `plan-memory` replaces it by `buf.at`, which
says where. On-chip buffers belong to kernels; buffers in global memory belong to `@main` and lie in one arena. Extents of ragged tiles are
the sizes of `memref.subview`s of static buffers.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IndexType, IntegerAttr, MemRefType, NoneAttr, StringAttr, i64
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.memory import Space, mem_of
from ge_compiler.dialects.types import Buffer, buffer_type, verify_element_type

RESULTS_ATTRIBUTE = "results"
"""On `@main` once its values have addresses: how many of its last arguments are its results."""


def _verify_buffer(value: SSAValue) -> None:
    type_ = buffer_type(value)
    verify_element_type(type_)
    if DYNAMIC_INDEX in type_.get_shape():
        raise VerifyException(f"a buffer has a static shape, got {type_}; extents of ragged tiles are sizes of memref.subview")
    if not isinstance(type_.layout, NoneAttr):
        raise VerifyException(f"a buffer lies in one piece, got {type_}; views of it have strides")
    if mem_of(type_).space is not Space.GM and len(type_.get_shape()) != 2:
        raise VerifyException(f"a buffer in on-chip memory has rank 2, got {type_}")


@irdl_op_definition
class AllocOp(IRDLOperation):
    """A buffer that has no address yet. `label` names it in byte tables; several allocs of one label are one buffer.

    With several `slots`, the trips of the loop around it take turns: each fills another slot. With `age`, the op stands for the slot that
    was filled that many trips ago. `multi-buffer` makes the choice explicit: `slot` is its number.
    """

    name = "buf.alloc"

    label = prop_def(StringAttr)
    slots = opt_prop_def(IntegerAttr.constr(i64))
    age = opt_prop_def(IntegerAttr.constr(i64))
    slot = opt_operand_def(IndexType)
    result = result_def(MemRefType)

    assembly_format = "$label (`slots` $slots^)? (`age` $age^)? (`slot` $slot^)? attr-dict `:` type($result)"

    def __init__(self, label: str, result: Buffer, slots: int = 1, age: int = 0, slot: SSAValue | None = None):
        numbers = {"slots": slots if slots > 1 else None, "age": age or None}
        properties = {name: IntegerAttr(number, i64) for name, number in numbers.items() if number is not None}
        super().__init__(operands=[slot], properties={"label": StringAttr(label), **properties}, result_types=[result])

    @property
    def slot_count(self) -> int:
        return 1 if self.slots is None else self.slots.value.data

    @property
    def trips_ago(self) -> int:
        return 0 if self.age is None else self.age.value.data

    def verify_(self) -> None:
        _verify_buffer(self.result)
        if not 0 <= self.trips_ago < self.slot_count:
            raise VerifyException(f"with {self.slot_count} slots has an age from 0 to {self.slot_count - 1}, got {self.trips_ago}")
        if self.slot is not None and self.slot_count == 1:
            raise VerifyException("chooses a slot, but has only one; give 'slots'")


@irdl_op_definition
class AtOp(IRDLOperation):
    """The buffer at a byte offset of its memory space; with several offsets, `slot` chooses one.

    A buffer's name is its label and its offsets: several ops of one name stand for the same buffer, or for other slots of it.
    """

    name = "buf.at"

    label = prop_def(StringAttr)
    offsets = prop_def(DenseArrayBase.constr(i64))
    slot = opt_operand_def(IndexType)
    result = result_def(MemRefType)

    assembly_format = "$label $offsets (`slot` $slot^)? attr-dict `:` type($result)"

    def __init__(self, label: StringAttr, offsets: Sequence[int], result: Buffer, slot: SSAValue | None = None):
        properties = {"label": label, "offsets": DenseArrayBase.from_list(i64, offsets)}
        super().__init__(operands=[slot], properties=properties, result_types=[result])

    def verify_(self) -> None:
        _verify_buffer(self.result)
        offsets = self.offsets.get_values()
        if not offsets or min(offsets) < 0:
            raise VerifyException(f"needs at least one offset, none of them negative, got {list(offsets)}")
        if (len(offsets) > 1) != (self.slot is not None):
            raise VerifyException(f"has {len(offsets)} offsets; give 'slot' exactly where there are several")


BUF = Dialect("buf", [AllocOp, AtOp])
