"""
Writes functions that have no vector instruction in those that have one, as the table of functions says.

    %y = tile.silu %x : T -> T

becomes

    %0 = tile.muls %x {scalar = -1.0 : f32} : T -> T
    %1 = tile.exp %0 : T -> T
    %2 = tile.adds %1 {scalar = 1.0 : f32} : T -> T
    %y = tile.div %x, %2 : T, T -> T
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.elementwise import elementwise_operands, scalar_attribute
from ge_compiler.dialects.functions import expand
from ge_compiler.dialects.tile import ELEMENTWISE, TileElementwiseOp
from ge_compiler.dialects.types import tensor_type
from ge_compiler.transforms.rewriting.inserter import Inserter


@dataclass(frozen=True)
class ExpandMathPass(ModulePass):
    """Replaces elementwise functions without a vector instruction by their expansion in native ones."""

    name = "expand-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for found in list(op.walk()):
            if isinstance(found, TileElementwiseOp) and not found.function.is_native:
                _expand(found)


def _expand(op: TileElementwiseOp) -> None:
    if not op.results:
        raise CompileError.at(op, "has no vector instruction and writes into a buffer; run expand-math before bufferize-tile")
    value = expand(_TileEmitter(op), op.FUNCTION, elementwise_operands(op), op.scalar)
    value.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()


class _TileEmitter:
    """Writes functions as tile ops before `op`, with its type and its location; they are named after it."""

    def __init__(self, op: TileElementwiseOp) -> None:
        self.insert = Inserter(op)
        self.type = tensor_type(op.results[0])
        self.hint = op.results[0].name_hint or op.FUNCTION

    def apply(self, name: str, *operands: SSAValue, scalar: float | None = None) -> SSAValue:
        properties = {} if scalar is None else {"scalar": scalar_attribute(scalar, self.type.get_element_type())}
        new = ELEMENTWISE[name].create(operands=operands, result_types=[self.type], properties=properties)
        return self.insert(new, self.hint).results[0]
