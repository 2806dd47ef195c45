"""What pipes of a cluster that move bytes at the same time leave each other."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from ge_compiler.dialects.instruction_costs import Shares
from ge_compiler.runtime.timing.program import INSTRUCTION
from ge_compiler.runtime.timing.scoreboard import Board, Event

_GRAIN = 1 << 16
"""How finely shares are told apart."""


class Move(NamedTuple):
    """A move of bytes while it holds its pipe: the parts of that time in which they come from HBM and from L2, and its own rate."""

    start: int
    end: int
    work: int
    hbm: float
    l2: float
    rate: float
    writes: bool
    lanes: int


def steady(board: Board) -> tuple[Sequence[Event], int | None]:
    """The instructions of one period of the longest loop that was jumped over, and its ticks; all of them, if there is none."""
    events = board.events or []
    longest = max(board.jumps, key=lambda jump: jump.period * jump.periods, default=None)
    if longest is None:
        return _instructions(events), None
    # Each pipe is somewhere else in the loop when the core jumps: the last period of each.
    before = _instructions(events[: longest.events])
    last = {(event.core, event.item[1]): event.end for event in before}
    return [event for event in before if event.end > last[event.core, event.item[1]] - longest.period], longest.period


def _instructions(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if event.item[0] == INSTRUCTION]


def mean_shares(moves: Sequence[Move], period: int | None, budget: Shares) -> dict[int, Shares]:
    """
    What each work gets of a cluster's `budget`, on average over the time of its moves.

    At any time those under way share evenly what those leave that cannot take their part. With a period, what is behind it is at its start.
    """
    placed = sorted(piece for move in moves for piece in _within(move, period))
    edges = sorted({time for move in placed for time in move[:2]})
    got: dict[int, list[float]] = {move.work: [0.0, 0.0, 0.0, 0.0] for move in placed}
    active, at = list[Move](), 0
    for a, b in itertools.pairwise(edges):
        while at < len(placed) and placed[at].start <= a:
            active.append(placed[at])
            at += 1
        active = [move for move in active if move.end > a]
        _add(got, active, b - a, budget)
    return {work: _shares(sums, budget) for work, sums in got.items()}


def _add(got: dict[int, list[float]], active: Sequence[Move], ticks: int, budget: Shares) -> None:
    hbm = _even(active, [move.hbm * move.lanes for move in active], budget.hbm_write)
    reading = sum(rate * move.hbm * move.lanes for rate, move in zip(hbm, active, strict=True) if not move.writes)
    slower = min(1.0, budget.hbm_read / reading) if reading else 1.0
    l2 = _even(active, [move.l2 * move.lanes for move in active], budget.l2)
    for move, from_hbm, from_l2 in zip(active, hbm, l2, strict=True):
        sums = got[move.work]
        sums[0] += ticks * move.hbm * from_hbm * (1.0 if move.writes else slower)
        sums[1] += ticks * move.hbm
        sums[2] += ticks * move.l2 * from_l2
        sums[3] += ticks * move.l2


def _even(active: Sequence[Move], weights: Sequence[float], capacity: float) -> list[float]:
    """The rate of each move: those that take less than an even part leave the rest to the others."""
    rates, left, total = [0.0] * len(active), capacity, sum(weights)
    for i in sorted(range(len(active)), key=lambda i: active[i].rate):
        # A move that is there for a part of the time has its part alone for the rest of it.
        even = left / max(1.0, total)
        rates[i] = min(active[i].rate, even)
        left, total = left - rates[i] * weights[i], total - weights[i]
    return rates


def _shares(sums: Sequence[float], budget: Shares) -> Shares:
    hbm = rounded(sums[0] / sums[1]) if sums[1] else None
    l2 = rounded(sums[2] / sums[3]) if sums[3] else budget.l2
    return Shares(budget.hbm_read if hbm is None else hbm, budget.hbm_write if hbm is None else hbm, l2)


def rounded(value: float) -> float:
    return max(1, round(value * _GRAIN)) / _GRAIN


def _within(move: Move, period: int | None) -> list[Move]:
    """The pieces of a move in one period."""
    if period is None:
        return [move]
    start, length = move.start % period, min(move.end - move.start, period)
    if start + length <= period:
        return [move._replace(start=start, end=start + length)]
    return [move._replace(start=start, end=period), move._replace(start=0, end=start + length - period)]
