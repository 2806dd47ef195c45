"""The `npu` dialect: instructions, the pipe that executes each, and their order. Nothing is left open.

One op is one instruction on one pipe at the grain of the vector API: a matrix with extents; repeats, masks and strides are the business of
its cost. Operands are memrefs at fixed addresses whose sizes are the valid extents. Data instructions read `ins` and write `outs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IntegerAttr, MemRefType, ModuleOp, StringAttr, UnitAttr, i1
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
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

from ge_compiler.dialects.elementwise import ElementwiseOp, define, elementwise_operands, operand_names
from ge_compiler.dialects.functions import NATIVE, Function
from ge_compiler.dialects.ge.shapes import broadcast, show
from ge_compiler.dialects.memory import Layout, MemAttr, Space, mem_of
from ge_compiler.dialects.target import NpuTarget, Unit, target_of
from ge_compiler.dialects.types import accumulator_of, buffer_type, verify_element_type


class InstructionOp(IRDLOperation):
    """An instruction that reads and writes memory."""

    def reads(self) -> Sequence[SSAValue]:
        """The memrefs that are read."""
        raise NotImplementedError

    def writes(self) -> SSAValue:
        """The memref that is written."""
        raise NotImplementedError

    def unit(self, target: NpuTarget) -> Unit | None:
        """The pipe that executes the instruction on `target`; `None` if it has none."""
        raise NotImplementedError


def _space(value: SSAValue) -> Space:
    return mem_of(value.type).space


def _spaces(value: SSAValue, name: str, *spaces: Space) -> None:
    verify_element_type(buffer_type(value))
    if _space(value) not in spaces:
        raise VerifyException(f"{name} must be in {' or '.join(spaces)}, got {value.type}")
    if len(buffer_type(value).get_shape()) != 2:
        raise VerifyException(f"{name} must have rank 2, got {value.type}")


def _same_element(x: SSAValue, y: SSAValue) -> None:
    if buffer_type(x).get_element_type() != buffer_type(y).get_element_type():
        raise VerifyException(f"moves elements unchanged, but goes from {x.type} to {y.type}")


def _same_shape(x: SSAValue, y: SSAValue, transposed: bool = False) -> None:
    a, b = buffer_type(x).get_shape(), buffer_type(y).get_shape()
    a = a[::-1] if transposed else a
    if any(DYNAMIC_INDEX not in (p, q) and p != q for p, q in zip(a, b, strict=True)):
        raise VerifyException(f"extents differ: {x.type} and {y.type}{' (transposed)' if transposed else ''}")


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
        path = target.path(_space(self.source), _space(self.out))
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
        _spaces(self.source, "the source", Space.GM)
        _spaces(self.out, "the destination", Space.L1, Space.UB)
        _same_element(self.source, self.out)
        _same_shape(self.source, self.out)
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
        _spaces(self.source, "the source", Space.L1)
        _spaces(self.out, "the destination", Space.L0A, Space.L0B)
        _same_element(self.source, self.out)
        _same_shape(self.source, self.out, transposed=self.transpose is not None)


@irdl_op_definition
class FixpipeOp(_MoveOp):
    """Accumulator to the unified buffer, row-major."""

    name = "npu.fixpipe"
    assembly_format = _INS_OUTS

    def verify_(self) -> None:
        _spaces(self.source, "the source", Space.L0C)
        _spaces(self.out, "the destination", Space.UB)
        _same_element(self.source, self.out)
        _same_shape(self.source, self.out)


@irdl_op_definition
class StoreOp(_MoveOp):
    """Unified buffer to global memory."""

    name = "npu.store"
    assembly_format = _INS_OUTS

    def verify_(self) -> None:
        _spaces(self.source, "the source", Space.UB)
        _spaces(self.out, "the destination", Space.GM)
        _same_element(self.source, self.out)
        _same_shape(self.source, self.out)


@irdl_op_definition
class MmadOp(InstructionOp):
    """a (m x k) times b (k x n), written to the accumulator where `init` is true, else added to it."""

    name = "npu.mmad"

    a = operand_def(MemRefType)
    b = operand_def(MemRefType)
    out = operand_def(MemRefType)
    init = operand_def(i1)

    assembly_format = "`ins` `(` $a `,` $b `:` type($a) `,` type($b) `)` `outs` `(` $out `:` type($out) `)` `init` $init attr-dict"

    def __init__(self, a: SSAValue, b: SSAValue, out: SSAValue, init: SSAValue):
        super().__init__(operands=[a, b, out, init])

    def reads(self) -> Sequence[SSAValue]:
        return (self.a, self.b)

    def writes(self) -> SSAValue:
        return self.out

    def unit(self, target: NpuTarget) -> Unit | None:
        return target.units.get("m")

    def verify_(self) -> None:
        _spaces(self.a, "a", Space.L0A)
        _spaces(self.b, "b", Space.L0B)
        _spaces(self.out, "the accumulator", Space.L0C)
        element, element_b, wide = (buffer_type(x).get_element_type() for x in (self.a, self.b, self.out))
        if element != element_b:
            raise VerifyException(f"a is {element} but b is {element_b}")
        if wide != accumulator_of(element):
            raise VerifyException(f"accumulates {element} in {accumulator_of(element)}, got {self.out.type}")
        (m, k_a), (k_b, n), c = (buffer_type(x).get_shape() for x in (self.a, self.b, self.out))
        if any(DYNAMIC_INDEX not in (p, q) and p != q for p, q in ((k_a, k_b), (m, c[0]), (n, c[1]))):
            raise VerifyException(f"extents differ: a {show((m, k_a))}, b {show((k_b, n))}, accumulator {show(c)}")


class VectorOp(InstructionOp):
    """An instruction of the vector unit."""

    def unit(self, target: NpuTarget) -> Unit | None:
        return target.units.get("v")


class VectorElementwiseOp(ElementwiseOp, VectorOp):
    """A native function of the table; operands broadcast where an extent is 1."""

    out = operand_def(MemRefType)

    def reads(self) -> Sequence[SSAValue]:
        return elementwise_operands(self)

    def writes(self) -> SSAValue:
        return self.out

    def verify_(self) -> None:
        element = buffer_type(self.out).get_element_type()
        self.verify_element(element)
        for i, x in enumerate(self.reads()):
            _spaces(x, f"operand #{i}", Space.UB)
            if buffer_type(x).get_element_type() != element:
                raise VerifyException(f"operand #{i} is {x.type}, but the result is {self.out.type}")
        _spaces(self.out, "the result", Space.UB)
        shapes = [buffer_type(x).get_shape() for x in (*self.reads(), self.out)]
        if DYNAMIC_INDEX not in {d for s in shapes for d in s} and broadcast(shapes[:-1]) != shapes[-1]:
            raise VerifyException(f"operands {' and '.join(map(show, shapes[:-1]))} do not broadcast to {show(shapes[-1])}")


def _fields(function: Function) -> dict[str, Any]:
    names = operand_names(function)
    values, types = (" `,` ".join(f.format(name) for name in names) for f in ("${}", "type(${})"))
    return {
        **{name: operand_def(MemRefType) for name in names},
        "assembly_format": f"`ins` `(` {values} `:` {types} `)` `outs` `(` $out `:` type($out) `)` attr-dict",
    }


VECTOR: dict[str, type[VectorElementwiseOp]] = define("npu", "v", VectorElementwiseOp, NATIVE.values(), _fields)
"""The vector instruction of each native function, by the function's name."""


