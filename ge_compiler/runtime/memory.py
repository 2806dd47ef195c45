"""Memory with a history: bytes, and for every byte which buffer last wrote it.

A *reference* is what a memref is while it executes: a rectangle of a buffer. It reads and writes arrays of valid elements, and reports a
read of bytes that nothing has written, or that were last written through another buffer. The history lies beside the bytes: one 16-bit
number a byte, at twice the byte's address, so that both are reached by the same strides and checked in one comparison an access.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ge_compiler.dialects.diagnostics import CompileError, Note
from ge_compiler.dialects.ge.shapes import show
from ge_compiler.dialects.memory import Placement, Space, round_up
from ge_compiler.dialects.semantics import Array
from ge_compiler.runtime.bounds import cut

POISON = 0xFF
"""Every byte of memory that nothing has written: a NaN in every float type."""

_TAG = np.dtype(np.uint16)
_TAGS_OF_ELEMENT = {1: np.dtype(np.uint16), 2: np.dtype(np.uint32), 4: np.dtype(np.uint64), 8: np.dtype(np.uint64)}
"""Bytes of an element -> the type that holds the tags of all its bytes; elements of 8 bytes take two of them."""


@dataclass
class Owner:
    """Who writes: a buffer, or one slot of it."""

    number: int
    label: str
    last_writer: Operation | None = None


class Memory:
    """The bytes of one memory. Without `checked` there is no history and nothing is reported."""

    def __init__(self, space: Space, size: int, checked: bool) -> None:
        self.space = space
        self.bytes = np.full(size, POISON, np.uint8)
        self.tags = np.zeros(size, _TAG) if checked else None
        self._owners = [Owner(0, "nobody")]
        self._used = 0

    @property
    def size(self) -> int:
        return self.bytes.size

    def owner(self, label: str) -> Owner:
        """A new owner of bytes in this memory."""
        owner = Owner(len(self._owners), label)
        assert owner.number <= np.iinfo(_TAG).max, "more buffers than tags"
        self._owners.append(owner)
        return owner

    def owner_of(self, tag: int) -> Owner:
        return self._owners[tag]

    def forget(self) -> None:
        """From here on nothing has been written."""
        if self.tags is not None:
            self.tags[: self._used] = 0

    def view(self, shape: Sequence[int], dtype: np.dtype[Any], offset: int, strides: Sequence[int]) -> tuple[Array, Array | None]:
        """Elements at `offset` with `strides`, both in bytes, and their tags."""
        if 0 not in shape:
            self._used = max(self._used, offset + dtype.itemsize + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)))
        data = np.ndarray(shape, dtype, self.bytes.data, offset, strides) if 0 not in shape else np.empty(shape, dtype)
        return data, None if self.tags is None else self._tag_view(shape, dtype.itemsize, offset, strides)

    def _tag_view(self, shape: Sequence[int], itemsize: int, offset: int, strides: Sequence[int]) -> Array:
        assert self.tags is not None
        tag = _TAGS_OF_ELEMENT[itemsize]
        count = itemsize * _TAG.itemsize // tag.itemsize
        if 0 in shape:
            return np.empty((*shape, count), tag)
        wide = (*(s * _TAG.itemsize for s in strides), tag.itemsize)
        return np.ndarray((*shape, count), tag, self.tags.data, offset * _TAG.itemsize, wide)


@functools.cache
def _pattern(owner: int, itemsize: int) -> Any:
    """What the tags of an element read as when the owner of that number wrote all of its bytes."""
    tag = _TAGS_OF_ELEMENT[itemsize]
    return np.full(tag.itemsize // _TAG.itemsize, owner, _TAG).view(tag)[0]


class Reference:
    """A rectangle of a buffer: the value of a memref. `shape` counts valid elements of `dtype`."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def read(self, op: Operation, what: str) -> Array:
        """The elements, C-contiguous, not to be written to. Raises `CompileError` at `op` where their history forbids to read."""
        raise NotImplementedError

    def write(self, op: Operation, value: Array) -> None:
        """Set all elements. Raises `CompileError` at `op` where shapes differ."""
        raise NotImplementedError

    def part(self, op: Operation, what: str, offsets: Sequence[int], extents: Sequence[int], dropped: int = 0) -> Reference:
        """The rectangle of `extents` at `offsets`; the first `dropped` dimensions, of extent 1, vanish."""
        raise NotImplementedError

    def check_shape(self, op: Operation, value: Array) -> None:
        if value.shape != self.shape:
            raise CompileError.at(op, f"valid extents differ: {show(value.shape)} elements into a destination of {show(self.shape)}")


