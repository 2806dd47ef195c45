"""Bufferizes `@main`: launches write into buffers, and what the function returned are its last arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, TensorType, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ge_compiler.dialects import buf
from ge_compiler.dialects.diagnostics import CompileError, Note
from ge_compiler.dialects.fused import LaunchOp
from ge_compiler.dialects.ge import ConstOp, LoadWeightOp
from ge_compiler.dialects.states import states
from ge_compiler.dialects.tile import ViewOp
from ge_compiler.dialects.types import Buffer, buffer_type, tensor_type
from ge_compiler.lowering.bufferization.buffers import Labels, bufferize_arguments, bufferize_view, memref_of, update_signature
from ge_compiler.transforms.rewriting.inserter import Inserter


def bufferize_main(function: FuncOp) -> None:
    """Rewrites `function` from tensors to memrefs in place. Raises `CompileError` where a result would need a copy."""
    if not _has_tensors(function):
        return
    labels = Labels()
    workspaces: dict[tuple[Buffer, int], SSAValue] = {}
    bufferize_arguments(function)
    for op in list(function.body.block.ops):
        match op:
            case LaunchOp():
                _launch(op, labels, workspaces)
            case LoadWeightOp() | ConstOp():
                Rewriter.replace_value_with_new_type(op.y, memref_of(tensor_type(op.y)))
            case ViewOp():
                if not op.shows_all:
                    raise CompileError.at(
                        op, "shows only a part of its source, or in another order; a kernel may, but between launches it needs a copy"
                    )
                bufferize_view(op)
            case EmptyOp() | ReturnOp():
                pass  # the launch that fills an empty tensor makes its buffer
            case _:
                raise CompileError.at(op, "has no place here; once kernels have loops, a function is a list of launches")
    _returns(function)
    for op in list(function.body.block.ops):
        if isinstance(op, EmptyOp):
            _erase_empty(op)


def _has_tensors(function: FuncOp) -> bool:
    values = [*function.body.block.args, *(value for op in function.body.block.ops for value in (*op.operands, *op.results))]
    return any(isinstance(value.type, TensorType) for value in values)


def _launch(op: LaunchOp, labels: Labels, shared: dict[tuple[Buffer, int], SSAValue]) -> None:
    for value in op.inputs:
        if isinstance(value.owner, EmptyOp) and value not in op.destinations:
            raise CompileError.at(op, "reads an empty tensor, which nobody has written", Note("made here", value.owner.location))
    destinations = [_destination(op, i, labels) for i in range(len(op.destinations))]
    tied = {i: destination for destination, i in op.tied.items()}
    inputs = [destinations[tied[i]] if i in tied else value for i, value in enumerate(op.inputs)]
    new = LaunchOp(op.kernel_name, inputs, [*destinations, *_workspaces(op, labels, shared)], op.ops, op.op_name)
    new.properties["engine"] = op.engine
    new.attributes |= op.attributes
    Inserter(op)(new)
    for result, destination in zip(op.outputs, destinations, strict=True):
        result.replace_all_uses_with(destination)
    op.detach()
    op.erase()


def _workspaces(op: LaunchOp, labels: Labels, shared: dict[tuple[Buffer, int], SSAValue]) -> list[SSAValue]:
    """Buffers for the workspaces that the kernel, which has its memrefs by now, takes beyond its inputs and destinations.

    Launches run one after the other: they share the buffers of one type.
    """
    kernel = op.kernel()
    assert kernel is not None
    taken: Counter[Buffer] = Counter()
    workspaces: list[SSAValue] = []
    for type_ in map(buffer_type, list(kernel.function_type.inputs)[len(op.inputs) + len(op.destinations) :]):
        key = type_, taken[type_]
        taken[type_] += 1
        if key not in shared:
            shared[key] = Inserter(op)(buf.AllocOp(labels.unique("workspace"), type_), "workspace").result
        workspaces.append(shared[key])
    return workspaces


def _destination(op: LaunchOp, number: int, labels: Labels) -> SSAValue:
    """What is written over has its buffer. An empty tensor gets one for each launch, also where it stands for several destinations."""
    value = op.destinations[number]
    if not isinstance(value.owner, EmptyOp):
        return value
    if not tensor_type(value).has_static_shape():
        raise CompileError.at(op, f"writes into {value.type}; a buffer needs a static shape, so compile for fixed input sizes")
    name = op.op_name.data
    # The label says where in the model; values are called by the last part, since launches repeat their names.
    hint = (op.outputs[number].name_hint or name).rpartition(".")[2]
    return Inserter(op)(buf.AllocOp(labels.unique(name), memref_of(tensor_type(value))), hint).result


def _returns(function: FuncOp) -> None:
    """What a launch computes for the caller is written straight into an argument; the new contents of states lie where the old ones did."""
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    arguments_of = {result: function.body.block.args[argument] for argument, result in states(function).items()}
    results: dict[SSAValue, int] = {}
    for i in range(len(last.operands)):
        value = last.operands[i]
        if i in arguments_of:
            _check_state(last, i, arguments_of[i])
            continue
        owner = value.owner
        if not isinstance(owner, buf.AllocOp):
            raise CompileError.at(last, f"result #{i} is {_describe(value, results)}; it needs a kernel that copies it")
        argument = function.body.block.insert_arg(value.type, len(function.body.block.args))
        argument.name_hint = f"out{i}"
        results[argument] = i
        value.replace_all_uses_with(argument)
        owner.detach()
        owner.erase()
    Inserter(last)(ReturnOp())
    last.detach()
    last.erase()
    function.attributes[buf.RESULTS_ATTRIBUTE] = IntegerAttr(len(results), i64)
    _extend_argument_attributes(function, list(results.values()))
    update_signature(function)


def _check_state(last: ReturnOp, number: int, argument: BlockArgument) -> None:
    if last.operands[number] is not argument:
        name = f"%{argument.name_hint or argument.index}"
        message = f"result #{number} is to be the new contents of {name}, but is computed elsewhere"
        raise CompileError.at(last, f"{message}; it needs a kernel that copies it into {name}")


def _describe(value: SSAValue, results: Mapping[SSAValue, int]) -> str:
    if value in results:
        return f"the same value as result #{results[value]}"
    if isinstance(value.owner, EmptyOp):
        return "an empty tensor that nobody has written"
    if isinstance(value, BlockArgument):
        return f"the input %{value.name_hint or value.index} itself"
    return "a weight itself" if isinstance(value.owner, LoadWeightOp) else "a view of another value"


def _extend_argument_attributes(function: FuncOp, results: Sequence[int]) -> None:
    """The attributes of those results that became arguments are the arguments'."""
    if function.arg_attrs is None and function.res_attrs is None:
        return
    empty = DictionaryAttr({})
    inputs = len(function.body.block.args) - len(results)
    arguments = function.arg_attrs.data if function.arg_attrs is not None else (empty,) * inputs
    outputs = [function.res_attrs.data[i] if function.res_attrs is not None else empty for i in results]
    function.arg_attrs = ArrayAttr((*arguments, *outputs))
    function.res_attrs = None


def _erase_empty(op: Operation) -> None:
    users = [use.operation for use in op.results[0].uses]
    if users:
        raise CompileError.at(users[0], "uses an empty tensor, which nobody has written", Note("made here", op.location))
    op.detach()
    op.erase()
