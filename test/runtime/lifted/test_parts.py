"""What lifted execution is made of: index arithmetic of many blocks, cells, scratch memory, and the order of blocks."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.dialects.test import TestOp

from ge_compiler.runtime.interpreters.control import CONTROL
from ge_compiler.runtime.lifted.cells import Buffer, Cell, Rectangle
from ge_compiler.runtime.lifted.indices import BINARY, COMPARE, Affine, NotLifted, Split, affine, uniform
from ge_compiler.runtime.lifted.layout import bytes_of, chosen_widths, corners, lay_out
from ge_compiler.runtime.lifted.order import check_order
from ge_compiler.runtime.lifted.values import Access, Operand, Scratch, Step, Trace, whole
from ge_compiler.runtime.walk import Frame

F32 = np.dtype(np.float32)


def _scalar(op_type: Any, x: int, y: int, *extra: Any) -> Any:
    """What the walk of all levels computes."""
    values = TestOp(result_types=[IndexType(), IndexType()])
    op = op_type(*values.results, *extra)
    frame = Frame(CONTROL)
    step, slots = CONTROL[op_type](op, frame), frame.slots([*op.operands, *op.results])
    assert step is not None
    registers = frame.initial.copy()
    registers[slots[0]], registers[slots[1]] = x, y
    step(registers)
    return registers[slots[2]]


@pytest.mark.parametrize("op_type", BINARY, ids=lambda op: op.name)
def test_index_arithmetic_is_that_of_single_blocks(op_type: Any) -> None:
    xs = np.array([0, 1, 2, 3, 7, 24, 25, 100, 4095])
    for y in (1, 2, 3, 24, 128):
        assert [int(v) for v in BINARY[op_type](xs, y)] == [_scalar(op_type, int(x), y) for x in xs]
    if op_type in (arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp, arith.CeilDivSIOp, arith.SubiOp, arith.MinSIOp):
        signed = np.array([-7, -6, -1, 0, 1, 6, 7])
        for y in (-3, -1, 2, 3):
            assert [int(v) for v in BINARY[op_type](signed, y)] == [_scalar(op_type, int(x), y) for x in signed]


@pytest.mark.parametrize("predicate", range(10))
def test_comparisons_are_those_of_single_blocks(predicate: int) -> None:
    xs = np.arange(5)
    assert [bool(v) for v in COMPARE[predicate](xs, 2)] == [_scalar(arith.CmpiOp, int(x), 2, predicate) for x in xs]


def test_blocks_that_differ_are_cut_where_they_do() -> None:
    extents = np.array([[64, 64, 64, 17]])
    with pytest.raises(Split) as split:
        uniform(extents)
    assert (split.value.axis, split.value.cuts) == (1, [3])
    assert uniform(np.array([[5], [5]])) == 5
    with pytest.raises(NotLifted, match="zero"):
        BINARY[arith.RemUIOp](np.arange(3), 0)


def test_affine_offsets() -> None:
    i, j = np.arange(3).reshape(3, 1), np.arange(4).reshape(1, 4)
    assert affine(i * 100 + j * 8 + 5, 2) == Affine(5, (100, 8))
    assert affine(i * 100, 2) == Affine(0, (100, 0))
    assert affine(7, 2) == Affine(7, (0, 0))
    flat = np.arange(12)
    with pytest.raises(Split) as split:
        affine(flat // 4 * 1000 + flat % 4, 1)
    assert split.value.cuts == [4, 8]


def _value(rows: int, columns: int) -> Operand:
    return whole(Scratch(rows, columns, F32, (True,)))


def _no_assembly(*_: Any) -> Operand:
    raise AssertionError("one piece covers it")


def test_cells_give_the_latest_piece() -> None:
    cell = Cell("x", F32)
    with pytest.raises(NotLifted, match="nothing in the same block"):
        cell.read(Rectangle(0, 0, 2, 2), _no_assembly)
    first, second = _value(8, 16), _value(2, 16)
    cell.write(Rectangle(0, 0, 8, 16), first)
    cell.write(Rectangle(2, 0, 2, 16), second)
    assert cell.read(Rectangle(2, 4, 1, 3), _no_assembly) == second.part(0, 4, 1, 3)
    pieces: list[Any] = []
    cell.read(Rectangle(0, 0, 4, 16), lambda where, found: pieces.extend(found) or _value(4, 16))
    assert [value for _, value in pieces] == [first, second], "the latest last"
    cell.write(Rectangle(0, 0, 8, 16), first)
    assert len(cell.pieces) == 1


def test_slots_that_coincide_in_some_blocks_only_are_refused() -> None:
    buffer = Buffer("x", F32, ((0, 64), (64, 128)))
    turns = np.arange(4) % 2
    assert buffer.cell(turns) is buffer.cell(turns.copy())
    assert buffer.cell((turns + 1) % 2) is not buffer.cell(turns)
    with pytest.raises(NotLifted, match="different ways"):
        buffer.cell(0)


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_arrays_that_live_at_the_same_time_lie_apart(seed: int, width: int) -> None:
    choose = random.Random(seed)
    trace, values = Trace((0,), (width,)), [whole(Scratch(1, 1, F32, (True,)))]
    op = TestOp()
    trace.steps.append(Step(np.copyto, values[0], (), op))
    for _ in range(choose.randint(1, 30)):
        inputs = tuple(choose.sample(values, min(len(values), choose.randint(0, 2))))
        shape = choose.choice([inputs[0].shape if inputs else (3, 5), (3, 5), (16, 16), (1, 16)])
        out = whole(Scratch(*shape, choose.choice([F32, np.dtype(np.float16)]), (choose.random() < 0.8,)))
        trace.steps.append(Step(np.copyto, out, inputs, op, in_place=choose.random() < 0.5))
        values.append(out)
    layout = lay_out(trace, (width,))
    for i, step in enumerate(trace.steps):
        needed = {x.source for later in trace.steps[i + 1 :] for x in later.inputs} & set(layout.offsets)
        out = step.out.source
        assert isinstance(out, Scratch)
        made = {x.out.source for x in trace.steps[:i]}
        for other in needed & made - {out}:
            assert isinstance(other, Scratch)
            start, end = layout.offsets[out], layout.offsets[out] + bytes_of(out, (width,))
            assert layout.offsets[other] >= end or layout.offsets[other] + bytes_of(other, (width,)) <= start
        for x in step.inputs:
            same = layout.offsets[out] == layout.offsets[x.source] if isinstance(x.source, Scratch) else False
            assert not same or (step.in_place and x.shape == step.out.shape and x.axes == step.out.axes)
    assert all(o + bytes_of(s, (width,)) <= layout.size for s, o in layout.offsets.items())


def test_rectangles_cover_every_block_once() -> None:
    trace = Trace((0, 0), (5, 7))
    for limit in (1, 3, 7, 8, 21, 1000):
        widths = chosen_widths(trace, limit)
        assert np.prod(widths) <= limit
        seen = np.zeros(trace.widths, np.int64)
        for corner, size in corners(trace, widths):
            seen[tuple(slice(c, c + n) for c, n in zip(corner, size, strict=True))] += 1
        assert (seen == 1).all()


def _accessing(*accesses: Access) -> list[Trace]:
    return [Trace((0, 0), (2, 3), accesses=list(accesses))]


def test_blocks_may_write_rectangles_apart_from_each_other() -> None:
    tile = Access(0, True, Affine(0, (8 * 30, 10)), (8, 10), (30, 1))
    check_order(_accessing(tile), [(16, 30)], [0])
    columns = Access(0, True, Affine(0, (15, 5)), (16, 5), (30, 1))
    check_order(_accessing(columns), [(16, 30)], [0])
    interleaved = Access(0, True, Affine(0, (1, 2)), (8, 1), (6, 1))
    check_order(_accessing(interleaved), [(48,)], [0])


@pytest.mark.parametrize(
    "accesses",
    [
        [Access(0, True, Affine(0, (8 * 30, 0)), (8, 10), (30, 1))],
        [Access(0, True, Affine(0, (8 * 30, 10)), (8, 11), (30, 1))],
        [Access(0, True, Affine(0, (8 * 30, 10)), (8, 10), (30, 1)), Access(0, False, Affine(1, (8 * 30, 9)), (8, 10), (30, 1))],
    ],
    ids=["all write the same", "they overlap", "one reads what another writes"],
)
def test_blocks_that_meet_are_refused(accesses: list[Access]) -> None:
    with pytest.raises(NotLifted, match="other blocks write"):
        check_order(_accessing(*accesses), [(16, 31)], [0])
