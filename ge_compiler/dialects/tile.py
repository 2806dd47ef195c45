"""The `tile` dialect: the grid, the loops, the memory space of every tile, every rounding and every split of a sum. Addresses are open.

A tile is a matrix in an on-chip memory: `tensor<32x128xf32, #npu.mem<l0c>>`. Its static shape is the room it takes; its *valid extents*
are named where data enters (`valid [%m, %n]`) and propagate from operands to results, so ragged edges never change a memory plan. Row
vectors (1 x n), columns (m x 1) and single elements broadcast in elementwise functions.

The same ops stand at `buf` in destination-passing form: operands are memrefs whose sizes are the valid extents, the result is written
`into` a buffer and there is no value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    TensorType,
    UnitAttr,
    i1,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Attribute, Block, Dialect, Operation, ParametrizedAttribute, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.elementwise import ElementwiseOp, define, elementwise_operands, operand_names
from ge_compiler.dialects.functions import FUNCTIONS, Function
from ge_compiler.dialects.ge.shapes import broadcast, show
from ge_compiler.dialects.memory import Space, mem_of
from ge_compiler.dialects.types import Buffer, Tensor, accumulator_of, is_shaped, shaped_type, tensor_type, verify_element_type

DYNAMIC = DYNAMIC_INDEX
"""How a static index list marks an SSA value."""

SCHEDULE_KEYS: dict[str, str] = {
    "m": "rows of a tile",
    "n": "columns of a tile",
    "k": "elements of the contraction that are in L1 at once",
    "k0": "elements of the contraction that one cube instruction sums",
}
"""What a schedule decides; a vector kernel has no contraction and so only `m` and `n`."""

SCHEDULE_ATTRIBUTE = "schedule"


@irdl_attr_definition
class ScheduleAttr(ParametrizedAttribute):
    """`#tile.schedule<m = 32, n = 128, k = 256, k0 = 64>`: tile sizes of a kernel; keys left out are chosen by `select-schedule`."""

    name: ClassVar[str] = "tile.schedule"

    entries: DictionaryAttr

    @staticmethod
    def of(values: Mapping[str, int]) -> ScheduleAttr:
        ordered = {key: IntegerAttr(values[key], i64) for key in SCHEDULE_KEYS if key in values}
        return ScheduleAttr(DictionaryAttr(ordered))

    def values(self) -> dict[str, int]:
        """The sizes that are set, in the order of `SCHEDULE_KEYS`."""
        given = {key: value.value.data for key, value in self.entries.data.items() if isinstance(value, IntegerAttr)}
        return {key: given[key] for key in SCHEDULE_KEYS if key in given}

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> tuple[DictionaryAttr]:
        def entry() -> tuple[str, int]:
            position = parser.pos
            key = parser.parse_identifier()
            if key not in SCHEDULE_KEYS:
                parser.raise_error(f"'{key}' is not a key of a schedule; keys: {', '.join(SCHEDULE_KEYS)}", position, parser.pos)
            parser.parse_punctuation("=")
            return key, parser.parse_integer(allow_boolean=False, allow_negative=False)

        entries: dict[str, int] = {}
        for key, value in parser.parse_comma_separated_list(parser.Delimiter.ANGLE, entry):
            if key in entries:
                parser.raise_error(f"'{key}' is given twice")
            entries[key] = value
        return (cls.of(entries).entries,)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join(f"{key} = {value}" for key, value in self.values().items()))

    def verify(self) -> None:
        for key, value in self.entries.data.items():
            if key not in SCHEDULE_KEYS or not isinstance(value, IntegerAttr) or value.value.data < 1:
                raise VerifyException(f"a schedule maps {', '.join(SCHEDULE_KEYS)} to positive integers, got {key} = {value}")


@irdl_op_definition
class ForallOp(IRDLOperation):
    """Runs its body once for every point of a grid, in any order; the body's arguments are the point's coordinates.

    Block number b, counted in row-major order, runs on core b modulo the number of cores; a core runs its blocks in ascending order.
    """

    name = "tile.forall"

    bounds = prop_def(DenseArrayBase.constr(i64))
    body = region_def("single_block")

    traits = traits_def(NoTerminator())

    def __init__(self, bounds: Sequence[int], body: Block):
        super().__init__(properties={"bounds": DenseArrayBase.from_list(i64, bounds)}, regions=[Region(body)])

    @property
    def grid(self) -> tuple[int, ...]:
        return tuple(self.bounds.get_values())

    @classmethod
    def parse(cls, parser: Parser) -> ForallOp:
        names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False))
        parser.parse_characters("in")
        bounds = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_integer)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region([name.resolve(IndexType()) for name in names])
        op = cls.create(properties={"bounds": DenseArrayBase.from_list(i64, bounds)}, regions=[region])
        op.attributes |= attributes.data if attributes is not None else {}
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.body.block.args, printer.print_ssa_value)
        printer.print_string(f" in ({', '.join(map(str, self.grid))})")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    def verify_(self) -> None:
        if [a.type for a in self.body.block.args] != [IndexType()] * len(self.grid):
            raise VerifyException(f"needs one index argument for each of the {len(self.grid)} dimensions of its grid")
        if any(extent < 0 for extent in self.grid):
            raise VerifyException(f"a grid has no negative extents, got {self.grid}")


class TileOp(IRDLOperation):
    """An op with a value form on tensors and a destination-passing form on memrefs."""

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
        _verify_one_kind([*self.operands, *self.results])


def _verify_one_kind(values: Sequence[SSAValue]) -> None:
    kinds = [x.type for x in values if is_shaped(x.type)]
    if len({type(kind) for kind in kinds}) > 1:
        raise VerifyException(f"mixes tensors and memrefs: {', '.join(map(str, kinds))}")


def _in(value: SSAValue | Attribute, name: str, *spaces: Space) -> None:
    type_ = shaped_type(value)
    verify_element_type(type_)
    if mem_of(type_).space not in spaces:
        raise VerifyException(f"{name} must be in {' or '.join(spaces)}, got {type_}")


def _tile(value: SSAValue | Attribute, name: str, *spaces: Space) -> None:
    """A matrix in on-chip memory, of static shape as long as it is a value; a memref's sizes are its valid extents."""
    _in(value, name, *spaces)
    type_ = shaped_type(value)
    if len(type_.get_shape()) != 2:
        raise VerifyException(f"{name} must have rank 2, got {type_}")
    if isinstance(type_, TensorType) and DYNAMIC in type_.get_shape():
        raise VerifyException(f"{name} must have a static shape, got {type_}; 'valid' names the extents of ragged tiles")


