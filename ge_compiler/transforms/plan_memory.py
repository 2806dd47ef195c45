"""
Gives every buffer its bytes: those of kernels in on-chip memories, those of `@main` in one arena of global memory.

    %a = buf.alloc "a" : memref<32x128xf32, #npu.mem<ub>>
    %b = buf.alloc "b" : memref<32x128xf32, #npu.mem<ub>>

becomes

    %a = buf.at "a" [0] : memref<32x128xf32, #npu.mem<ub>>
    %b = buf.at "b" [16384] : memref<32x128xf32, #npu.mem<ub>>
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, i8
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ge_compiler.dialects.buf import AtOp
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.fused import is_kernel, launched_here
from ge_compiler.dialects.ge import ConstOp, weights
from ge_compiler.dialects.memory import Space, bytes_of, round_up
from ge_compiler.dialects.target import NpuTarget, target_of
from ge_compiler.dialects.tile import schedule_of
from ge_compiler.dialects.types import Buffer, buffer_type, shaped_type
from ge_compiler.transforms.planning.byte_table import Row, byte_table, smallest_fix
from ge_compiler.transforms.planning.lifetimes import Held, lifetimes, share_in_place
from ge_compiler.transforms.planning.planner import most_held, peak, plan, plan_without_reuse
from ge_compiler.transforms.rewriting.inserter import Inserter


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    """Gives every buffer an offset in its memory, so that buffers which are held at the same time do not overlap."""

    name = "plan-memory"

    reuse: Literal["greedy", "none"] = "greedy"
    """`greedy` lets buffers share bytes one after the other, and results lie over operands; `none` gives each its own bytes (to find a
    fault by elimination)."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for function in op.body.block.ops:
            if isinstance(function, FuncOp):
                self._plan(function, target)

    def _plan(self, function: FuncOp, target: NpuTarget) -> None:
        held = lifetimes(function)
        if self.reuse == "greedy":
            held = share_in_place(held)
        for space in Space:
            of_space = [buffer for buffer in held if buffer.space is space]
            resident = _resident(function) if space is Space.GM else []
            if of_space or resident:
                self._plan_space(function, of_space, resident, target, space)

    def _plan_space(self, function: FuncOp, held: Sequence[Held], resident: Sequence[Row], target: NpuTarget, space: Space) -> None:
        if space not in target.spaces:
            where = held[0].op if held else function
            raise CompileError.at(where, f"is in {space.value}, a memory that {target.name} does not have")
        alignment = target.spaces[space].alignment
        requests = [buffer.request.stacked(buffer.slots, alignment) for buffer in held]
        planner = plan if self.reuse == "greedy" else plan_without_reuse
        offsets = planner(requests, alignment)
        needed = peak(requests, offsets) + sum(row.bytes for row in resident)
        if needed > target.capacity(space):
            raise self._overflow(function, held, resident, target, space, needed)
        for buffer, offset in zip(held, offsets, strict=True):
            _put(buffer, offset, round_up(buffer.request.size, alignment))

    def _overflow(
        self, function: FuncOp, held: Sequence[Held], resident: Sequence[Row], target: NpuTarget, space: Space, needed: int
    ) -> CompileError:
        requests = [buffer.request.stacked(buffer.slots, 1) for buffer in held]
        at_peak = held if self.reuse == "none" else [held[i] for i in most_held(requests)]
        rows = [*resident, *(_row(buffer) for buffer in at_peak)]
        capacity = target.capacity(space)
        message = f"@{function.sym_name.data} needs {needed} bytes of {space.value}, but {target.name} has {capacity}"
        text = f"{message}; {self._advice(function, rows, capacity, needed)}\n{byte_table(rows, capacity)}"
        return CompileError(text, function.location, launched_here(function))

    def _advice(self, function: FuncOp, rows: Sequence[Row], capacity: int, needed: int) -> str:
        schedule = schedule_of(function)
        # Gaps between buffers count too: what the rows may take is the less, the more of them the plan leaves.
        room = min(capacity, capacity * sum(row.bytes for row in rows) // needed)
        fix = None if schedule is None else smallest_fix(rows, room, schedule.values())
        advice = fix or ("use a smaller batch" if rows[0].space is Space.GM else "use smaller tiles")
        return f"allow reuse, or {advice}" if self.reuse == "none" else advice


def _resident(function: FuncOp) -> list[Row]:
    """What lies in global memory from the start to the end of a program: arguments of `@main`, weights and constants."""
    module = function.parent_op()
    if is_kernel(function) or len(function.body.blocks) != 1 or not isinstance(module, ModuleOp):
        return []
    arguments = [(argument, buffer_type(argument)) for argument in function.body.block.args if isinstance(argument.type, MemRefType)]
    rows = [_row_of(f"%{argument.name_hint or argument.index}", type_) for argument, type_ in arguments if type_.has_static_shape()]
    constants = [op for op in function.body.block.ops if isinstance(op, ConstOp)]
    total = sum(bytes_of(weight.type) for weight in weights(module)) + sum(bytes_of(shaped_type(op.y)) for op in constants)
    return [*rows, Row("weights", Space.GM, (total,), i8)] if total else rows


def _put(buffer: Held, offset: int, step: int) -> None:
    """Places a buffer, its slots `step` bytes apart."""
    offsets = [offset + step * i for i in range(buffer.slots)]
    for op in buffer.ops:
        if op.slot is None and buffer.slots > 1:
            raise CompileError.at(op, f"has {buffer.slots} slots, of which none is chosen; run multi-buffer first")
        at = Inserter(op)(AtOp(op.label, offsets, buffer_type(op.result), op.slot), op.result.name_hint)
        op.result.replace_all_uses_with(at.result)
        op.detach()
        op.erase()


def _row(buffer: Held) -> Row:
    row = _row_of(buffer.op.label.data, buffer_type(buffer.op.result))
    return replace(row, space=buffer.space, lines=buffer.lines, slots=buffer.slots)


def _row_of(label: str, type_: Buffer) -> Row:
    return Row(label, Space.GM, type_.get_shape(), type_.get_element_type())
