"""Mutants of a program: copies in which one thing is wrong, to see whether the checks report it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import SubviewOp
from xdsl.ir import Operation, SSAValue

from ge_compiler.dialects import npu
from ge_compiler.dialects.buf import AtOp
from ge_compiler.dialects.index_list import DYNAMIC
from ge_compiler.dialects.memory import bytes_of, mem_of
from ge_compiler.dialects.target import target_of
from ge_compiler.dialects.types import buffer_type

SYNCHRONISATIONS = (
    npu.SetFlagOp,
    npu.WaitFlagOp,
    npu.PipeBarrierOp,
    npu.CrossCoreSetFlagOp,
    npu.CrossCoreWaitFlagOp,
    npu.SyncAllOp,
)


@dataclass(frozen=True)
class Mutant:
    """A module with one change in kernel `kernel`."""

    kind: str
    """`removed`, `number`, `slot` or `overlap`."""
    what: str
    module: ModuleOp
    kernel: FuncOp


def mutants(module: ModuleOp, kernel: str) -> Iterator[Mutant]:
    """Every mutant of a kernel; the module itself stays as it is."""
    original = kernel_named(module, kernel)
    ops = list(original.walk())
    for index, op in enumerate(ops):
        if isinstance(op, SYNCHRONISATIONS):
            yield _mutant(module, kernel, index, "removed", _describe(op), _remove)
        if isinstance(op, npu.FlagOp | npu.CrossCoreFlagOp):
            yield _mutant(module, kernel, index, "number", _describe(op), _other_number)
        if isinstance(op, AtOp) and op.slot is not None:
            yield _mutant(module, kernel, index, "slot", f"{op.label} always in its first slot", _first_slot)
            yield _mutant(module, kernel, index, "slot", f"{op.label} one slot further", _next_slot)
    for index, op in enumerate(ops):
        if isinstance(op, AtOp):
            for other in _clobbered(ops, op):
                if _can_move(op, other, module):
                    yield _moved(module, kernel, index, op, other)


def _clobbered(ops: Sequence[Operation], op: AtOp) -> list[AtOp]:
    """The buffers that hold a value while `op` is written: written before, and read after without being written again."""
    found: dict[AtOp, None] = {}
    held: dict[AtOp, bool] = {}
    for instruction in ops:
        if not isinstance(instruction, npu.InstructionOp):
            continue
        for buffer in filter(None, map(_buffer, instruction.reads())):
            if held.get(buffer):
                found[buffer] = None
        written = _buffer(instruction.writes())
        if written is op:
            held = dict.fromkeys(held, True)
        elif written is not None:
            held[written] = False
    return list(found)


def _buffer(value: SSAValue) -> AtOp | None:
    while isinstance(value.owner, SubviewOp):
        value = value.owner.source
    return value.owner if isinstance(value.owner, AtOp) else None


def kernel_named(module: ModuleOp, name: str) -> FuncOp:
    """The function `name` of a module."""
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp) and op.sym_name.data == name)


def _describe(op: Operation) -> str:
    return str(op).removeprefix('"')


def _mutant(module: ModuleOp, kernel: str, index: int, kind: str, what: str, change: Callable[[Any], None]) -> Mutant:
    copy = module.clone()
    function = kernel_named(copy, kernel)
    change(next(itertools.islice(function.walk(), index, None)))
    return Mutant(kind, what, copy, function)


def _remove(op: Operation) -> None:
    op.detach()
    op.erase()


def _constant(before: Operation, value: int) -> SSAValue:
    assert before.parent is not None
    constant = arith.ConstantOp(IntegerAttr(value, IndexType()))
    before.parent.insert_op_before(constant, before)
    return constant.result


def _plus_one(before: Operation, value: SSAValue) -> SSAValue:
    assert before.parent is not None
    sum_ = arith.AddiOp(value, _constant(before, 1))
    before.parent.insert_op_before(sum_, before)
    return sum_.result


def _other_number(op: npu.FlagOp | npu.CrossCoreFlagOp) -> None:
    """The next number; for one that is computed, the next one of two."""
    number = op.static_number.get_values()[0]
    if number != DYNAMIC:
        op.properties["static_number"] = DenseArrayBase.from_list(i64, [(number + 1) % 8])
        return
    assert op.parent is not None
    swapped = arith.RemUIOp(_plus_one(op, op.number[0]), _constant(op, 2))
    op.parent.insert_op_before(swapped, op)
    op.operands[0] = swapped.result


def _first_slot(op: AtOp) -> None:
    op.operands[0] = _constant(op, 0)


def _next_slot(op: AtOp) -> None:
    op.operands[0] = _plus_one(op, op.operands[0])


def _can_move(op: AtOp, other: AtOp, module: ModuleOp) -> bool:
    """Whether `op` fits at the address of `other`, of which it holds no byte so far."""
    space = mem_of(op.result.type).space
    if space is not mem_of(other.result.type).space or op.label == other.label:
        return False
    size, start = bytes_of(buffer_type(op.result)), other.offsets.get_values()[0]
    apart = all(
        a + size <= b or b + bytes_of(buffer_type(other.result)) <= a for a in op.offsets.get_values() for b in other.offsets.get_values()
    )
    return apart and start + size <= target_of(module).spaces[space].bytes


def _moved(module: ModuleOp, kernel: str, index: int, op: AtOp, other: AtOp) -> Mutant:
    offsets = [other.offsets.get_values()[0], *op.offsets.get_values()[1:]]

    def change(copy: Operation) -> None:
        copy.properties["offsets"] = DenseArrayBase.from_list(i64, offsets)

    return _mutant(module, kernel, index, "overlap", f"{op.label} onto {other.label}", change)
