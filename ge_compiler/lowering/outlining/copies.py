"""Copies into states whose new contents cannot be computed in place."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, SSAValue

from ge_compiler.dialects import fused
from ge_compiler.dialects.diagnostics import remark
from ge_compiler.dialects.locations import located
from ge_compiler.dialects.memory import bytes_of
from ge_compiler.dialects.states import states
from ge_compiler.dialects.types import tensor_type
from ge_compiler.transforms.rewriting.inserter import Inserter


def copies_into_states(function: FuncOp, pass_name: str) -> Iterator[fused.KernelOp]:
    """Kernels, made one after the other, that copy the new contents of states which lie elsewhere; the caller launches each at once."""
    last = function.body.block.last_op if function.body.blocks else None
    if not isinstance(last, ReturnOp):
        return
    for argument, number in states(function).items():
        state, value = function.body.block.args[argument], last.operands[number]
        if _buffer_of(value) is state:
            continue
        copy = _copy(value, last)
        last.operands[number] = copy.outputs[0]
        name, moved = f"%{state.name_hint or argument}", 2 * bytes_of(tensor_type(value))
        message = f"the new contents of {name} cannot be computed where its old ones are still read; they are copied, {moved} bytes"
        remark(pass_name, last, "copy", message)
        yield copy


def _buffer_of(value: SSAValue) -> SSAValue:
    """The value whose memory a value lies in: results of launches lie where their destinations do."""
    while isinstance(launch := value.owner, fused.LaunchOp):
        value = launch.destinations[launch.outputs.index(value)]
    return value


def _copy(value: SSAValue, last: ReturnOp) -> fused.KernelOp:
    block = Block(arg_types=[value.type])
    block.args[0].name_hint = value.name_hint
    block.add_op(located(fused.YieldOp([block.args[0]]), last.location))
    return Inserter(last)(fused.KernelOp([value], [value.type], block, ["TensorMove"], _name(value)), value.name_hint)


def _name(value: SSAValue) -> str:
    owner = value.owner
    if isinstance(owner, fused.LaunchOp):
        return f"{owner.op_name.data}.copy"
    return f"{value.name_hint or 'argument'}.copy" if isinstance(value, BlockArgument) else "copy"
