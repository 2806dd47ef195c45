"""The functions of the table on tensors."""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import VarConstraint, base, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.elementwise import ElementwiseOp, define, operand_names
from ge_compiler.dialects.functions import FUNCTIONS, Function
from ge_compiler.dialects.types import Tensor, tensor_type


class FusedElementwiseOp(ElementwiseOp):
    """A function of the table on tensors of one shape; broadcasting is a `fused.broadcast` before it."""

    T: ClassVar[VarConstraint[Tensor]] = VarConstraint("T", base(TensorType))
    result = result_def(TensorType)

    def verify_(self) -> None:
        self.verify_elements(list(self.operands), self.result)
        for i, x in enumerate(self.operands):
            if tensor_type(x).get_shape() != tensor_type(self.result).get_shape():
                raise VerifyException(f"keeps the shape, but operand #{i} is {x.type} and the result {self.result.type}")


def _fields(function: Function) -> dict[str, Any]:
    names, t = operand_names(function), FusedElementwiseOp.T
    numbers = names[function.conditions :]
    types = [*(f"type(${name})" for name in names[: function.conditions]), "type($result)"]
    if function.is_predicate:
        types = [f"type(${numbers[0]}) `to` type($result)"]
    return {
        **{name: operand_def(t if name in numbers else TensorType) for name in names},
        "result": result_def(TensorType if function.is_predicate else t),
        "traits": traits_def(Pure()),
        "assembly_format": f"{' `,` '.join(f'${name}' for name in names)} attr-dict `:` {' `,` '.join(types)}",
    }


ELEMENTWISE: dict[str, type[FusedElementwiseOp]] = define("fused", "", FusedElementwiseOp, FUNCTIONS.values(), _fields)
"""The elementwise primitives, by name in the table of functions."""
