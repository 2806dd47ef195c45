"""Loops, branches and index arithmetic, which all levels share. Index values are Python integers, booleans Python bools."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation, SSAValue

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.runtime.walk import Factory, Frame, Registers, Step, Table


def _floor_quotient(x: int, y: int) -> int:
    return x // y


def _truncating_quotient(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _truncating_remainder(x: int, y: int) -> int:
    return x - y * _truncating_quotient(x, y)


def _ceiling_quotient(x: int, y: int) -> int:
    return -(-x // y)


_BINARY: dict[type[Operation], Callable[[Any, Any], Any]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.AndIOp: lambda x, y: x & y,
    arith.OrIOp: lambda x, y: x | y,
    arith.XOrIOp: lambda x, y: x ^ y,
    arith.MinSIOp: min,
    arith.MinUIOp: min,
    arith.MaxSIOp: max,
    arith.MaxUIOp: max,
}
_DIVISION: dict[type[Operation], Callable[[int, int], int]] = {
    arith.DivSIOp: _truncating_quotient,
    arith.DivUIOp: _floor_quotient,
    arith.FloorDivSIOp: _floor_quotient,
    arith.CeilDivSIOp: _ceiling_quotient,
    arith.CeilDivUIOp: _ceiling_quotient,
    arith.RemSIOp: _truncating_remainder,
    arith.RemUIOp: lambda x, y: x % y,
}
_COMPARE: tuple[Callable[[Any, Any], bool], ...] = (
    operator.eq,
    operator.ne,
    *(operator.lt, operator.le, operator.gt, operator.ge) * 2,
)
"""By the number of arith's predicate. Signed and unsigned agree: an index that is compared is never negative when it is meant unsigned."""


def _constant(op: arith.ConstantOp, frame: Frame) -> Step | None:
    if not isinstance(op.value, IntegerAttr | FloatAttr):
        raise CompileError.at(op, f"only scalar constants can be executed, got {op.value}")
    value: Any = op.value.value.data
    frame.set_constant(op.result, bool(value) if str(op.result.type) == "i1" else value)
    return None


def _binary_step(function: Callable[[Any, Any], Any], op: Operation, frame: Frame) -> Step:
    x, y, result = frame.slot(op.operands[0]), frame.slot(op.operands[1]), frame.slot(op.results[0])

    def step(r: Registers) -> None:
        r[result] = function(r[x], r[y])

    return step


def _binary(op: Operation, frame: Frame) -> Step:
    return _binary_step(_BINARY[type(op)], op, frame)


def _division(op: Operation, frame: Frame) -> Step:
    function = _DIVISION[type(op)]

    def divide(x: int, y: int) -> int:
        if y == 0:
            raise CompileError.at(op, f"divides {x} by zero")
        return function(x, y)

    return _binary_step(divide, op, frame)


def _compare(op: arith.CmpiOp, frame: Frame) -> Step:
    return _binary_step(_COMPARE[op.predicate.value.data], op, frame)


def _select(op: arith.SelectOp, frame: Frame) -> Step:
    condition, x, y, result = (frame.slot(value) for value in (op.cond, op.lhs, op.rhs, op.result))

    def step(r: Registers) -> None:
        r[result] = r[x] if r[condition] else r[y]

    return step


def _same_value(op: Operation, frame: Frame) -> Step:
    x, result = frame.slot(op.operands[0]), frame.slot(op.results[0])

    def step(r: Registers) -> None:
        r[result] = r[x]

    return step


def _assign(r: Registers, destinations: list[int], sources: list[int]) -> None:
    """Registers to registers at once: a value may move to where another is read."""
    values = [r[source] for source in sources]
    for destination, value in zip(destinations, values, strict=True):
        r[destination] = value


def _yielded(op: Operation, region: int) -> list[SSAValue]:
    last = op.regions[region].block.last_op
    return list(last.operands) if isinstance(last, scf.YieldOp) else []


def _for(op: scf.ForOp, frame: Frame) -> Step:
    low, high, stride = (frame.slot(value) for value in (op.lb, op.ub, op.step))
    induction, *carried = frame.slots(op.body.block.args)
    start, results = frame.slots(op.iter_args), frame.slots(op.results)
    code = frame.code(op.body.block)
    ends = frame.slots(_yielded(op, 0))

    def step(r: Registers) -> None:
        if r[stride] <= 0:
            raise CompileError.at(op, f"the step of a loop must be positive, got {r[stride]}")
        _assign(r, carried, start)
        for i in range(r[low], r[high], r[stride]):
            r[induction] = i
            code.run(r)
            if ends:
                _assign(r, carried, ends)
        _assign(r, results, carried)

    return step


def _if(op: scf.IfOp, frame: Frame) -> Step:
    condition, results = frame.slot(op.cond), frame.slots(op.results)
    codes = [frame.code(region.block) if region.blocks else None for region in op.regions]
    yields = [frame.slots(_yielded(op, i)) if region.blocks else [] for i, region in enumerate(op.regions)]

    def step(r: Registers) -> None:
        taken = 0 if r[condition] else 1
        if (code := codes[taken]) is not None:
            code.run(r)
            _assign(r, results, yields[taken])

    return step


def _table() -> Table:
    table: dict[type[Operation], Factory] = {
        arith.ConstantOp: _constant,
        arith.CmpiOp: _compare,
        arith.SelectOp: _select,
        arith.IndexCastOp: _same_value,
        scf.ForOp: _for,
        scf.IfOp: _if,
    }
    return table | dict.fromkeys(_BINARY, _binary) | dict.fromkeys(_DIVISION, _division)


CONTROL = _table()
