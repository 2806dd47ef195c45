"""Constants: small ones stand in the text, weights are symbols whose bytes live outside of it."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    FlatSymbolRefAttrConstr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.ge import shapes
from ge_compiler.dialects.ge.base import GeOp, ShapeRule
from ge_compiler.dialects.ge.shapes import constants as rules
from ge_compiler.dialects.symbols import symbols_of
from ge_compiler.dialects.types import Tensor, verify_element_type


@irdl_op_definition
class ConstOp(GeOp):
    """A small constant; a memref once `@main`'s values have addresses. Large ones are weights, whose bytes live outside the IR."""

    name = "ge.Const"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.constant)
    MEANING: ClassVar[str] = "constants.constant"

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
    if root is None:
        return None
    if (symbols := symbols_of(root)) is not None:
        found = symbols.get(name)
        return found if isinstance(found, WeightOp) else None
    return next((w for w in weights(root) if w.sym_name.data == name), None)


def weights(module: ModuleOp) -> list[WeightOp]:
    """The weights of `module` in the order of the text."""
    return [op for op in module.body.block.ops if isinstance(op, WeightOp)]
