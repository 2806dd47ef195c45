"""Primitives that make tensors of one value, of indices, in another element type, repeated, or summed along dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, StringAttr, TensorType, UnitAttr, f32, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.ge.shapes import show
from ge_compiler.dialects.reductions import ReductionAttr
from ge_compiler.dialects.types import Tensor, tensor_type, verify_element_types


@irdl_op_definition
class CastOp(IRDLOperation):
    """Convert the element type: the only place where values are rounded.

    `required` marks a conversion that the model itself asks for: `elide-roundings` keeps it.
    """

    name = "fused.cast"

    x = operand_def(TensorType)
    required = opt_prop_def(UnitAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$x attr-dict `:` type($x) `to` type($result)"

    def __init__(self, x: SSAValue, element: Attribute, *, required: bool = False):
        result = TensorType(element, tensor_type(x).get_shape())
        super().__init__(operands=[x], properties={"required": UnitAttr()} if required else {}, result_types=[result])

    def verify_(self) -> None:
        verify_element_types(self)
        if tensor_type(self.x).get_shape() != tensor_type(self.result).get_shape():
            raise VerifyException(f"keeps the shape, but goes from {self.x.type} to {self.result.type}")


@irdl_op_definition
class BroadcastOp(IRDLOperation):
    """Repeat a tensor: dimension i of `x` is dimension `dimensions[i]` of the result, and is 1 or of equal size."""

    name = "fused.broadcast"

    x = operand_def(TensorType)
    dimensions = prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$x `along` $dimensions attr-dict `:` type($x) `to` type($result)"

    def __init__(self, x: SSAValue, dimensions: Sequence[int], result: Tensor):
        super().__init__(operands=[x], properties={"dimensions": DenseArrayBase.from_list(i64, dimensions)}, result_types=[result])

    def verify_(self) -> None:
        verify_element_types(self)
        source, result = tensor_type(self.x), tensor_type(self.result)
        dimensions = self.dimensions.get_values()
        if source.get_element_type() != result.get_element_type():
            raise VerifyException(f"keeps the element type, but goes from {source} to {result}")
        if len(dimensions) != len(source.get_shape()) or list(dimensions) != sorted(set(dimensions)):
            raise VerifyException(f"needs one increasing dimension of the result for each dimension of {source}, got {list(dimensions)}")
        for d, size in zip(dimensions, source.get_shape(), strict=True):
            if not 0 <= d < len(result.get_shape()) or size not in (1, result.get_shape()[d]):
                raise VerifyException(f"{source} cannot be repeated along {list(dimensions)} to {result}: size {size} must be 1 or equal")


@irdl_op_definition
class FullOp(IRDLOperation):
    """A tensor of one value."""

    name = "fused.full"

    value = prop_def(FloatAttr | IntegerAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `to` type($result)"

    def __init__(self, value: FloatAttr[Any] | IntegerAttr[Any], result: Tensor):
        super().__init__(properties={"value": value}, result_types=[result])

    def verify_(self) -> None:
        verify_element_types(self)
        if self.value.type != tensor_type(self.result).get_element_type():
            raise VerifyException(f"value is {self.value.type}, but the result is {self.result.type}")


@irdl_op_definition
class IotaOp(IRDLOperation):
    """A tensor whose elements are their own index in one dimension."""

    name = "fused.iota"

    dimension = prop_def(IntegerAttr.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "`along` $dimension attr-dict `:` type($result)"

    def __init__(self, dimension: int, result: Tensor):
        super().__init__(properties={"dimension": IntegerAttr(dimension, i64)}, result_types=[result])

    def verify_(self) -> None:
        result = tensor_type(self.result)
        if result.get_element_type() not in (i32, i64, f32):
            raise VerifyException(f"counts in i32, i64 or f32, got {result}")
        if not 0 <= self.dimension.value.data < len(result.get_shape()):
            raise VerifyException(f"counts along dimension {self.dimension.value.data}, which {result} does not have")


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """Combine the elements along dimensions, which vanish; over no elements that is 0, or the least or largest value."""

    name = "fused.reduce"

    kind = prop_def(ReductionAttr)
    x = operand_def(TensorType)
    dimensions = prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$kind $x `along` $dimensions attr-dict `:` type($x) `to` type($result)"

    def __init__(self, kind: str, x: SSAValue, dimensions: Sequence[int]):
        type_ = tensor_type(x)
        kept = [size for d, size in enumerate(type_.get_shape()) if d not in dimensions]
        super().__init__(
            operands=[x],
            properties={"kind": ReductionAttr(StringAttr(kind)), "dimensions": DenseArrayBase.from_list(i64, sorted(dimensions))},
            result_types=[TensorType(type_.get_element_type(), kept)],
        )

    @property
    def reduced(self) -> tuple[int, ...]:
        """The dimensions of the operand that vanish."""
        return tuple(self.dimensions.get_values())

    def verify_(self) -> None:
        verify_element_types(self)
        x, reduced = tensor_type(self.x), self.reduced
        if x.get_element_type() not in (f32, i32, i64):
            raise VerifyException(f"computes in f32, i32 or i64, got {x}; insert a cast")
        if list(reduced) != sorted(set(reduced)) or not reduced or not all(0 <= d < len(x.get_shape()) for d in reduced):
            raise VerifyException(f"needs increasing dimensions of {x}, got {list(reduced)}")
        kept = TensorType(x.get_element_type(), [size for d, size in enumerate(x.get_shape()) if d not in reduced])
        if self.result.type != kept:
            raise VerifyException(f"result is {self.result.type}, but {show(x.get_shape())} along {list(reduced)} gives {kept}")
