"""Operators along one axis: padding, running sums, sorting, and the places of extreme elements."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, TensorType, UnitAttr, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from ge_compiler.dialects.ge.base import GeOp, ShapeRule
from ge_compiler.dialects.ge.shapes import axes_of, axis_of
from ge_compiler.dialects.ge.shapes import sequences as rules
from ge_compiler.dialects.types import tensor_type


@irdl_op_definition
class RangeOp(GeOp):
    """start, start + delta, start + 2 delta, ...: as many elements as the result type says."""

    name = "ge.Range"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.sequence)
    MEANING: ClassVar[str] = "sequences.sequence"

    start = prop_def(IntegerAttr | FloatAttr)
    delta = prop_def(IntegerAttr | FloatAttr)
    y = result_def(TensorType)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> RangeOp:
        properties = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        known = {name: properties.pop(name) for name in ("start", "delta") if name in properties}
        return cls.create(result_types=[parser.parse_type()], properties=known, attributes=properties)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes | self.properties)
        printer.print_string(" : ")
        printer.print_attribute(self.y.type)


@irdl_op_definition
class PadDOp(GeOp):
    """x between `value`s: `paddings` has for each dimension how many stand before, then how many behind."""

    name = "ge.PadD"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.pad)
    MEANING: ClassVar[str] = "sequences.pad"

    x = operand_def(TensorType)
    paddings = prop_def(DenseArrayBase.constr(i64))
    value = prop_def(FloatAttr)
    y = result_def(TensorType)

    traits = traits_def(Pure())


@irdl_op_definition
class ReverseDOp(GeOp):
    """x with the order of its elements along `axes` turned round."""

    name = "ge.ReverseD"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.reverse)
    MEANING: ClassVar[str] = "sequences.reverse"

    x = operand_def(TensorType)
    axes = prop_def(DenseArrayBase.constr(i64))
    y = result_def(TensorType)

    traits = traits_def(Pure())

    def dimensions(self) -> tuple[int, ...]:
        """`axes` counted from the first dimension, ascending. Raises `VerifyException` if there are no such dimensions."""
        return axes_of("axes", self.axes.get_values(), len(tensor_type(self.x).get_shape()))


class TriangleOp(GeOp):
    """x with zeros on one side of a diagonal of its last two dimensions; `diagonal` counts to the right of the main one."""

    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.triangle)
    MEANING: ClassVar[str] = "sequences.triangle"

    x = operand_def(TensorType)
    diagonal = prop_def(IntegerAttr)
    y = result_def(TensorType)

    traits = traits_def(Pure())


@irdl_op_definition
class TrilOp(TriangleOp):
    """The elements on and below the diagonal, zeros above it."""

    name = "ge.Tril"


@irdl_op_definition
class TriuOp(TriangleOp):
    """The elements on and above the diagonal, zeros below it."""

    name = "ge.Triu"


class AlongAxisOp(GeOp):
    """An operator along one axis of x."""

    x = operand_def(TensorType)
    axis = prop_def(IntegerAttr)

    traits = traits_def(Pure())

    def dimension(self) -> int:
        """`axis` counted from the first dimension. Raises `VerifyException` if there is no such dimension."""
        return axis_of("axis", self.axis.value.data, len(tensor_type(self.x).get_shape()))


class ScanOp(AlongAxisOp):
    """Combines each element with all before it along `axis`; floats in f64 and rounded once, integers in their type."""

    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.scan)
    MEANING: ClassVar[str] = "sequences.scan"

    y = result_def(TensorType)


@irdl_op_definition
class CumsumDOp(ScanOp):
    """Running sums along `axis`."""

    name = "ge.CumsumD"


@irdl_op_definition
class CumprodDOp(ScanOp):
    """Running products along `axis`."""

    name = "ge.CumprodD"


class ArgOp(AlongAxisOp):
    """The place, i32 or i64, of an extreme element along `axis`, which vanishes or, with `keep_dims`, has size 1; the first of several."""

    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.argument)
    MEANING: ClassVar[str] = "sequences.argument"

    keep_dims = opt_prop_def(UnitAttr)
    y = result_def(TensorType)


@irdl_op_definition
class ArgMaxDOp(ArgOp):
    """The place of the largest element along `axis`, of the first NaN if there is one."""

    name = "ge.ArgMaxD"


@irdl_op_definition
class ArgMinDOp(ArgOp):
    """The place of the smallest element along `axis`, of the first NaN if there is one."""

    name = "ge.ArgMinD"


class OrderingOp(AlongAxisOp):
    """Orders x along `axis`: the elements, and their places as i32 or i64; NaN counts as the largest, equal ones keep their order."""

    y = result_def(TensorType)
    indices = result_def(TensorType)


@irdl_op_definition
class SortDOp(OrderingOp):
    """The elements along `axis` in ascending or, with `descending`, in descending order, and their places."""

    name = "ge.SortD"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.sort)
    MEANING: ClassVar[str] = "sequences.sort"

    descending = opt_prop_def(UnitAttr)


@irdl_op_definition
class TopKDOp(OrderingOp):
    """The `k` largest elements along `axis`, the largest first, and their places; with `smallest` the smallest."""

    name = "ge.TopKD"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.top_k)
    MEANING: ClassVar[str] = "sequences.top_k"

    k = prop_def(IntegerAttr)
    smallest = opt_prop_def(UnitAttr)
