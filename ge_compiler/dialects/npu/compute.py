"""Instructions that compute: the cube's, and the vector unit's at the grain of its API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IntegerAttr, MemRefType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.elementwise import ElementwiseOp, define, elementwise_operands, operand_names
from ge_compiler.dialects.functions import NATIVE, Function
from ge_compiler.dialects.ge.shapes import broadcast, show
from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.npu.base import InstructionOp, verify_same_element, verify_same_shape, verify_spaces
from ge_compiler.dialects.target import NpuTarget, Unit
from ge_compiler.dialects.types import buffer_type, verify_product_elements


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
        return target.unit_named("m")

    def verify_(self) -> None:
        verify_spaces(self.a, "a", Space.L0A)
        verify_spaces(self.b, "b", Space.L0B)
        verify_spaces(self.out, "the accumulator", Space.L0C)
        verify_product_elements(*(buffer_type(x).get_element_type() for x in (self.a, self.b, self.out)))
        (m, k_a), (k_b, n), c = (buffer_type(x).get_shape() for x in (self.a, self.b, self.out))
        if any(DYNAMIC_INDEX not in (p, q) and p != q for p, q in ((k_a, k_b), (m, c[0]), (n, c[1]))):
            raise VerifyException(f"extents differ: a {show((m, k_a))}, b {show((k_b, n))}, accumulator {show(c)}")


class VectorOp(InstructionOp):
    """An instruction of the vector unit."""

    def unit(self, target: NpuTarget) -> Unit | None:
        return target.unit_named("v")


class VectorElementwiseOp(ElementwiseOp, VectorOp):
    """A native function of the table; operands broadcast where an extent is 1."""

    OVERWRITES: ClassVar[bool] = True

    out = operand_def(MemRefType)

    def reads(self) -> Sequence[SSAValue]:
        return elementwise_operands(self)

    def writes(self) -> SSAValue:
        return self.out

    def verify_(self) -> None:
        self.verify_elements(self.reads(), self.out)
        for i, x in enumerate(self.reads()):
            verify_spaces(x, f"operand #{i}", Space.UB)
        verify_spaces(self.out, "the result", Space.UB)
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


class UnaryOp(VectorOp):
    """An instruction that makes one tile of another."""

    x = operand_def(MemRefType)
    out = operand_def(MemRefType)

    def __init__(self, x: SSAValue, out: SSAValue, properties: dict[str, Attribute] | None = None):
        super().__init__(operands=[x, out], properties=properties or {})

    def reads(self) -> Sequence[SSAValue]:
        return (self.x,)

    def writes(self) -> SSAValue:
        return self.out


X_TO_OUT = "`ins` `(` $x `:` type($x) `)` `outs` `(` $out `:` type($out) `)` attr-dict"


@irdl_op_definition
class VconvOp(UnaryOp):
    """Convert the element type: floats round to nearest even, float to integer truncates."""

    name = "npu.vconv"

    assembly_format = X_TO_OUT

    def verify_(self) -> None:
        verify_spaces(self.x, "x", Space.UB)
        verify_spaces(self.out, "the result", Space.UB)
        verify_same_shape(self.x, self.out)


@irdl_op_definition
class VbrcOp(UnaryOp):
    """Repeat a row, a column or a single element to a tile."""

    name = "npu.vbrc"

    assembly_format = X_TO_OUT

    def verify_(self) -> None:
        verify_spaces(self.x, "x", Space.UB)
        verify_spaces(self.out, "the result", Space.UB)
        verify_same_element(self.x, self.out)
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
        verify_spaces(self.out, "the result", Space.UB)
        if self.value.type != buffer_type(self.out).get_element_type():
            raise VerifyException(f"value is {self.value.type}, but the tile is {self.out.type}")