@irdl_op_definition
class VconvOp(VectorOp):
    """Convert the element type: floats round to nearest even, float to integer truncates."""

    name = "npu.vconv"

    x = operand_def(MemRefType)
    out = operand_def(MemRefType)

    assembly_format = "`ins` `(` $x `:` type($x) `)` `outs` `(` $out `:` type($out) `)` attr-dict"

    def __init__(self, x: SSAValue, out: SSAValue):
        super().__init__(operands=[x, out])

    def reads(self) -> Sequence[SSAValue]:
        return (self.x,)

    def writes(self) -> SSAValue:
        return self.out

    def verify_(self) -> None:
        _spaces(self.x, "x", Space.UB)
        _spaces(self.out, "the result", Space.UB)
        _same_shape(self.x, self.out)


@irdl_op_definition
class VbrcOp(VectorOp):
    """Repeat a row, a column or a single element to a tile."""

    name = "npu.vbrc"

    x = operand_def(MemRefType)
    out = operand_def(MemRefType)

    assembly_format = "`ins` `(` $x `:` type($x) `)` `outs` `(` $out `:` type($out) `)` attr-dict"

    def __init__(self, x: SSAValue, out: SSAValue):
        super().__init__(operands=[x, out])

    def reads(self) -> Sequence[SSAValue]:
        return (self.x,)

    def writes(self) -> SSAValue:
        return self.out

    def verify_(self) -> None:
        _spaces(self.x, "x", Space.UB)
        _spaces(self.out, "the result", Space.UB)
        _same_element(self.x, self.out)
        shapes = buffer_type(self.x).get_shape(), buffer_type(self.out).get_shape()
        if any(DYNAMIC_INDEX not in (p, q) and p not in (1, q) for p, q in zip(*shapes, strict=True)):
            raise VerifyException(f"{self.x.type} cannot be repeated to {self.out.type}: each extent must be 1 or equal")