def _same_element(x: SSAValue | Attribute, y: SSAValue | Attribute) -> None:
    a, b = shaped_type(x), shaped_type(y)
    if a.get_element_type() != b.get_element_type():
        raise VerifyException(f"moves elements unchanged, but goes from {a} to {b}; insert a tile.cast")


def _check_room(name: str, static_valid: DenseArrayBase[IntegerType], type_: Tensor | Buffer) -> None:
    """The known extents must lie inside the tile."""
    extents = static_valid.get_values()
    for extent, room in zip(extents, type_.get_shape(), strict=True):
        if room != DYNAMIC and extent > room:
            raise VerifyException(f"valid extents {_show_list(extents)} exceed the {name} {show(type_.get_shape())}")


def _show_list(values: Sequence[int]) -> str:
    return f"[{', '.join('?' if v == DYNAMIC else str(v) for v in values)}]"


def _check_inside(name: str, type_: Tensor | Buffer, offsets: Sequence[int], extents: Sequence[int]) -> None:
    """Known offsets and extents of the two last dimensions must lie inside a tensor."""
    reach = [(o, 1) for o in offsets[: -len(extents)]] + list(zip(offsets[-len(extents) :], extents, strict=True))
    for d, (size, (offset, extent)) in enumerate(zip(type_.get_shape(), reach, strict=True)):
        if DYNAMIC not in (size, offset) and offset + max(extent, 0) > size:
            raise VerifyException(f"reaches from {offset} to {offset + max(extent, 0)} in dimension {d} of {name} {type_}")


def _index_list(name: str) -> str:
    return f"custom<DynamicIndexList>(${name}, $static_{name})"


