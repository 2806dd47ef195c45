"""
Keep values inside a kernel in the type they are computed in: drop a rounding whose result is only widened again.
Views may stand between the two. A conversion that the model itself asks for (`required`) stays: its overflow to infinity is meant.

    %a = fused.cast %acc : tensor<4xf32> to tensor<4xf16>
    %b = fused.cast %a : tensor<4xf16> to tensor<4xf32>
    %c = fused.exp %b : tensor<4xf32>
    // becomes
    %c = fused.exp %acc : tensor<4xf32>
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ge_compiler.dialects import fused
from ge_compiler.dialects.locations import located
from ge_compiler.dialects.types import tensor_type


def _element(value: SSAValue) -> Attribute:
    return tensor_type(value).get_element_type()


def _unrounded(cast: fused.CastOp) -> SSAValue | None:
    """What `cast` widens, before it was rounded, in the same view; `None` if it does not undo a rounding between floats."""
    views: list[Operation] = []
    rounding = cast.x.owner
    while isinstance(rounding, fused.View):
        views.append(rounding)
        rounding = rounding.x.owner
    if not isinstance(rounding, fused.CastOp) or rounding.required is not None:
        return None
    wide, narrow = _element(rounding.x), _element(rounding.result)
    if not (isinstance(wide, AnyFloat) and isinstance(narrow, AnyFloat) and narrow.bitwidth < wide.bitwidth):
        return None
    return _shown(rounding.x, list(reversed(views)), cast) if _element(cast.result) == wide else None


def _shown(value: SSAValue, views: Sequence[Operation], before: fused.CastOp) -> SSAValue:
    """`value` under views that another value has."""
    assert before.parent is not None
    for view in views:
        type_ = TensorType(_element(value), tensor_type(view.results[0]).get_shape())
        wide = type(view).create(operands=[value], result_types=[type_], properties=view.properties)
        before.parent.insert_op_before(located(wide, view.location), before)
        value = wide.results[0]
    return value


def _erase_unused(op: Operation | Block) -> None:
    """Erase an op that nobody uses, and what only it used."""
    if isinstance(op, Operation) and op.parent is not None and not any(result.uses for result in op.results):
        owners = [operand.owner for operand in op.operands]
        op.detach()
        op.erase()
        for owner in owners:
            _erase_unused(owner)


@dataclass(frozen=True)
class ElideRoundingsPass(ModulePass):
    """Drops roundings inside a kernel whose results are only widened again."""

    name = "elide-roundings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for cast in [c for c in op.walk() if isinstance(c, fused.CastOp)]:
            value = _unrounded(cast)
            if value is None:
                continue
            cast.result.replace_all_uses_with(value)
            _erase_unused(cast)
