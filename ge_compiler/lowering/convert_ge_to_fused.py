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
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, NameLoc, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from ge_compiler.dialects import fused, ge
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.elementwise import scalar_attribute
from ge_compiler.dialects.locations import located
from ge_compiler.dialects.types import Tensor, accumulator_of, is_integer, tensor_type


@dataclass
class _Region:
    """The body of a kernel under construction: operands of the operator become arguments, splat constants are written inside."""

    op: ge.GeOp
    block: Block
    inputs: list[SSAValue]

    def add(self, op: Operation) -> SSAValue:
        self.block.add_op(located(op, self.op.location))
        return op.results[0]

    def operand(self, value: SSAValue) -> SSAValue:
        """`value` inside the kernel."""
        constant = value.owner
        if isinstance(constant, ge.ConstOp) and constant.value.is_splat():
            return self.add(fused.FullOp(_splat(constant), tensor_type(value)))
        if value in self.inputs:
            return self.block.args[self.inputs.index(value)]
        self.inputs.append(value)
        argument = self.block.insert_arg(value.type, len(self.block.args))
        argument.name_hint = value.name_hint or f"x{len(self.inputs)}"
        return argument

    def cast(self, value: SSAValue, element: Attribute) -> SSAValue:
        return value if tensor_type(value).get_element_type() == element else self.add(fused.CastOp(value, element))

    def wide(self, value: SSAValue) -> SSAValue:
        """`value` in the type that it is computed in: floats in f32."""
        element = tensor_type(value).get_element_type()
        return value if is_integer(element) else self.cast(value, f32)

    def broadcast(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """`value` repeated to `shape`, aligned at the last dimension."""
        source = tensor_type(value)
        if source.get_shape() == tuple(shape):
            return value
        dimensions = range(len(shape) - len(source.get_shape()), len(shape))
        return self.add(fused.BroadcastOp(value, list(dimensions), TensorType(source.get_element_type(), shape)))


def _splat(constant: ge.ConstOp) -> FloatAttr[Any] | IntegerAttr[Any]:
    value = constant.value.get_attrs()[0]
    assert isinstance(value, FloatAttr | IntegerAttr)
    return value


def _elementwise(op: ge.ElementwiseOp, region: _Region) -> SSAValue:
    name, scalar = op.function()
    shape = tensor_type(op.results[0]).get_shape()
    operands = [region.broadcast(region.wide(region.operand(x)), shape) for x in op.operands]
    element = tensor_type(operands[0]).get_element_type()
    properties = {} if scalar is None else {"scalar": scalar_attribute(scalar, element)}
    return region.add(fused.ELEMENTWISE[name].create(operands=operands, result_types=[operands[0].type], properties=properties))


def _cast(op: ge.CastOp, region: _Region) -> SSAValue:
    value, element = region.operand(op.x), tensor_type(op.y).get_element_type()
    return value if tensor_type(value).get_element_type() == element else region.add(fused.CastOp(value, element, required=True))


def _matmul(op: ge.MatMulBase, region: _Region) -> SSAValue:
    result = tensor_type(op.y)
    a, b = region.operand(op.x1), region.operand(op.x2)
    wide: Tensor = TensorType(accumulator_of(tensor_type(a).get_element_type()), result.get_shape())
    product = fused.MatmulOp(a, b, op.transpose_x1 is not None, op.transpose_x2 is not None, wide)
    contraction = product.extents()[2]
    # A loop over an empty contraction would leave its accumulator undefined.
    value = region.add(product if contraction else fused.FullOp(scalar_attribute(0, wide.get_element_type()), wide))
    if op.bias is None:
        return value
    bias = region.broadcast(region.wide(region.operand(op.bias)), result.get_shape())
    return region.add(fused.ELEMENTWISE["add"].create(operands=[value, bias], result_types=[value.type]))


_RULES: dict[type[ge.GeOp], Callable[[Any, _Region], SSAValue]] = {
    ge.ElementwiseOp: _elementwise,
    ge.CastOp: _cast,
    ge.MatMulBase: _matmul,
}
"""How an operator is written in primitives, by class; the result is rounded to the operator's element type afterwards."""


def _kernel_of(op: ge.GeOp) -> fused.KernelOp:
    rule = next((rule for kind, rule in _RULES.items() if isinstance(op, kind)), None)
    if rule is None:
        raise CompileError.at(op, "has no lowering to the AI Core")
    region = _Region(op, Block(), [])
    result = tensor_type(op.results[0])
    value = region.cast(rule(op, region), result.get_element_type())
    region.block.add_op(located(fused.YieldOp([value]), op.location))
    return located(fused.KernelOp(region.inputs, [result], region.block, [_type_name(op)], _name(op)), op.location)


def _type_name(op: Operation) -> str:
    return op.name.removeprefix("ge.")


def _name(op: Operation) -> str:
    """The place in the model: the name in the op's location, else its SSA name, else its type."""
    if isinstance(op.location, NameLoc):
        return op.location.desc.data
    return op.results[0].name_hint or _type_name(op)


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
        for function in [f for f in op.body.block.ops if isinstance(f, FuncOp)]:
            for operator in [o for o in function.body.block.ops if isinstance(o, ge.GeOp) and not isinstance(o, ge.ConstOp)]:
                kernel = _kernel_of(operator)
                function.body.block.insert_op_before(kernel, operator)
                kernel.results[0].name_hint = operator.results[0].name_hint
                operator.results[0].replace_all_uses_with(kernel.results[0])
                operator.detach()
                operator.erase()
            _own_results(function)
            _drop_unused_constants(function)


def _drop_unused_constants(function: FuncOp) -> None:
    for constant in [o for o in function.body.block.ops if isinstance(o, ge.ConstOp)]:
        if not constant.y.uses:
            constant.detach()
            constant.erase()