@irdl_op_definition
class VdupOp(VectorOp):
    """Fill a tile with one value."""

    name = "npu.vdup"

    value = prop_def(FloatAttr | IntegerAttr)
    out = operand_def(MemRefType)

    assembly_format = "$value `outs` `(` $out `:` type($out) `)` attr-dict"

    def __init__(self, value: FloatAttr[Any] | IntegerAttr[Any], out: SSAValue):
        super().__init__(operands=[out], properties={"value": value})

    def reads(self) -> Sequence[SSAValue]:
        return ()

    def writes(self) -> SSAValue:
        return self.out

    def verify_(self) -> None:
        _spaces(self.out, "the result", Space.UB)
        if self.value.type != buffer_type(self.out).get_element_type():
            raise VerifyException(f"value is {self.value.type}, but the tile is {self.out.type}")


@irdl_attr_definition
class PipeAttr(ParametrizedAttribute):
    """`<mte2>`, `<aiv.mte2>` or `<all>`: a pipe of the target, or all of them."""

    name = "npu.pipe"

    pipe: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> tuple[StringAttr]:
        with parser.in_angle_brackets():
            return (StringAttr(parser.parse_identifier()),)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.pipe.data}>")


ALL_PIPES = "all"


@irdl_op_definition
class PipeBarrierOp(IRDLOperation):
    """Everything issued before on the pipe (or on all pipes of the core) completes before anything after it starts."""

    name = "npu.pipe_barrier"

    pipe = prop_def(PipeAttr)

    assembly_format = "$pipe attr-dict"

    def __init__(self, pipe: str = ALL_PIPES):
        super().__init__(properties={"pipe": PipeAttr(StringAttr(pipe))})

    def verify_(self) -> None:
        root = self.get_toplevel_object()
        if self.pipe.pipe.data == ALL_PIPES or not isinstance(root, ModuleOp):
            return
        target = target_of(root)
        pipes = [str(unit) for unit in target.units.values()]
        if self.pipe.pipe.data not in pipes:
            raise VerifyException(f"{target.name} has no pipe <{self.pipe.pipe.data}>; its pipes: {', '.join([*pipes, ALL_PIPES])}")


NPU = Dialect(
    "npu",
    [LoadOp, Load2dOp, FixpipeOp, StoreOp, MmadOp, *VECTOR.values(), VconvOp, VbrcOp, VdupOp, PipeBarrierOp],
    [MemAttr, LoadFormatAttr, PipeAttr],
)
