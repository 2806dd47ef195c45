"""Elementwise operators that have a numpy meaning and are no function of the table that the vector unit computes."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import TensorType, i1
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.ge.base import GeOp, ShapeRule
from ge_compiler.dialects.ge.shapes import elementwise as rules
from ge_compiler.dialects.types import is_integer, tensor_type


class NumpyOp(GeOp):
    """An elementwise operator on operands of one element type, computed by a function of numpy."""

    FUNCTION: ClassVar[str]
    """Its name in numpy."""

    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.uniform)
    MEANING: ClassVar[str] = "elementwise.numpy_function"

    def verify_(self) -> None:
        super().verify_()
        mnemonic, element = self.name.removeprefix("ge."), tensor_type(self.operands[0]).get_element_type()
        if mnemonic in _ON_BITS and not is_integer(element):
            raise VerifyException(f"takes integers only, got {element}")
        if element == i1 and mnemonic not in _ON_BOOLEANS:
            raise VerifyException("computes in numbers, not in i1: insert a ge.Cast")
        if is_integer(element) and mnemonic not in (*_ON_BITS, *_ON_NUMBERS):
            raise VerifyException(f"takes floats only, got {element}: insert a ge.Cast")


_UNARY = {
    "Acos": ("arccos", "The angle in radians whose cosine is x"),
    "Acosh": ("arccosh", "The inverse of the hyperbolic cosine"),
    "Asin": ("arcsin", "The angle in radians whose sine is x"),
    "Asinh": ("arcsinh", "The inverse of the hyperbolic sine"),
    "Atan": ("arctan", "The angle in radians whose tangent is x"),
    "Atanh": ("arctanh", "The inverse of the hyperbolic tangent"),
    "Cosh": ("cosh", "The hyperbolic cosine of x"),
    "Expm1": ("expm1", "exp(x) - 1, exact near 0"),
    "Invert": ("invert", "The bits of x turned round"),
    "Log1p": ("log1p", "ln(1 + x), exact near 0"),
    "Sign": ("sign", "-1, 0 or 1; 0 if x is NaN"),
    "Sinh": ("sinh", "The hyperbolic sine of x"),
    "Tan": ("tan", "The tangent of x"),
}
_BINARY = {
    "Atan2": ("arctan2", "The angle in radians of the point (x2, x1)"),
    "BitwiseAnd": ("bitwise_and", "The bits that x1 and x2 both have"),
    "BitwiseOr": ("bitwise_or", "The bits that x1 or x2 has"),
    "BitwiseXor": ("bitwise_xor", "The bits in which x1 and x2 differ"),
    "FloorDiv": ("floor_divide", "x1 / x2 rounded down"),
    "FloorMod": ("remainder", "The rest of x1 / x2 rounded down, with the sign of x2"),
    "LeftShift": ("left_shift", "x1 moved up by x2 bits"),
    "Mod": ("fmod", "The rest of x1 / x2 without its fraction, with the sign of x1"),
    "Pow": ("power", "x1 to the power x2"),
    "RightShift": ("right_shift", "x1 moved down by x2 bits, keeping its sign"),
}
_PREDICATES = {
    "IsFinite": ("isfinite", "Whether x is neither infinite nor NaN"),
    "IsInf": ("isinf", "Whether x is infinite"),
    "IsNan": ("isnan", "Whether x is NaN"),
}


_ON_NUMBERS = ("FloorDiv", "FloorMod", "Mod", "Pow", "Sign")
_ON_BOOLEANS = ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "Invert")
_ON_BITS = (*_ON_BOOLEANS, "LeftShift", "RightShift")


def _define(mnemonic: str, entry: tuple[str, str], names: tuple[str, ...], rule: ShapeRule) -> type[NumpyOp]:
    function, summary = entry
    namespace: dict[str, object] = {
        "__doc__": summary + ".",
        "__annotations__": {"FUNCTION": ClassVar[str], "SHAPE_RULE": ClassVar[ShapeRule]},
        "name": f"ge.{mnemonic}",
        "FUNCTION": function,
        "SHAPE_RULE": staticmethod(rule),
        **{name: operand_def(TensorType) for name in names},
        "y": result_def(TensorType),
        "traits": traits_def(Pure()),
    }
    return irdl_op_definition(type(f"{mnemonic}Op", (NumpyOp,), namespace))


NUMPY: dict[str, type[NumpyOp]] = {
    **{m: _define(m, f, ("x",), rules.uniform) for m, f in _UNARY.items()},
    **{m: _define(m, f, ("x1", "x2"), rules.uniform) for m, f in _BINARY.items()},
    **{m: _define(m, f, ("x",), rules.predicate) for m, f in _PREDICATES.items()},
}
"""These operators by mnemonic."""
