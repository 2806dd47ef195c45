"""Index values of the first trips of a kernel's loops, as far as they do not depend on anything that is not known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.scf import ForOp
from xdsl.ir import Operation, SSAValue

from ge_compiler.dialects.tile import GridLoopOp

_FUNCTIONS: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: lambda x, y: x + y,
    arith.SubiOp: lambda x, y: x - y,
    arith.MuliOp: lambda x, y: x * y,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.DivUIOp: lambda x, y: x // y,
    arith.RemUIOp: lambda x, y: x % y,
}
_OF_NATURALS = (arith.DivUIOp, arith.RemUIOp)


@dataclass
class Indices:
    """The values that are known while ops are followed in the order of their execution."""

    known: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    most: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Of values that are not known, because they are clipped to something that is: the largest that they can be."""

    def get(self, value: SSAValue) -> int | None:
        return self.known.get(value)

    def trips(self, loop: Operation) -> int | None:
        """How many trips a loop makes, or makes at most where its end is clipped; `None` where that is not known."""
        if not isinstance(loop, ForOp):
            return None
        bounds = [self.get(loop.lb), self.known.get(loop.ub, self.most.get(loop.ub)), self.get(loop.step)]
        if None in bounds or bounds[2] == 0:
            return None
        lower, upper, step = bounds
        return max(0, -(-(upper - lower) // step))  # pyright: ignore

    def enter(self, loop: Operation, trip: int) -> None:
        """A trip of a loop starts."""
        match loop:
            case GridLoopOp():
                self._set(loop.trip, trip)
            case ForOp():
                lower, step = self.get(loop.lb), self.get(loop.step)
                self._set(loop.body.block.args[0], None if lower is None or step is None else lower + trip * step)
            case _:
                pass

    def execute(self, op: Operation) -> None:
        """Index arithmetic; other ops know nothing."""
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
            self._set(op.result, op.value.value.data)
        elif type(op) in _FUNCTIONS:
            x, y = (self.get(operand) for operand in op.operands)
            defined = x is not None and y is not None and (not isinstance(op, _OF_NATURALS) or (x >= 0 and y > 0))
            self._set(op.results[0], _FUNCTIONS[type(op)](x, y) if defined else None)  # pyright: ignore
            clipped = x if x is not None else y
            if isinstance(op, arith.MinSIOp) and not defined and clipped is not None:
                self.most[op.result] = clipped

    def _set(self, value: SSAValue, number: int | None) -> None:
        if number is None:
            self.known.pop(value, None)
        else:
            self.known[value] = number
