"""
Turn every operator into a kernel of its own, with each rounding written down.

    %1 = ge.Exp %0 : (tensor<4xf16>) -> tensor<4xf16>
    // becomes
    %1 = fused.kernel(%0) {op_name = "exp", ops = ["Exp"]} : (tensor<4xf16>) -> tensor<4xf16> {
    ^bb0(%x: tensor<4xf16>):
      %a = fused.cast %x : tensor<4xf16> to tensor<4xf32>
      %b = fused.exp %a : tensor<4xf32>                       // computed in f32, rounded once
      %c = fused.cast %b : tensor<4xf32> to tensor<4xf16>
      fused.yield %c : tensor<4xf16>

An operator that is not written in primitives stays as it is in a kernel of engine `aicpu`, or `host` if it has no meaning in numpy; a
remark says why.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, NameLoc
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from ge_compiler.dialects import fused, ge
from ge_compiler.dialects.diagnostics import CompileError, remark
from ge_compiler.dialects.locations import located
from ge_compiler.dialects.target import NpuTarget, target_of
from ge_compiler.dialects.types import tensor_type
from ge_compiler.lowering.decomposition.region import NoLowering, Region, argument_name, element_of, splat
from ge_compiler.lowering.decomposition.table import rule_of
from ge_compiler.transforms.grouping.bodies import copy_ops
from ge_compiler.transforms.legality.operators import primitive_refusal


def _aicore_kernel(op: ge.GeOp, target: NpuTarget) -> fused.KernelOp:
    """The operator in primitives. Raises `NoLowering` with the reason why it cannot be."""
    region = Region(op)
    value = rule_of(op)(op, region)
    value = region.cast(value, element_of(op.results[0]))
    refusal = next((r for o in region.block.ops if (r := primitive_refusal(o, target)) is not None), None)
    if refusal is not None:
        raise NoLowering(refusal)
    return _kernel(op, region, [value])


def _kernel_of_operator(op: ge.GeOp, engine: fused.Engine) -> fused.KernelOp:
    """A kernel that holds the operator as it is."""
    region = Region(op)
    inside = located(op.clone(), op.location)
    for i, operand in enumerate(op.operands):
        inside.operands[i] = region.argument(operand)
    region.block.add_op(inside)
    return _kernel(op, region, inside.results, engine)


def _kernel(op: ge.GeOp, region: Region, values: Sequence[SSAValue], engine: fused.Engine = fused.Engine.AICORE) -> fused.KernelOp:
    region.block.add_op(located(fused.YieldOp(values), op.location))
    types = [result.type for result in op.results]
    return located(fused.KernelOp(region.inputs, types, region.block, [_type_name(op)], _name(op), engine), op.location)


def _key(op: ge.GeOp) -> Hashable:
    """What the body of an operator's kernel depends on, so that the operators of a model's layers are lowered once."""
    operands = list(op.operands)
    constants = [x.owner if isinstance(x.owner, ge.ConstOp) and x.owner.value.is_splat() else None for x in operands]
    read = tuple((x.type, operands.index(x), None if c is None else splat(c)) for x, c in zip(operands, constants, strict=True))
    return op.name, read, tuple(op.result_types), frozenset(op.properties.items()), frozenset(op.attributes.items())


@dataclass(frozen=True)
class _Lowered:
    """A kernel of an operator, for others with the same key."""

    kernel: fused.KernelOp
    numbers: tuple[int, ...]
    """Which of the operands are inputs."""

    def kernel_of(self, op: ge.GeOp) -> fused.KernelOp:
        body, inputs = self.kernel.body.block, [op.operands[i] for i in self.numbers]
        block = Block(arg_types=[x.type for x in inputs])
        for argument, value in zip(block.args, inputs, strict=True):
            argument.name_hint = argument_name(value, argument.index)
        for inside in copy_ops(body, dict(zip(body.args, block.args, strict=True)), block):
            inside.location = op.location
        return located(fused.KernelOp(inputs, op.result_types, block, [_type_name(op)], _name(op)), op.location)


def _require_fixed_sizes(op: ge.GeOp) -> None:
    for value in (*op.operands, *op.results):
        if not tensor_type(value).has_static_shape():
            raise CompileError.at(op, f"has a size that is open in {value.type}: kernels are made for fixed shapes; write the size")


def _kernel_of(op: ge.GeOp, target: NpuTarget, known: dict[Hashable, _Lowered]) -> fused.KernelOp:
    _require_fixed_sizes(op)
    if isinstance(op, ge.AtenFallbackOp):
        remark("convert-ge-to-fused", op, "no-meaning", f"{op.overload.data} runs on the host: no operator expresses it")
        return _kernel_of_operator(op, fused.Engine.HOST)
    key = _key(op)
    if key in known:
        return known[key].kernel_of(op)
    try:
        kernel = _aicore_kernel(op, target)
        operands = list(op.operands)
        known[key] = _Lowered(kernel, tuple(operands.index(x) for x in kernel.inputs))
        return kernel
    except NoLowering as reason:
        remark("convert-ge-to-fused", op, "no-lowering", f"{_name(op)} runs on the AI CPU: {reason}")
        return _kernel_of_operator(op, fused.Engine.AICPU)


def _type_name(op: Operation) -> str:
    return op.name.removeprefix("ge.")


def _name(op: Operation) -> str:
    """The place in the model: the name in the op's location, else its SSA name, else its type."""
    if isinstance(op.location, NameLoc):
        return op.location.desc.data
    return (op.results[0].name_hint if op.results else None) or _type_name(op)


