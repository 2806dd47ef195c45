"""The grid, and what all ops on tiles have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self, TypeVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    TensorType,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_attr_def,
    opt_operand_def,
    opt_result_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.index_list import join_index_list, verify_index_list
from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.tile.rules import verify_one_kind, verify_room, verify_tile
from ge_compiler.dialects.types import Buffer, Tensor, shaped_type


class GridOp(IRDLOperation):
    """Runs its body for every point of a grid: block b, in row-major order, on core b modulo the number of cores, in ascending order."""

    bounds = prop_def(DenseArrayBase.constr(i64))
    body = region_def("single_block")

    traits = traits_def(NoTerminator())

    def __init__(self, bounds: Sequence[int], body: Block):
        super().__init__(properties={"bounds": DenseArrayBase.from_list(i64, bounds)}, regions=[Region(body)])

    @property
    def grid(self) -> tuple[int, ...]:
        return tuple(self.bounds.get_values())

    @property
    def points(self) -> Sequence[BlockArgument]:
        """The body's arguments that are the point's coordinates."""
        return self.body.block.args

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        points, bounds, attributes = _parse_grid(parser)
        return _grid_op(cls, bounds, attributes, parser.parse_region(points))

    def print(self, printer: Printer) -> None:
        printer.print_string(" (")
        printer.print_list(self.points, printer.print_ssa_value)
        printer.print_string(f") in ({', '.join(map(str, self.grid))})")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    def verify_(self) -> None:
        if any(a.type != IndexType() for a in self.body.block.args) or len(self.points) != len(self.grid):
            raise VerifyException(f"needs one index argument for each of the {len(self.grid)} dimensions of its grid")
        if any(extent < 0 for extent in self.grid):
            raise VerifyException(f"a grid has no negative extents, got {self.grid}")


GridOpT = TypeVar("GridOpT", bound=GridOp)


@irdl_op_definition
class ForallOp(GridOp):
    """A grid whose blocks are independent: any order gives the same values, and no block sees what another left on chip."""

    name = "tile.forall"


@irdl_op_definition
class GridLoopOp(GridOp):
    """A grid as one persistent loop a core: what a core's block leaves on chip is there for its next one.

    The first argument counts the blocks of the core that came before: `tile.grid_loop %t (%i, %j) in (4, 8)`.
    """

    name = "tile.grid_loop"

    @property
    def trip(self) -> BlockArgument:
        """How many blocks the core has run before this one."""
        return self.body.block.args[0]

    @property
    def points(self) -> Sequence[BlockArgument]:
        return self.body.block.args[1:]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        trip = parser.parse_argument(expect_type=False).resolve(IndexType())
        points, bounds, attributes = _parse_grid(parser)
        return _grid_op(cls, bounds, attributes, parser.parse_region([trip, *points]))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.trip)
        super().print(printer)

    def verify_(self) -> None:
        if not self.body.block.args:
            raise VerifyException("needs an index argument that counts the blocks of a core")
        super().verify_()


def _grid_op(kind: type[GridOpT], bounds: Sequence[int], attributes: dict[str, Attribute], body: Region) -> GridOpT:
    return kind.create(properties={"bounds": DenseArrayBase.from_list(i64, bounds)}, attributes=attributes, regions=[body])


def _parse_grid(parser: Parser) -> tuple[list[Parser.Argument], list[int], dict[str, Attribute]]:
    """`(%i, %j) in (4, 8) attributes {...}`: one index for each dimension."""
    position = parser.pos
    names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False))
    parser.parse_characters("in")
    bounds = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parser.parse_integer(allow_boolean=False))
    if len(names) != len(bounds):
        parser.raise_error(f"names {len(names)} coordinates for a grid of {len(bounds)} dimensions", position, parser.pos)
    attributes = parser.parse_optional_attr_dict_with_keyword()
    return [name.resolve(IndexType()) for name in names], bounds, dict(attributes.data) if attributes is not None else {}


class TileOp(IRDLOperation):
    """An op with a value form on tensors and a destination-passing form on memrefs.

    As a value, its tile may have several `slots`: then trips of the loop around it take turns, and one can be filled while another is read.
    """

    OVERWRITES: ClassVar[bool] = False
    """Whether the result may lie exactly where an operand of its type does: each element is read before it is written."""

    slots = opt_attr_def(IntegerAttr.constr(i64))

    @property
    def slot_count(self) -> int:
        """How many slots the tile has; 1 where nothing is said."""
        return 1 if self.slots is None else self.slots.value.data

    def tile_type(self) -> Tensor | Buffer:
        """The type of the tile that the op makes."""
        result = self.destination()
        return shaped_type(result if result is not None else self.results[0])

    def destination(self) -> SSAValue | None:
        """The buffer that is written `into`, in destination-passing form."""
        return getattr(self, "out", None)

    def verify_form(self) -> None:
        """Check that the op has either a destination or a result, never both."""
        if (self.destination() is None) == (not self.results):
            raise VerifyException("has either a tensor result or a memref that it writes 'into'")
        verify_one_kind([*self.operands, *self.results])
        if self.slot_count < 1 or (self.slots is not None and not self.results):
            raise VerifyException("has a positive number of slots while it makes a value; a buffer's are on its buf.alloc")


class ExtentsOp(TileOp):
    """Names the valid extents of the tile that it makes, in the unified buffer."""

    valid = var_operand_def(IndexType)
    out = opt_operand_def(MemRefType)
    static_valid = prop_def(DenseArrayBase.constr(i64))
    result = opt_result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    custom_directives = (DynamicIndexList,)

    @property
    def mixed_valid(self) -> list[SSAValue | int]:
        """Valid rows and columns of the tile."""
        return join_index_list(self.valid, self.static_valid)

    def verify_form(self) -> None:
        super().verify_form()
        verify_tile(self.tile_type(), "the tile", Space.UB)
        verify_index_list("valid extents", self.valid, self.static_valid, 2)
        verify_room("tile", self.static_valid, self.tile_type())
