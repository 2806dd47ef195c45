"""What derives from the number of the lane, and who may use it: instructions of the vector lanes only."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import CastOp, DimOp, ReinterpretCastOp, SubviewOp
from xdsl.ir import Operation, SSAValue

from ge_compiler.dialects.buf import AtOp
from ge_compiler.dialects.diagnostics import Note
from ge_compiler.dialects.npu import FlagOp, InstructionOp, SubBlockIdxOp, SyncOp
from ge_compiler.dialects.npu.sync import CrossCoreFlagOp
from ge_compiler.dialects.target import VECTOR, NpuTarget
from ge_compiler.runtime.checks.faults import Faults

_NAMES = (AtOp, SubviewOp, ReinterpretCastOp, CastOp, DimOp)


def check_lane_varying(kernel: FuncOp, target: NpuTarget, faults: Faults) -> None:
    """Reports every op that lets lanes go different ways: loops, branches, flags and cube instructions."""
    source: dict[SSAValue, Operation] = {}
    # Values that loops carry may vary only from the second look on.
    for _ in range(2 + sum(isinstance(op, scf.ForOp) for op in kernel.walk())):
        before = len(source)
        for op in kernel.walk():
            _spread(op, source)
        if len(source) == before:
            break
    for op in kernel.walk():
        use = _forbidden_use(op, source, target)
        if use is not None:
            value, what = use
            name = f"%{value.name_hint}" if value.name_hint else "a value"
            message = f"{what} {name}, which differs from lane to lane; only instructions of the vector lanes may depend on it"
            faults.add("lane-varying", op, message, Note("the number of the lane is read here", source[value].location))


def _spread(op: Operation, source: dict[SSAValue, Operation]) -> None:
    """Lets the results of `op` vary where its operands do."""
    if isinstance(op, SubBlockIdxOp):
        source[op.result] = op
        return
    if isinstance(op, scf.ForOp):
        last = op.body.block.last_op
        yielded = last.operands if isinstance(last, scf.YieldOp) else ()
        for values in zip(op.iter_args, op.body.block.args[1:], op.results, yielded, strict=True):
            origin = next((source[v] for v in values if v in source), None)
            if origin is not None:
                source.update((v, origin) for v in values[1:3] if v not in source)
        return
    origin = next((source[operand] for operand in op.operands if operand in source), None)
    if isinstance(op, scf.IfOp):
        yields = [block.last_op for region in op.regions for block in region.blocks]
        origin = origin or next((source[v] for y in yields if y is not None for v in y.operands if v in source), None)
    if origin is not None:
        source.update((result, origin) for result in op.results if result not in source)


def _forbidden_use(op: Operation, source: dict[SSAValue, Operation], target: NpuTarget) -> tuple[SSAValue, str] | None:
    """The first lane-varying operand that `op` must not have, and what it uses it for."""
    match op:
        case scf.ForOp():
            operands, what = (op.lb, op.ub, op.step), "runs as often as"
        case scf.IfOp():
            operands, what = (op.cond,), "branches on"
        case FlagOp() | CrossCoreFlagOp():
            operands, what = op.operands, "takes its number from"
        case SyncOp():
            operands, what = op.operands, "depends on"
        case InstructionOp():
            unit = op.unit(target)
            if unit is None or unit.core == VECTOR or not target.is_split:
                return None
            operands, what = op.operands, f"runs on <{unit}>, a pipe of the cube, but uses"
        case _:
            return None
    value = next((operand for operand in operands if operand in source), None)
    return None if value is None else (value, what)
