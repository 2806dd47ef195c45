"""Instructions that move tiles between memories: the path table says on which pipe."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType, StringAttr, UnitAttr
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ge_compiler.dialects.memory import Layout, Space, mem_of
from ge_compiler.dialects.npu.base import InstructionOp, space_of, verify_same_element, verify_same_shape, verify_spaces
from ge_compiler.dialects.target import NpuTarget, Unit


class _MoveOp(InstructionOp):
    """An instruction that moves a tile between two memories."""

    source = operand_def(MemRefType)
    out = operand_def(MemRefType)

    def __init__(self, source: SSAValue, out: SSAValue, properties: dict[str, Attribute] | None = None):
        super().__init__(operands=[source, out], properties=properties or {})

    def reads(self) -> Sequence[SSAValue]:
        return (self.source,)

    def writes(self) -> SSAValue:
        return self.out

    def unit(self, target: NpuTarget) -> Unit | None:
        path = target.path(space_of(self.source), space_of(self.out))
        return None if path is None else path.unit


_INS_OUTS = "`ins` `(` $source `:` type($source) `)` `outs` `(` $out `:` type($out) `)` attr-dict"


class LoadFormat(StrEnum):
    """How a load arranges the rows of global memory."""

    ND = "nd"
    """Row-major to row-major."""
    ND2NZ = "nd2nz"
    """Row-major to fractals."""


@irdl_attr_definition
class LoadFormatAttr(ParametrizedAttribute):
    """`<nd>` or `<nd2nz>`: the layout change of a load."""

    name = "npu.load_format"

    format_name: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> tuple[StringAttr]:
        with parser.in_angle_brackets():
            return (StringAttr(parser.parse_str_enum(LoadFormat).value),)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.format_name.data}>")


@irdl_op_definition
class LoadOp(_MoveOp):
    """Global memory to L1 (`nd2nz`) or to the unified buffer (`nd`)."""

    name = "npu.load"

    format = prop_def(LoadFormatAttr)

    assembly_format = f"$format {_INS_OUTS}"

    def __init__(self, source: SSAValue, out: SSAValue):
        format_ = LoadFormat.ND if mem_of(out.type).layout is Layout.ND else LoadFormat.ND2NZ
        super().__init__(source, out, {"format": LoadFormatAttr(StringAttr(format_.value))})

    def verify_(self) -> None:
        verify_spaces(self.source, "the source", Space.GM)
        verify_spaces(self.out, "the destination", Space.L1, Space.UB)
        verify_same_element(self.source, self.out)
        verify_same_shape(self.source, self.out)
        fits = LoadFormat.ND if mem_of(self.out.type).layout is Layout.ND else LoadFormat.ND2NZ
        if self.format.format_name.data != fits:
            raise VerifyException(f"to {self.out.type} must be <{fits}>, got <{self.format.format_name.data}>")


@irdl_op_definition
class Load2dOp(_MoveOp):
    """L1 to L0A or L0B by fractals, transposed if asked."""

    name = "npu.load2d"

    transpose = opt_prop_def(UnitAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = _INS_OUTS

    def verify_(self) -> None:
        verify_spaces(self.source, "the source", Space.L1)
        verify_spaces(self.out, "the destination", Space.L0A, Space.L0B)
        verify_same_element(self.source, self.out)
        verify_same_shape(self.source, self.out, transposed=self.transpose is not None)


@irdl_op_definition
class FixpipeOp(_MoveOp):
    """Accumulator to the unified buffer or to global memory, row-major."""

    name = "npu.fixpipe"
    assembly_format = _INS_OUTS

    def verify_(self) -> None:
        verify_spaces(self.source, "the source", Space.L0C)
        verify_spaces(self.out, "the destination", Space.UB, Space.GM)
        verify_same_element(self.source, self.out)
        verify_same_shape(self.source, self.out)


@irdl_op_definition
class StoreOp(_MoveOp):
    """Unified buffer to global memory."""

    name = "npu.store"
    assembly_format = _INS_OUTS

    def verify_(self) -> None:
        verify_spaces(self.source, "the source", Space.UB)
        verify_spaces(self.out, "the destination", Space.GM)
        verify_same_element(self.source, self.out)
        verify_same_shape(self.source, self.out)
