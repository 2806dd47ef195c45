"""Operators of PyTorch that no other operator expresses."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, var_operand_def, var_result_def
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.ge.base import GeOp, ShapeRule
from ge_compiler.dialects.ge.shapes import fallback as rules


@irdl_op_definition
class AtenFallbackOp(GeOp):
    """
    The ATen operator `overload`, such as "aten.roll.default", run on the host by whoever executes the program.

    `arguments` is what it takes besides tensors, in the executor's own words, `reason` why no other operator expresses it. The results have
    the types that are written.
    It may be random: equal ones are not merged, unused ones are kept.
    """

    name = "ge.AtenFallback"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.as_written)
    MEANING: ClassVar[str] = "fallback.refuse"

    inputs = var_operand_def(TensorType)
    overload = prop_def(StringAttr)
    arguments = opt_prop_def(Attribute)
    reason = opt_prop_def(StringAttr)
    outputs = var_result_def(TensorType)

    def verify_(self) -> None:
        super().verify_()
        if self.overload.data.count(".") != 2:
            raise VerifyException(f'overload must be written as "aten.roll.default", got {self.overload}')