@dataclass
class Buffer:
    """A matrix in an on-chip memory, with the layout's padding."""

    memory: Memory
    owner: Owner
    offset: int
    """Bytes from the start of the memory."""
    rows: int
    columns: int
    dtype: np.dtype[Any]
    placement: Placement
    _tiles: dict[tuple[int, int, int, int], Tile] = field(default_factory=dict[tuple[int, int, int, int], "Tile"], init=False)

    def __post_init__(self) -> None:
        p = self.placement
        # Blocks that follow each other at the stride of their rows are one block: a range then needs fewer pieces.
        rows = round_up(self.rows, p.rows) if p.row_block_stride == p.rows * p.row_stride else p.rows
        shape = (-(-self.rows // rows) if rows else 0, rows, -(-self.columns // p.columns), p.columns)
        strides = (p.row_block_stride, p.row_stride, p.column_block_stride, p.column_stride)
        self.data, self.tags = self.memory.view(shape, self.dtype, self.offset, strides)
        self.pattern = _pattern(self.owner.number, self.dtype.itemsize)
        self.block_rows = rows

    def tile(self, row: int, column: int, rows: int, columns: int) -> Tile:
        """The rectangle inside the buffer; the same object for the same rectangle."""
        key = (row, column, rows, columns)
        found = self._tiles.get(key)
        if found is None:
            found = self._tiles[key] = Tile(self, row, column, rows, columns)
        return found

    def whole(self) -> Tile:
        return self.tile(0, 0, self.rows, self.columns)


@dataclass(frozen=True)
class _Piece:
    """Part of a tile that lies in whole blocks, or inside one: a strided view of memory."""

    data: Array
    """(row blocks, rows, column blocks, columns)."""
    tags: Array | None
    rows: slice
    columns: slice
    """Where the piece stands in the tile."""


def _cuts(start: int, count: int, block: int) -> list[tuple[slice, slice, slice]]:
    """Cut a range into at most three parts, each in whole blocks or inside one: (blocks, inside a block, where in the range)."""
    cuts: list[tuple[slice, slice, slice]] = []
    at = start
    while at < start + count:
        inside, left = at % block, start + count - at
        blocks, taken = (left // block, left // block * block) if inside == 0 and left >= block else (1, min(block - inside, left))
        cuts.append(
            (slice(at // block, at // block + blocks), slice(inside, inside + taken // blocks), slice(at - start, at - start + taken))
        )
        at += taken
    return cuts


class Tile(Reference):
    """A rectangle of an on-chip buffer."""

    def __init__(self, buffer: Buffer, row: int, column: int, rows: int, columns: int) -> None:
        self.buffer, self.row, self.column = buffer, row, column
        self.shape, self.dtype = (rows, columns), buffer.dtype
        data, tags = buffer.data, buffer.tags
        self.pieces = [
            _Piece(data[rb, ri, cb, ci], None if tags is None else tags[rb, ri, cb, ci], at_row, at_column)
            for rb, ri, at_row in _cuts(row, rows, buffer.block_rows)
            for cb, ci, at_column in _cuts(column, columns, buffer.placement.columns)
        ]

    def read(self, op: Operation, what: str) -> Array:
        pattern = self.buffer.pattern
        for piece in self.pieces:
            if piece.tags is not None and not (piece.tags == pattern).all():
                raise self._forbidden(op, what)
        if len(self.pieces) == 1:
            return np.ascontiguousarray(self.pieces[0].data.reshape(self.shape))
        value = np.empty(self.shape, self.dtype)
        for piece in self.pieces:
            part = value[piece.rows, piece.columns]
            part[...] = piece.data.reshape(part.shape)
        return value

    def write(self, op: Operation, value: Array) -> None:
        self.check_shape(op, value)
        self.buffer.owner.last_writer = op
        for piece in self.pieces:
            piece.data[...] = value[piece.rows, piece.columns].reshape(piece.data.shape)
            if piece.tags is not None:
                piece.tags[...] = self.buffer.pattern

    def part(self, op: Operation, what: str, offsets: Sequence[int], extents: Sequence[int], dropped: int = 0) -> Tile:
        assert dropped == 0, "on-chip tiles have rank 2"
        cut(op, what, self.shape, offsets, extents)
        return self.buffer.tile(self.row + offsets[0], self.column + offsets[1], extents[0], extents[1])

    def _forbidden(self, op: Operation, what: str) -> CompileError:
        rows = np.arange(self.row, self.row + self.shape[0])[:, None]
        columns = np.arange(self.column, self.column + self.shape[1])
        addresses = np.vectorize(self.buffer.placement.address)(rows, columns) + self.buffer.offset
        return _forbidden(op, what, self.buffer.memory, self.buffer.owner, addresses, self.dtype.itemsize)


@dataclass
class Region(Reference):
    """A rectangle of global memory, of any rank and strides. Without `owner` it may only be read: an input or a weight."""

    data: Array
    label: str
    memory: Memory | None = None
    owner: Owner | None = None
    tags: Array | None = None

    def __post_init__(self) -> None:
        self.shape, self.dtype = self.data.shape, self.data.dtype

    @staticmethod
    def allocate(memory: Memory, label: str, shape: tuple[int, ...], dtype: np.dtype[Any], offset: int = 0) -> Region:
        """The row-major tensor of `shape` at a byte offset of `memory`."""
        strides = [dtype.itemsize * int(np.prod(shape[d + 1 :], dtype=np.int64)) for d in range(len(shape))]
        data, tags = memory.view(shape, dtype, offset, strides)
        return Region(data, label, memory, memory.owner(label), tags)

    def read(self, op: Operation, what: str) -> Array:
        if self.tags is not None:
            assert self.owner is not None
            if not (self.tags == self.own_entry).all():
                raise self._forbidden(op, what)
        return np.ascontiguousarray(self.data).reshape(self.shape)

    def write(self, op: Operation, value: Array) -> None:
        self.check_shape(op, value)
        owner = self._writing(op)
        self.data[...] = value
        if self.tags is not None:
            self.tags[...] = _pattern(owner.number, self.dtype.itemsize)

    def read_rows(self, op: Operation, what: str, rows: Array) -> Array:
        """The rows of a matrix that have these numbers, one after the other; reports like `read`."""
        if self.tags is not None:
            assert self.owner is not None
            if not (self.tags[rows] == _pattern(self.owner.number, self.dtype.itemsize)).all():
                for row in rows:
                    self.part(op, what, [int(row), 0], [1, self.shape[1]]).read(op, what)
        return self.data[rows]

    def write_rows(self, op: Operation, rows: Array, value: Array) -> None:
        """Set the rows of a matrix that have these numbers, in order."""
        owner = self._writing(op)
        if value.shape[1] != self.shape[1]:
            raise CompileError.at(op, f"rows of {value.shape[1]} elements into rows of {self.shape[1]}")
        self.data[rows] = value
        if self.tags is not None:
            self.tags[rows] = _pattern(owner.number, self.dtype.itemsize)

    def _writing(self, op: Operation) -> Owner:
        """Who writes. Raises `CompileError` at `op` if nobody may."""
        if self.owner is None:
            raise CompileError.at(op, f"writes to {self.label}, which may only be read")
        self.owner.last_writer = op
        return self.owner

    def history(self) -> Array | None:
        """Who wrote each element, one row of numbers for each in the order of memory; `None` where nobody keeps book."""
        return None if self.tags is None else self.tags.reshape(-1, self.tags.shape[-1])

    @property
    def own_entry(self) -> Any:
        """What a row of `history` holds where the elements are this buffer's own."""
        assert self.owner is not None
        return _pattern(self.owner.number, self.dtype.itemsize)

    def forget(self) -> None:
        """From here on nothing has been written."""
        if self.tags is not None:
            self.tags[...] = 0

    def part(self, op: Operation, what: str, offsets: Sequence[int], extents: Sequence[int], dropped: int = 0) -> Region:
        where = cut(op, f"{what} ({self.label})", self.shape, offsets, extents)
        if 0 in extents:
            return Region(np.empty(tuple(extents[dropped:]), self.dtype), self.label, owner=self.owner)
        index = (*offsets[:dropped], *where[dropped:], ...)
        return self._with(self.data[index], None if self.tags is None else self.tags[index])

    def reshaped(self, op: Operation, offset: int, shape: Sequence[int], strides: Sequence[int]) -> Region:
        """The elements of the buffer under another shape: `offset` and `strides` in elements. Raises `CompileError` beyond its end."""
        if 0 in shape:
            return Region(np.empty(tuple(shape), self.dtype), self.label, owner=self.owner)
        last = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        if not self.data.flags.c_contiguous or min(strides, default=0) < 0 or not 0 <= offset <= last < self.data.size:
            raise CompileError.at(op, f"{self.label}: elements up to {last} are out of bounds, it has {self.data.size} contiguous ones")
        flat = self.data.reshape(-1)[offset:]
        data = np.lib.stride_tricks.as_strided(flat, shape, [s * flat.itemsize for s in strides])
        if self.tags is None:
            return self._with(data, None)
        tags = self.tags.reshape(-1, self.tags.shape[-1])[offset:]
        wide = (*(s * tags.strides[0] for s in strides), tags.strides[1])
        return self._with(data, np.lib.stride_tricks.as_strided(tags, (*shape, tags.shape[1]), wide))

    def _with(self, data: Array, tags: Array | None) -> Region:
        return Region(data, self.label, self.memory, self.owner, tags)

    def _forbidden(self, op: Operation, what: str) -> CompileError:
        assert self.memory is not None
        assert self.owner is not None
        start = self.data.__array_interface__["data"][0] - self.memory.bytes.__array_interface__["data"][0]
        addresses = np.full(self.shape, start)
        for d, stride in enumerate(self.data.strides):
            addresses += (np.arange(self.shape[d]) * stride).reshape(-1, *[1] * (len(self.shape) - d - 1))
        return _forbidden(op, what, self.memory, self.owner, addresses, self.dtype.itemsize)


def _forbidden(op: Operation, what: str, memory: Memory, owner: Owner, addresses: Array, itemsize: int) -> CompileError:
    """The report of a read through `owner` of bytes that are not its own."""
    assert memory.tags is not None
    all_bytes = np.sort((addresses.reshape(-1, 1) + np.arange(itemsize)).reshape(-1))
    foreign = all_bytes[memory.tags[all_bytes] != owner.number]
    culprit = memory.owner_of(int(memory.tags[foreign[0]]))
    same = foreign[memory.tags[foreign] == culprit.number]
    place = f"{memory.space} bytes [{same[0]}, {same[-1] + 1})"
    if culprit.number == 0:
        return CompileError.at(op, f'{what} reads {place} of buffer "{owner.label}", which nothing has written')
    notes = () if culprit.last_writer is None else (Note(f'last written here, through "{culprit.label}"', culprit.last_writer.location),)
    message = f'{what} reads {place} through buffer "{owner.label}", but they were last written through buffer "{culprit.label}"'
    return CompileError.at(op, message, *notes)
