"""How a reduction combines elements, and what it asks of matrices; the functions themselves are in the table."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, StringAttr, f32, i32, i64
from xdsl.ir import ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ge_compiler.dialects.types import Buffer, Tensor


class Reduction(StrEnum):
    """How a reduction combines elements."""

    SUM = "sum"
    MAX = "max"
    """NaN if any element is."""
    MIN = "min"
    """NaN if any element is."""


@irdl_attr_definition
class ReductionAttr(ParametrizedAttribute):
    """`<sum>`, `<max>` or `<min>`: how a reduction combines elements."""

    name = "fused.reduction"

    kind: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> tuple[StringAttr]:
        with parser.in_angle_brackets():
            return (StringAttr(parser.parse_str_enum(Reduction).value),)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.kind.data}>")


def verify_counts(type_: Tensor | Buffer, verb: str) -> None:
    """Raises `VerifyException` unless the elements of `type_` are of a type that reductions and numbering know."""
    if type_.get_element_type() not in (f32, i32, i64):
        raise VerifyException(f"{verb} in f32, i32 or i64, got {type_}")


def verify_reduced(axis: int, x: Tensor | Buffer, result: Tensor | Buffer) -> None:
    """Raises `VerifyException` unless `result` has the shape of `x` but for one element along `axis`."""
    if axis not in (0, 1):
        raise VerifyException(f"reduces along axis 0 or 1, got {axis}")
    kept = 1 - axis
    sizes, made = x.get_shape(), result.get_shape()
    if made[axis] not in (1, DYNAMIC_INDEX) or (DYNAMIC_INDEX not in (sizes[kept], made[kept]) and sizes[kept] != made[kept]):
        raise VerifyException(f"along {axis} must leave one element of each {'row' if axis else 'column'}, but {x} is reduced to {result}")
