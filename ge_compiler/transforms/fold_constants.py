"""
Compute at compile time what depends on constants only: positions, masks, tables of angles.

    %i = ge.Range {start = 0 : i64, delta = 1 : i64} : tensor<3xi64>
    %c = ge.Const dense<1> : tensor<i64>
    %m = ge.LessEqual %i, %c : (tensor<3xi64>, tensor<i64>) -> tensor<3xi1>
    // becomes
    %m = ge.Const dense<[true, true, false]> : tensor<3xi1>

Results that are larger than `max-bytes` are left to the program: a constant stands in the text and in global memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyDenseElement, BytesAttr, DenseIntOrFPElementsAttr, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import Pure

from ge_compiler.dialects import ge
from ge_compiler.dialects.locations import located
from ge_compiler.dialects.memory import element_bytes
from ge_compiler.dialects.types import tensor_type


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, ge.ConstOp)


def _bytes(value: SSAValue) -> int | None:
    """The bytes of a tensor, or `None` if its size is open."""
    type_ = tensor_type(value)
    if DYNAMIC_INDEX in type_.get_shape():
        return None
    return prod(type_.get_shape()) * element_bytes(type_.get_element_type())


def _fold(op: ge.GeOp) -> list[ge.ConstOp]:
    """Constants with the results of `op`, whose operands are constants."""
    from ge_compiler.dialects.ge.semantics import evaluate

    operands = [evaluate(x.owner, [])[0] for x in op.operands if isinstance(x.owner, ge.ConstOp)]
    constants: list[ge.ConstOp] = []
    for result, value in zip(op.results, evaluate(op, operands), strict=True):
        # A true boolean is 0xFF in a constant.
        data = (value.astype("int8") * -1 if value.dtype.kind == "b" else value).tobytes()
        type_ = cast("TensorType[AnyDenseElement]", result.type)
        constant = located(ge.ConstOp(DenseIntOrFPElementsAttr(type_, BytesAttr(data))), op.location)
        constant.y.name_hint = result.name_hint
        constants.append(constant)
    return constants


@dataclass(frozen=True)
class FoldConstantsPass(ModulePass):
    """Replaces operators on constants by their results."""

    name = "fold-constants"

    max_bytes: int = 65536
    """The size in bytes up to which a result becomes a constant."""

    def __post_init__(self) -> None:
        if self.max_bytes < 0:
            raise ValueError(f"max-bytes must be at least 0, got {self.max_bytes}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for operator in [o for o in op.walk() if isinstance(o, ge.GeOp)]:
            if self._can_fold(operator):
                _replace(operator, _fold(operator))

    def _can_fold(self, op: ge.GeOp) -> bool:
        if isinstance(op, ge.ConstOp) or not op.has_trait(Pure) or not all(map(_is_constant, op.operands)):
            return False
        sizes = [_bytes(result) for result in op.results]
        return all(size is not None and size <= self.max_bytes for size in sizes)


def _replace(op: Operation, constants: list[ge.ConstOp]) -> None:
    assert op.parent is not None
    for result, constant in zip(op.results, constants, strict=True):
        op.parent.insert_op_before(constant, op)
        result.replace_all_uses_with(constant.y)
    op.detach()
    op.erase()
