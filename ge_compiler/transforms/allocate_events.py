"""
Gives events their numbers, which the chip has few of: some for each pair of pipes, and some between the cube and its vector lanes.

    npu.set_flag <mte2>, <v>[%s] event "a_ready"      // two slots
    npu.set_flag <mte2>, <v>[0] event "b_ready"

becomes

    npu.set_flag <mte2>, <v>[%s]
    npu.set_flag <mte2>, <v>[2]

Events share a number where one is always waited for before the other is set. Where that is not enough, the event that runs least often
becomes a barrier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.arith import AddiOp, ConstantOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ge_compiler.dialects.buf import AtOp
from ge_compiler.dialects.diagnostics import CompileError, remark
from ge_compiler.dialects.fused import aicore_kernels
from ge_compiler.dialects.locations import located
from ge_compiler.dialects.npu import (
    ALL_PIPES,
    CrossCoreFlagOp,
    CrossCoreSetFlagOp,
    CrossCoreWaitFlagOp,
    FlagOp,
    PipeBarrierOp,
    SetFlagOp,
    WaitFlagOp,
)
from ge_compiler.dialects.target import NpuTarget, target_of
from ge_compiler.transforms.synchronization.accesses import modulus
from ge_compiler.transforms.synchronization.replay import is_ordered
from ge_compiler.transforms.synchronization.trace import Event, Trace, Unprovable
from ge_compiler.transforms.synchronization.unrolling import unrolled

Flag = FlagOp | CrossCoreFlagOp
Pool = tuple[str, str]
"""The pipes that share numbers; all cross-core flags are one pool."""
_CROSS_CORE = ("", "")


@dataclass(frozen=True)
class AllocateEventsPass(ModulePass):
    """Gives each event numbers that the target has, as many as it has slots."""

    name = "allocate-events"

    overflow: Literal["barrier", "error"] = "barrier"
    """What to do when the numbers of two pipes run out: make a `barrier` of an event, or report an `error`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for kernel in aicore_kernels(op):
            if kernel.body.blocks:
                _Allocator(kernel, target, self.overflow == "barrier").run()


@dataclass
class _Named:
    """An event that has a name and needs numbers."""

    pool: Pool
    name: str
    ops: list[Flag] = field(default_factory=list[Flag])
    base: int | None = None

    @property
    def wait(self) -> Flag:
        """The first wait of the text: the one in the loops, not the one that drains."""
        return next(op for op in self.ops if isinstance(op, WaitFlagOp | CrossCoreWaitFlagOp))

    @property
    def size(self) -> int:
        """How many numbers it needs."""
        return max(_bound(op) for op in self.ops)


class _Allocator:
    """Numbers the events of one kernel."""

    def __init__(self, kernel: FuncOp, target: NpuTarget, may_use_barriers: bool) -> None:
        self.kernel, self.target, self.may_use_barriers = kernel, target, may_use_barriers
        self.events: dict[tuple[Pool, str], _Named] = {}
        self.taken: dict[Pool, int] = {}
        for op in kernel.walk():
            if isinstance(op, Flag):
                self._enter(op)

    def _enter(self, op: Flag) -> None:
        pool = (op.source.pipe.data, op.destination.pipe.data) if isinstance(op, FlagOp) else _CROSS_CORE
        if op.event is None:
            self.taken[pool] = max(self.taken.get(pool, 0), _bound(op))
        else:
            self.events.setdefault((pool, op.event.data), _Named(pool, op.event.data)).ops.append(op)

    def run(self) -> None:
        for event in self.events.values():
            _check(event)
        for pool in dict.fromkeys(event.pool for event in self.events.values()):
            while not self._fill(pool):
                self._give_up_one(pool)
        numbers = _Numbers()
        for event in self.events.values():
            for op in event.ops:
                assert event.base is not None
                numbers.give(op, event.base)

    def _limit(self, pool: Pool) -> int:
        return self.target.cross_core_ids if pool == _CROSS_CORE else self.target.event_ids

    def _fill(self, pool: Pool) -> bool:
        """Numbers all events of `pool`, each with numbers of its own while there are, else with shared ones; whether there were enough."""
        limit, free = self._limit(pool), self.taken.get(pool, 0)
        events = [event for event in self.events.values() if event.pool == pool]
        for event in events:
            event.base = None
        for event in events:
            if free + event.size <= limit:
                event.base = free
                free += event.size
            elif (shared := self._shared_base(event, limit)) is not None:
                event.base, free = shared, max(free, shared + event.size)
            else:
                return False
        return True

    def _shared_base(self, event: _Named, limit: int) -> int | None:
        """Numbers that `event` can share with others, if all stays in order; not of cross-core flags, which count whoever sets them."""
        if event.pool == _CROSS_CORE:
            return None
        for base in range(self.taken.get(event.pool, 0), limit - event.size + 1):
            event.base = base
            if self.traces and all(is_ordered(trace, number=self._number) for trace in self.traces):
                return base
        event.base = None
        return None

    @cached_property
    def traces(self) -> Sequence[Trace]:
        """The unrolled kernel as it stands; nothing where it cannot be followed."""
        try:
            return unrolled(self.kernel, self.target)
        except Unprovable:
            return ()

    def _number(self, event: Event) -> tuple[str, str, str | None, int]:
        source, sink, name, number = event
        found = None if name is None else self.events[(source, sink) if sink else _CROSS_CORE, name]
        return event if found is None or found.base is None else (source, sink, None, found.base + number)

    def _give_up_one(self, pool: Pool) -> None:
        """Makes a barrier of the event of `pool` that runs least often. Raises `CompileError` where that is not wanted or not possible."""
        events = [event for event in self.events.values() if event.pool == pool]
        needed, limit = sum(event.size for event in events), self._limit(pool)
        if pool == _CROSS_CORE or not self.may_use_barriers:
            raise _too_many(events, needed, limit, self.target)
        event = min(events, key=lambda event: _depth(event.wait))
        core = self.target.units[pool[1]].core
        barrier = PipeBarrierOp(f"{core}.{ALL_PIPES}" if self.target.is_split else ALL_PIPES)
        remark("allocate-events", event.wait, "barrier", f'event "{event.name}" is a barrier: {_shortage(pool, needed, limit)}')
        block = event.wait.parent
        assert block is not None
        block.insert_op_before(located(barrier, event.wait.location), event.wait)
        for op in event.ops:
            op.detach()
            op.erase()
        del self.events[pool, event.name]
        self.__dict__.pop("traces", None)