def split_index_list(values: Sequence[SSAValue | int]) -> tuple[list[SSAValue], DenseArrayBase[IntegerType]]:
    """A mixed list of constants and index values as an op stores it: the values, and the list with `DYNAMIC` in their place."""
    static = [DYNAMIC if isinstance(v, SSAValue) else v for v in values]
    return [v for v in values if isinstance(v, SSAValue)], DenseArrayBase.from_list(i64, static)


def join_index_list(dynamic: Sequence[SSAValue], static: DenseArrayBase[IntegerType]) -> list[SSAValue | int]:
    """The inverse of `split_index_list`."""
    values = iter(dynamic)
    return [next(values) if v == DYNAMIC else v for v in static.get_values()]


def _check_index_list(name: str, dynamic: Sequence[SSAValue], static: DenseArrayBase[IntegerType], length: int) -> None:
    values = static.get_values()
    if len(values) != length:
        raise VerifyException(f"needs {length} {name}, got {len(values)}")
    if sum(v == DYNAMIC for v in values) != len(dynamic):
        raise VerifyException(f"has {len(dynamic)} values for the dynamic {name} of {_show_list(values)}")
    if any(v < 0 for v in values if v != DYNAMIC):
        raise VerifyException(f"has negative {name}: {_show_list(values)}")


ON_CHIP = tuple(space for space in Space if space is not Space.GM)


def _global(value: SSAValue, name: str) -> None:
    """A stack of matrices in global memory: its two last dimensions are rows and columns."""
    _in(value, name, Space.GM)
    if len(shaped_type(value).get_shape()) < 2:
        raise VerifyException(f"{name} must have rows and columns, got {value.type}; give it another shape with tile.view")


class _SlicingOp(TileOp):
    """Reads a tile at `offsets` of its source; `valid` names the tile's extents."""

    source = operand_def(TensorType | MemRefType)
    offsets = var_operand_def(IndexType)
    valid = var_operand_def(IndexType)
    out = opt_operand_def(MemRefType)
    static_offsets = prop_def(DenseArrayBase.constr(i64))
    static_valid = prop_def(DenseArrayBase.constr(i64))
    result = opt_result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    custom_directives = (DynamicIndexList,)

    def __init__(
        self,
        source: SSAValue,
        offsets: Sequence[SSAValue | int],
        valid: Sequence[SSAValue | int],
        result: Tensor | None = None,
        out: SSAValue | None = None,
        flags: Sequence[str] = (),
    ):
        dynamic_offsets, static_offsets = split_index_list(offsets)
        dynamic_valid, static_valid = split_index_list(valid)
        super().__init__(
            operands=[source, dynamic_offsets, dynamic_valid, out],
            properties={"static_offsets": static_offsets, "static_valid": static_valid, **{flag: UnitAttr() for flag in flags}},
            result_types=[result],
        )

    @property
    def mixed_offsets(self) -> list[SSAValue | int]:
        """One offset for each dimension of the source, in elements."""
        return join_index_list(self.offsets, self.static_offsets)

    @property
    def mixed_valid(self) -> list[SSAValue | int]:
        """Valid rows and columns of the tile."""
        return join_index_list(self.valid, self.static_valid)

    def verify_slice(self, transposed: bool = False) -> None:
        source, tile = shaped_type(self.source), self.tile_type()
        _same_element(source, tile)
        _check_index_list("offsets", self.offsets, self.static_offsets, len(source.get_shape()))
        _check_index_list("valid extents", self.valid, self.static_valid, 2)
        _check_room("tile", self.static_valid, tile)
        extents = self.static_valid.get_values()
        _check_inside("the source", source, self.static_offsets.get_values(), extents[::-1] if transposed else extents)


_SLICE_FORMAT = (
    f"$source `` {_index_list('offsets')} `valid` {_index_list('valid')} (`into` $out^)? attr-dict "
    "`:` type($source) (`into` type($out)^)? (`to` type($result)^)?"
)


