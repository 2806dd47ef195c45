"""The operator table of the importer: one function of a few lines an aten overload.

    @converts("aten.relu.default")
    def relu(c: Conversion, x: SSAValue) -> SSAValue:
        return c.op("Relu", c.promoted(x))

A function gets the arguments of the overload's schema in the schema's order, defaults filled in; tensors are SSA values. It emits `ge` ops
and returns the value of the node, or a tuple of them where the operator has several results; their types must be those that torch gave
them. Or it declines with a reason, and the node becomes a `ge.AtenFallback`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar, cast

import torch
from torch.fx import Node
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    f32,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ge_compiler.dialects import ge
from ge_compiler.dialects.ge import shapes
from ge_compiler.dialects.types import Tensor, is_integer, tensor_type
from ge_compiler.lowering.from_torch.dtypes import element_name, element_of, torch_dtype

Values = SSAValue | Sequence[SSAValue]
Converter = Callable[..., Values]
F = TypeVar("F", bound=Converter)
Shape = Sequence[int]

CONVERTERS: dict[str, Converter] = {}
"""aten overload -> its function."""

_OPERATORS = {op.name.removeprefix("ge."): op for op in ge.GE.operations}


def converts(*overloads: str) -> Callable[[F], F]:
    """Enters a function in the operator table under the names of aten overloads."""

    def enter(function: F) -> F:
        for overload in overloads:
            assert overload not in CONVERTERS, overload
            CONVERTERS[overload] = function
        return function

    return enter


class Declined(Exception):
    """The operator has no conversion, or none with these arguments; says why. It is left to the host."""


class Refused(Exception):
    """The operator cannot be executed; says why."""


@dataclass(frozen=True)
class Conversion:
    """What a function of the table works with: the node, the types that torch gave its results, and the block that ops are added to."""

    node: Node
    results: tuple[Tensor, ...]
    block: Block

    @property
    def result(self) -> Tensor:
        """The type of the first result."""
        return self.results[0]

    @property
    def element(self) -> Attribute:
        """The element type of the first result."""
        return self.result.get_element_type()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return self.result.get_shape()

    def decline(self, reason: str) -> NoReturn:
        raise Declined(reason)

    def ops(self, mnemonic: str, *operands: Values | None, like: Sequence[Tensor] = (), **attributes: Any) -> Sequence[SSAValue]:
        """
        Adds the operator `ge.<mnemonic>`; its results.

        An operand of `None` is left out. Attributes are Python values: `True` sets a flag, `False` and `None` set nothing. `like` are the
        types of the results as far as operands and attributes do not give them.
        """
        kind = cast("type[ge.GeOp]", _OPERATORS[mnemonic])
        given: list[Any] = [[] if operand is None else operand for operand in operands]
        properties = {name: attribute_of(value) for name, value in attributes.items() if value is not None and value is not False}
        draft = kind(operands=given, properties=properties, result_types=like or [self.result])
        types = draft.infer_types()
        if list(types) == [result.type for result in draft.results]:
            return self.emit(draft).results
        draft.drop_all_references()
        return self.emit(kind(operands=given, properties=properties, result_types=types)).results

    def op(self, mnemonic: str, *operands: Values | None, like: Sequence[Tensor] = (), **attributes: Any) -> SSAValue:
        """The same for an operator with one result."""
        return self.ops(mnemonic, *operands, like=like, **attributes)[0]

    def emit(self, op: Operation) -> Operation:
        self.block.add_op(op)
        return op

    def cast(self, x: SSAValue, element: Attribute) -> SSAValue:
        """`x` with another element type; `x` itself if it has that one."""
        type_ = tensor_type(x)
        return x if type_.get_element_type() == element else self.op("Cast", x, like=[TensorType(element, type_.get_shape())])

    def promoted(self, x: SSAValue) -> SSAValue:
        """`x` in the element type of the result, as torch's promotion has it."""
        return self.cast(x, self.element)

    def wide(self, x: SSAValue) -> SSAValue:
        """`x` as f32, for several steps with one rounding at the end."""
        return self.cast(x, f32)

    def common(self, x1: SSAValue | float, x2: SSAValue | float) -> tuple[SSAValue, SSAValue]:
        """Both operands, of which one may be a number, in the element type to which torch promotes them."""
        element = element_of(torch.result_type(_sample(x1), _sample(x2)))
        assert element is not None, "operands have element types of the IR"
        first, second = (self.cast(x, element) if isinstance(x, SSAValue) else self.constant(x, element) for x in (x1, x2))
        return first, second

    def constant(self, value: float, element: Attribute, shape: Shape = ()) -> SSAValue:
        """A constant whose elements are all `value`."""
        scalar = self.emit(ge.ConstOp(splat(TensorType(element, []), value))).results[0]
        return scalar if not shape else self.broadcast(scalar, shape)

    def scalar(self, mnemonic: str, x: SSAValue, value: float) -> SSAValue:
        """One of the operators that have a number for an operand, or its sibling with two operands where the number is too large."""
        element = tensor_type(x).get_element_type()
        if is_integer(element) and abs(value) > 1 << 24:  # the attribute is an f32
            sibling = {"Adds": "Add", "Muls": "Mul", "Maxs": "Maximum", "Mins": "Minimum"}[mnemonic]
            return self.op(sibling, x, self.constant(value, element))
        return self.op(mnemonic, x, value=float(value))

    def range(self, element: Attribute, count: int, start: float, delta: float) -> SSAValue:
        """`count` numbers: `start`, `start + delta`, ..."""
        kind = int if is_integer(element) else float
        return self.op("Range", like=[TensorType(element, (count,))], start=kind(start), delta=kind(delta))

    def reshape(self, x: SSAValue, shape: Shape) -> SSAValue:
        type_ = tensor_type(x)
        return x if type_.get_shape() == tuple(shape) else self.op("Reshape", x, like=[TensorType(type_.get_element_type(), shape)])

    def broadcast(self, x: SSAValue, shape: Shape) -> SSAValue:
        """`x` repeated to `shape`; dimensions are aligned at the last one."""
        type_ = tensor_type(x)
        return x if type_.get_shape() == tuple(shape) else self.op("BroadcastToD", x, like=[TensorType(type_.get_element_type(), shape)])

    def transpose(self, x: SSAValue, permutation: Sequence[int]) -> SSAValue:
        """Dimension i of the result is dimension `permutation[i]` of `x`."""
        return x if list(permutation) == sorted(permutation) else self.op("TransposeD", x, perm=list(permutation))

    def slice(self, x: SSAValue, dim: int, start: int, stop: int, step: int = 1) -> SSAValue:
        """The elements `start`, `start + step`, ... before `stop` of one dimension; all within its bounds."""
        shape = tensor_type(x).get_shape()
        if (start, stop, step) == (0, shape[dim], 1):
            return x
        begin, end, strides = [0] * len(shape), list(shape), [1] * len(shape)
        begin[dim], end[dim], strides[dim] = start, stop, step
        return self.op("StridedSliceD", x, begin=begin, end=end, strides=strides)

    def matmul(self, x1: SSAValue, x2: SSAValue, bias: SSAValue | None = None, transpose_x2: bool = False) -> SSAValue:
        """The product of two matrices or stacks of matrices in the element type of the result; 8-bit integers wrap around."""
        x1, flag1 = _without_transpose(x1)
        x2, flag2 = _without_transpose(x2)
        ranks = [len(tensor_type(x).get_shape()) for x in (x1, x2)]
        kind = "MatMulV2" if ranks == [2, 2] else "BatchMatMulV2"
        wide = i32 if self.element == i8 else self.element
        addend = None if bias is None else self.cast(bias, wide)
        operands = (self.promoted(x1), self.promoted(x2), addend)
        return self.promoted(self.op(kind, *operands, transpose_x1=flag1, transpose_x2=flag2 != transpose_x2))


