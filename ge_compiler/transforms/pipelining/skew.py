"""
Skew: the loads of a loop's next trip stand before the work on this one, as one loop of one trip more.

    scf.for %k = %c0 to %K step %c64 iter_args(%c = %undef) {
      %a = tile.load %x[0, %k] valid [32, 64] {slots = 2}
      %r = scf.for %q = %c0 to %c64 ... iter_args(%e = %c) { ... %a ... }
      scf.yield %r
    // becomes
    scf.for %k = %c0 to %K + 64 step %c64 iter_args(%c = %undef, %a_before = %undef_a) {
      %a = tile.load %x[0, %k] valid [32, %k < %K ? 64 : 0] {slots = 2}                   // behind the last trip: nothing
      %k_before = %k - 64
      %r = scf.for %q = %c0 to (%k_before >= %c0 ? %c64 : %c0) ... { ... %a_before ... }  // before the first: no trip
      scf.yield %r, %a

Every trip executes the same ops: a half that is absent has zero extent, so that flags stand on every path.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.arith import AddiOp, CmpiOp, SelectOp, SubiOp
from xdsl.dialects.builtin import IndexType, TensorType, i1
from xdsl.dialects.scf import ForOp, YieldOp
from xdsl.ir import Operation, SSAValue

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.memory import Space, mem_of
from ge_compiler.dialects.tile import LoadOp, UndefOp
from ge_compiler.dialects.types import tensor_type
from ge_compiler.transforms.rewriting.constants import Constants, known_index
from ge_compiler.transforms.rewriting.inserter import Inserter

Copies = dict[SSAValue, SSAValue]
"""Index values of the body and what the copy of the arithmetic computes for them."""


def loads_of(loop: ForOp) -> list[LoadOp]:
    """The loads into L1 that stand directly in the body of `loop`."""
    return [op for op in loop.body.block.ops if isinstance(op, LoadOp) and op.results and mem_of(op.results[0].type).space is Space.L1]


def is_skewed(loop: ForOp) -> bool:
    """Whether the tiles that `loop` loads are for its next trip already."""
    return any(isinstance(use.operation, YieldOp) for load in loads_of(loop) for use in load.results[0].uses)


def skew(loop: ForOp, constants: Constants) -> None:
    """Lets the loads into L1 of `loop` run one trip ahead. Raises `CompileError` where its body has another shape."""
    loads = loads_of(loop)
    _check(loop, loads)
    insert = Inserter(loop)
    upper = _end(loop, insert, constants)
    undefined = [insert(UndefOp(tensor_type(load.results[0])), "undef").result for load in loads]
    work = list(loop.body.block.ops)
    loaded = _producer(loop, work, constants)
    _consumer(loop, [op for op in work if op not in loads])
    _carry(loop, loads, loaded)
    new = insert(ForOp(loop.lb, upper, loop.step, [*loop.iter_args, *undefined], loop.detach_region(loop.body)))
    new.attributes |= loop.attributes
    for old, result in zip(loop.results, new.results, strict=False):
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    _erase(loop)


def _check(loop: ForOp, loads: Sequence[LoadOp]) -> None:
    for load in loads:
        if load.slot_count < 2:
            raise CompileError.at(load, "must have a slot to load into while another is read; with skew = 1, l1 is at least 2")
    if any(not isinstance(value.type, TensorType) for value in loop.iter_args):
        raise CompileError.at(loop, "carries a value that one trip more would change; with skew = 1, a loop carries tiles only")
    for op in loop.body.block.ops:
        if op not in loads and not isinstance(op, ForOp | YieldOp) and not _is_index_arithmetic(op):
            raise CompileError.at(op, "stands beside the loads of a loop with skew = 1, where only an inner loop can be absent from a trip")


def _is_index_arithmetic(op: Operation) -> bool:
    return not op.regions and bool(op.results) and all(value.type in (IndexType(), i1) for value in (*op.operands, *op.results))


def _end(loop: ForOp, insert: Inserter, constants: Constants) -> SSAValue:
    """The end of the loop with one trip more."""
    upper, step = known_index(loop.ub), known_index(loop.step)
    if upper is not None and step is not None:
        return constants(upper + step)
    return insert(AddiOp(loop.ub, loop.step), "end").result


def _producer(loop: ForOp, work: Sequence[Operation], constants: Constants) -> dict[Operation, SSAValue]:
    """Copies of the loads, and of the index arithmetic that they need, at the start of the body; of nothing in the last trip."""
    insert = Inserter(work[0])
    present = insert(CmpiOp(loop.body.block.args[0], loop.ub, "slt"), "present").result
    copies: Copies = {}
    clipped: dict[SSAValue | int, SSAValue] = {}
    loaded: dict[Operation, SSAValue] = {}
    for op in work:
        if isinstance(op, LoadOp):
            for extent in _varying(op, copies):
                if extent not in clipped:
                    whole = constants(extent) if isinstance(extent, int) else copies.get(extent, extent)
                    clipped[extent] = insert(SelectOp(present, whole, constants(0)), "extent").result
            valid = [clipped.get(extent, extent) for extent in op.mixed_valid]
            offsets = [copies.get(o, o) if isinstance(o, SSAValue) else o for o in op.mixed_offsets]
            load = LoadOp(op.source, offsets, valid, tensor_type(op.results[0]))
            load.attributes |= op.attributes
            loaded[op] = insert(load, op.results[0].name_hint).results[0]
            load.location = op.location
        elif _is_index_arithmetic(op):
            insert(op.clone(copies), op.results[0].name_hint)
    return loaded


def _varying(load: LoadOp, copies: Copies) -> list[SSAValue | int]:
    """The extents that the trip decides, which make no sense behind the last one; the columns if it decides none."""
    return [extent for extent in load.mixed_valid if extent in copies] or load.mixed_valid[-1:]


def _consumer(loop: ForOp, work: Sequence[Operation]) -> None:
    """Lets the rest of the body work on the trip before: inner loops run no trip in the first one."""
    index, insert = loop.body.block.args[0], Inserter(work[0])
    before = insert(SubiOp(index, loop.step), f"{index.name_hint or 'i'}_before").result
    present = insert(CmpiOp(before, loop.lb, "sge"), "present").result
    for op in work:
        for inner in op.walk():
            inner.operands = [before if operand is index else operand for operand in inner.operands]
        if isinstance(op, ForOp):
            upper = Inserter(op)(SelectOp(present, op.ub, op.lb), "to").result
            op.operands = [op.lb, upper, *op.operands[2:]]


def _carry(loop: ForOp, loads: Sequence[LoadOp], loaded: dict[Operation, SSAValue]) -> None:
    """The tiles of this trip's loads are those that the next one works on."""
    block = loop.body.block
    for load in loads:
        argument = block.insert_arg(load.results[0].type, len(block.args))
        argument.name_hint = f"{load.results[0].name_hint or 'tile'}_before"
        load.results[0].replace_all_uses_with(argument)
        _erase(load)
    last = block.last_op
    assert isinstance(last, YieldOp)
    Inserter(last)(YieldOp(*last.operands, *(loaded[load] for load in loads)))
    _erase(last)
    for op in reversed(list(block.ops)):
        if _is_index_arithmetic(op) and not any(result.uses for result in op.results):
            _erase(op)


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()
