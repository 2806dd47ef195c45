"""Primitives that only say where elements stand: they cost nothing where an access map of a load or a store can do their work."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.fused.values import BroadcastOp
from ge_compiler.dialects.ge.shapes import show
from ge_compiler.dialects.types import Tensor, tensor_type, verify_element_types


def _same_element(*values: SSAValue) -> None:
    elements = {tensor_type(value).get_element_type() for value in values}
    if len(elements) != 1:
        raise VerifyException(f"keeps the element type, but has {' and '.join(sorted(str(v.type) for v in values))}")


@irdl_op_definition
class ReshapeOp(IRDLOperation):
    """The same elements in the same order under another shape."""

    name = "fused.reshape"

    x = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$x attr-dict `:` type($x) `to` type($result)"

    def __init__(self, x: SSAValue, shape: Sequence[int]):
        super().__init__(operands=[x], result_types=[TensorType(tensor_type(x).get_element_type(), shape)])

    def verify_(self) -> None:
        verify_element_types(self)
        _same_element(self.x, self.result)
        x, result = tensor_type(self.x), tensor_type(self.result)
        if prod(x.get_shape()) != prod(result.get_shape()):
            raise VerifyException(f"keeps the elements, but goes from {x} to {result}")


@irdl_op_definition
class TransposeOp(IRDLOperation):
    """Dimension i of the result is dimension `permutation[i]` of `x`."""

    name = "fused.transpose"

    x = operand_def(TensorType)
    permutation = prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$x `permutation` $permutation attr-dict `:` type($x) `to` type($result)"

    def __init__(self, x: SSAValue, permutation: Sequence[int]):
        type_ = tensor_type(x)
        result = TensorType(type_.get_element_type(), [type_.get_shape()[d] for d in permutation])
        super().__init__(operands=[x], properties={"permutation": DenseArrayBase.from_list(i64, permutation)}, result_types=[result])

    def verify_(self) -> None:
        verify_element_types(self)
        _same_element(self.x, self.result)
        x, permutation = tensor_type(self.x), list(self.permutation.get_values())
        if sorted(permutation) != list(range(len(x.get_shape()))):
            raise VerifyException(f"needs every dimension of {x} once, got {permutation}")
        if tensor_type(self.result).get_shape() != tuple(x.get_shape()[d] for d in permutation):
            raise VerifyException(f"{x} in the order {permutation} does not give {self.result.type}")


@irdl_op_definition
class SliceOp(IRDLOperation):
    """The elements at `offsets` + i · `strides`; the result's shape says how many."""

    name = "fused.slice"

    x = operand_def(TensorType)
    offsets = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$x `offsets` $offsets `strides` $strides attr-dict `:` type($x) `to` type($result)"

    def __init__(self, x: SSAValue, offsets: Sequence[int], strides: Sequence[int], shape: Sequence[int]):
        super().__init__(
            operands=[x],
            properties={"offsets": DenseArrayBase.from_list(i64, offsets), "strides": DenseArrayBase.from_list(i64, strides)},
            result_types=[TensorType(tensor_type(x).get_element_type(), shape)],
        )

    def verify_(self) -> None:
        verify_element_types(self)
        _same_element(self.x, self.result)
        _verify_window(tensor_type(self.x), tensor_type(self.result), self.offsets.get_values(), self.strides.get_values())


def _verify_window(whole: Tensor, part: Tensor, offsets: Sequence[int], strides: Sequence[int]) -> None:
    rank = len(whole.get_shape())
    if not len(part.get_shape()) == len(offsets) == len(strides) == rank:
        raise VerifyException(f"needs an offset, a stride and a size for each dimension of {whole}, got {offsets}, {strides} and {part}")
    for d, (size, count, offset, stride) in enumerate(zip(whole.get_shape(), part.get_shape(), offsets, strides, strict=True)):
        if offset < 0 or stride < 1 or (count and offset + (count - 1) * stride >= size):
            raise VerifyException(f"takes {count} elements from {offset} in steps of {stride} in dimension {d} of {whole}")


@irdl_op_definition
class ConcatOp(IRDLOperation):
    """Tensors one behind the other along a dimension."""

    name = "fused.concat"

    pieces = var_operand_def(TensorType)
    dimension = prop_def(IntegerAttr.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$pieces `along` $dimension attr-dict `:` type($pieces) `to` type($result)"

    def __init__(self, pieces: Sequence[SSAValue], dimension: int):
        shape = list(tensor_type(pieces[0]).get_shape())
        shape[dimension] = sum(tensor_type(piece).get_shape()[dimension] for piece in pieces)
        result = TensorType(tensor_type(pieces[0]).get_element_type(), shape)
        super().__init__(operands=[pieces], properties={"dimension": IntegerAttr(dimension, i64)}, result_types=[result])

    def verify_(self) -> None:
        verify_element_types(self)
        if not self.pieces:
            raise VerifyException("needs at least one piece")
        _same_element(*self.pieces, self.result)
        dimension, shapes = self.dimension.value.data, [tensor_type(piece).get_shape() for piece in self.pieces]
        rank = len(shapes[0])
        if not 0 <= dimension < rank or any(len(s) != rank for s in shapes):
            raise VerifyException(f"needs pieces of one rank that have dimension {dimension}, got {', '.join(map(show, shapes))}")
        expected = list(shapes[0])
        expected[dimension] = sum(s[dimension] for s in shapes)
        others = {(*s[:dimension], *s[dimension + 1 :]) for s in shapes}
        if len(others) != 1 or tensor_type(self.result).get_shape() != tuple(expected):
            shown = ", ".join(map(show, shapes))
            raise VerifyException(f"pieces {shown} along {dimension} do not give {self.result.type}")


@irdl_op_definition
class InsertOp(IRDLOperation):
    """`dest` with the elements at `offsets` + i · `strides` replaced by those of `x`: a destination that is written in part."""

    name = "fused.insert"

    x = operand_def(TensorType)
    dest = operand_def(TensorType)
    offsets = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$x `into` $dest `offsets` $offsets `strides` $strides attr-dict `:` type($x) `into` type($dest) `to` type($result)"

    def __init__(self, x: SSAValue, dest: SSAValue, offsets: Sequence[int], strides: Sequence[int]):
        super().__init__(
            operands=[x, dest],
            properties={"offsets": DenseArrayBase.from_list(i64, offsets), "strides": DenseArrayBase.from_list(i64, strides)},
            result_types=[dest.type],
        )

    def verify_(self) -> None:
        verify_element_types(self)
        _same_element(self.x, self.dest)
        if self.dest.type != self.result.type:
            raise VerifyException(f"result is {self.result.type}, but the destination {self.dest.type}")
        _verify_window(tensor_type(self.dest), tensor_type(self.x), self.offsets.get_values(), self.strides.get_values())


View = ReshapeOp | TransposeOp | SliceOp | BroadcastOp
"""Primitives that only show their operand `x` in another way."""
