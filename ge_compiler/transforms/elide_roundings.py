"""
Keep values inside a kernel in the type they are computed in: drop a rounding whose result is only widened again.
A conversion that the model itself asks for (`required`) stays: its overflow to infinity is meant.

    %a = fused.cast %acc : tensor<4xf32> to tensor<4xf16>
    %b = fused.cast %a : tensor<4xf16> to tensor<4xf32>
    %c = fused.exp %b : tensor<4xf32>
    // becomes
    %c = fused.exp %acc : tensor<4xf32>
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from ge_compiler.dialects import fused
from ge_compiler.dialects.types import tensor_type


def _element(value: SSAValue) -> Attribute:
    return tensor_type(value).get_element_type()


def _unrounded(cast: fused.CastOp) -> SSAValue | None:
    """What `cast` widens, before it was rounded; `None` if it does not undo a rounding between floats."""
    rounding = cast.x.owner
    if not isinstance(rounding, fused.CastOp) or rounding.required is not None:
        return None
    wide, narrow = _element(rounding.x), _element(rounding.result)
    if not (isinstance(wide, AnyFloat) and isinstance(narrow, AnyFloat) and narrow.bitwidth < wide.bitwidth):
        return None
    return rounding.x if _element(cast.result) == wide else None


def _erase_if_unused(op: Operation) -> None:
    if not any(result.uses for result in op.results):
        op.detach()
        op.erase()


@dataclass(frozen=True)
class ElideRoundingsPass(ModulePass):
    """Drops roundings inside a kernel whose results are only widened again."""

    name = "elide-roundings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for cast in [c for c in op.walk() if isinstance(c, fused.CastOp)]:
            value = _unrounded(cast)
            if value is None:
                continue
            rounding = cast.x.owner
            cast.result.replace_all_uses_with(value)
            _erase_if_unused(cast)
            assert isinstance(rounding, Operation)
            _erase_if_unused(rounding)
