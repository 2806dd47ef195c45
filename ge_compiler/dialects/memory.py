"""Memory spaces and layouts: where a tile lies and how its elements are arranged in bytes.

`#npu.mem<space, layout>` is the encoding of a tensor at `tile` and the memory space of a memref below. The layout is left out where it is
the space's own. The functions here are the only place that turns (shape, element type, layout) into bytes and addresses.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import FixedBitwidthType, NoneAttr, StringAttr, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ge_compiler.dialects.types import Buffer, Tensor, shaped_type

BLOCK_BYTES = 32
"""The grain of on-chip memory: rows of a tile in the unified buffer start on a multiple of it."""


class Space(StrEnum):
    """A memory of the NPU."""

    GM = "gm"
    """Global memory (HBM), shared by all cores."""
    L1 = "l1"
    """The cube's staging buffer."""
    L0A = "l0a"
    """The cube's left operand."""
    L0B = "l0b"
    """The cube's right operand."""
    L0C = "l0c"
    """The cube's accumulator."""
    UB = "ub"
    """The unified buffer of a vector lane."""


class Layout(StrEnum):
    """How the two last dimensions of a tile are arranged."""

    ND = "nd"
    """Row-major. On chip, each row starts on a 32-byte block."""
    NZ = "nz"
    """Fractals of 16 rows by 32 bytes, row-major inside, in column-major order."""
    ZZ = "zz"
    """Fractals of 16 rows by 32 bytes, row-major inside, in row-major order."""
    ZN = "zn"
    """Fractals of 32 bytes by 16 columns, column-major inside, in row-major order."""


DEFAULT_LAYOUT: dict[Space, Layout] = {
    Space.GM: Layout.ND,
    Space.L1: Layout.NZ,
    Space.L0A: Layout.ZZ,
    Space.L0B: Layout.ZN,
    Space.L0C: Layout.NZ,
    Space.UB: Layout.ND,
}


@irdl_attr_definition
class MemAttr(ParametrizedAttribute):
    """`#npu.mem<l1>` or `#npu.mem<l1, nd>`: a memory space, with a layout where it is not the space's own."""

    name: ClassVar[str] = "npu.mem"

    space_name: StringAttr
    layout_name: StringAttr

    @staticmethod
    def of(space: Space, layout: Layout | None = None) -> MemAttr:
        return MemAttr(StringAttr(space.value), StringAttr((layout or DEFAULT_LAYOUT[space]).value))

    @property
    def space(self) -> Space:
        return Space(self.space_name.data)

    @property
    def layout(self) -> Layout:
        return Layout(self.layout_name.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> tuple[StringAttr, StringAttr]:
        with parser.in_angle_brackets():
            space = parser.parse_str_enum(Space)
            layout = parser.parse_str_enum(Layout) if parser.parse_optional_punctuation(",") else DEFAULT_LAYOUT[space]
        return StringAttr(space.value), StringAttr(layout.value)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.space.value)
            if self.layout is not DEFAULT_LAYOUT[self.space]:
                printer.print_string(f", {self.layout.value}")

    def verify(self) -> None:
        if self.space_name.data not in list(Space) or self.layout_name.data not in list(Layout):
            raise VerifyException(f"unknown memory space or layout: {self.space_name.data}, {self.layout_name.data}")


@dataclass(frozen=True)
class Fractal:
    """The blocks of a layout: `rows` x `columns` elements each, and the order of blocks and of the elements inside one."""

    rows: int
    columns: int
    blocks_row_major: bool
    inside_row_major: bool


def element_bytes(element: Attribute) -> int:
    """Bytes of one element in memory; a boolean takes one."""
    assert isinstance(element, FixedBitwidthType), element
    return element.size


def fractal(space: Space, layout: Layout, bytes_per_element: int) -> Fractal | None:
    """The blocks of `layout` in `space`, or `None` for row-major. The accumulator's blocks are 16 x 16 whatever the element."""
    block = 16 if space is Space.L0C else max(1, BLOCK_BYTES // bytes_per_element)
    match layout:
        case Layout.ND:
            return None
        case Layout.NZ:
            return Fractal(16, block, blocks_row_major=False, inside_row_major=True)
        case Layout.ZZ:
            return Fractal(16, block, blocks_row_major=True, inside_row_major=True)
        case Layout.ZN:
            return Fractal(block, 16, blocks_row_major=True, inside_row_major=False)


def round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def row_pitch(space: Space, columns: int, bytes_per_element: int) -> int:
    """Bytes from one row of a row-major tile to the next: packed in global memory, 32-byte blocks on chip."""
    return columns * bytes_per_element if space is Space.GM else round_up(columns * bytes_per_element, BLOCK_BYTES)


def tile_bytes(shape: tuple[int, ...], bytes_per_element: int, space: Space, layout: Layout) -> int:
    """Bytes that a buffer of `shape` takes, padding of rows and fractals included."""
    if space is Space.GM:
        return prod(shape) * bytes_per_element
    *batch, rows, columns = (1, 1, *shape)[-max(2, len(shape)) :]
    block = fractal(space, layout, bytes_per_element)
    if block is None:
        return prod(batch) * rows * row_pitch(space, columns, bytes_per_element)
    return prod(batch) * round_up(rows, block.rows) * round_up(columns, block.columns) * bytes_per_element


@dataclass(frozen=True)
class Placement:
    """Where the elements of a matrix lie in its buffer, in bytes.

    Rows and columns are cut into blocks: row r is row `r % rows` of block `r // rows`, likewise for columns, and the four strides add up.
    """

    rows: int
    columns: int
    row_block_stride: int
    row_stride: int
    column_block_stride: int
    column_stride: int

    def address(self, row: int, column: int) -> int:
        """Bytes from the start of the buffer to an element."""
        rows = row // self.rows * self.row_block_stride + row % self.rows * self.row_stride
        return rows + column // self.columns * self.column_block_stride + column % self.columns * self.column_stride


def placement(rows: int, columns: int, bytes_per_element: int, space: Space, layout: Layout) -> Placement:
    """How a `rows` x `columns` matrix lies in a buffer of `tile_bytes`."""
    block = fractal(space, layout, bytes_per_element)
    if block is None:
        pitch = row_pitch(space, columns, bytes_per_element)
        return Placement(max(rows, 1), max(columns, 1), 0, pitch, 0, bytes_per_element)
    block_bytes = block.rows * block.columns * bytes_per_element
    if block.blocks_row_major:
        row_block, column_block = -(-columns // block.columns) * block_bytes, block_bytes
    else:
        row_block, column_block = block_bytes, -(-rows // block.rows) * block_bytes
    row, column = (block.columns, 1) if block.inside_row_major else (1, block.rows)
    return Placement(block.rows, block.columns, row_block, row * bytes_per_element, column_block, column * bytes_per_element)


def mem_of(type_: Attribute) -> MemAttr:
    """The memory of a tensor or memref type; global memory where the type names none."""
    shaped = shaped_type(type_)
    where = shaped.encoding if isinstance(shaped, TensorType) else shaped.memory_space
    if isinstance(where, MemAttr):
        return where
    if isinstance(where, NoneAttr):
        return GLOBAL
    raise VerifyException(f"expected a memory space such as #npu.mem<ub>, got {where}")


def bytes_of(type_: Tensor | Buffer) -> int:
    """Bytes of a value of `type_` with a static shape."""
    mem = mem_of(type_)
    return tile_bytes(type_.get_shape(), element_bytes(type_.get_element_type()), mem.space, mem.layout)


GLOBAL = MemAttr.of(Space.GM)
