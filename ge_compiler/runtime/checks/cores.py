"""Global memory across cores: no two cores may touch the same bytes, one of them writing, between two `npu.sync_all`.

Cores are ordered by nothing else, so this needs no clocks: every core's bytes, from every block and every iteration, are compared.
Which rows `npu.store_rows` writes is data: it may write any of its table, but two of them are not held against each other.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple

from ge_compiler.dialects.diagnostics import Note
from ge_compiler.dialects.npu import StoreRowsOp
from ge_compiler.runtime.checks.faults import Faults
from ge_compiler.runtime.checks.footprints import GlobalView, View, merged
from ge_compiler.runtime.checks.recorder import Entry, where

Epoch = tuple[int, int]
"""A tensor, by its number, and how many `npu.sync_all` came before."""


class _Piece(NamedTuple):
    start: int
    end: int
    core: int
    entry: Entry


@dataclass
class GlobalMemory:
    """Collects what the cores touch in global memory."""

    faults: Faults
    _writes: dict[Epoch, list[_Piece]] = field(default_factory=dict[Epoch, list[_Piece]])
    _reads: dict[Epoch, list[_Piece]] = field(default_factory=dict[Epoch, list[_Piece]])
    _scattered: dict[Epoch, list[_Piece]] = field(default_factory=dict[Epoch, list[_Piece]])

    def add(self, core: int, epoch: int, entries: Sequence[Entry], tracked: Collection[int]) -> None:
        """Adds what one core did between two `npu.sync_all`."""
        for entry in entries:
            writes = self._scattered if isinstance(entry.op, StoreRowsOp) else self._writes
            self._add_views(writes, core, epoch, entry, entry.writes, tracked)
            self._add_views(self._reads, core, epoch, entry, entry.reads, tracked)

    def _add_views(
        self, accesses: dict[Epoch, list[_Piece]], core: int, epoch: int, entry: Entry, views: Sequence[View], tracked: Collection[int]
    ) -> None:
        for view in views:
            if isinstance(view, GlobalView) and view.object.number in tracked:
                pieces = accesses.setdefault((view.object.number, epoch), [])
                pieces += [_Piece(start, end, core, entry) for start, end in view.exact]

    def check(self, unwritten: Collection[int]) -> None:
        """Reports bytes that two cores touch without order, and reads of tensors `unwritten` at the start that nobody has written."""
        for accesses in (self._writes, self._reads, self._scattered):
            accesses.update((place, _distinct(pieces)) for place, pieces in accesses.items())
        for place, writes in self._writes.items():
            writes.sort(key=itemgetter(0))
            self._check_writes(writes)
            self._check_reads(writes, self._reads.get(place, []), "reads")
            self._check_reads(writes, self._scattered.get(place, []), "writes")
        for place, rows in self._scattered.items():
            self._check_reads(rows, self._reads.get(place, []), "reads")
        for (number, epoch), reads in self._reads.items():
            if number in unwritten:
                self._check_written(number, epoch, reads)

    def _check_writes(self, writes: Sequence[_Piece]) -> None:
        # Up to the first conflict, pieces of different cores are apart: so the one that reaches furthest is the only one to ask.
        furthest: _Piece | None = None
        for piece in writes:
            if furthest is None or piece.end > furthest.end or piece.core != furthest.core:
                if furthest is not None and piece.core != furthest.core and piece.start < furthest.end:
                    self._report(furthest, piece, "writes", piece.start, min(piece.end, furthest.end))
                    return
                furthest = piece

    def _check_reads(self, writes: Sequence[_Piece], reads: Sequence[_Piece], verb: str) -> None:
        if not reads:
            return
        both = sorted(itertools.chain(((p, True) for p in writes), ((p, False) for p in reads)), key=lambda item: item[0].start)
        active: list[tuple[_Piece, bool]] = []
        for piece, is_write in both:
            active = [other for other in active if other[0].end > piece.start]
            for other, other_is_write in active:
                if is_write != other_is_write and other.core != piece.core:
                    write, read = (piece, other) if is_write else (other, piece)
                    self._report(write, read, verb, piece.start, min(piece.end, other.end))
                    return
            active.append((piece, is_write))

    def _check_written(self, number: int, epoch: int, reads: Sequence[_Piece]) -> None:
        every = [*self._writes.items(), *self._scattered.items()]
        earlier = merged((p.start, p.end) for (n, e), pieces in every if n == number and e < epoch for p in pieces)
        now = [*self._writes.get((number, epoch), []), *self._scattered.get((number, epoch), [])]
        for core, of_core in itertools.groupby(sorted(reads, key=lambda piece: (piece.core, piece.start)), lambda piece: piece.core):
            written = merged([*earlier, *((p.start, p.end) for p in now if p.core == core)])
            starts = [start for start, _ in written]
            for piece in of_core:
                at = bisect_right(starts, piece.start) - 1
                if at < 0 or piece.end > written[at][1]:
                    self._report_unwritten(number, piece)
                    return

    def _report_unwritten(self, number: int, piece: _Piece) -> None:
        op = piece.entry.op
        message = f"reads global memory bytes [{piece.start}, {piece.end}) of {_tensor(piece.entry, number)}, which nothing has written"
        self.faults.add("uninitialised", op, message + where(op, piece.entry.iteration))

    def _report(self, first: _Piece, second: _Piece, verb: str, start: int, end: int) -> None:
        one, two = first.entry, second.entry
        number = next(v.object.number for v in one.writes if isinstance(v, GlobalView))
        message = (
            f"core {second.core} {verb} global memory bytes [{start}, {end}) of {_tensor(one, number)}{where(two.op, two.iteration)}, "
            f"which core {first.core} writes{where(one.op, one.iteration)}: cores run at the same time; "
            "missing: bytes of their own for every block, or npu.sync_all between them"
        )
        notes = () if one.op is two.op else (Note("the other core writes them here", one.op.location),)
        self.faults.add("cores", two.op, message, *notes)


def _tensor(entry: Entry, number: int) -> str:
    views = (v for v in (*entry.reads, *entry.writes) if isinstance(v, GlobalView) and v.object.number == number)
    return next(views).object.name


def _distinct(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Of the accesses of the same bytes by one core, which loops repeat, the first."""
    first: dict[tuple[int, int, int], _Piece] = {}
    for piece in pieces:
        first.setdefault((piece.start, piece.end, piece.core), piece)
    return list(first.values())
