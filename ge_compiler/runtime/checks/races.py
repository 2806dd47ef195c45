"""Memory without data: for every atom who wrote it last and who has read it since, and whether a new access is ordered after them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ge_compiler.dialects.diagnostics import Note
from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.npu import StoreRowsOp
from ge_compiler.dialects.target import VECTOR, NpuTarget
from ge_compiler.runtime.checks.faults import Faults
from ge_compiler.runtime.checks.footprints import Atoms, ChipView, GlobalView, Owner, Ranges, View, partition
from ge_compiler.runtime.checks.order import Clock, Executed
from ge_compiler.runtime.checks.recorder import Entry, where

Place = tuple[Space | int, int]
"""A memory: an on-chip one of a lane, or a tensor in global memory by its number."""


class _Access(NamedTuple):
    entry: Entry
    sequence: int


_ByPipe = Sequence[dict[int, _Access]]
"""For each atom, an access of each pipe."""


@dataclass
class _Shadow:
    """What is known of one memory, atom by atom."""

    atoms: Atoms
    writes: list[_Access | None] = field(init=False)
    reads: list[dict[int, _Access]] = field(init=False)
    """The last read of each pipe since the last write."""
    rows: list[dict[int, _Access]] = field(init=False)
    """The last `npu.store_rows` of each pipe since the last write: what it wrote is data, so it is not held against others of its kind."""
    owners: list[tuple[Owner, int, Entry] | None] = field(init=False)
    """Through which buffer, in which block and by which instruction the bytes were written."""

    def __post_init__(self) -> None:
        count = len(self.atoms.extents)
        self.writes, self.owners = [None] * count, [None] * count
        self.reads, self.rows = [{} for _ in range(count)], [{} for _ in range(count)]


def places_of(view: View, entry: Entry, lanes: int) -> Sequence[Place]:
    """The memories that a view stands for: a vector lane has its own unified buffer; from the cube it is that of every lane."""
    if isinstance(view, GlobalView):
        return ((view.object.number, 0),)
    space = view.owner.space
    if space is not Space.UB or lanes == 1:
        return ((space, 0),)
    return ((space, entry.stream.lane),) if entry.stream.kind == VECTOR else tuple((space, lane) for lane in range(lanes))


def _touched(view: View) -> Ranges:
    return view.blocks if isinstance(view, ChipView) else view.exact


class Races:
    """Checks the accesses of one cluster. `on_chip` is off for a cluster whose twin has been checked; `with_values` off for trip
    counts that are not the program's own, where what is read may never have been written."""

    def __init__(self, target: NpuTarget, names: Sequence[str], in_order: Sequence[bool], tracked: set[int], faults: Faults) -> None:
        self.lanes = target.vec_per_cube
        self.names, self.in_order = names, in_order
        self.tracked, self.faults = tracked, faults
        self._shadows: dict[Place, _Shadow] = {}

    def check(self, entries: Sequence[Entry], order: Iterable[Executed], on_chip: bool, with_values: bool) -> None:
        self._shadows = self._make_shadows(entries, on_chip)
        for place, sequence, clock in order:
            self._check_entry(entries[place], sequence, clock, with_values)

    def _make_shadows(self, entries: Sequence[Entry], on_chip: bool) -> dict[Place, _Shadow]:
        footprints: dict[Place, dict[Ranges, None]] = {}
        for entry in entries:
            for view in (*entry.reads, *entry.writes):
                if on_chip if isinstance(view, ChipView) else view.object.number in self.tracked:
                    for place in places_of(view, entry, self.lanes):
                        footprints.setdefault(place, {}).update({view.exact: None, _touched(view): None})
        return {place: _Shadow(partition(ranges)) for place, ranges in footprints.items()}

    def _check_entry(self, entry: Entry, sequence: int, clock: Clock, with_values: bool) -> None:
        reads = self._accesses(entry, entry.reads)
        writes = self._accesses(entry, entry.writes)
        scatters = isinstance(entry.op, StoreRowsOp)
        for view, shadow, atoms in reads:
            self._check_writes(entry, clock, view, shadow, atoms, "reads")
            self._check_earlier(entry, clock, view, shadow, atoms, shadow.rows, "RAW")
            if with_values and isinstance(view, ChipView):
                self._check_history(entry, view, shadow)
        for view, shadow, atoms in writes:
            self._check_writes(entry, clock, view, shadow, atoms, "writes")
            self._check_earlier(entry, clock, view, shadow, atoms, shadow.reads, "WAR")
            if not scatters:
                self._check_earlier(entry, clock, view, shadow, atoms, shadow.rows, "WAW")
        access = _Access(entry, sequence)
        for _, shadow, atoms in reads:
            for atom in atoms:
                shadow.reads[atom][entry.pipe] = access
        for view, shadow, atoms in writes:
            for atom in atoms:
                if scatters:
                    shadow.rows[atom][entry.pipe] = access
                else:
                    shadow.writes[atom] = access
                    shadow.reads[atom].clear()
                    shadow.rows[atom].clear()
            if isinstance(view, ChipView):
                owner = (view.owner, entry.block, entry)
                for atom in shadow.atoms.of[view.exact]:
                    shadow.owners[atom] = owner

    def _accesses(self, entry: Entry, views: Sequence[View]) -> list[tuple[View, _Shadow, tuple[int, ...]]]:
        found: list[tuple[View, _Shadow, tuple[int, ...]]] = []
        for view in views:
            for place in places_of(view, entry, self.lanes):
                shadow = self._shadows.get(place)
                if shadow is not None:
                    found.append((view, shadow, shadow.atoms.of[_touched(view)]))
        return found

    def _check_writes(self, entry: Entry, clock: Clock, view: View, shadow: _Shadow, atoms: Sequence[int], verb: str) -> None:
        for atom in atoms:
            last = shadow.writes[atom]
            if last is not None and last.sequence > clock[last.entry.pipe]:
                kind = "RAW" if verb == "reads" else "WAW"
                racing = [a for a in atoms if shadow.writes[a] is last]
                self._report_race(kind, entry, last.entry, view, shadow.atoms.bytes_of(racing), verb, "writes")
                return

    def _check_earlier(
        self, entry: Entry, clock: Clock, view: View, shadow: _Shadow, atoms: Sequence[int], earlier: _ByPipe, kind: str
    ) -> None:
        """Against the last access of each pipe."""
        for atom in atoms:
            for pipe, last in earlier[atom].items():
                if last.sequence > clock[pipe]:
                    racing = [a for a in atoms if earlier[a].get(pipe) is last]
                    verbs = ("reads" if kind == "RAW" else "writes"), ("reads" if kind == "WAR" else "writes")
                    self._report_race(kind, entry, last.entry, view, shadow.atoms.bytes_of(racing), *verbs)
                    return

    def _check_history(self, entry: Entry, view: ChipView, shadow: _Shadow) -> None:
        """What is read was written, in this block, through the same buffer."""
        for atom in shadow.atoms.of[view.exact]:
            written = shadow.owners[atom]
            if written is None or written[1] != entry.block:
                wrong = [a for a in shadow.atoms.of[view.exact] if shadow.owners[a] is written]
                start, end = shadow.atoms.bytes_of(wrong)
                what = "nothing has written" if written is None else "only another block has written"
                message = (
                    f"reads {view.owner.space} bytes [{start}, {end}) of {_name(view)}, which {what}{where(entry.op, entry.iteration)}"
                )
                self.faults.add("uninitialised", entry.op, message)
                return
            if written[0] != view.owner:
                wrong = [a for a in shadow.atoms.of[view.exact] if shadow.owners[a] is written]
                start, end = shadow.atoms.bytes_of(wrong)
                message = (
                    f"reads {view.owner.space} bytes [{start}, {end}) through buffer {_name(view)}{where(entry.op, entry.iteration)}, "
                    f'but they were last written through buffer "{written[0].label}"'
                )
                self.faults.add("stale", entry.op, message, Note("last written here", written[2].op.location))
                return

    def _report_race(self, kind: str, entry: Entry, other: Entry, view: View, at: tuple[int, int], verb: str, other_verb: str) -> None:
        memory = view.owner.space.value if isinstance(view, ChipView) else "global memory"
        what = f"{verb} {memory} bytes [{at[0]}, {at[1]}) of {_name(view)}{where(entry.op, entry.iteration)}{self._lane(entry)}"
        same = other.op is entry.op
        before = f"which {'itself' if same else repr(other.op.name)} {other_verb}{where(other.op, other.iteration)}{self._lane(other)}"
        message = f"{kind} race: {what}, {before}; missing: {self._missing(other, entry)}"
        code = "barrier" if other.pipe == entry.pipe else "race"
        notes = () if same else (Note(f"it {other_verb} them here, on <{self.names[other.pipe]}>", other.op.location),)
        self.faults.add(code, entry.op, message, *notes, key=(kind, other.op, self.names[entry.pipe]))

    def _lane(self, entry: Entry) -> str:
        return f" on lane {entry.stream.lane}" if entry.stream.kind == VECTOR else ""

    def _missing(self, first: Entry, second: Entry) -> str:
        """The synchronisation that would order two accesses."""
        before, after = self.names[first.pipe], self.names[second.pipe]
        if first.pipe == second.pipe:
            return f"npu.pipe_barrier <{before}> between them"
        if first.stream is second.stream:
            return f"npu.set_flag <{before}>, <{after}> after the first, npu.wait_flag <{before}>, <{after}> before the second"
        if first.stream.kind == second.stream.kind:
            return "bytes of their own for every lane, or npu.sync_all between them"
        return f"npu.cross_core_set_flag <{before}> after the first, npu.cross_core_wait_flag <{after}> before the second"


def _name(view: View) -> str:
    return f'"{view.owner.label}"' if isinstance(view, ChipView) else view.object.name
