"""What kernels do, apart from the values that they do it to: kernels that differ in names and locations only share a body."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import FunctionType, LocationAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ge_compiler.dialects import fused
from ge_compiler.dialects.fused.destinations import updated_argument
from ge_compiler.dialects.types import tensor_type
from ge_compiler.transforms.grouping.cost import cost_of
from ge_compiler.transforms.grouping.equality import body_key
from ge_compiler.transforms.grouping.simplification import is_light, is_view
from ge_compiler.transforms.iteration.accesses import NoDomain
from ge_compiler.transforms.iteration.domain import domain_of


@dataclass(frozen=True)
class Refusal:
    """Why two kernels stay apart: a code, and the condition with its values."""

    code: str
    reason: str


class Body:
    """What a kernel does; it is never changed, so that what is known about it is found out once."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.function = FuncOp("merged", FunctionType.from_lists([], []), Region(block))
        """Holds the block, so that it can be analysed; its signature says nothing."""

    @property
    def values(self) -> tuple[SSAValue, ...]:
        """The results."""
        assert self.block.last_op is not None
        return tuple(self.block.last_op.operands)

    @cached_property
    def cost(self) -> int | Refusal:
        """What a kernel with this body costs, or why it has no domain."""
        try:
            return cost_of(domain_of(self.function))
        except NoDomain as reason:
            return Refusal(reason.code, reason.message.removeprefix("'func.func' op @merged: "))

    @cached_property
    def has_anchor(self) -> bool:
        return any(isinstance(op, fused.Anchor) for op in self.block.ops)

    @cached_property
    def has_reduction(self) -> bool:
        return any(isinstance(op, fused.ReduceOp) for op in self.block.ops)

    @cached_property
    def is_light(self) -> bool:
        return is_light(self.block)

    @cached_property
    def is_view(self) -> bool:
        return is_view(self.block)

    @cached_property
    def elements(self) -> int | None:
        """Of its result, if it has one and computes all of it."""
        values = self.values
        is_whole = len(values) == 1 and not isinstance(values[0].owner, fused.ConcatOp | fused.InsertOp | fused.ScatterOp)
        return tensor_type(values[0]).element_count() if is_whole else None

    @cached_property
    def updated(self) -> tuple[int, ...]:
        """The numbers of the arguments of which it replaces parts."""
        return tuple(argument.index for value in self.values if (argument := updated_argument(value)) is not None)

    def aliasing(self) -> Refusal | None:
        """An argument that is updated in place may be used for that alone, and its new contents are a result once."""
        for value in self.values:
            argument = updated_argument(value)
            if argument is not None and _is_read(value, argument):
                name = f"%{argument.name_hint or argument.index}"
                return Refusal("aliasing", f"the kernel would also read {name}, which it updates in place")
        return None


def _is_read(value: SSAValue, argument: BlockArgument) -> bool:
    """Whether anything else is done with an argument, or with what it is on its way to being `value`."""
    while True:
        if len(list(value.uses)) != 1:
            return True
        if value is argument:
            return False
        assert isinstance(value.owner, fused.InsertOp | fused.ScatterOp)
        value = value.owner.dest


class Bodies:
    """The bodies of the kernels of a function, each once."""

    def __init__(self) -> None:
        self.by_key: dict[Hashable, Body] = {}
        self.by_kernel: dict[Operation, Body] = {}
        self.locations: dict[Operation, tuple[LocationAttr, ...]] = {}
        """Where the primitives of kernels come from whose bodies are not written yet."""

    def of(self, kernel: fused.KernelOp) -> Body:
        """What a kernel does."""
        body = self.by_kernel.get(kernel)
        if body is None:
            key = body_key(kernel.body.block)
            # A copy: the kernel may be erased.
            body = self.by_key.get(key) or self.by_key.setdefault(key, Body(_copy(kernel.body.block)))
            self.by_kernel[kernel] = body
        return body

    def of_block(self, block: Block) -> Body:
        """The body that is equal to `block`, which must not change from now on."""
        return self.by_key.setdefault(body_key(block), Body(block))

    def locations_of(self, kernel: fused.KernelOp) -> tuple[LocationAttr, ...]:
        """Where the ops of a kernel come from."""
        return self.locations.get(kernel) or tuple(op.location for op in kernel.body.block.ops)

    def write(self, kernel: fused.KernelOp) -> None:
        """Write into a kernel whose block is empty what it does."""
        source, block = self.of(kernel).block, kernel.body.block
        for number, value in enumerate(kernel.inputs):
            block.insert_arg(value.type, number).name_hint = value.name_hint
        copy_ops(source, dict(zip(source.args, block.args, strict=True)), block)
        for op, location in zip(block.ops, self.locations.pop(kernel), strict=True):
            op.location = location

    def forget(self, kernel: fused.KernelOp) -> None:
        self.by_kernel.pop(kernel, None)
        self.locations.pop(kernel, None)


def _copy(block: Block) -> Block:
    new = Block(arg_types=[argument.type for argument in block.args])
    for old, argument in zip(block.args, new.args, strict=True):
        argument.name_hint = old.name_hint
    copy_ops(block, dict(zip(block.args, new.args, strict=True)), new)
    return new


def copy_ops(source: Block, values: dict[SSAValue, SSAValue], into: Block) -> list[Operation]:
    """Append the ops of a block to another; `values` says what stands for its arguments, and then for its results, too."""
    # A body of primitives has no regions; copying without them does not look for any.
    made: list[Operation] = [op.clone(values) if op.regions else op.clone_without_regions(values) for op in source.ops]
    into.add_ops(made)
    return made
