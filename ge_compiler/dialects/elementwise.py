"""Generates one op per entry of the table of functions for the dialects `fused`, `tile` and `npu`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeVar, cast

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, StringAttr, f32, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.functions import FUNCTIONS, Function
from ge_compiler.dialects.types import is_integer, shaped_type

Scalar = FloatAttr[Any] | IntegerAttr[Any]


class ElementwiseOp(IRDLOperation):
    """One function of the table; subclasses say what its operands and its result are."""

    FUNCTION: ClassVar[str]

    @property
    def function(self) -> Function:
        return FUNCTIONS[self.FUNCTION]

    @property
    def scalar(self) -> float | int | None:
        """The value of the `scalar` attribute, if the function has one."""
        attribute = self.scalar_property()
        return None if attribute is None else attribute.value.data

    def scalar_property(self) -> Scalar | None:
        """The `scalar` attribute itself."""
        return cast(Scalar | None, self.properties.get("scalar"))

    def verify_elements(self, operands: Sequence[SSAValue], result: SSAValue | Attribute) -> None:
        """Check the element types of the tensor operands and of the result, and that of the scalar, if any."""
        function, type_ = self.function, shaped_type(result)
        element = shaped_type(operands[-1]).get_element_type() if function.is_predicate else type_.get_element_type()
        _verify_element(self, element)
        if function.is_predicate and type_.get_element_type() != i1:
            raise VerifyException(f"is true or false, so its result has elements of type i1, got {type_}")
        for i, x in enumerate(operands):
            is_condition = i < function.conditions
            if shaped_type(x).get_element_type() == (i1 if is_condition else element):
                continue
            if is_condition:
                raise VerifyException(f"operand #{i} is a condition, so it has elements of type i1, got {x.type}")
            other = f"operand #{len(operands) - 1} is {operands[-1].type}" if function.is_predicate else f"the result is {type_}"
            raise VerifyException(f"operand #{i} is {x.type}, but {other}")


def _verify_element(op: ElementwiseOp, element: Attribute) -> None:
    """The function of `op` computes in `element`, and the scalar, if any, is of it."""
    if str(element) not in op.function.dtypes:
        raise VerifyException(f"computes in {' or '.join(op.function.dtypes)}, got {element}; insert a cast")
    attribute = op.scalar_property()
    if attribute is not None and attribute.type != element:
        raise VerifyException(f"scalar is {attribute.type}, but the operands are {element}")


ElementwiseOpT = TypeVar("ElementwiseOpT", bound=ElementwiseOp)


def scalar_attribute(value: float | int, element: Attribute) -> Scalar:
    """`value` as the `scalar` of an op that computes in `element` (f32, i32 or i64)."""
    if is_integer(element):
        return cast(Scalar, IntegerAttr(int(value), cast(IntegerType, element)))
    return FloatAttr(float(value), f32)


def define(
    dialect: str,
    prefix: str,
    base: type[ElementwiseOpT],
    functions: Iterable[Function],
    fields: Callable[[Function], dict[str, Any]],
) -> dict[str, type[ElementwiseOpT]]:
    """An op class `<dialect>.<prefix><name>` for each function, by name; `fields` gives its operands, results and format."""
    return {function.name: _define_one(dialect, prefix, base, function, fields(function)) for function in functions}


def _define_one(dialect: str, prefix: str, base: type[ElementwiseOpT], function: Function, fields: dict[str, Any]) -> type[ElementwiseOpT]:
    namespace: dict[str, Any] = {
        "__doc__": function.summary + ".",
        "__annotations__": {"FUNCTION": ClassVar[str]},
        "__module__": base.__module__,
        "name": f"{dialect}.{prefix}{function.name}",
        "FUNCTION": function.name,
        "irdl_options": (ParsePropInAttrDict(),),
        **fields,
    }
    if function.has_scalar:
        namespace["scalar_value"] = prop_def(FloatAttr | IntegerAttr, prop_name="scalar")
    class_name = "".join(part.capitalize() for part in f"{prefix}{function.name}".split("_")) + "Op"
    return cast(type[ElementwiseOpT], irdl_op_definition(type(class_name, (base,), namespace)))


def operand_names(function: Function) -> tuple[str, ...]:
    """Names of the tensor operands of an elementwise op."""
    numbers = ("x",) if function.operands - function.conditions == 1 else ("lhs", "rhs")
    return ("condition", *numbers) if function.conditions else numbers


def elementwise_operands(op: ElementwiseOp) -> list[SSAValue]:
    """The tensor operands, without a destination."""
    return list(op.operands)[: op.function.operands]


def string_array(values: Iterable[str]) -> list[StringAttr]:
    return [StringAttr(value) for value in values]