@irdl_op_definition
class LoadOp(_SlicingOp):
    """Bring a tile from global memory: rows and columns are the two last dimensions of the source, the others are points."""

    name = "tile.load"
    assembly_format = _SLICE_FORMAT

    def verify_(self) -> None:
        self.verify_form()
        _global(self.source, "the source")
        _tile(self.tile_type(), "the tile", Space.L1, Space.UB)
        self.verify_slice()


@irdl_op_definition
class MoveOp(_SlicingOp):
    """Move (a part of) a tile to another on-chip memory, transposed if asked: `valid` counts rows and columns of the result."""

    name = "tile.move"

    transpose = opt_prop_def(UnitAttr)

    assembly_format = _SLICE_FORMAT

    def verify_(self) -> None:
        self.verify_form()
        _tile(self.source, "the source", *ON_CHIP)
        _tile(self.tile_type(), "the tile", *ON_CHIP)
        if mem_of(self.source.type).space is mem_of(self.tile_type()).space:
            raise VerifyException(f"goes from one on-chip memory to another, got {self.source.type} and {self.tile_type()}")
        self.verify_slice(transposed=self.transpose is not None)


@irdl_op_definition
class UndefOp(IRDLOperation):
    """A tile without contents, to be written by the first `tile.mmad` of a loop."""

    name = "tile.undef"

    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, type: Tensor):
        super().__init__(result_types=[type])

    def verify_(self) -> None:
        _tile(self.result, "the tile", Space.L0C)


@irdl_op_definition
class MmadOp(TileOp):
    """One cube instruction: a (m x k) times b (k x n), written to the accumulator where `init` is true, else added to it.

    In destination-passing form `accumulator` is the buffer and there is no result.
    """

    name = "tile.mmad"

    a = operand_def(TensorType | MemRefType)
    b = operand_def(TensorType | MemRefType)
    accumulator = operand_def(TensorType | MemRefType)
    init = operand_def(i1)
    result = opt_result_def(TensorType)

    assembly_format = (
        "$a `,` $b `,` $accumulator `init` $init attr-dict `:` type($a) `,` type($b) `,` type($accumulator) (`->` type($result)^)?"
    )

    def __init__(self, a: SSAValue, b: SSAValue, accumulator: SSAValue, init: SSAValue):
        result = tensor_type(accumulator) if isinstance(accumulator.type, TensorType) else None
        super().__init__(operands=[a, b, accumulator, init], result_types=[result])

    def destination(self) -> SSAValue | None:
        return self.accumulator if isinstance(self.accumulator.type, MemRefType) else None

    def verify_(self) -> None:
        self.verify_form()
        for value, name, space in ((self.a, "a", Space.L0A), (self.b, "b", Space.L0B), (self.accumulator, "the accumulator", Space.L0C)):
            _tile(value, name, space)
        a, b, c = (shaped_type(x) for x in (self.a, self.b, self.accumulator))
        if a.get_element_type() != b.get_element_type():
            raise VerifyException(f"a is {a.get_element_type()} but b is {b.get_element_type()}")
        wide = accumulator_of(a.get_element_type())
        if c.get_element_type() != wide:
            raise VerifyException(f"accumulates {a.get_element_type()} in {wide}, got {c}")
        (m, k), (k_b, n), result = a.get_shape(), b.get_shape(), c.get_shape()
        if any(DYNAMIC not in (p, q) and p != q for p, q in ((k, k_b), (m, result[0]), (n, result[1]))):
            raise VerifyException(f"extents differ: a {show((m, k))}, b {show((k_b, n))}, accumulator {show(result)}")
        if self.result is not None and self.result.type != self.accumulator.type:
            raise VerifyException(f"the result is {self.result.type}, but the accumulator {self.accumulator.type}")


@irdl_op_definition
class CastOp(TileOp):
    """Convert the element type of a tile in the unified buffer: the only place where values are rounded."""

    name = "tile.cast"

    x = operand_def(TensorType | MemRefType)
    out = opt_operand_def(MemRefType)
    result = opt_result_def(TensorType)

    assembly_format = "$x (`into` $out^)? attr-dict `:` type($x) (`into` type($out)^)? (`to` type($result)^)?"

    def __init__(self, x: SSAValue, result: Tensor | None = None, out: SSAValue | None = None):
        super().__init__(operands=[x, out], result_types=[result])

    def verify_(self) -> None:
        self.verify_form()
        _tile(self.x, "x", Space.UB)
        _tile(self.tile_type(), "the result", Space.UB)
        x, result = shaped_type(self.x).get_shape(), self.tile_type().get_shape()
        if any(DYNAMIC not in (p, q) and p != q for p, q in zip(x, result, strict=True)):
            raise VerifyException(f"keeps the shape, but goes from {self.x.type} to {self.tile_type()}")


