"""The `ge` dialect: which operators, with which attributes. Everything below that is left open.

Operators carry CANN's names, inputs and attributes, so that logs, IR and the documentation of the Graph Engine grep alike. Values are
tensors. An op names its shape rule (`shapes.py`) and its numpy meaning (`semantics.py`); shape inference, verification, constant folding
and the interpreter all use those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    FlatSymbolRefAttrConstr,
    FloatAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.functions import FUNCTIONS
from ge_compiler.dialects.ge import shapes
from ge_compiler.dialects.types import Tensor, integer_bits, tensor_type, verify_element_type, verify_element_types


class GeOp(IRDLOperation):
    """An operator: its result types follow from its operands and attributes by `SHAPE_RULE`."""

    SHAPE_RULE: ClassVar[str]
    """Name of a function in `ge.shapes`: operator -> result types. Raises `VerifyException` with the rule that is broken."""

    MEANING: ClassVar[str]
    """Name of a function in `ge.semantics`: (operator, operand arrays) -> result arrays."""

    def infer_types(self) -> Sequence[Tensor]:
        """The types that the results must have. Raises `VerifyException` if the operands do not fit."""
        return getattr(shapes, self.SHAPE_RULE)(self)

    def verify_(self) -> None:
        verify_element_types(self)
        for i, (result, expected) in enumerate(zip(self.results, self.infer_types(), strict=True)):
            if not shapes.is_compatible(result.type, expected):
                raise VerifyException(f"result #{i} is {result.type}, but the operands give {expected}")


class ElementwiseOp(GeOp):
    """An operator that computes each element from the elements at the same place, after broadcasting."""

    SHAPE_RULE: ClassVar[str] = "elementwise"
    MEANING: ClassVar[str] = "elementwise"

    def function(self) -> tuple[str, float | None]:
        """The name in the table of functions, and the scalar if it has one."""
        raise NotImplementedError

    def verify_(self) -> None:
        super().verify_()
        name, scalar = self.function()
        element = tensor_type(self.results[0]).get_element_type()
        if scalar is not None and (bits := integer_bits(element)):
            bound = 2.0 ** (bits - 1)
            if not (scalar.is_integer() and -bound <= scalar < bound):
                raise VerifyException(f"value must be a whole number that {element} holds, in which {name} computes, got {scalar}")


_UNARY = {
    "Abs": "abs",
    "Erf": "erf",
    "Exp": "exp",
    "Log": "ln",
    "Neg": "neg",
    "Reciprocal": "rec",
    "Relu": "relu",
    "Rsqrt": "rsqrt",
    "Sigmoid": "sigmoid",
    "Sqrt": "sqrt",
    "Square": "square",
    "Swish": "silu",
    "Tanh": "tanh",
}
_SCALAR = {"Adds": "adds", "Muls": "muls", "Maxs": "maxs", "Mins": "mins"}
_BINARY = {"Add": "add", "Sub": "sub", "Mul": "mul", "RealDiv": "div", "Maximum": "max", "Minimum": "min"}


def _define_elementwise(mnemonic: str, function: str, fields: Mapping[str, object], assembly_format: str) -> type[ElementwiseOp]:
    def function_of(self: ElementwiseOp) -> tuple[str, float | None]:
        value = self.properties.get("value")
        return function, (value.value.data if isinstance(value, FloatAttr) else None)

    namespace: dict[str, object] = {
        "__doc__": FUNCTIONS[function].summary + ".",
        "__annotations__": {},
        "name": f"ge.{mnemonic}",
        "y": result_def(TensorType),
        "traits": traits_def(Pure()),
        "irdl_options": (ParsePropInAttrDict(),),
        "assembly_format": assembly_format + " attr-dict `:` functional-type(operands, results)",
        "function": function_of,
        **fields,
    }
    return irdl_op_definition(type(f"{mnemonic}Op", (ElementwiseOp,), namespace))


_X = {"x": operand_def(TensorType)}
_X1_X2 = {"x1": operand_def(TensorType), "x2": operand_def(TensorType)}
_VALUE = {"value": prop_def(FloatAttr)}

ELEMENTWISE: dict[str, type[ElementwiseOp]] = {
    **{m: _define_elementwise(m, f, _X, "$x") for m, f in _UNARY.items()},
    **{m: _define_elementwise(m, f, _X | _VALUE, "$x") for m, f in _SCALAR.items()},
    **{m: _define_elementwise(m, f, _X1_X2, "$x1 `,` $x2") for m, f in _BINARY.items()},
}
"""The operators that are one function of the table each, by mnemonic."""


@irdl_op_definition
class GeluV2Op(ElementwiseOp):
    """Gaussian error linear unit; `approximate` is "none" (erf) or "tanh"."""

    name = "ge.GeluV2"

    x = operand_def(TensorType)
    approximate = prop_def(StringAttr, default_value=StringAttr("none"))
    y = result_def(TensorType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$x attr-dict `:` functional-type(operands, results)"

    def function(self) -> tuple[str, float | None]:
        return ("gelu_tanh" if self.approximate.data == "tanh" else "gelu"), None

    def verify_(self) -> None:
        if self.approximate.data not in ("none", "tanh"):
            raise VerifyException(f'approximate must be "none" or "tanh", got "{self.approximate.data}"')
        super().verify_()


@irdl_op_definition
class CastOp(GeOp):
    """Convert the element type: floats round to nearest even, float to integer truncates."""

    name = "ge.Cast"
    SHAPE_RULE: ClassVar[str] = "cast"
    MEANING: ClassVar[str] = "cast"

    x = operand_def(TensorType)
    y = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$x attr-dict `:` functional-type(operands, results)"


class MatMulBase(GeOp):
    """x1 times x2, each transposed in its last two dimensions if asked, plus a bias along the columns."""

    MEANING: ClassVar[str] = "matmul"

    x1 = operand_def(TensorType)
    x2 = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    transpose_x1 = opt_prop_def(UnitAttr)
    transpose_x2 = opt_prop_def(UnitAttr)
    y = result_def(TensorType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$x1 `,` $x2 (`,` $bias^)? attr-dict `:` functional-type(operands, results)"


@irdl_op_definition
class MatMulV2Op(MatMulBase):
    """Product of two matrices."""

    name = "ge.MatMulV2"
    SHAPE_RULE: ClassVar[str] = "matmul"


@irdl_op_definition
class BatchMatMulV2Op(MatMulBase):
    """Products of two stacks of matrices; leading dimensions broadcast, and an operand of rank 2 serves every batch."""

    name = "ge.BatchMatMulV2"
    SHAPE_RULE: ClassVar[str] = "batch_matmul"


@irdl_op_definition
class ConstOp(GeOp):
    """A small constant; a memref once `@main`'s values have addresses. Large ones are weights, whose bytes live outside the IR."""

    name = "ge.Const"
    SHAPE_RULE: ClassVar[str] = "constant"
    MEANING: ClassVar[str] = "constant"

    value = prop_def(DenseIntOrFPElementsAttr)
    y = result_def(TensorType | MemRefType)

    traits = traits_def(Pure(), ConstantLike())

    def __init__(self, value: DenseIntOrFPElementsAttr[Any], type: Attribute | None = None):
        super().__init__(properties={"value": value}, result_types=[type or value.get_type()])

    @classmethod
    def parse(cls, parser: Parser) -> ConstOp:
        attributes = parser.parse_optional_attr_dict()
        start = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr) or not isinstance(value.get_type(), TensorType):
            parser.raise_error("expected a constant such as dense<1.0> : tensor<4xf16>", start, parser.pos)
        type_ = parser.parse_type() if parser.parse_optional_punctuation("->") is not None else None
        op = cls(cast(DenseIntOrFPElementsAttr[Any], value), type_)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)
        if self.y.type != self.value.get_type():
            printer.print_string(" -> ")
            printer.print_attribute(self.y.type)


