"""The body of a kernel under construction, and the primitives that functions of this package write into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, TensorType, f32, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ge_compiler.dialects import fused, ge
from ge_compiler.dialects.elementwise import scalar_attribute
from ge_compiler.dialects.functions import FUNCTIONS
from ge_compiler.dialects.locations import located
from ge_compiler.dialects.types import Tensor, integer_bits, is_integer, tensor_type


class NoLowering(Exception):
    """Why an operator cannot be written in primitives."""


@dataclass
class Region:
    """The body of the kernel of `op`: operands of the operator become arguments, splat constants are written inside."""

    op: ge.GeOp
    block: Block = field(default_factory=Block)
    inputs: list[SSAValue] = field(default_factory=list[SSAValue])
    known: dict[object, SSAValue] = field(default_factory=dict[object, SSAValue])
    """The primitives that stand in it already -> their results."""

    def add(self, op: Operation) -> SSAValue:
        """The result of the primitive `op`, which is added unless an equal one is there."""
        key = (op.name, tuple(op.operands), frozenset(op.properties.items()), tuple(op.result_types))
        if key not in self.known:
            self.block.add_op(located(op, self.op.location))
            self.known[key] = op.results[0]
        return self.known[key]

    def operand(self, value: SSAValue) -> SSAValue:
        """`value` inside the kernel."""
        constant = value.owner
        if isinstance(constant, ge.ConstOp) and constant.value.is_splat():
            return self.add(fused.FullOp(splat(constant), tensor_type(value)))
        return self.argument(value)

    def argument(self, value: SSAValue) -> SSAValue:
        """`value` as an argument of the kernel."""
        if value in self.inputs:
            return self.block.args[self.inputs.index(value)]
        self.inputs.append(value)
        argument = self.block.insert_arg(value.type, len(self.block.args))
        argument.name_hint = argument_name(value, len(self.block.args) - 1)
        return argument

    def cast(self, value: SSAValue, element: Attribute) -> SSAValue:
        return value if element_of(value) == element else self.add(fused.CastOp(value, element))

    def wide(self, value: SSAValue) -> SSAValue:
        """`value` in the type that it is computed in."""
        return self.cast(value, computed_in(element_of(value)))

    def broadcast(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """`value` repeated to `shape`, aligned at the last dimension."""
        rank = len(tensor_type(value).get_shape())
        return self.along(value, range(len(shape) - rank, len(shape)), shape)

    def along(self, value: SSAValue, dimensions: Sequence[int], shape: Sequence[int]) -> SSAValue:
        """`value` repeated to `shape`, its dimensions being `dimensions` of the result."""
        source = tensor_type(value)
        if source.get_shape() == tuple(shape):
            return value
        return self.add(fused.BroadcastOp(value, list(dimensions), TensorType(source.get_element_type(), shape)))

    def apply(self, name: str, *operands: SSAValue, scalar: float | None = None) -> SSAValue:
        """
        The function `name` of the table on operands of one shape, in the type of the last.

        Raises `NoLowering` if it does not compute in that type.
        """
        function, type_ = FUNCTIONS[name], tensor_type(operands[-1])
        element = type_.get_element_type()
        if str(element) not in function.dtypes:
            raise NoLowering(f"{name} computes in {', '.join(function.dtypes)}, not in {element}")
        result: Tensor = TensorType(IntegerType(1), type_.get_shape()) if function.is_predicate else type_
        properties = {} if scalar is None else {"scalar": scalar_attribute(scalar, element)}
        return self.add(fused.ELEMENTWISE[name].create(operands=operands, result_types=[result], properties=properties))

    def full(self, value: float, like: SSAValue) -> SSAValue:
        """A tensor of `value` with the type of `like`."""
        type_ = tensor_type(like)
        return self.add(fused.FullOp(number(value, type_.get_element_type()), type_))

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        return value if tensor_type(value).get_shape() == tuple(shape) else self.add(fused.ReshapeOp(value, shape))

    def transpose(self, value: SSAValue, permutation: Sequence[int]) -> SSAValue:
        in_order = list(permutation) == list(range(len(permutation)))
        return value if in_order else self.add(fused.TransposeOp(value, permutation))


def argument_name(value: SSAValue, number: int) -> str:
    """What argument `number` of a kernel is called that stands for `value`."""
    return value.name_hint or f"x{number + 1}"


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor."""
    return tensor_type(value).get_element_type()


def computed_in(element: Attribute) -> Attribute:
    """The type that `element` is computed in: floats in f32, integers in at least 32 bits."""
    if not is_integer(element):
        return f32
    return i32 if integer_bits(element) < 32 else element


def number(value: float, element: Attribute) -> FloatAttr[Any] | IntegerAttr[Any]:
    """`value` as an attribute of type `element`."""
    if is_integer(element):
        return IntegerAttr(int(value), cast(IntegerType, element))
    return FloatAttr(value, cast(AnyFloat, element))


def splat(constant: ge.ConstOp) -> FloatAttr[Any] | IntegerAttr[Any]:
    """The value of a constant whose elements are all the same."""
    value = next(iter(constant.value.iter_attrs()))
    assert isinstance(value, FloatAttr | IntegerAttr)
    return value
