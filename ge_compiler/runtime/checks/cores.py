"""Global memory across cores: no two cores may touch the same bytes, one of them writing, between two `npu.sync_all`.

Cores are ordered by nothing else, so this needs no clocks: every core's bytes, from every block and every iteration, are compared.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ge_compiler.dialects.diagnostics import Note
from ge_compiler.runtime.checks.faults import Faults
from ge_compiler.runtime.checks.footprints import GlobalView, Ranges, merged
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

    def add(self, core: int, epoch: int, entries: Sequence[Entry], tracked: Collection[int]) -> None:
        """Adds what one core did between two `npu.sync_all`."""
        for accesses, views_of in ((self._writes, "writes"), (self._reads, "reads")):
            pieces = (
                (view.object.number, _Piece(start, end, core, entry))
                for entry in entries
                for view in getattr(entry, views_of)
                if isinstance(view, GlobalView) and view.object.number in tracked
                for start, end in view.exact
            )
            for number, piece in pieces:
                accesses.setdefault((number, epoch), []).append(piece)

    def check(self, unwritten: Collection[int]) -> None:
        """Reports bytes that two cores touch without order, and reads of tensors `unwritten` at the start that nobody has written."""
        for place, writes in self._writes.items():
            writes.sort(key=lambda piece: piece.start)
            self._check_writes(writes)
            self._check_reads(writes, self._reads.get(place, []))
        for (number, epoch), reads in self._reads.items():
            if number in unwritten:
                self._check_written(number, epoch, reads)

    def _check_writes(self, writes: Sequence[_Piece]) -> None:
        furthest: dict[int, _Piece] = {}
        for piece in writes:
            for core, other in furthest.items():
                if core != piece.core and other.end > piece.start:
                    self._report(other, piece, "writes", piece.start, min(piece.end, other.end))
                    return
            last = furthest.get(piece.core)
            # Only the pieces that may still reach a later one: the others have ended.
            if last is None or piece.end > last.end:
                furthest = {core: other for core, other in furthest.items() if other.end > piece.start}
                furthest[piece.core] = piece

    def _check_reads(self, writes: Sequence[_Piece], reads: Sequence[_Piece]) -> None:
        if not reads:
            return
        both = sorted(itertools.chain(((p, True) for p in writes), ((p, False) for p in reads)), key=lambda item: item[0].start)
        active: list[tuple[_Piece, bool]] = []
        for piece, is_write in both:
            active = [other for other in active if other[0].end > piece.start]
            for other, other_is_write in active:
                if is_write != other_is_write and other.core != piece.core:
                    write, read = (piece, other) if is_write else (other, piece)
                    self._report(write, read, "reads", piece.start, min(piece.end, other.end))
                    return
            active.append((piece, is_write))

    def _check_written(self, number: int, epoch: int, reads: Sequence[_Piece]) -> None:
        before = [p for (n, e), pieces in self._writes.items() if n == number and e < epoch for p in pieces]
        now = self._writes.get((number, epoch), [])
        written: dict[int, Ranges] = {}
        for piece in reads:
            if piece.core not in written:
                written[piece.core] = merged((p.start, p.end) for p in (*before, *now) if p in before or p.core == piece.core)
            if not any(start <= piece.start and piece.end <= end for start, end in written[piece.core]):
                entry = piece.entry
                message = f"reads global memory bytes [{piece.start}, {piece.end}) of {_tensor(entry, number)}, which nothing has written"
                self.faults.add("uninitialised", entry.op, message + where(entry.op, entry.iteration))
                return

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