def _check(event: _Named) -> None:
    """Raises `CompileError` for an event that is only set, or only waited for."""
    is_set = [isinstance(op, SetFlagOp | CrossCoreSetFlagOp) for op in event.ops]
    if all(is_set) or not any(is_set):
        what = "set but never waited for" if all(is_set) else "waited for but never set"
        raise CompileError.at(event.ops[0], f'event "{event.name}" of these pipes is {what}')


def _shortage(pool: Pool, needed: int, limit: int) -> str:
    between = "the cube and its vector lanes" if pool == _CROSS_CORE else f"<{pool[0]}> and <{pool[1]}>"
    return f"between {between} {needed} numbers are needed, but there are {limit}"


def _too_many(events: Sequence[_Named], needed: int, limit: int, target: NpuTarget) -> CompileError:
    names = ", ".join(f'"{event.name}" {event.size}' for event in events)
    message = f"{_shortage(events[0].pool, needed, limit)} on {target.name}: {names}; use fewer slots"
    return CompileError.at(events[-1].wait, message)


def _depth(op: Operation) -> int:
    parent = op.parent_op()
    return 0 if parent is None else 1 + _depth(parent)


def _bound(op: Flag) -> int:
    """One more than the highest number that a flag can have. Raises `CompileError` where that is not known."""
    number = op.mixed_number
    bound = number + 1 if isinstance(number, int) else _bound_of_value(number)
    if bound is None:
        raise CompileError.at(op, "has a number without a known limit; it must be the slot of a buf.at, or a remainder by a constant")
    return bound


def _bound_of_value(value: SSAValue) -> int | None:
    slots = [len(use.operation.offsets.get_values()) for use in value.uses if isinstance(use.operation, AtOp)]
    sum_ = value.owner
    if isinstance(sum_, AddiOp) and isinstance(base := sum_.lhs.owner, ConstantOp) and isinstance(base.value, IntegerAttr):
        rest = _bound_of_value(sum_.rhs)
        return None if rest is None else base.value.value.data + rest
    return modulus(value) or max(slots, default=None)


class _Numbers:
    """Writes numbers into flags, and the additions that this takes."""

    def __init__(self) -> None:
        self._sums: dict[tuple[SSAValue, int], SSAValue] = {}

    def give(self, op: Flag, base: int) -> None:
        """Replaces the name of a flag by numbers from `base` on."""
        number = op.mixed_number
        mixed = number + base if isinstance(number, int) else self._sum(number, base)
        new = _renumbered(op, mixed)
        block = op.parent
        assert block is not None
        block.insert_op_before(located(new, op.location), op)
        op.detach()
        op.erase()

    def _sum(self, slot: SSAValue, base: int) -> SSAValue:
        if base == 0:
            return slot
        if (slot, base) not in self._sums:
            constant = ConstantOp(IntegerAttr.from_index_int_value(base))
            total = AddiOp(constant, slot)
            constant.result.name_hint = f"c{base}"
            total.result.name_hint = f"{slot.name_hint or 'slot'}_{base}"
            _insert_after(slot, [constant, total])
            self._sums[slot, base] = total.result
        return self._sums[slot, base]


def _renumbered(op: Flag, number: SSAValue | int) -> Flag:
    if isinstance(op, FlagOp):
        return type(op)(op.source.pipe.data, op.destination.pipe.data, number)
    return type(op)(op.pipe.pipe.data, number)


def _insert_after(value: SSAValue, ops: Sequence[Operation]) -> None:
    """Puts `ops` where `value` has just been defined."""
    owner = value.owner
    for op in ops:
        location = owner.first_op if isinstance(owner, Block) else owner
        assert location is not None
        op.location = location.location
    if isinstance(owner, Block):
        assert owner.first_op is not None
        owner.insert_ops_before(ops, owner.first_op)
    else:
        assert owner.parent is not None
        owner.parent.insert_ops_after(ops, owner)