@irdl_op_definition
class FullOp(TileOp):
    """A tile of one value; `valid` names its extents."""

    name = "tile.full"

    valid = var_operand_def(IndexType)
    out = opt_operand_def(MemRefType)
    static_valid = prop_def(DenseArrayBase.constr(i64))
    value = prop_def(FloatAttr | IntegerAttr)
    result = opt_result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    custom_directives = (DynamicIndexList,)
    assembly_format = f"$value `valid` {_index_list('valid')} (`into` $out^)? attr-dict (`into` type($out)^)? (`to` type($result)^)?"

    def __init__(
        self,
        value: FloatAttr[Any] | IntegerAttr[Any],
        valid: Sequence[SSAValue | int],
        result: Tensor | None = None,
        out: SSAValue | None = None,
    ):
        dynamic, static = split_index_list(valid)
        super().__init__(operands=[dynamic, out], properties={"value": value, "static_valid": static}, result_types=[result])

    @property
    def mixed_valid(self) -> list[SSAValue | int]:
        """Valid rows and columns of the tile."""
        return join_index_list(self.valid, self.static_valid)

    def verify_(self) -> None:
        self.verify_form()
        _tile(self.tile_type(), "the tile", Space.UB)
        _check_index_list("valid extents", self.valid, self.static_valid, 2)
        _check_room("tile", self.static_valid, self.tile_type())
        if self.value.type != self.tile_type().get_element_type():
            raise VerifyException(f"value is {self.value.type}, but the tile is {self.tile_type()}")


@irdl_op_definition
class BroadcastOp(TileOp):
    """Repeat a row, a column or a single element of the unified buffer; `valid` names the extents of the result."""

    name = "tile.broadcast"

    x = operand_def(TensorType | MemRefType)
    valid = var_operand_def(IndexType)
    out = opt_operand_def(MemRefType)
    static_valid = prop_def(DenseArrayBase.constr(i64))
    result = opt_result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    custom_directives = (DynamicIndexList,)
    assembly_format = (
        f"$x `valid` {_index_list('valid')} (`into` $out^)? attr-dict `:` type($x) (`into` type($out)^)? (`to` type($result)^)?"
    )

    def __init__(self, x: SSAValue, valid: Sequence[SSAValue | int], result: Tensor | None = None, out: SSAValue | None = None):
        dynamic, static = split_index_list(valid)
        super().__init__(operands=[x, dynamic, out], properties={"static_valid": static}, result_types=[result])

    @property
    def mixed_valid(self) -> list[SSAValue | int]:
        """Valid rows and columns of the tile."""
        return join_index_list(self.valid, self.static_valid)

    def verify_(self) -> None:
        self.verify_form()
        _tile(self.x, "x", Space.UB)
        _tile(self.tile_type(), "the result", Space.UB)
        _check_index_list("valid extents", self.valid, self.static_valid, 2)
        _check_room("result", self.static_valid, self.tile_type())
        x, result = shaped_type(self.x), self.tile_type()
        if x.get_element_type() != result.get_element_type():
            raise VerifyException(f"keeps the element type, but goes from {x} to {result}")
        if any(DYNAMIC not in (p, q) and p not in (1, q) for p, q in zip(x.get_shape(), result.get_shape(), strict=True)):
            raise VerifyException(f"{x} cannot be repeated to {result}: each extent must be 1 or equal")


