"""The operator table of the importer: one function of a few lines an aten overload.

    @converts("aten.relu.default")
    def relu(c: Conversion, x: SSAValue) -> SSAValue:
        return c.elementwise("Relu", c.promoted(x))

A function gets the arguments of the overload's schema in the schema's order, defaults filled in; tensors are SSA values. It emits `ge` ops
and returns the value of the node, whose type must be the one that torch gave it; or it declines with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar, cast

from torch.fx import Node
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, FloatAttr, IntegerType, StringAttr, TensorType, UnitAttr, f32, i8, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ge_compiler.dialects import ge
from ge_compiler.dialects.ge import shapes
from ge_compiler.dialects.types import Tensor, tensor_type


@dataclass(frozen=True)
class Transposed:
    """The last two dimensions of a value, swapped: no op of its own, but a flag of the matrix product that uses it."""

    value: SSAValue


Converter = Callable[..., "SSAValue | Transposed"]
F = TypeVar("F", bound=Converter)

CONVERTERS: dict[str, Converter] = {}
"""aten overload -> its function."""


def converts(*overloads: str) -> Callable[[F], F]:
    """Enters a function in the operator table under the names of aten overloads."""

    def enter(function: F) -> F:
        for overload in overloads:
            assert overload not in CONVERTERS, overload
            CONVERTERS[overload] = function
        return function

    return enter


class Declined(Exception):
    """The operator is in the table, but not with these arguments; says why."""


@dataclass(frozen=True)
class Conversion:
    """What a function of the table works with: the node, the type that torch gave it, and the block that ops are added to."""

    node: Node
    result: Tensor
    block: Block

    def decline(self, reason: str) -> NoReturn:
        raise Declined(reason)

    def emit(self, op: Operation) -> SSAValue:
        """Adds `op`; its result."""
        self.block.add_op(op)
        return op.results[0]

    def elementwise(self, mnemonic: str, *operands: SSAValue, value: float | None = None) -> SSAValue:
        """One elementwise operator on operands of one element type, which the result has too."""
        shape = shapes.broadcast([tensor_type(x).get_shape() for x in operands])
        assert shape is not None, "torch has checked that operands broadcast"
        type_ = TensorType(tensor_type(operands[0]).get_element_type(), shape)
        properties = {} if value is None else {"value": FloatAttr(value, f32)}
        return self.emit(ge.ELEMENTWISE[mnemonic](operands=operands, properties=properties, result_types=[type_]))

    def gelu(self, x: SSAValue, approximate: str) -> SSAValue:
        return self.emit(ge.GeluV2Op(operands=[x], properties={"approximate": StringAttr(approximate)}, result_types=[x.type]))

    def cast(self, x: SSAValue, element: Attribute) -> SSAValue:
        """`x` with another element type; `x` itself if it has that one."""
        type_ = tensor_type(x)
        if type_.get_element_type() == element:
            return x
        return self.emit(ge.CastOp(operands=[x], result_types=[TensorType(element, type_.get_shape())]))

    def promoted(self, x: SSAValue) -> SSAValue:
        """`x` in the element type of the result, as torch's promotion has it. Declines booleans, whose arithmetic is another."""
        element = self.result.get_element_type()
        if element == IntegerType(1):
            self.decline("arithmetic on booleans is not supported")
        return self.cast(x, element)

    def constant(self, value: float, element: Attribute) -> SSAValue:
        """A constant of rank 0."""
        return self.emit(ge.ConstOp(splat(TensorType(element, []), value)))

    def matmul(self, x1: SSAValue | Transposed, x2: SSAValue | Transposed, bias: SSAValue | None = None) -> SSAValue:
        """The product of two matrices or stacks of matrices in the element type of the result; 8-bit integers wrap around."""
        flags = {"transpose_x1": isinstance(x1, Transposed), "transpose_x2": isinstance(x2, Transposed)}
        plain = [x.value if isinstance(x, Transposed) else x for x in (x1, x2)]
        ranks = [len(tensor_type(x).get_shape()) for x in plain]
        if min(ranks) < 2:
            rule = "both must have at least two dimensions: give a vector one of size 1 before it enters the model"
            self.decline(f"operands of rank {ranks[0]} and {ranks[1]}; {rule}")
        kind = ge.MatMulV2Op if ranks == [2, 2] else ge.BatchMatMulV2Op
        operands: Sequence[Any] = [*map(self.promoted, plain), [] if bias is None else [self.promoted(bias)]]
        properties = {name: UnitAttr() for name, is_set in flags.items() if is_set}
        element = self.result.get_element_type()
        wide = TensorType(i32 if element == i8 else element, self.result.get_shape())
        return self.cast(self.emit(kind(operands=operands, properties=properties, result_types=[wide])), element)


def splat(type_: Tensor, value: float) -> DenseIntOrFPElementsAttr:
    """The constant of `type_` whose elements are all `value`."""
    return DenseIntOrFPElementsAttr.from_list(cast("TensorType[AnyFloat]", type_), [value])
