"""Index arithmetic of a kernel, as far as its values are known before it runs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

Values = dict[SSAValue, int]
"""The values that are known; what depends on an argument of the kernel, or on the core, is not."""


def _divide(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


_BINARY: Mapping[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: lambda x, y: x + y,
    arith.SubiOp: lambda x, y: x - y,
    arith.MuliOp: lambda x, y: x * y,
    arith.AndIOp: lambda x, y: x & y,
    arith.OrIOp: lambda x, y: x | y,
    arith.XOrIOp: lambda x, y: x ^ y,
    arith.MinSIOp: lambda x, y: min(x, y),
    arith.MinUIOp: lambda x, y: min(x, y),
    arith.MaxSIOp: lambda x, y: max(x, y),
    arith.MaxUIOp: lambda x, y: max(x, y),
    arith.DivSIOp: _divide,
    arith.DivUIOp: lambda x, y: x // y,
    arith.FloorDivSIOp: lambda x, y: x // y,
    arith.CeilDivSIOp: lambda x, y: -(-x // y),
    arith.CeilDivUIOp: lambda x, y: -(-x // y),
    arith.RemSIOp: lambda x, y: x - y * _divide(x, y),
    arith.RemUIOp: lambda x, y: x % y,
}
_COMPARE: tuple[Callable[[Any, Any], bool], ...] = (
    operator.eq,
    operator.ne,
    *(operator.lt, operator.le, operator.gt, operator.ge) * 2,
)


def constant(value: SSAValue) -> int | None:
    """The number that `value` is, where it is a constant."""
    op = value.owner
    return op.value.value.data if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr) else None


def evaluate(op: Operation, values: Values) -> None:
    """Enters the result of `op` into `values`, or takes it out if it is not known."""
    for result in op.results:
        values.pop(result, None)
    known = _result(op, values)
    if known is not None:
        values[op.results[0]] = known


def _result(op: Operation, values: Values) -> int | None:
    match op:
        case arith.ConstantOp():
            return int(op.value.value.data) if isinstance(op.value, IntegerAttr) else None
        case arith.SelectOp():
            condition = values.get(op.cond)
            return None if condition is None else values.get(op.lhs if condition else op.rhs)
        case arith.IndexCastOp():
            return values.get(op.input)
        case _:
            pass
    if len(op.operands) != 2 or (x := values.get(op.operands[0])) is None or (y := values.get(op.operands[1])) is None:
        return None
    if isinstance(op, arith.CmpiOp):
        return int(_COMPARE[op.predicate.value.data](x, y))
    function = _BINARY.get(type(op))
    try:
        return None if function is None else function(x, y)
    except ZeroDivisionError:
        return None