def attribute_of(value: Any) -> Attribute:
    """A Python value as the attribute that operators have for it."""
    match value:
        case Attribute():
            return value
        case bool():
            return UnitAttr()
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f32)
        case str():
            return StringAttr(value)
        case _:
            return DenseArrayBase.from_list(i64, list(value))


def splat(type_: Tensor, value: float) -> DenseIntOrFPElementsAttr:
    """The constant of `type_` whose elements are all `value`."""
    return DenseIntOrFPElementsAttr.from_list(cast("TensorType[AnyFloat]", type_), [value])


def shape_of(x: SSAValue) -> tuple[int, ...]:
    return tensor_type(x).get_shape()


def element_type(x: SSAValue) -> Attribute:
    return tensor_type(x).get_element_type()


def is_boolean(x: SSAValue) -> bool:
    return element_type(x) == i1


def normalized(dims: int | Iterable[int] | None, rank: int) -> list[int]:
    """Dimensions counted from the front; all for `None` and for none at all, as reductions have it."""
    given = [dims] if isinstance(dims, int) else list(dims or ())
    return sorted(dim % max(rank, 1) for dim in given) if given else list(range(rank))


def broadcast_shape(*xs: SSAValue) -> tuple[int, ...]:
    shape = shapes.broadcast([shape_of(x) for x in xs])
    assert shape is not None, "torch has checked that operands broadcast"
    return shape


def _sample(x: SSAValue | float) -> Any:
    """What `torch.result_type` needs to know of an operand."""
    if not isinstance(x, SSAValue):
        return x
    rank = min(len(shape_of(x)), 1)
    return torch.empty((1,) * rank, dtype=torch_dtype(element_name(element_type(x))), device="meta")


def _without_transpose(x: SSAValue) -> tuple[SSAValue, bool]:
    """What `x` is the transpose of in its last two dimensions, and whether it is one: products have a flag for it."""
    op = x.owner
    if isinstance(op, Operation) and op.name == "ge.TransposeD":
        permutation = list(cast("DenseArrayBase[Any]", op.properties["perm"]).get_values())
        rank = len(permutation)
        if permutation == [*range(rank - 2), rank - 1, rank - 2]:
            return op.operands[0], True
    return x, False
