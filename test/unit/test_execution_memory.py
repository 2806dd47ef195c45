"""Tests of memory with a history: layouts as bijections, reads and writes through rectangles, owners."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.test import TestOp
from xdsl.ir import Operation

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.memory import Layout, Space, placement, tile_bytes
from ge_compiler.runtime.memory import Buffer, Memory, Region, Tile

OP: Operation = TestOp()
DTYPES: list[npt.DTypeLike] = [np.int8, np.float16, ml_dtypes.bfloat16, np.float32, np.int32]
LAYOUTS = [
    (Space.UB, Layout.ND),
    (Space.L1, Layout.NZ),
    (Space.L1, Layout.ND),
    (Space.L0A, Layout.ZZ),
    (Space.L0B, Layout.ZN),
    (Space.L0C, Layout.NZ),
]


def buffer(rows: int, columns: int, dtype: npt.DTypeLike, space: Space, layout: Layout, offset: int = 0) -> Buffer:
    kind = np.dtype(dtype)
    memory = Memory(space, offset + tile_bytes((rows, columns), kind.itemsize, space, layout), checked=True)
    return Buffer(memory, memory.owner("a"), offset, rows, columns, kind, placement(rows, columns, kind.itemsize, space, layout))


def numbered(rows: int, columns: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Small numbers that differ between neighbours and are exact in every type."""
    return (np.arange(rows * columns).reshape(rows, columns) % 113 - 50).astype(dtype)


@st.composite
def rectangles(draw: st.DrawFn) -> tuple[int, int, int, int, int, int]:
    """The shape of a buffer, and a rectangle inside it: row, column, rows, columns."""
    rows, columns = draw(st.integers(1, 70)), draw(st.integers(1, 90))
    row, column = draw(st.integers(0, rows - 1)), draw(st.integers(0, columns - 1))
    return rows, columns, row, column, draw(st.integers(0, rows - row)), draw(st.integers(0, columns - column))


@pytest.mark.parametrize(("space", "layout"), LAYOUTS)
@given(shape=st.tuples(st.integers(1, 70), st.integers(1, 90)), size=st.sampled_from([1, 2, 4]))
def test_addresses_are_disjoint_and_inside(space: Space, layout: Layout, shape: tuple[int, int], size: int) -> None:
    where = placement(*shape, size, space, layout)
    addresses = [where.address(r, c) for r, c in itertools.product(range(shape[0]), range(shape[1]))]
    assert all(address % size == 0 for address in addresses)
    assert len(set(addresses)) == len(addresses)
    assert min(addresses) == 0
    assert max(addresses) + size <= tile_bytes(shape, size, space, layout)


@pytest.mark.parametrize(
    ("space", "layout", "dtype", "element", "address"),
    [
        (Space.UB, Layout.ND, np.float16, (1, 0), 64),  # a row of 20 takes two blocks of 32 bytes
        (Space.L1, Layout.NZ, np.float16, (0, 15), 30),
        (Space.L1, Layout.NZ, np.float16, (1, 0), 32),
        (Space.L1, Layout.NZ, np.float16, (16, 0), 512),  # 17 rows are padded to 32
        (Space.L1, Layout.NZ, np.float16, (0, 16), 1024),
        (Space.L0A, Layout.ZZ, np.float16, (0, 16), 512),
        (Space.L0A, Layout.ZZ, np.float16, (16, 0), 1024),
        (Space.L0B, Layout.ZN, np.float16, (1, 0), 2),
        (Space.L0B, Layout.ZN, np.float16, (0, 1), 32),
        (Space.L0B, Layout.ZN, np.float16, (0, 16), 512),
        (Space.L0B, Layout.ZN, np.int8, (1, 0), 1),
        (Space.L0B, Layout.ZN, np.int8, (0, 1), 32),
        (Space.L0C, Layout.NZ, np.float32, (1, 0), 64),  # 16 columns whatever the element
        (Space.L0C, Layout.NZ, np.float32, (0, 16), 2048),
    ],
)
def test_addresses_of_a_17_by_20_tile(space: Space, layout: Layout, dtype: npt.DTypeLike, element: tuple[int, int], address: int) -> None:
    assert placement(17, 20, np.dtype(dtype).itemsize, space, layout).address(*element) == address


@pytest.mark.parametrize(("space", "layout"), LAYOUTS)
@given(rectangle=rectangles(), dtype=st.sampled_from(DTYPES), offset=st.sampled_from([0, 64, 4096]))
def test_writing_then_reading_is_the_identity(
    space: Space, layout: Layout, rectangle: tuple[int, int, int, int, int, int], dtype: npt.DTypeLike, offset: int
) -> None:
    rows, columns, row, column, height, width = rectangle
    held = buffer(rows, columns, dtype, space, layout, offset)
    expected = numbered(rows, columns, dtype)
    held.whole().write(OP, expected)
    patch = numbered(height, width, dtype) + np.dtype(dtype).type(1)
    part = held.whole().part(OP, "part", (row, column), (height, width))
    part.write(OP, patch)
    assert np.array_equal(part.read(OP, "part"), patch)
    expected[row : row + height, column : column + width] = patch
    assert np.array_equal(held.whole().read(OP, "whole"), expected)


@pytest.mark.parametrize(("space", "layout"), LAYOUTS)
@given(rectangle=rectangles(), dtype=st.sampled_from(DTYPES))
def test_elements_lie_at_their_addresses(
    space: Space, layout: Layout, rectangle: tuple[int, int, int, int, int, int], dtype: npt.DTypeLike
) -> None:
    rows, columns, row, column, height, width = rectangle
    held = buffer(rows, columns, dtype, space, layout, 32)
    value = numbered(height, width, dtype)
    held.tile(row, column, height, width).write(OP, value)
    size = np.dtype(dtype).itemsize
    touched = np.zeros(held.memory.size, np.bool_)
    for r, c in itertools.product(range(height), range(width)):
        address = 32 + held.placement.address(row + r, column + c)
        assert held.memory.bytes[address : address + size].tobytes() == value[r, c].tobytes()
        touched[address : address + size] = True
    assert held.memory.tags is not None
    assert np.array_equal(held.memory.tags != 0, touched), "exactly the valid elements have been written"
    assert (held.memory.bytes[~touched] == 0xFF).all(), "padding keeps its poison"