def _replace(op: ge.GeOp, kernel: fused.KernelOp) -> None:
    assert op.parent is not None
    op.parent.insert_op_before(kernel, op)
    for before, after in zip(op.results, kernel.results, strict=True):
        after.name_hint = before.name_hint
        before.replace_all_uses_with(after)
    op.detach()
    op.erase()


def _copy(value: SSAValue, after: Operation) -> SSAValue:
    """A kernel that copies `value`, so that a result of `@main` has memory of its own."""
    block = Block(arg_types=[value.type])
    block.add_op(located(fused.YieldOp([block.args[0]]), after.location))
    kernel = located(fused.KernelOp([value], [value.type], block, ["TensorMove"], "output"), after.location)
    assert after.parent is not None
    after.parent.insert_op_before(kernel, after)
    return kernel.results[0]


def _own_results(function: FuncOp) -> None:
    """Give every result of `function` memory of its own: arguments, weights and values returned twice are copied."""
    last = function.get_return_op()
    assert isinstance(last, ReturnOp)
    seen: set[SSAValue] = set()
    for i, value in enumerate(last.operands):
        is_fresh = isinstance(value, OpResult) and isinstance(value.owner, fused.KernelOp) and value not in seen
        if isinstance(value, BlockArgument) or not is_fresh:
            last.operands[i] = _copy(value, last)
        seen.add(value)


@dataclass(frozen=True)
class ConvertGeToFusedPass(ModulePass):
    """Turns every operator into a kernel of primitives."""

    name = "convert-ge-to-fused"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        known: dict[Hashable, _Lowered] = {}
        for function in [f for f in op.body.block.ops if isinstance(f, FuncOp) and not fused.is_kernel(f)]:
            for operator in [o for o in function.body.block.ops if isinstance(o, ge.GeOp) and not isinstance(o, ge.ConstOp)]:
                _replace(operator, _kernel_of(operator, target, known))
            _own_results(function)
            _drop_unused_constants(function)


def _drop_unused_constants(function: FuncOp) -> None:
    for constant in [o for o in function.body.block.ops if isinstance(o, ge.ConstOp)]:
        if not constant.y.uses:
            constant.detach()
            constant.erase()
