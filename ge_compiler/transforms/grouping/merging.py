"""Makes one kernel of two: the producer's primitives, then the consumer's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import FunctionType, LocationAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ge_compiler.dialects import fused
from ge_compiler.dialects.locations import fuse_locations, located
from ge_compiler.transforms.grouping.simplification import simplify


@dataclass(frozen=True)
class Merged:
    """The body of a kernel that stands for a producer and a consumer, before it has a place."""

    function: FuncOp
    """Holds the body, so that it can be analysed; its signature says nothing."""
    inputs: tuple[SSAValue, ...]
    replaced: tuple[SSAValue, ...]
    """The results of the two kernels that its results stand for."""


def merge(producer: fused.KernelOp, consumer: fused.KernelOp, kept: Sequence[SSAValue] = ()) -> Merged:
    """A body that does what both do; `kept` are the results of `producer` that it gives beside those of `consumer`."""
    sources = [producer.inputs if x.owner is producer else (x,) for x in consumer.inputs]
    inputs = list(dict.fromkeys(x for values in sources for x in values))
    block = Block(arg_types=[x.type for x in inputs])
    for arg, x in zip(block.args, inputs, strict=True):
        arg.name_hint = x.name_hint
    inside: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for kernel in (producer, consumer):
        mapper: dict[SSAValue, SSAValue] = {arg: inside[x] for arg, x in zip(kernel.body.block.args, kernel.inputs, strict=True)}
        for op in kernel.body.block.ops:
            if op is not kernel.yielded:
                block.add_op(located(op.clone(mapper), op.location))
        inside |= {result: mapper.get(v, v) for result, v in zip(kernel.results, kernel.yielded.values, strict=True)}
    replaced = (*consumer.results, *kept)
    block.add_op(located(fused.YieldOp([inside[value] for value in replaced]), consumer.location))
    simplify(block)
    used = _drop_unused_arguments(block)
    return Merged(FuncOp("merged", FunctionType.from_lists([], []), Region(block)), tuple(inputs[i] for i in used), replaced)


def _drop_unused_arguments(block: Block) -> list[int]:
    """The numbers of the arguments that stay."""
    used = [i for i, arg in enumerate(block.args) if arg.uses]
    for arg in [arg for arg in block.args if not arg.uses]:
        block.erase_arg(arg)
    return used


def build(merged: Merged, ops: Sequence[str], op_name: str, locations: Iterable[LocationAttr]) -> fused.KernelOp:
    """The kernel of a merged body."""
    block = merged.function.body.detach_block(0)
    made = fused.KernelOp(merged.inputs, [value.type for value in merged.replaced], block, ops, op_name)
    for new, old in zip(made.results, merged.replaced, strict=True):
        new.name_hint = old.name_hint
    return located(made, fuse_locations(locations))


def kernel_of(block: Block, inputs: Sequence[SSAValue], like: fused.KernelOp) -> fused.KernelOp:
    """A kernel with another body, for the operators of `like`."""
    types = [value.type for value in block.last_op.operands] if block.last_op is not None else []
    made = fused.KernelOp(inputs, types, block, [name.data for name in like.ops], like.op_name.data)
    return located(made, like.location)


def copy_of(value: SSAValue, name: str, at: Operation) -> fused.KernelOp:
    """A kernel that copies `value`, with the location of `at`."""
    block = Block(arg_types=[value.type])
    block.args[0].name_hint = value.name_hint
    block.add_op(located(fused.YieldOp([block.args[0]]), at.location))
    made = fused.KernelOp([value], [value.type], block, ["TensorMove"], name)
    return located(made, at.location)


def erase(op: Operation) -> None:
    op.detach()
    op.erase()


def name_of(kernel: fused.KernelOp) -> str:
    """How messages call a kernel."""
    return f"{kernel.op_name.data} ({', '.join(op.data for op in kernel.ops)})"
