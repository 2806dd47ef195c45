"""Shape rules of elementwise operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.ge.shapes import Shape, broadcast, require_boolean, require_float, require_same_element, show
from ge_compiler.dialects.types import Tensor, tensor_type

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import CastOp, GeOp, SelectV2Op


def uniform(op: GeOp) -> list[Tensor]:
    types = [tensor_type(x) for x in op.operands]
    return [TensorType(_common_element(types), _common_shape(types))]


def comparison(op: GeOp) -> list[Tensor]:
    types = [tensor_type(x) for x in op.operands]
    _common_element(types)
    return [TensorType(i1, _common_shape(types))]


def predicate(op: GeOp) -> list[Tensor]:
    require_float("x", tensor_type(op.operands[0]))
    return [TensorType(i1, tensor_type(op.operands[0]).get_shape())]


def logical(op: GeOp) -> list[Tensor]:
    types = [tensor_type(x) for x in op.operands]
    for i, type_ in enumerate(types):
        require_boolean(f"operand #{i}", type_)
    return [TensorType(i1, _common_shape(types))]


def select(op: SelectV2Op) -> list[Tensor]:
    condition, x1, x2 = (tensor_type(x) for x in op.operands)
    require_boolean("condition", condition)
    require_same_element([("x1", x1), ("x2", x2)])
    return [TensorType(x1.get_element_type(), _common_shape([condition, x1, x2]))]


def cast(op: CastOp) -> list[Tensor]:
    return [TensorType(tensor_type(op.y).get_element_type(), tensor_type(op.x).get_shape())]


def _common_element(types: Sequence[Tensor]) -> Attribute:
    element = types[0].get_element_type()
    for i, t in enumerate(types):
        if t.get_element_type() != element:
            raise VerifyException(f"operands differ in element type: #0 is {element}, #{i} is {t.get_element_type()}; insert a ge.Cast")
    return element


def _common_shape(types: Sequence[Tensor]) -> Shape:
    shape = broadcast([t.get_shape() for t in types])
    if shape is None:
        raise VerifyException("operand shapes do not broadcast: " + " and ".join(show(t.get_shape()) for t in types))
    return shape
