"""The functions of the table on tensors."""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import VarConstraint, base, operand_def, result_def, traits_def
from xdsl.traits import Pure

from ge_compiler.dialects.elementwise import ElementwiseOp, define, operand_names
from ge_compiler.dialects.functions import FUNCTIONS, Function
from ge_compiler.dialects.types import Tensor, tensor_type


class FusedElementwiseOp(ElementwiseOp):
    """A function of the table on tensors of one shape; broadcasting is a `fused.broadcast` before it."""

    T: ClassVar[VarConstraint[Tensor]] = VarConstraint("T", base(TensorType))
    result = result_def(T)

    def verify_(self) -> None:
        self.verify_element(tensor_type(self.result).get_element_type())


def _fields(function: Function) -> dict[str, Any]:
    names = operand_names(function)
    return {
        **{name: operand_def(FusedElementwiseOp.T) for name in names},
        "traits": traits_def(Pure()),
        "assembly_format": " `,` ".join(f"${name}" for name in names) + " attr-dict `:` type($result)",
    }


ELEMENTWISE: dict[str, type[FusedElementwiseOp]] = define("fused", "", FusedElementwiseOp, FUNCTIONS.values(), _fields)
"""The elementwise primitives, by name in the table of functions."""
