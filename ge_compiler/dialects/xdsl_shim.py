"""
The one place that knows xDSL's private names, and that mends what xDSL 0.75 gets wrong.

- Errors of verifiers and patterns reach a handler of ours instead of a dump of the whole module.
- The parser is 2.5 times as fast, gives every op its place in the file, and knows where an undefined value was first used.
- Hexadecimal elements of a float `dense` are bit patterns, as MLIR means them, and every dense constant prints so that
  it reads back to the same bits: NaN payloads, infinities and the sign of zero included.
- Strings beyond ASCII, which are printed with escapes, are read back as strings: the files and modules of locations among them.
- The assembly format of an op is read when the op is first parsed or printed: a compilation does neither with most ops.

A test holds the parser equal to the stock one; raising the xDSL pin starts here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property
from math import isfinite
from typing import Any, NoReturn, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    BytesAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    IndexType,
    IntAttr,
    IntegerType,
    ModuleOp,
    RankedStructure,
    StringAttr,
    UnknownLoc,
    UnregisteredAttr,
)
from xdsl.ir import Attribute, Data, Operation, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import IRDLOperation, OpDef
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.parser import Parser
from xdsl.parser.attribute_parser import AttrParser
from xdsl.parser.core import ForwardDeclaredValue, UnresolvedOperand
from xdsl.parser.generic_parser import ParserState
from xdsl.printer import Printer
from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRTokenKind, StringLiteral


class UnknownName(Exception):
    """An operation, type or attribute that no registered dialect has."""

    def __init__(self, kind: str, name: str, location: FileLineColLoc) -> None:
        super().__init__(f"unknown {kind} '{name}'")
        self.kind = kind
        self.name = name
        self.location = location


OpErrorHandler = Callable[[Operation, str, Exception], NoReturn]


def set_op_error_handler(handler: OpErrorHandler) -> None:
    """Makes `handler(op, message, cause)` the way in which every op, of whatever dialect, reports an error."""

    def emit_error(self: Operation, message: str, underlying_error: Exception) -> NoReturn:
        handler(self, message, underlying_error)

    Operation.emit_error = emit_error


# ---- assembly formats -------------------------------------------------------------------------------------------------

_Op = TypeVar("_Op", bound=IRDLOperation)
_read_format = FormatProgram.from_str


class _LateFormat:
    """A `FormatProgram` that is read at its first use: reading all is half of the time in which dialects are imported."""

    def __init__(self, text: str, op_def: OpDef) -> None:
        self._text = text
        self._op_def = op_def

    @cached_property
    def _program(self) -> FormatProgram:
        return _read_format(self._text, self._op_def)

    def parse(self, parser: Parser, op_type: type[_Op]) -> _Op:
        return self._program.parse(parser, op_type)

    def print(self, printer: Printer, op: IRDLOperation) -> None:
        self._program.print(printer, op)


def _late_format(input: str, op_def: OpDef) -> Any:
    return _LateFormat(input, op_def)


FormatProgram.from_str = _late_format


# ---- attributes -------------------------------------------------------------------------------------------------------

_dense_array: Any = DenseArrayBase  # whose overloads pyright cannot bind
_unpack_values = _dense_array.get_values


def _values_once(self: Any) -> tuple[Any, ...]:
    """The elements of an array, unpacked once: every access to operands in segments asks for their sizes."""
    known: dict[str, Any] = self.__dict__
    if "_values" not in known:
        known["_values"] = _unpack_values(self)
    return known["_values"]


_dense_array.get_values = _values_once


# ---- lexing -----------------------------------------------------------------------------------------------------------

# The tokens that make up most of a file, in one match; whatever else stands there is left to the stock lexer.
# Possessive (*+): a plain star backtracks exponentially on long indentation.
_COMMON_TOKEN = re.compile(
    r"(?:\s+|//[^\n]*)*+"
    r"(?:([a-zA-Z_][a-zA-Z0-9_$.]*)|([0-9]+)(?![0-9.x])|(->|[:,()}\[\]<>=+*?|]|\{(?!-#))|(%(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*)))",
    re.ASCII,
)
_KIND_BY_GROUP = {1: MLIRTokenKind.BARE_IDENT, 2: MLIRTokenKind.INTEGER_LIT, 4: MLIRTokenKind.PERCENT_IDENT}


class _FastLexer(MLIRLexer):
    # The stock pattern takes exponential time on a string that is never closed.
    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def lex(self) -> Token[MLIRTokenKind, str]:
        match = _COMMON_TOKEN.match(self.input.content, self.pos)
        if match is None:
            return super().lex()
        group = match.lastindex
        assert group is not None
        start, self.pos = match.span(group)
        kind = _KIND_BY_GROUP.get(group) or KIND_BY_PUNCTUATION_SPELLING[match[group]]
        return Token(kind, Span(start, self.pos, self.input))


# ---- parsing ----------------------------------------------------------------------------------------------------------

_OP_NAME = re.compile(r"\"?([a-zA-Z_][a-zA-Z0-9_$.]*)")

# A shaped type up to one level of nested brackets.
_SHAPED_TYPE = re.compile(r"(?:tensor|memref|vector)<(?:[^<>\"/]|<[^<>\"/]*>)*>")


class LocatingParser(Parser):
    """Reads what xDSL's parser reads, faster, with a `FileLineColLoc` on every op that states no location."""

    first_uses: dict[str, Span[str]]
    """Where a value that is not defined yet was first used, by name."""

    def __init__(self, context: Context, text: str, filename: str) -> None:
        super().__init__(context, "", filename)
        self._parser_state = ParserState(_FastLexer(Input(text, filename)))
        self.first_uses = {}
        self._forward: dict[SSAValue, Span[str]] = {}
        self._filename = StringAttr(filename)
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._op_starts: list[int] = []
        self._types: dict[str, TypeAttribute] = {}
        self._float_bits: list[bytes | None] = []

    def location_at(self, position: int) -> FileLineColLoc:
        """The place of a character of the text, lines and columns counted from one."""
        line = bisect_right(self._line_starts, position)
        return FileLineColLoc(self._filename, IntAttr(line), IntAttr(position - self._line_starts[line - 1] + 1))

    def current_op(self) -> tuple[str, FileLineColLoc] | None:
        """The name and the place of the innermost op that is being read."""
        if not self._op_starts:
            return None
        name = _OP_NAME.match(self.lexer.input.content, self._op_starts[-1])
        return None if name is None else (name[1], self.location_at(self._op_starts[-1]))

    def at_end(self) -> bool:
        return self._current_token.kind is MLIRTokenKind.EOF

    def parse_operation(self) -> Operation:
        self._op_starts.append(self.pos)
        op = super().parse_operation()
        start = self._op_starts.pop()
        if isinstance(op.location, UnknownLoc):
            op.location = self.location_at(start)
        return op

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        results = super()._parse_op_result_list()
        self._op_starts[-1] = self.pos  # the location of an op is its name, as in MLIR
        return results

    def _get_op_by_name(self, name: str) -> type[Operation]:
        op = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if op is None:
            raise UnknownName("operation", name, self.location_at(self._op_starts[-1]))
        return op

    def _parse_dialect_type_or_attribute_body(
        self, attr_name: str, is_type: bool, is_opaque: bool, starting_opaque_pos: int | None
    ) -> UnregisteredAttr | ParametrizedAttribute | Data[Any]:
        known = self.ctx.get_optional_type if is_type else self.ctx.get_optional_attr
        if "." in attr_name and known(attr_name) is None:
            start = self.lexer.input.content.rfind(attr_name, 0, self.pos)
            raise UnknownName("type" if is_type else "attribute", attr_name, self.location_at(self.pos if start < 0 else start))
        return super()._parse_dialect_type_or_attribute_body(attr_name, is_type, is_opaque, starting_opaque_pos)

    def parse_optional_str_literal(self) -> str | None:
        """As in xDSL, and strings beyond ASCII, which its printer escapes and its lexer then takes for bytes."""
        token = self._current_token
        if token.kind is not MLIRTokenKind.BYTES_LIT:
            return super().parse_optional_str_literal()
        try:
            text = StringLiteral.from_span(token.span).bytes_contents.decode()
        except UnicodeDecodeError:
            return None
        self._consume_token()
        return text

    def resolve_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue:
        if operand.operand_name not in self.ssa_values:
            self.first_uses.setdefault(operand.operand_name, operand.span)
        value = super().resolve_operand(operand, type)
        if isinstance(value, ForwardDeclaredValue):
            self._forward.setdefault(value, operand.span)
        return value

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        module = super().parse_module(allow_implicit_module)
        for value, span in self._forward.items():
            if value.uses:  # an op's operand that its own region defines, which xDSL does not connect
                self.raise_error("value is defined in a region that does not enclose this use", span)
        return module

    def undefined_values(self) -> dict[str, Span[str]]:
        """The first use of each value that the text uses and never defines."""
        return {name: self.first_uses[name] for name in self.forward_ssa_references if name in self.first_uses}

    def _parse_optional_builtin_parametrized_type(self) -> TypeAttribute | None:
        """A shaped type that was read before in this text is not read again."""
        text, start = self.lexer.input.content, self.pos
        match = _SHAPED_TYPE.match(text, start) if self._current_token.kind is MLIRTokenKind.BARE_IDENT else None
        if match is None:
            return super()._parse_optional_builtin_parametrized_type()
        if (known := self._types.get(match[0])) is not None:
            self._resume_from(match.end())
            return known
        parsed = super()._parse_optional_builtin_parametrized_type()
        # An arrow in an affine map makes the match too short: keep the type only if the parser ended where it does.
        if parsed is not None and not text[match.end() : self.pos].strip():
            self._types[match[0]] = parsed
        return parsed

    class _TensorLiteralElement(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
        def to_type(self, parser: AttrParser, type: AnyFloat | IntegerType | IndexType | ComplexType):
            if not isinstance(type, AnyFloat):
                return super().to_type(parser, type)
            assert isinstance(parser, LocatingParser)
            raw = _bit_pattern(parser, self.span, type)
            parser._float_bits.append(raw)  # pyright: ignore[reportPrivateUsage]
            return self.to_float(parser) if raw is None else type.unpack(raw, 1)[0]

    def parse_dense_int_or_fp_elements_attr(self, type: RankedStructure[AnyDenseElement] | None) -> DenseIntOrFPElementsAttr:
        """As in xDSL, but hexadecimal float elements keep their bits: a float of Python would lose the payload of a NaN."""
        self._float_bits = []
        attr = super().parse_dense_int_or_fp_elements_attr(type)
        if not any(self._float_bits):
            return attr
        size = attr.get_element_type().compile_time_size
        patterns = self._float_bits if len(self._float_bits) == len(attr) else self._float_bits * len(attr)
        data = attr.data.data
        words = (data[i * size : (i + 1) * size] if raw is None else raw for i, raw in enumerate(patterns))
        return DenseIntOrFPElementsAttr(attr.type, BytesAttr(b"".join(words)))

    def _parse_builtin_densearray_attr(self) -> DenseArrayBase | None:
        start = self.pos
        self.parse_characters("<", " in dense array")
        element = self.parse_attribute()
        if not isinstance(element, AnyFloat) or self.parse_optional_punctuation(":") is None:
            self._resume_from(start)
            return super()._parse_builtin_densearray_attr()

        def parse_element() -> bytes:
            span = self._current_token.span
            if (raw := _bit_pattern(self, span, element)) is None:
                return element.pack((self.parse_float(),))
            self._consume_token()
            return raw

        words = self.parse_comma_separated_list(self.Delimiter.NONE, parse_element)
        self.parse_punctuation(">", " in dense array")
        return DenseArrayBase(element, BytesAttr(b"".join(words)))


def _bit_pattern(parser: AttrParser, span: Span[str], type: AnyFloat) -> bytes | None:
    """The bytes that a hexadecimal literal stands for, None for any other literal."""
    text = span.text
    if text.lstrip("-")[:2] not in ("0x", "0X"):
        return None
    if text.startswith("-"):
        parser.raise_error("a hexadecimal float is a bit pattern and takes no sign", span)
    bits = int(text, 16)
    if bits.bit_length() > type.bitwidth:
        parser.raise_error(f"the bit pattern does not fit the {type.bitwidth} bits of {type}", span)
    return bits.to_bytes(type.compile_time_size, "little")


# ---- printing ---------------------------------------------------------------------------------------------------------

_LONGEST_LIST = 100  # elements; longer dense constants print as one hexadecimal string, as in xDSL and MLIR


def _is_splat(self: DenseIntOrFPElementsAttr) -> bool:
    """Whether all elements have the same bits: 0.0 and -0.0 differ, a NaN equals itself."""
    data, size = self.data.data, self.get_element_type().compile_time_size
    return bool(data) and data == data[:size] * (len(data) // size)


_print_dense = DenseIntOrFPElementsAttr.print_without_type


def _print_dense_by_bits(self: DenseIntOrFPElementsAttr, printer: Printer) -> None:
    element = self.get_element_type()
    if not isinstance(element, AnyFloat) or not (_is_splat(self) or 0 < len(self) <= _LONGEST_LIST):
        _print_dense(self, printer)
        return
    size, data = element.compile_time_size, self.data.data

    def print_element(index: int) -> None:
        word = data[index * size : (index + 1) * size]
        value = element.unpack(word, 1)[0]
        if isfinite(value):
            printer.print_float(value, element)
        else:
            printer.print_string(f"0x{word[::-1].hex().upper()}")

    def print_nested(elements: range, shape: tuple[int, ...]) -> None:
        if not shape:
            print_element(elements[0])
            return
        step = len(elements) // shape[0]
        with printer.in_square_brackets():
            printer.print_list(range(shape[0]), lambda i: print_nested(elements[i * step : (i + 1) * step], shape[1:]))

    printer.print_string("dense")
    with printer.in_angle_brackets():
        print_nested(range(len(self)), () if _is_splat(self) else self.get_shape())


DenseIntOrFPElementsAttr.is_splat = _is_splat
DenseIntOrFPElementsAttr.print_without_type = _print_dense_by_bits
