"""Steady loops are jumped over, exactly.

At the end of an iteration the state of all cores is taken relative to the issue time of the core that loops. Times that are past, and can
delay nothing any more, count as now. When a state comes back, everything that follows repeats, later by the same number of ticks: all
times move ahead by as many periods as all loops have left. A core that did nothing in between stands still; if it did nothing since the
iteration before either, its state is the same as long as its count of items is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ge_compiler.runtime.timing.maxplus import Trace, leap
from ge_compiler.runtime.timing.program import LOOP, SET, WAIT, Body
from ge_compiler.runtime.timing.scoreboard import Board, Core, Frame, Jump

LEAST_COUNT, LEAST_LENGTH = 4, 256
"""Loops of fewer iterations or fewer items are evaluated: looking for their period costs more."""
_ANCHORS, _SPARSE = 64, 4
_DRIFTING, _WORTH, _LONGEST = 1024, 100_000, 5_000
"""After so many iterations a loop is taken not to settle; if it has so many items left, a period of at most so many is looked for."""


@dataclass(frozen=True, slots=True)
class _Anchor:
    """Where everything was when a state was first seen."""

    time: int
    iterations: tuple[tuple[int, ...], ...]
    busy: tuple[tuple[int, ...], ...]
    executed: tuple[int, ...]


@dataclass(slots=True)
class _Effect:
    """What a loop does to the core that runs it, relative to the issue time before it."""

    ticks: int
    state: tuple[tuple[int, ...], ...]
    tokens: tuple[tuple[int, tuple[int, ...]], ...]
    busy: tuple[int, ...]


@dataclass(slots=True)
class _Entry:
    """How a loop was entered whose effect is not known yet."""

    key: tuple[Any, ...]
    time: int
    busy: tuple[int, ...]


@dataclass
class Folding:
    """Jumps over iterations of loops, and over loops that were entered in the same state before. Valid for one table of costs."""

    _effects: dict[tuple[Any, ...], _Effect] = field(default_factory=dict[tuple[Any, ...], _Effect])
    _alone: dict[Body, bool] = field(default_factory=dict[Body, bool])

    def iteration(self, board: Board, core: Core, frame: Frame) -> None:
        """Jumps over what is left of a loop if the state has been here before. Its times are exact."""
        if frame.count < LEAST_COUNT or frame.count * frame.body.length < LEAST_LENGTH or frame.iteration == frame.count - 1:
            return
        frame.visits += 1
        if board.trace is not None or frame.visits > _DRIFTING:
            self._drifting(board, core, frame)
            return
        # Most loops settle at once. One that does not is looked at now and then, against one state at a time that is ever further back.
        sparse = frame.visits > _ANCHORS
        if sparse and frame.visits % _SPARSE:
            return
        if sparse and (frame.visits & (frame.visits - 1) == 0 or frame.visits == _ANCHORS + _SPARSE):
            frame.history.clear()
        alone = self._is_alone(board, frame.body)
        for c in (core,) if alone else board.cores:
            c.catch_up()
        key = tuple(_own_state(board, core)) if alone else _state(board, core, frame)
        found = frame.history.get(key)
        if found is None:
            if not (sparse and frame.history):
                frame.history[key] = _anchor(board, core)
        elif _jump(board, core, found, alone):
            frame.history.clear()
            frame.seen = ()

    # ---- loops that do not settle -------------------------------------------------------------------------------------

    def _drifting(self, board: Board, core: Core, frame: Frame) -> None:
        """Takes a loop that has not settled ahead by powers of what one period does, if that is worth it."""
        if board.trace is not None and len(board.trace) > _LONGEST:
            board.trace = None
        if frame.drift is None:
            rest = (frame.count - frame.iteration) * frame.body.length
            if board.trace is None and rest >= _WORTH and board.events is None and board.until is None:
                board.trace, frame.drift = [], (_places(board), _anchor(board, core))
        elif board.trace is not None and _places(board) == frame.drift[0] and self._leap(board, frame.drift[1], board.trace):
            board.trace = None

    def _leap(self, board: Board, anchor: _Anchor, trace: Trace) -> bool:
        moved = [c for c in board.cores if c.executed != anchor.executed[c.number]]
        loops = [step for c in moved if (step := _steps(c, anchor.iterations[c.number])) is not None]
        if len(loops) < len(moved) or any(c.waits for c in board.cores):
            return False
        count = min((frame.count - 1 - frame.iteration) // done for frame, done in loops)
        if count <= 0 or not leap(board, moved, trace, count):
            return False
        for (frame, done), c in zip(loops, moved, strict=True):
            frame.iteration += count * done
            then = anchor.busy[c.number]
            c.busy[:] = [now + count * (now - before) for now, before in zip(c.busy, then, strict=True)]
        return True

    # ---- whole loops --------------------------------------------------------------------------------------------------

    def enter(self, board: Board, core: Core, frame: Frame) -> bool:
        """Applies the effect of a loop that does not touch other cores, if it is known for the state of this one."""
        if (
            board.events is not None
            or board.trace is not None
            or core.waits
            or frame.count * frame.body.length < LEAST_LENGTH
            or not self._is_alone(board, frame.body)
        ):
            return False
        key = (frame.body, frame.count, *_own_state(board, core))
        effect = self._effects.get(key)
        if effect is None:
            frame.entry = _Entry(key, core.time, tuple(core.busy))
            return False
        if board.until is not None and core.time + max(max(times) for times in effect.state) >= board.until:
            return False
        _apply(board, core, effect)
        return True

    def leave(self, board: Board, core: Core, frame: Frame) -> None:
        """Keeps the effect of a loop."""
        entry: _Entry = frame.entry
        base = entry.time
        state = tuple(tuple(t - base for t in times) for times in (core.head, core.free, core.done, *core.queues))
        tokens = tuple((n, tuple(t - base for t in board.tokens[n])) for n in board.own[core.number] if board.tokens[n])
        busy = tuple(now - then for now, then in zip(core.busy, entry.busy, strict=True))
        self._effects[entry.key] = _Effect(core.time - base, state, tokens, busy)

    def _is_alone(self, board: Board, body: Body) -> bool:
        """Whether nothing in a body concerns other cores."""
        if body not in self._alone:
            alone = True
            for item in body.items:
                if item[0] == LOOP:
                    alone = alone and self._is_alone(board, item[1].body)
                elif item[0] in (SET, WAIT):
                    used: tuple[int, ...] = item[3]
                    alone = alone and not any(board.cluster.channels[channel].across for channel in used)
            self._alone[body] = alone
        return self._alone[body]


def _after(times: Iterable[int], base: int) -> list[int]:
    """Times relative to one before which they are all the same."""
    return [t - base if t > base else 0 for t in times]


def _since(core: Core) -> int:
    """The earliest time that anything of a core that is still to come may ask for."""
    return min((waiting[0][1] for waiting in core.deferred if waiting), default=core.time) if core.waits else core.time


def _relative(core: Core) -> list[Any]:
    """The state of a core relative to its issue time."""
    time, since, key = core.time, _since(core), list[Any]()
    key += _after((*core.head, *core.free, *core.done), since)
    for queue in core.queues:
        key.append(tuple([t - time for t in queue if t > time]) if queue[-1] > time else None)
    if since < time or core.waits:
        key += [(time - since, *((item, time - issued) for waiting in core.deferred for item, issued in (*waiting, (None, time))))]
    return key


def _places(board: Board) -> list[Any]:
    """Where all cores are in their programs, and how many tokens there are; nothing of it is a time."""
    places: list[Any] = [tuple((f.body, f.at) for f in core.frames) for core in board.cores]
    return [*places, *map(len, board.tokens), *(len(waiting) for core in board.cores for waiting in core.deferred)]


def _own_state(board: Board, core: Core) -> list[Any]:
    key, time = _relative(core), core.time
    for number in board.own[core.number]:
        if tokens := board.tokens[number]:
            key += [number, *_after(tokens, time), None]
    return key


def _apply(board: Board, core: Core, effect: _Effect) -> None:
    time = core.time
    for times, relative in zip((core.head, core.free, core.done), effect.state[:3], strict=True):
        times[:] = [time + t for t in relative]
    for queue, relative in zip(core.queues, effect.state[3:], strict=True):
        queue.extend([time + t for t in relative])
    for number in board.own[core.number]:
        board.tokens[number].clear()
    for number, tokens in effect.tokens:
        board.tokens[number].extend([time + t for t in tokens])
    core.busy[:] = [busy + more for busy, more in zip(core.busy, effect.busy, strict=True)]
    core.time = time + effect.ticks


def _anchor(board: Board, core: Core) -> _Anchor:
    cores = board.cores
    return _Anchor(
        core.time,
        tuple(tuple(frame.iteration for frame in c.frames) for c in cores),
        tuple(tuple(c.busy) for c in cores),
        tuple(c.executed for c in cores),
    )


def _state(board: Board, core: Core, frame: Frame) -> tuple[Any, ...]:
    base, seen, key, since = core.time, frame.seen, list[Any](), [_since(c) for c in board.cores]
    stale = [bool(seen) and c.executed == seen[c.number] for c in board.cores]
    frame.seen = tuple(c.executed for c in board.cores)
    for c in board.cores:
        key += [place for f in c.frames for place in (f.body, f.at)]
        if stale[c.number]:
            key.append((c.executed,))
        else:
            key.append(c.time - base)
            key += _relative(c)
    for number, tokens in enumerate(board.tokens):
        if tokens:
            receiver = board.cluster.channels[number].receiver
            key += [number, *(tokens if stale[receiver] else _after(tokens, since[receiver])), None]
    return tuple(key)


def _jump(board: Board, core: Core, anchor: _Anchor, alone: bool) -> bool:
    """Moves all cores ahead that did something since the state was first seen, or one that is alone in what it does."""
    moved = [core] if alone else [c for c in board.cores if c.executed != anchor.executed[c.number]]
    steps = [_steps(c, anchor.iterations[c.number]) for c in moved]
    if any(step is None for step in steps):
        return False
    period = core.time - anchor.time
    loops = [step for step in steps if step is not None]
    # The loop whose iteration has just ended may be through, unless its end is of interest; others are in the midst of an iteration.
    last = core.frames[-1] if board.events is None else None
    count = min((frame.count - (frame is not last) - frame.iteration) // done for frame, done in loops)
    if board.until is not None:
        ahead = board.until - max(time for c in moved for time in (c.time, *c.free))
        count = min(count, ahead // max(1, period) - 1)
    if count <= 0:
        return False
    own, done = loops[moved.index(core)]
    numbers, events = tuple(c.number for c in moved), len(board.events or ())
    board.jumps.append(Jump(core.number, own.body, core.time, period, done, count, numbers, own.iteration, events))
    for (frame, done), c in zip(loops, moved, strict=True):
        frame.iteration += count * done
        _shift(c, count * period, count, anchor.busy[c.number])
    for number, channel in enumerate(board.cluster.channels):
        if board.tokens[number] and board.cores[channel.receiver] in moved and not (alone and channel.across):
            board.tokens[number] = deque(t + count * period for t in board.tokens[number])
    return True


def _steps(core: Core, before: tuple[int, ...]) -> tuple[Frame, int] | None:
    """The one loop of a core that has gone on, and by how many iterations; `None` if there is not one."""
    if len(before) != len(core.frames):
        return None
    differing = [(f, f.iteration - i) for f, i in zip(core.frames, before, strict=True) if f.iteration != i]
    return differing[0] if len(differing) == 1 and differing[0][1] > 0 else None


def _shift(core: Core, ticks: int, count: int, busy: tuple[int, ...]) -> None:
    """Moves all times of a core ahead."""
    core.time += ticks
    for times in (core.head, core.free, core.done):
        times[:] = [t + ticks for t in times]
    for queue in core.queues:
        queue.extend([t + ticks for t in queue])
    for waiting in core.deferred:
        for i, (item, issued) in enumerate(waiting):
            waiting[i] = (item, issued + ticks)
    core.busy[:] = [now + count * (now - then) for now, then in zip(core.busy, busy, strict=True)]
