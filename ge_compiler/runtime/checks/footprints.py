"""Which bytes a view touches, without any data: on chip exactly and in 32-byte blocks, in global memory exactly.

Bytes are sorted, disjoint, half-open ranges. `partition` cuts a memory into *atoms*: sets of bytes that no view tells apart, so that a
check of any view costs a few atoms, however many rows it has.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

from ge_compiler.dialects.memory import BLOCK_BYTES, Placement, Space

Ranges = tuple[tuple[int, int], ...]
"""Sorted, disjoint, not adjacent, half-open."""


def merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The same bytes as few ranges."""
    result: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        elif start < end:
            result.append((start, end))
    return tuple(result)


def in_blocks(ranges: Ranges) -> Ranges:
    """The 32-byte blocks that `ranges` touches."""
    return merged((start // BLOCK_BYTES * BLOCK_BYTES, -(-end // BLOCK_BYTES) * BLOCK_BYTES) for start, end in ranges)


@dataclass(frozen=True)
class Owner:
    """Whose bytes: a buffer by its label and address, so that two `buf.at` of one buffer are one owner."""

    space: Space
    label: str
    offset: int
    definition: Operation = field(compare=False)


@dataclass(eq=False)
class ChipView:
    """A rectangle of an on-chip buffer: what a memref is while it is traced."""

    owner: Owner
    placement: Placement
    element_bytes: int
    row: int
    column: int
    shape: tuple[int, ...]
    parts: dict[tuple[int, int, int, int], ChipView] = field(default_factory=dict[tuple[int, int, int, int], "ChipView"])
    """Views of the same buffer: one object for one rectangle."""

    @functools.cached_property
    def exact(self) -> Ranges:
        """The bytes of its elements."""
        p, (rows, columns) = self.placement, self.shape
        row_cuts, column_cuts = _cuts(self.row, rows, p.rows), _cuts(self.column, columns, p.columns)
        pieces = [self._piece(r, c) for r in row_cuts for c in column_cuts]
        return merged(itertools.chain.from_iterable(pieces))

    @functools.cached_property
    def blocks(self) -> Ranges:
        """The blocks that an instruction on it may touch."""
        return in_blocks(self.exact)

    def _piece(self, rows: tuple[int, int], columns: tuple[int, int]) -> list[tuple[int, int]]:
        """The bytes of a part that lies inside one block of the layout."""
        p = self.placement
        start = self.owner.offset + p.address(rows[0], columns[0])
        outer = (rows[1] - rows[0], p.row_stride), (columns[1] - columns[0], p.column_stride)
        (count, stride), (inner, _) = outer if p.column_stride == self.element_bytes else outer[::-1]
        run = inner * self.element_bytes
        return [(start, start + count * run)] if stride == run else [(start + i * stride, start + i * stride + run) for i in range(count)]

    def part(self, offsets: Sequence[int], extents: Sequence[int]) -> ChipView:
        row, column = self.row + offsets[0], self.column + offsets[1]
        key = (row, column, extents[0], extents[1])
        found = self.parts.get(key)
        if found is None:
            made = ChipView(self.owner, self.placement, self.element_bytes, row, column, (extents[0], extents[1]), self.parts)
            found = self.parts[key] = made
        return found


def _cuts(start: int, count: int, block: int) -> list[tuple[int, int]]:
    """A range cut at the multiples of `block`."""
    inner = range(start // block * block + block, start + count, block)
    edges = [start, *inner, start + count]
    return list(itertools.pairwise(edges)) if count > 0 else []


@dataclass(frozen=True)
class GlobalObject:
    """An argument of the kernel: a tensor in global memory that no other one shares bytes with."""

    name: str
    number: int
    bytes: int
    views: dict[tuple[int, tuple[int, ...], tuple[int, ...]], GlobalView] = field(
        default_factory=dict[tuple[int, tuple[int, ...], tuple[int, ...]], "GlobalView"], compare=False, repr=False
    )
    """Parts of the tensor by offset, shape and strides: one object for one part."""


@dataclass(eq=False)
class GlobalView:
    """A rectangle of a tensor in global memory; offset and strides in elements."""

    object: GlobalObject
    element_bytes: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @functools.cached_property
    def exact(self) -> Ranges:
        """The bytes of its elements, from the start of the tensor."""
        if 0 in self.shape:
            return ()
        size, starts = self.element_bytes, [self.offset * self.element_bytes]
        run = size
        # Dimensions without gaps between them are one run, in whichever order they are walked; a stride of 0 adds no bytes.
        steps = [(n, s * size) for n, s in zip(self.shape, self.strides, strict=True) if n != 1 and s != 0]
        dimensions = sorted(steps, key=lambda step: -step[1])
        while dimensions and dimensions[-1][1] == run:
            run *= dimensions.pop()[0]
        for count, stride in dimensions:
            starts = [start + i * stride for start in starts for i in range(count)]
        return merged((start, start + run) for start in starts)

    def part(self, offsets: Sequence[int], extents: Sequence[int], dropped: int) -> GlobalView:
        offset = self.offset + sum(o * s for o, s in zip(offsets, self.strides, strict=True))
        key = (offset, tuple(extents[dropped:]), self.strides[dropped:])
        found = self.object.views.get(key)
        if found is None:
            found = self.object.views[key] = GlobalView(self.object, self.element_bytes, *key)
        return found


View = ChipView | GlobalView


@dataclass(frozen=True)
class Atoms:
    """A memory cut into sets of bytes that all views treat alike."""

    of: Mapping[Ranges, tuple[int, ...]]
    """The atoms of each view, by its bytes."""
    extents: Sequence[Sequence[tuple[int, int]]]
    """The bytes of each atom."""

    def bytes_of(self, atoms: Iterable[int]) -> tuple[int, int]:
        """The first run of bytes of a set of atoms."""
        return merged(extent for atom in atoms for extent in self.extents[atom])[0]


def partition(footprints: Iterable[Ranges]) -> Atoms:
    """The coarsest atoms that every footprint is a union of."""
    distinct = list(dict.fromkeys(footprints))
    edges: dict[int, int] = {}
    for number, ranges in enumerate(distinct):
        for edge in itertools.chain.from_iterable(ranges):
            edges[edge] = edges.get(edge, 0) ^ (1 << number)
    atoms: dict[int, int] = {}
    extents: list[list[tuple[int, int]]] = []
    inside = 0
    places = sorted(edges)
    for start, end in itertools.pairwise(places):
        inside ^= edges[start]
        if inside:
            number = atoms.setdefault(inside, len(atoms))
            if number == len(extents):
                extents.append([])
            extents[number].append((start, end))
    of: list[list[int]] = [[] for _ in distinct]
    for members, atom in atoms.items():
        while members:
            lowest = members & -members
            of[lowest.bit_length() - 1].append(atom)
            members ^= lowest
    return Atoms({ranges: tuple(of[i]) for i, ranges in enumerate(distinct)}, extents)