@irdl_op_definition
class WeightOp(IRDLOperation):
    """Declares a weight: a symbol whose bytes live in the weight store under its name."""

    name = "ge.weight"

    sym_name = prop_def(SymbolNameConstraint())
    type = prop_def(TensorType)

    traits = traits_def(SymbolOpInterface())
    assembly_format = "$sym_name `:` $type attr-dict"

    def __init__(self, name: str, type: Tensor):
        super().__init__(properties={"sym_name": StringAttr(name), "type": type})

    def verify_(self) -> None:
        if DYNAMIC_INDEX in self.type.get_shape():
            raise VerifyException(f"weight @{self.sym_name.data} must have a static shape, got {self.type}")
        verify_element_type(self.type)


@irdl_op_definition
class LoadWeightOp(IRDLOperation):
    """The weight as a value; as a memref once `@main`'s values have addresses."""

    name = "ge.load_weight"

    weight = prop_def(FlatSymbolRefAttrConstr)
    y = result_def(TensorType | MemRefType)

    traits = traits_def(Pure())
    assembly_format = "$weight attr-dict `:` type($y)"

    def __init__(self, weight: str, type: Attribute):
        super().__init__(properties={"weight": SymbolRefAttr(weight)}, result_types=[type])

    def verify_(self) -> None:
        name = self.weight.root_reference.data
        declared = find_weight(self, name)
        if declared is None or not isinstance(declared.type, TensorType):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerifyException(f"@{name} is not a weight of this module; declare it with 'ge.weight @{name} : ...'")
        if shapes.shape_and_element(self.y.type) != shapes.shape_and_element(declared.type):
            raise VerifyException(f"@{name} is declared as {declared.type}, but loaded as {self.y.type}")


def find_weight(op: Operation, name: str) -> WeightOp | None:
    """The weight `name` of the module that `op` is in."""
    root: Operation | None = op
    while root is not None and not isinstance(root, ModuleOp):
        root = root.parent_op()
    return next((w for w in weights(root) if w.sym_name.data == name), None) if root is not None else None


def weights(module: ModuleOp) -> list[WeightOp]:
    """The weights of `module` in the order of the text."""
    return [op for op in module.body.block.ops if isinstance(op, WeightOp)]


GE = Dialect("ge", [*ELEMENTWISE.values(), GeluV2Op, CastOp, MatMulV2Op, BatchMatMulV2Op, ConstOp, WeightOp, LoadWeightOp])