class TileElementwiseOp(ElementwiseOp, TileOp):
    """A function of the table on tiles in the unified buffer, which broadcast where an extent is 1."""

    out = opt_operand_def(MemRefType)
    result = opt_result_def(TensorType)

    def verify_(self) -> None:
        self.verify_form()
        type_ = self.tile_type()
        self.verify_element(type_.get_element_type())
        shapes: list[tuple[int, ...]] = []
        for i, x in enumerate(elementwise_operands(self)):
            _tile(x, f"operand #{i}", Space.UB)
            if shaped_type(x).get_element_type() != type_.get_element_type():
                raise VerifyException(f"operand #{i} is {x.type}, but the result is {type_}")
            shapes.append(shaped_type(x).get_shape())
        _tile(type_, "the result", Space.UB)
        if DYNAMIC not in {d for s in (*shapes, type_.get_shape()) for d in s} and broadcast(shapes) != type_.get_shape():
            raise VerifyException(f"operands {' and '.join(map(show, shapes))} do not broadcast to {show(type_.get_shape())}")


def _fields(function: Function) -> dict[str, Any]:
    names = operand_names(function)
    return {
        **{name: operand_def(TensorType | MemRefType) for name in names},
        "assembly_format": " `,` ".join(f"${name}" for name in names)
        + " (`into` $out^)? attr-dict `:` "
        + " `,` ".join(f"type(${name})" for name in names)
        + " (`into` type($out)^)? (`->` type($result)^)?",
    }


ELEMENTWISE: dict[str, type[TileElementwiseOp]] = define("tile", "", TileElementwiseOp, FUNCTIONS.values(), _fields)
"""The elementwise ops, by name in the table of functions; `expand-math` leaves native ones only."""


@irdl_op_definition
class ViewOp(IRDLOperation):
    """A tensor in global memory under another shape with the same elements in the same order: no cost."""

    name = "tile.view"

    source = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"

    def __init__(self, source: SSAValue, result: Tensor):
        super().__init__(operands=[source], result_types=[result])

    def verify_(self) -> None:
        source, result = tensor_type(self.source), tensor_type(self.result)
        for name, type_ in (("the source", source), ("the result", result)):
            _in(type_, name, Space.GM)
            if DYNAMIC in type_.get_shape():
                raise VerifyException(f"{name} must have a static shape, got {type_}")
        if source.get_element_type() != result.get_element_type() or source.element_count() != result.element_count():
            raise VerifyException(f"keeps the elements, but goes from {source} to {result}")


@irdl_op_definition
class StoreOp(IRDLOperation):
    """Write the valid elements of a tile to global memory at `offsets`: rows and columns are the two last dimensions there."""

    name = "tile.store"

    tile = operand_def(TensorType | MemRefType)
    into = operand_def(TensorType | MemRefType)
    offsets = var_operand_def(IndexType)
    static_offsets = prop_def(DenseArrayBase.constr(i64))

    custom_directives = (DynamicIndexList,)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = f"$tile `into` $into `` {_index_list('offsets')} attr-dict `:` type($tile) `into` type($into)"

    def __init__(self, tile: SSAValue, into: SSAValue, offsets: Sequence[SSAValue | int]):
        dynamic, static = split_index_list(offsets)
        super().__init__(operands=[tile, into, dynamic], properties={"static_offsets": static})

    @property
    def mixed_offsets(self) -> list[SSAValue | int]:
        """One offset for each dimension of the destination, in elements."""
        return join_index_list(self.offsets, self.static_offsets)

    def verify_(self) -> None:
        _verify_one_kind((self.tile, self.into))
        _tile(self.tile, "the tile", Space.UB)
        _global(self.into, "the destination")
        _same_element(self.tile, self.into)
        _check_index_list("offsets", self.offsets, self.static_offsets, len(shaped_type(self.into).get_shape()))


def schedule_of(kernel: Operation) -> ScheduleAttr | None:
    """The schedule of a kernel function, if it has one."""
    attribute = kernel.attributes.get(SCHEDULE_ATTRIBUTE)
    return attribute if isinstance(attribute, ScheduleAttr) else None


TILE = Dialect(
    "tile",
    [ForallOp, LoadOp, MoveOp, UndefOp, MmadOp, CastOp, FullOp, BroadcastOp, *ELEMENTWISE.values(), ViewOp, StoreOp],
    [ScheduleAttr],
)
