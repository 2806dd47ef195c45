"""A load that runs ahead of its reader, by every number of slots: in order, and not held back by events that know no slots."""

from __future__ import annotations

import re

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ge_compiler.dialects.diagnostics import collect_remarks
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import target_of
from ge_compiler.dialects.verifier import verify_module
from ge_compiler.runtime.checks import check_sync
from ge_compiler.transforms.allocate_events import AllocateEventsPass
from ge_compiler.transforms.insert_sync import InsertSyncPass
from ge_compiler.transforms.remove_redundant_sync import RemoveRedundantSyncPass

BUFFER = "memref<8x16xf32, #npu.mem<ub>>"
CUT = "memref<?x16xf32, strided<[16, 1]>, #npu.mem<ub>>"
ROW = "memref<?x16xf32, strided<[16, 1], offset: ?>>"


def kernel(slots: int, ahead: int, trips: int, blocks: int, turn: str) -> ModuleOp:
    """Each block loads `trips` rows, `ahead` of them before the first is read; `turn` computes from %t and %k whose turn it is."""
    offsets = ", ".join(str(512 * i) for i in range(slots))
    numbers = sorted({0, 1, 8, trips, slots, ahead, trips + ahead, slots - ahead})
    lines = [
        *(f"%c{n} = arith.constant {n} : index" for n in numbers),
        f"tile.grid_loop %t (%b) in ({blocks}) {{",
        f"scf.for %k = %c0 to %c{trips + ahead} step %c1 {{",
        *turn.splitlines(),
        f"%s = arith.remui %turn, %c{slots} : index",
        f"%later = arith.addi %turn, %c{slots - ahead} : index",
        f"%before = arith.remui %later, %c{slots} : index",
        f"%loads = arith.cmpi slt, %k, %c{trips} : index",
        f"%reads = arith.cmpi sge, %k, %c{ahead} : index",
        "%in = arith.select %loads, %c8, %c0 : index",
        "%out_rows = arith.select %reads, %c8, %c0 : index",
        f'%x1 = buf.at "x" [{offsets}] slot %s : {BUFFER}',
        f"%x1_cut = memref.subview %x1[0, 0] [%in, 16] [1, 1] : {BUFFER} to {CUT}",
        f"%row = memref.subview %x[0, 0] [%in, 16] [1, 1] : memref<8x16xf32> to {ROW}",
        f"npu.load <nd> ins(%row : {ROW}) outs(%x1_cut : {CUT})",
        f'%x0 = buf.at "x" [{offsets}] slot %before : {BUFFER}',
        f"%x0_cut = memref.subview %x0[0, 0] [%out_rows, 16] [1, 1] : {BUFFER} to {CUT}",
        f'%y = buf.at "y" [2048] : {BUFFER}',
        f"%y_cut = memref.subview %y[0, 0] [%out_rows, 16] [1, 1] : {BUFFER} to {CUT}",
        f"npu.vabs ins(%x0_cut : {CUT}) outs(%y_cut : {CUT})",
        f"%o = memref.subview %out[%b, 0, 0] [1, %out_rows, 16] [1, 1, 1] : memref<{blocks}x8x16xf32> to {ROW}",
        f"npu.store ins(%y_cut : {CUT}) outs(%o : {ROW})",
        "}",
        "}",
    ]
    head = [
        'builtin.module attributes {ge.target = "Ascend910A"} {',
        f"func.func private @kernel(%x: memref<8x16xf32>, %out: memref<{blocks}x8x16xf32>) {{",
    ]
    text = "\n".join([*head, *lines, "func.return", "}", "}"])
    module = parse_module(text, "skew.mlir")
    verify_module(module)
    InsertSyncPass("flags").apply(Context(), module)
    return module


def faults(module: ModuleOp) -> list[str]:
    verify_module(module)
    function = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    return [fault.message for fault in check_sync(function, target_of(module)).faults]


def check(module: ModuleOp) -> str:
    """The kernel with all of its events, once it is in order with them and without those that are implied."""
    text = str(module)
    AllocateEventsPass().apply(Context(), module)
    assert faults(module) == []
    reduced = parse_module(text)
    RemoveRedundantSyncPass().apply(Context(), reduced)
    AllocateEventsPass().apply(Context(), reduced)
    assert faults(reduced) == []
    return text


def numbers(text: str, op: str, event: str) -> list[str]:
    return re.findall(rf'npu.{op} <\w+>, <\w+>\[(\S+)\] event "{event}"', text)


@pytest.mark.parametrize(("slots", "ahead"), [(2, 1), (3, 1), (3, 2)])
@pytest.mark.parametrize("trips", [1, 2, 3, 5])
@pytest.mark.parametrize("blocks", [1, 33, 70])
def test_turns_that_go_on_from_block_to_block(slots: int, ahead: int, trips: int, blocks: int) -> None:
    turn = f"%blocks = arith.muli %t, %c{trips + ahead} : index\n%turn = arith.addi %blocks, %k : index"
    text = check(kernel(slots, ahead, trips, blocks, turn))
    # Waits know their slot: the load of one does not wait for the reader of another.
    assert "%s" in numbers(text, "wait_flag", "x_free")
    assert "%before" in numbers(text, "wait_flag", "x_ready")
    assert len(numbers(text, "set_flag", "x_free")) == 1 + slots - ahead
    assert len(numbers(text, "set_flag", "x_ready")) == 1 + ahead


@pytest.mark.parametrize(("slots", "ahead", "trips"), [(2, 1, 2), (3, 2, 2), (3, 1, 3)])
def test_turns_that_start_again_in_every_block(slots: int, ahead: int, trips: int) -> None:
    # Slots do not go on where they were: one event stands for all of them, and all is still in order.
    assert (trips + ahead) % slots
    text = check(kernel(slots, ahead, trips, 40, "%turn = arith.addi %k, %c0 : index"))
    assert numbers(text, "wait_flag", "x_free") == ["0", "0"]


def test_turns_that_start_again_where_they_would_go_on() -> None:
    text = check(kernel(2, 1, 3, 40, "%turn = arith.addi %k, %c0 : index"))
    assert numbers(text, "wait_flag", "x_free") == ["%s", "0"]


def test_cores_with_fewer_blocks_drain_other_slots() -> None:
    # 33 blocks on 32 cores, three trips each: the first core ends at another slot than the others, and nothing but flags is removed.
    module = kernel(2, 1, 2, 33, "%blocks = arith.muli %t, %c3 : index\n%turn = arith.addi %blocks, %k : index")
    with collect_remarks() as remarks:
        RemoveRedundantSyncPass().apply(Context(), module)
    assert [remark.code for remark in remarks] == []
    assert "npu.block_idx" in str(module)
    AllocateEventsPass().apply(Context(), module)
    assert faults(module) == []
