"""Operators that compute each element from the elements at the same place, after broadcasting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypeVar, cast

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, StringAttr, TensorType, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.functions import FUNCTIONS
from ge_compiler.dialects.ge.base import GeOp, ShapeRule
from ge_compiler.dialects.ge.shapes import elementwise as rules
from ge_compiler.dialects.types import integer_bits, is_integer, tensor_type


class ElementwiseOp(GeOp):
    """An operator that is one function of the table of functions on operands of one element type, which the result has too."""

    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.uniform)
    MEANING: ClassVar[str] = "elementwise.function"

    def function(self) -> tuple[str, float | None]:
        """The name in the table of functions, and the scalar if it has one."""
        raise NotImplementedError

    def verify_(self) -> None:
        super().verify_()
        name, scalar = self.function()
        element = tensor_type(self.operands[0]).get_element_type()
        self.verify_element(name, element)
        if scalar is not None and (bits := integer_bits(element)):
            bound = 2.0 ** (bits - 1)
            if not (float(scalar).is_integer() and -bound <= scalar < bound):
                raise VerifyException(f"value must be a whole number that {element} holds, in which {name} computes, got {scalar}")

    def verify_element(self, name: str, element: Attribute) -> None:
        """Raises `VerifyException` if the function `name` has no meaning for elements of type `element`."""
        if element == i1 and name not in ("max", "min"):
            raise VerifyException("computes in numbers, not in i1: insert a ge.Cast")
        if is_integer(element) and "i32" not in FUNCTIONS[name].dtypes and name != "abs":
            raise VerifyException(f"takes floats only, got {element}: insert a ge.Cast")


class ComparisonOp(ElementwiseOp):
    """A comparison of elements of one type: the result is a boolean."""

    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.comparison)

    def verify_element(self, name: str, element: Attribute) -> None:
        """Everything that has bytes can be compared."""


class LogicalOp(ElementwiseOp):
    """A function of booleans."""

    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.logical)

    def verify_element(self, name: str, element: Attribute) -> None:
        """The shape rule has seen to it."""


_UNARY = {
    "Abs": "abs",
    "Ceil": "ceil",
    "Cos": "cos",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "Log": "ln",
    "Neg": "neg",
    "Reciprocal": "rec",
    "Relu": "relu",
    "Rint": "rint",
    "Rsqrt": "rsqrt",
    "Sigmoid": "sigmoid",
    "Sin": "sin",
    "Sqrt": "sqrt",
    "Square": "square",
    "Swish": "silu",
    "Tanh": "tanh",
    "Trunc": "trunc",
}
_SCALAR = {"Adds": "adds", "Muls": "muls", "Maxs": "maxs", "Mins": "mins"}
_BINARY = {"Add": "add", "Sub": "sub", "Mul": "mul", "RealDiv": "div", "Maximum": "max", "Minimum": "min"}
_COMPARISONS = {"Equal": "eq", "NotEqual": "ne", "Less": "lt", "LessEqual": "le", "Greater": "gt", "GreaterEqual": "ge"}

ElementwiseOpT = TypeVar("ElementwiseOpT", bound=ElementwiseOp)


def _define(base: type[ElementwiseOpT], mnemonic: str, function: str, fields: Mapping[str, object]) -> type[ElementwiseOpT]:
    def function_of(self: ElementwiseOp) -> tuple[str, float | None]:
        value = self.properties.get("value")
        return function, (value.value.data if isinstance(value, FloatAttr | IntegerAttr) else None)

    namespace: dict[str, object] = {
        "__doc__": FUNCTIONS[function].summary + ".",
        "__annotations__": {},
        "name": f"ge.{mnemonic}",
        "y": result_def(TensorType),
        "traits": traits_def(Pure()),
        "function": function_of,
        **fields,
    }
    return cast(type[ElementwiseOpT], irdl_op_definition(type(f"{mnemonic}Op", (base,), namespace)))


_X = {"x": operand_def(TensorType)}
_X1_X2 = {"x1": operand_def(TensorType), "x2": operand_def(TensorType)}
_VALUE = {"value": prop_def(FloatAttr | IntegerAttr)}

ELEMENTWISE: dict[str, type[ElementwiseOp]] = {
    **{m: _define(ElementwiseOp, m, f, _X) for m, f in _UNARY.items()},
    **{m: _define(ElementwiseOp, m, f, _X | _VALUE) for m, f in _SCALAR.items()},
    **{m: _define(ElementwiseOp, m, f, _X1_X2) for m, f in _BINARY.items()},
}
"""The operators that are one function of the table each and give the type that they take, by mnemonic."""

COMPARISONS: dict[str, type[ComparisonOp]] = {m: _define(ComparisonOp, m, f, _X1_X2) for m, f in _COMPARISONS.items()}
"""The operators that compare, by mnemonic."""

LOGICAL: dict[str, type[LogicalOp]] = {
    "LogicalAnd": _define(LogicalOp, "LogicalAnd", "logical_and", _X1_X2),
    "LogicalOr": _define(LogicalOp, "LogicalOr", "logical_or", _X1_X2),
    "LogicalNot": _define(LogicalOp, "LogicalNot", "logical_not", _X),
}
"""The operators on booleans, by mnemonic."""


@irdl_op_definition
class GeluV2Op(ElementwiseOp):
    """Gaussian error linear unit; `approximate` is "none" (erf) or "tanh"."""

    name = "ge.GeluV2"

    x = operand_def(TensorType)
    approximate = prop_def(StringAttr, default_value=StringAttr("none"))
    y = result_def(TensorType)

    traits = traits_def(Pure())

    def function(self) -> tuple[str, float | None]:
        return ("gelu_tanh" if self.approximate.data == "tanh" else "gelu"), None

    def verify_(self) -> None:
        if self.approximate.data not in ("none", "tanh"):
            raise VerifyException(f'approximate must be "none" or "tanh", got "{self.approximate.data}"')
        super().verify_()


@irdl_op_definition
class SelectV2Op(GeOp):
    """Where `condition` holds, the element of x1, else that of x2; all three broadcast."""

    name = "ge.SelectV2"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.select)
    MEANING: ClassVar[str] = "elementwise.select"

    condition = operand_def(TensorType)
    x1 = operand_def(TensorType)
    x2 = operand_def(TensorType)
    y = result_def(TensorType)

    traits = traits_def(Pure())


@irdl_op_definition
class CastOp(GeOp):
    """Convert the element type: floats round to nearest even, float to integer truncates, number to boolean asks whether it is not 0."""

    name = "ge.Cast"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.cast)
    MEANING: ClassVar[str] = "elementwise.cast"

    x = operand_def(TensorType)
    y = result_def(TensorType)

    traits = traits_def(Pure())
