"""How many pipes of a cluster move bytes at the same time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ge_compiler.runtime.timing.scoreboard import Board, Event

GRAIN = 64
"""How finely such numbers are told apart, so that looking for one comes to an end."""


class Move(NamedTuple):
    """A move of bytes while it holds its pipe: the parts of that time in which they come from HBM and from L2, summed over lanes."""

    start: int
    end: int
    hbm: Fraction
    l2: Fraction


def rounded(value: Fraction) -> Fraction:
    return Fraction(round(value * GRAIN), GRAIN)


def concurrent(parts: Sequence[Fraction]) -> Fraction:
    """How many pipes one that moves bytes finds doing so, itself included, if each does for its part of the time, whenever that is."""
    total = sum(parts)
    seen = sum(p * (1 + total - p) for p in parts) / total if total else Fraction(1)
    return max(Fraction(1), rounded(seen))


def steady(board: Board) -> tuple[Sequence[Event], int | None]:
    """The instructions of one period of the longest loop that was jumped over, and its ticks; all of them, if there is none."""
    assert board.events is not None
    longest = max(board.jumps, key=lambda jump: jump.period * jump.periods, default=None)
    if longest is None:
        return board.events, None
    # Each pipe is somewhere else in the loop when the core jumps: the last period of each.
    before = board.events[: longest.events]
    last = {(core, pipe): end for core, pipe, _, _, end in before}
    return [event for event in before if event[4] > last[event[0], event[1]] - longest.period], longest.period


def overlapping(moves: Sequence[Move], period: int | None) -> tuple[Fraction, Fraction]:
    """The mean number of moves under way over the time of each, of HBM and of L2; with a period, what is behind it is at its start."""
    placed = sorted(piece for move in moves for piece in _within(move, period))
    edges = sorted({time for move in placed for time in move[:2]})
    sums, active, at = [[Fraction(0)] * 2, [Fraction(0)] * 2], list[Move](), 0
    for a, b in itertools.pairwise(edges):
        while at < len(placed) and placed[at].start <= a:
            active.append(placed[at])
            at += 1
        active = [move for move in active if move.end > a]
        for i, number in enumerate((sum((m.hbm for m in active), Fraction(0)), sum((m.l2 for m in active), Fraction(0)))):
            sums[i][0] += number * (b - a)
            sums[i][1] += number * max(Fraction(1), number) * (b - a)
    hbm, l2 = (max(Fraction(1), rounded(seen / total)) if total else Fraction(1) for total, seen in sums)
    return hbm, l2


def _within(move: Move, period: int | None) -> list[Move]:
    """The pieces of a move in one period."""
    if period is None:
        return [move]
    start, length = move.start % period, min(move.end - move.start, period)
    if start + length <= period:
        return [move._replace(start=start, end=start + length)]
    return [move._replace(start=start, end=period), move._replace(start=0, end=start + length - period)]
