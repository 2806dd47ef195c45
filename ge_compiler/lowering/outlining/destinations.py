"""Where a kernel's results go, as far as they do not get a place of their own."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from ge_compiler.dialects import fused
from ge_compiler.dialects.diagnostics import CompileError, Note
from ge_compiler.dialects.fused.destinations import uses_of_contents
from ge_compiler.dialects.states import states
from ge_compiler.dialects.types import tensor_type

_POINT_BY_POINT = (fused.FusedElementwiseOp, fused.CastOp)
_ONE_PASS = (*_POINT_BY_POINT, fused.FullOp, fused.IotaOp, fused.BroadcastOp, fused.MatmulOp, fused.YieldOp)
"""Kernels of these compute each element of their results once, from operands that they read right before."""


def destination(kernel: fused.KernelOp, number: int, taken: Sequence[SSAValue] = ()) -> SSAValue | None:
    """
    The value that result `number` is to be written over; `None` if it needs a place of its own. `taken` are destinations of other results.

    That is the argument of which the result replaces parts, or the state of which it is the new contents.
    """
    value = kernel.yielded.values[number]
    argument = fused.updated_argument(value)
    if argument is None:
        return _state(kernel, number, taken)
    for use in argument.uses:
        op = use.operation
        # What is replaced is the last operand.
        if use.index == len(op.operands) - 1 and op.results and fused.updated_argument(op.results[0]) is argument:
            continue
        name = f"%{kernel.inputs[argument.index].name_hint or argument.index}"
        message = f"replaces parts of {name} and reads it too, which may already be replaced then; copy it first"
        raise CompileError.at(kernel, message, Note("read here", op.location))
    return kernel.inputs[argument.index]


def _state(kernel: fused.KernelOp, number: int, taken: Sequence[SSAValue]) -> SSAValue | None:
    """The state of `@main` of which a result is the new contents, if its old ones are not needed once the kernel writes."""
    for use in kernel.outputs[number].uses:
        block = kernel.parent
        function = block.parent_op() if block is not None else None
        if not isinstance(use.operation, ReturnOp) or not isinstance(function, FuncOp):
            continue
        found = [function.body.block.args[i] for i, result in states(function).items() if result == use.index]
        if found and found[0] not in taken and found[0].type == kernel.outputs[number].type and _gives_way(found[0], kernel, number):
            return found[0]
    return None


def _gives_way(state: SSAValue, kernel: fused.KernelOp, number: int) -> bool:
    for op, is_view in uses_of_contents(state):
        if op is kernel and (is_view or not _reads_first(kernel, state, number)):
            return False
        if kernel.is_before_in_block(op):
            return False
    return True


def _reads_first(kernel: fused.KernelOp, value: SSAValue, number: int) -> bool:
    """
    Whether the kernel reads each element of an input before it writes that element of a result, and never again.

    Engines that execute operators as they are read all operands first.
    """
    if kernel.runs_on is not fused.Engine.AICORE:
        return True
    shape = tensor_type(kernel.outputs[number]).get_shape()
    if any(tensor_type(y).get_shape() != shape for y in kernel.outputs):
        return False
    if not all(isinstance(op, _ONE_PASS) for op in kernel.body.block.ops):
        return False
    arguments = [argument for argument, given in zip(kernel.body.block.args, kernel.inputs, strict=True) if given is value]
    return all(_stays_in_place(argument) for argument in arguments)


def _stays_in_place(value: SSAValue) -> bool:
    """Whether element by element is all that happens to a value."""
    users: list[Operation] = [use.operation for use in value.uses]
    return all(
        isinstance(op, fused.YieldOp) or (isinstance(op, _POINT_BY_POINT) and all(_stays_in_place(y) for y in op.results)) for op in users
    )
