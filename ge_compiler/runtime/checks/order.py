"""Who waits for whom: the queues of a cluster run once, and every instruction learns what is complete when it starts.

Each core puts its instructions into the queues of its pipes, in the order of its program; a pipe starts its queue in order. That knowledge
is a *vector clock*: for each pipe of the cluster, how many of its instructions are known to be complete. An event is set by one pipe and
waited for by one other, so the n-th wait takes the n-th set whatever the timing: the order found is that of every execution.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.ir import Operation

from ge_compiler.dialects import npu
from ge_compiler.dialects.diagnostics import Note
from ge_compiler.dialects.target import CUBE, VECTOR, NpuTarget
from ge_compiler.runtime.checks.faults import Faults
from ge_compiler.runtime.checks.recorder import ALL, Entry, Stream, streams_of, where

PENDING_LIMIT = 15
"""Tokens that a cross-core flag can hold."""

Clock = tuple[int, ...]
Key = tuple[str | int, ...]
"""An event of a stream, or a cross-core flag of the stream that waits for it."""


class Executed(NamedTuple):
    """A data instruction in the order of execution."""

    place: int
    """Of its entry among those of the cluster."""
    sequence: int
    """Its number on its pipe."""
    clock: Clock
    """How many instructions of each pipe are complete when it starts."""


class _Token(NamedTuple):
    entry: Entry
    clock: Clock


@dataclass
class _Channel:
    """What has been set and not yet been waited for, and the waits so far as (pipe, number on the pipe)."""

    tokens: deque[_Token] = field(default_factory=deque[_Token])
    sets: int = 0
    waits: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])


class Order:
    """One run of the queues of a cluster. `order` holds the data instructions as they were executed."""

    def __init__(self, target: NpuTarget, faults: Faults) -> None:
        self.faults = faults
        self.streams = streams_of(target)
        self.names = [unit for stream in self.streams for unit in stream.units]
        self.in_order = [target.units[name].in_order for name in self.names]
        self.order: list[Executed] = []
        self._clocks = [[0] * len(self.names) for _ in self.names]
        self._issued = [0] * len(self.names)
        self._queues: list[deque[tuple[int, Entry]]] = [deque() for _ in self.names]
        self._channels: dict[Key, _Channel] = defaultdict(_Channel)
        self._users: dict[tuple[str | int, ...], str] = {}

    def run(self, entries: Sequence[Entry]) -> bool:
        """Runs `entries`, sorted by position; whether all of them could be executed. Reports deadlocks and misused flags."""
        for index, entry in enumerate(entries):
            for pipe in self._pipes(entry):
                self._queues[pipe].append((index, entry))
            self._drain(list(self._pipes(entry)))
        if any(self._queues):
            self._report_deadlock()
            return False
        for key, channel in self._channels.items():
            for token in channel.tokens:
                self._report_unmatched(key, token)
        return True

    def _pipes(self, entry: Entry) -> Sequence[int]:
        return entry.stream.pipes if entry.pipe == ALL else (entry.pipe,)

    def _drain(self, pipes: list[int]) -> None:
        """Executes what can be from the heads of `pipes`, and of those that this sets free."""
        while pipes:
            queue = self._queues[pipes.pop()]
            while queue:
                freed = self._execute(*queue[0])
                if freed is None:
                    break
                pipes += freed

    def _execute(self, index: int, entry: Entry) -> Sequence[int] | None:
        """Executes the head of a queue; the pipes that may go on for it, or `None` if it has to wait."""
        match entry.op:
            case npu.SetFlagOp() | npu.CrossCoreSetFlagOp():
                return self._set(entry)
            case npu.WaitFlagOp() | npu.CrossCoreWaitFlagOp():
                return self._wait(entry)
            case npu.PipeBarrierOp() if entry.pipe != ALL:
                pipe = entry.pipe
                self._next(pipe)
                self._clocks[pipe][pipe] = self._issued[pipe]
                return ()
            case npu.PipeBarrierOp():
                return self._join(entry.op, entry.stream.pipes)
            case npu.SyncAllOp():
                return self._join(entry.op, range(len(self.names)))
            case _:
                self._data(index, entry)
                return ()

    def _next(self, pipe: int) -> int:
        """Takes the head of a queue; its number on the pipe."""
        self._queues[pipe].popleft()
        self._issued[pipe] += 1
        return self._issued[pipe]

    def _data(self, index: int, entry: Entry) -> None:
        pipe = entry.pipe
        number = self._next(pipe)
        clock = self._clocks[pipe]
        if self.in_order[pipe]:
            clock[pipe] = number - 1
        self.order.append(Executed(index, number, tuple(clock)))

    def _set(self, entry: Entry) -> Sequence[int]:
        pipe = entry.pipe
        number = self._next(pipe)
        clock = self._clocks[pipe].copy()
        clock[pipe] = number
        token = _Token(entry, tuple(clock))
        freed: list[int] = []
        for key, stream in self._receivers(entry):
            channel = self._channels[key]
            self._check_pending(entry, key, channel, token.clock)
            channel.tokens.append(token)
            channel.sets += 1
            freed += stream.pipes
        return freed

    def _check_pending(self, entry: Entry, key: Key, channel: _Channel, clock: Clock) -> None:
        """The waits that must have come before this set are known to be complete."""
        is_event = isinstance(entry.op, npu.SetFlagOp)
        needed = channel.sets - (0 if is_event else PENDING_LIMIT - 1)
        if needed <= 0:
            return
        if len(channel.waits) >= needed:
            pipe, number = channel.waits[needed - 1]
            if clock[pipe] >= number:
                return
        at = where(entry.op, entry.iteration)
        if is_event:
            message = (
                f"event {_shown(key)} is set again{at}, while it may still be set: nothing orders this after the wait for the last set"
            )
        else:
            message = f"cross-core flag {key[-1]} may hold more than {PENDING_LIMIT} tokens{at}: nothing orders this after earlier waits"
        last = channel.tokens[-1].entry if channel.tokens else None
        notes = () if last is None or last.op is entry.op else (Note("last set here", last.op.location),)
        self.faults.add("set-twice", entry.op, message, *notes)

    def _wait(self, entry: Entry) -> Sequence[int] | None:
        keys = self._awaited(entry)
        if not all(self._channels[key].tokens for key in keys):
            return None
        number = self._next(entry.pipe)
        clock = self._clocks[entry.pipe]
        for key in keys:
            channel = self._channels[key]
            clock[:] = map(max, clock, channel.tokens.popleft().clock)
            channel.waits.append((entry.pipe, number))
        return ()

    def _join(self, op: Operation, pipes: range) -> Sequence[int] | None:
        """A barrier of several pipes, each of which must have reached it."""
        queues = [self._queues[pipe] for pipe in pipes]
        if not all(queue and queue[0][1].op is op for queue in queues):
            return None
        for pipe in pipes:
            self._clocks[pipe][pipe] = self._next(pipe)
        joined = list(map(max, *(self._clocks[pipe] for pipe in pipes))) if len(pipes) > 1 else self._clocks[pipes[0]]
        for pipe in pipes:
            self._clocks[pipe] = joined.copy()
        return pipes

    # ---- keys of flags ------------------------------------------------------------------------------------------------

    def _receivers(self, entry: Entry) -> list[tuple[Key, Stream]]:
        """The channels that a set puts a token into, with the streams that wait for it."""
        if isinstance(entry.op, npu.FlagOp):
            return [(_event_key(entry.op, entry), entry.stream)]
        self._check_one_user(entry, "set")
        if entry.stream.kind == CUBE:
            return [((VECTOR, s.lane, entry.number), s) for s in self.streams if s.kind == VECTOR]
        return [((CUBE, entry.stream.lane, entry.number), self.streams[0])]

    def _awaited(self, entry: Entry) -> list[Key]:
        if isinstance(entry.op, npu.FlagOp):
            return [_event_key(entry.op, entry)]
        self._check_one_user(entry, "waited for")
        if entry.stream.kind == CUBE:
            return [(CUBE, s.lane, entry.number) for s in self.streams if s.kind == VECTOR]
        return [(VECTOR, entry.stream.lane, entry.number)]

    def _check_one_user(self, entry: Entry, verb: str) -> None:
        """A cross-core flag says nothing if it is open whose token a wait takes."""
        name = self.names[entry.pipe]
        first = self._users.setdefault((verb, entry.number, entry.stream.kind), name)
        if first != name:
            message = f"cross-core flag {entry.number} is {verb} on <{first}> and on <{name}>; give each pair of pipes a number of its own"
            self.faults.add("set-twice", entry.op, message)

    # ---- reports ------------------------------------------------------------------------------------------------------

    def _report_unmatched(self, key: Key, token: _Token) -> None:
        op = token.entry.op
        what = f"event {_shown(key)}" if isinstance(op, npu.SetFlagOp) else f"a token of cross-core flag {key[-1]}"
        message = f"{what}, set{where(op, token.entry.iteration)}, is never waited for: it is still set when the kernel ends"
        self.faults.add("unmatched", op, message)

    def _report_deadlock(self) -> None:
        heads = [(self._blocked(queue[0][1]), pipe, queue[0][1]) for pipe, queue in enumerate(self._queues) if queue]
        heads.sort(key=lambda head: (not head[0][1], isinstance(head[2].op, npu.PipeBarrierOp | npu.SyncAllOp)))
        (reason, _), pipe, entry = heads[0]
        notes = [Note(f"pipe {self._pipe_text(p)} is stuck here: {text}", e.op.location) for (text, _), p, e in heads[1:]]
        at = where(entry.op, entry.iteration)
        self.faults.add("deadlock", entry.op, f"deadlock{at}: pipe {self._pipe_text(pipe)} {reason}", *notes)

    def _pipe_text(self, pipe: int) -> str:
        stream = next(s for s in self.streams if pipe in s.pipes)
        return f"<{self.names[pipe]}>" + (f" of lane {stream.lane}" if stream.kind == VECTOR else "")

    def _blocked(self, entry: Entry) -> tuple[str, bool]:
        """What the head of a queue waits for, and whether nothing in any queue could still give it."""
        if isinstance(entry.op, npu.WaitFlagOp | npu.CrossCoreWaitFlagOp):
            missing = next(key for key in self._awaited(entry) if not self._channels[key].tokens)
            later = any(key == missing for key in self._still_set())
            what = f"event {_shown(missing)}" if isinstance(entry.op, npu.WaitFlagOp) else f"cross-core flag {entry.number}"
            return (
                f"waits for {what}, {'which is set only behind another blocked op' if later else 'which nothing sets any more'}",
                not later,
            )
        return "waits at a barrier for pipes that do not reach it", False

    def _still_set(self) -> list[Key]:
        waiting = {id(entry): entry for queue in self._queues for _, entry in queue}
        sets = (e for e in waiting.values() if isinstance(e.op, npu.SetFlagOp | npu.CrossCoreSetFlagOp))
        return [key for entry in sets for key, _ in self._receivers(entry)]


def _event_key(op: npu.FlagOp, entry: Entry) -> Key:
    name = "" if op.event is None else op.event.data
    return (op.source.pipe.data, op.destination.pipe.data, entry.stream.kind, entry.stream.lane, name, entry.number)


def _shown(key: Key) -> str:
    source, destination, *_, name, number = key
    return f"<{source}>, <{destination}>[{number}]{f' event {name!r}' if name else ''}"