def report(tile: Tile | Region) -> CompileError:
    with pytest.raises(CompileError) as caught:
        tile.read(OP, "x")
    return caught.value


@pytest.mark.parametrize(("space", "layout"), LAYOUTS)
@given(rectangle=rectangles(), at=st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)))
def test_one_unwritten_element_is_found(
    space: Space, layout: Layout, rectangle: tuple[int, int, int, int, int, int], at: tuple[int, int]
) -> None:
    rows, columns, *_ = rectangle
    hole = at[0] % rows, at[1] % columns
    held = buffer(rows, columns, np.float16, space, layout)
    for r, c in ((slice(0, hole[0]), slice(0, columns)), (slice(hole[0] + 1, rows), slice(0, columns))):
        held.tile(r.start, c.start, r.stop - r.start, c.stop).write(OP, numbered(r.stop - r.start, columns, np.float16))
    held.tile(hole[0], 0, 1, hole[1]).write(OP, numbered(1, hole[1], np.float16))
    held.tile(hole[0], hole[1] + 1, 1, columns - hole[1] - 1).write(OP, numbered(1, columns - hole[1] - 1, np.float16))
    address = held.placement.address(*hole)
    message = report(held.whole()).message
    assert f'x reads {space} bytes [{address}, {address + 2}) of buffer "a", which nothing has written' in message


def test_bytes_of_another_buffer_are_not_read() -> None:
    memory = Memory(Space.UB, 256, checked=True)
    where = placement(4, 8, 4, Space.UB, Layout.ND)
    a = Buffer(memory, memory.owner("a"), 0, 4, 8, np.dtype(np.float32), where).whole()
    b = Buffer(memory, memory.owner("b"), 96, 4, 8, np.dtype(np.float32), where).whole()
    a.write(OP, numbered(4, 8, np.float32))
    b.write(OP, numbered(4, 8, np.float32))
    error = report(a)
    assert 'x reads ub bytes [96, 128) through buffer "a", but they were last written through buffer "b"' in error.message
    assert [note.message for note in error.notes] == ['last written here, through "b"']
    assert a.part(OP, "x", (0, 0), (3, 8)).read(OP, "x").shape == (3, 8)
    memory.forget()
    assert "nothing has written" in report(b).message


@given(
    shape=st.lists(st.integers(1, 5), min_size=0, max_size=4),
    dtype=st.sampled_from([*DTYPES, np.int64, np.bool_]),
    data=st.data(),
)
def test_regions_of_global_memory(shape: list[int], dtype: npt.DTypeLike, data: st.DataObject) -> None:
    kind = np.dtype(dtype)
    count = int(np.prod(shape, dtype=int))
    memory = Memory(Space.GM, 512 + count * kind.itemsize, checked=True)
    region = Region.allocate(memory, "h", tuple(shape), kind, 512)
    offsets = [data.draw(st.integers(0, size - 1)) for size in shape]
    extents = [data.draw(st.integers(1, size - offset)) for size, offset in zip(shape, offsets, strict=True)]
    where = tuple(slice(o, o + e) for o, e in zip(offsets, extents, strict=True))
    value = np.arange(count).reshape(shape).astype(kind)
    part = region.part(OP, "part", offsets, extents)
    part.write(OP, value[where])
    assert np.array_equal(part.read(OP, "part"), value[where])
    if part.shape != region.shape:
        assert 'of buffer "h", which nothing has written' in report(region).message
    region.write(OP, value)
    flat = region.reshaped(OP, 0, [count], [1])
    assert np.array_equal(flat.read(OP, "flat"), value.reshape(-1))
    assert memory.bytes[512:].tobytes() == value.tobytes()


def test_leading_points_of_a_region_vanish() -> None:
    region = Region(np.arange(24).reshape(2, 3, 4), "input")
    assert region.part(OP, "x", (1, 1, 2), (1, 2, 2), dropped=1).read(OP, "x").tolist() == [[18, 19], [22, 23]]
    assert region.part(OP, "x", (7, 1, 2), (1, 0, 2), dropped=1).shape == (0, 2)


def test_inputs_are_read_only() -> None:
    with pytest.raises(CompileError, match="writes to %x, which may only be read"):
        Region(np.zeros(3), "%x").write(OP, np.ones(3))


@pytest.mark.parametrize(("offset", "shape", "strides"), [(1, [12], [1]), (0, [3, 5], [5, 1]), (0, [4, 4], [3, 1]), (-1, [1], [1])])
def test_a_reshape_stays_inside(offset: int, shape: list[int], strides: list[int]) -> None:
    region = Region(np.zeros((3, 4)), "%x")
    if (offset, shape) == (0, [4, 4]):
        assert region.reshaped(OP, offset, [4, 3], strides).shape == (4, 3)
    with pytest.raises(CompileError, match=r"%x: .* out of bounds"):
        region.reshaped(OP, offset, shape, strides)


def test_without_checks_nothing_is_reported() -> None:
    memory = Memory(Space.UB, 64, checked=False)
    a = Buffer(memory, memory.owner("a"), 0, 2, 8, np.dtype(np.float32), placement(2, 8, 4, Space.UB, Layout.ND)).whole()
    assert np.isnan(a.read(OP, "x")).all()
