"""The instruction by which a vector lane hands a tile to the cube of its core without a way through global memory."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.npu.base import InstructionOp, space_of, verify_same_element, verify_same_shape, verify_spaces
from ge_compiler.dialects.target import NpuTarget, Unit


@irdl_op_definition
class CopyOp(InstructionOp):
    """Unified buffer to L1, row-major to fractals."""

    name = "npu.copy"

    source = operand_def(MemRefType)
    out = operand_def(MemRefType)

    assembly_format = "`ins` `(` $source `:` type($source) `)` `outs` `(` $out `:` type($out) `)` attr-dict"

    def __init__(self, source: SSAValue, out: SSAValue):
        super().__init__(operands=[source, out])

    def reads(self) -> Sequence[SSAValue]:
        return (self.source,)

    def writes(self) -> SSAValue:
        return self.out

    def unit(self, target: NpuTarget) -> Unit | None:
        path = target.path(space_of(self.source), space_of(self.out))
        return None if path is None else path.unit

    def verify_(self) -> None:
        verify_spaces(self.source, "the source", Space.UB)
        verify_spaces(self.out, "the destination", Space.L1)
        verify_same_element(self.source, self.out)
        verify_same_shape(self.source, self.out)
