"""Index constants of a function: each once, at its start."""

from __future__ import annotations

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ge_compiler.transforms.rewriting.inserter import Inserter


def known_index(value: SSAValue) -> int | None:
    """The number that `value` is, where it is a constant."""
    owner = value.owner
    constant = owner.value if isinstance(owner, ConstantOp) else None
    return constant.value.data if isinstance(constant, IntegerAttr) else None


class Constants:
    """Called with a number, it gives the constant: one that starts the function already, or a new one."""

    def __init__(self, function: FuncOp) -> None:
        self.function = function
        self.values: dict[int, SSAValue] = {}
        for op in function.body.block.ops:
            if not isinstance(op, ConstantOp):
                break
            number = known_index(op.result)
            if number is not None and op.result.type == IndexType():
                self.values.setdefault(number, op.result)

    def __call__(self, value: int) -> SSAValue:
        if value not in self.values:
            first = self.function.body.block.first_op
            assert first is not None
            constant = ConstantOp(IntegerAttr(value, IndexType()))
            self.values[value] = Inserter(first)(constant, f"c{value}").result
        return self.values[value]
