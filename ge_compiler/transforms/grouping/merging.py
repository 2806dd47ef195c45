"""Makes one kernel of two: the producer's primitives, then the consumer's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ge_compiler.dialects import fused
from ge_compiler.dialects.locations import located
from ge_compiler.transforms.grouping.bodies import Bodies, Body, Refusal, copy_ops
from ge_compiler.transforms.grouping.simplification import simplify


@dataclass(frozen=True)
class Merged:
    """What a producer and a consumer do together."""

    body: Body
    used: tuple[int, ...]
    """Which of the inputs of the two are its arguments."""
    sources: tuple[int, ...]
    """For each op, which one it stems from: of the producer's, the consumer's, and the consumer itself."""
    verdict: int | Refusal
    """What it costs, or why it is no kernel."""


def inputs_of(producer: fused.KernelOp, consumer: fused.KernelOp) -> list[SSAValue]:
    """The inputs of two kernels that become one, each once."""
    own = tuple(producer.operands)
    sources = [own if x.owner is producer else (x,) for x in consumer.operands]
    return list(dict.fromkeys(x for values in sources for x in values))


def merge(bodies: Bodies, producer: fused.KernelOp, consumer: fused.KernelOp, kept: Sequence[SSAValue]) -> Merged:
    """A body that does what both do; `kept` are the results of `producer` that it gives beside those of `consumer`."""
    inputs = inputs_of(producer, consumer)
    block = Block(arg_types=[x.type for x in inputs])
    for arg, x in zip(block.args, inputs, strict=True):
        arg.name_hint = x.name_hint
    inside: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    count = 0
    for kernel in (producer, consumer):
        body = bodies.of(kernel)
        mapper: dict[SSAValue, SSAValue] = {arg: inside[x] for arg, x in zip(body.block.args, kernel.inputs, strict=True)}
        for op in copy_ops(body.block, mapper, block):
            op.location = _number(count)
            count += 1
        last = block.last_op
        assert last is not None
        inside |= dict(zip(kernel.results, last.operands, strict=True))
        erase(last)
    block.add_op(located(fused.YieldOp([inside[value] for value in (*consumer.results, *kept)]), _number(count)))
    simplify(block)
    used = _drop_unused_arguments(block)
    sources = tuple(_number_of(op) for op in block.ops)
    body = bodies.of_block(block)
    return Merged(body, used, sources, body.aliasing() or body.cost)


@cache
def _number(number: int) -> LocationAttr:
    """A number as a location, since rewrites hand locations on."""
    return FileLineColLoc(StringAttr(""), IntAttr(number), IntAttr(0))


def _number_of(op: Operation) -> int:
    assert isinstance(op.location, FileLineColLoc)
    return op.location.line.data


def _drop_unused_arguments(block: Block) -> tuple[int, ...]:
    """The numbers of the arguments that stay."""
    used = tuple(i for i, arg in enumerate(block.args) if arg.uses)
    for arg in [arg for arg in block.args if not arg.uses]:
        block.erase_arg(arg)
    return used


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
