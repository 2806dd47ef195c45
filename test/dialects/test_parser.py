"""Tests of parsing and verifying: the same modules as xDSL's own parser, places everywhere, faults as one located error."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest
from xdsl.dialects.builtin import BytesAttr, StringAttr, UnknownLoc
from xdsl.parser import Parser
from xdsl.printer import Printer

from ge_compiler import dialects
from ge_compiler.dialects.diagnostics import CompileError, location_text
from ge_compiler.dialects.parser import parse_module

PROGRAM = """\
#map = affine_map<(d0, d1) -> (d1, d0)>
!row = tensor<1x4xf32>  // a comment
builtin.module attributes {text = "a // \\n string", "quoted key" = [1 : i8, -2.5e-1 : f16, #map]} {
  func.func private @callee(memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>, !row) -> tensor<*xf16>
  func.func @main(%arg : i32, %m: memref<4x?xf32, strided<[8, 1], offset: ?>>) -> (i32, index) {
                              %c0 = arith.constant 0 : index
    %c1, %0 = "test.pair"() <{p = dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>}> : () -> (index, i32)
    %r = scf.for %i = %c0 to %c1 step %c1 iter_args(%acc = %arg) -> (i32) {
      %sum = arith.addi %acc, %0 : i32
      scf.yield %sum : i32
    }
    "cf.br"()[^next] : () -> ()
  ^next:
    func.return %r, %c1 : i32, index loc("model.py":7:3)
  }
}
"""


def test_reads_what_the_stock_parser_reads() -> None:
    ours, stock = dialects.context(), dialects.context()
    ours.allow_unregistered = stock.allow_unregistered = True
    mine = parse_module(PROGRAM, context=ours)
    theirs = Parser(stock, PROGRAM).parse_module()
    assert mine.is_structurally_equivalent(theirs)
    assert str(mine) == str(theirs)


def test_every_op_knows_its_place() -> None:
    context = dialects.context()
    context.allow_unregistered = True
    module = parse_module(PROGRAM, "p.mlir", context)
    places = {op.name: location_text(op.location) for op in module.walk()}
    assert not any(isinstance(op.location, UnknownLoc) for op in module.walk())
    assert places["scf.for"] == "p.mlir:8:10"  # the name of the op, not its results
    assert places["func.return"] == "model.py:7:3"


def test_an_empty_text_is_an_empty_module() -> None:
    assert str(parse_module(" // nothing\n")) == str(parse_module("builtin.module {}"))


WELL_FORMED = """\
#map = affine_map<(d0) -> (d0)>
builtin.module attributes {a = "x", b = [1 : i8, 2.5 : f16], c = dense<[0x7E00, 1.0]> : tensor<2xf16>} {
  func.func @main(%x: tensor<2x3xf32>, %m: memref<4xf32, #map>) -> tensor<2x3xf32> {
    %c0 = arith.constant 0 : index
    %s = scf.for %i = %c0 to %c0 step %c0 iter_args(%t = %x) -> (tensor<2x3xf32>) {
      scf.yield %t : tensor<2x3xf32>
    } loc("a.py":1:2)
    %v = "arith.addf"(%s, %x) <{fastmath = #arith.fastmath<none>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    func.return %v : tensor<2x3xf32>
  }
}
"""


LOCATED = r"cut\.mlir:\d+:\d+: error: [^ \n]"


def error_of(text: bytes) -> str | None:
    try:
        parse_module(text, "cut.mlir")
    except CompileError as error:
        return str(error)
    return None


def test_a_text_cut_at_any_byte_is_one_located_error() -> None:
    parse_module(WELL_FORMED)
    whole = WELL_FORMED.encode().rstrip()
    accepted: list[int] = []
    for cut in range(len(whole)):
        message = error_of(whole[:cut])
        if message is None:
            accepted.append(cut)
        else:
            assert re.match(LOCATED, message), (cut, message)
    first_line = WELL_FORMED.index("builtin.module")
    assert all(cut <= first_line for cut in accepted), accepted  # an alias alone is a valid, empty module


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f() {\n  %0 = arith.adi %a, %b : i32\n}", "t:2:8: error: unknown operation 'arith.adi' (did you mean 'arith.andi'?)"),
        ("fun.return", "t:1:1: error: unknown operation 'fun.return' of no known dialect (did you mean 'func'?)"),
        ("func.func private @f(!arith.integer)", "t:1:23: error: unknown type 'arith.integer'"),
        ("func.func @f() {\n  func.return %c : i32\n}", "t:2:15: error: use of undefined value '%c'"),
        ("func.func @f(%a: i32) {\n}", "t:1:1: error: 'func.func' op has an empty block where a terminator is expected"),
        (
            "func.func @f(%a: i32) {\n  %0 = arith.addi %a, %a : i32\n}",
            "t:2:8: error: 'arith.addi' op terminates block in single-block region but is not a terminator",
        ),
        ("func.func @f() -> i32 {\n  func.return\n}", "t:2:3: error: 'func.return' op Expected arguments"),
        (
            "func.func @f(%a: tensor<2x3xf16>, %b: tensor<5x3xf16>) {\n"
            "  %0 = ge.MatMulV2 %a, %b {transpose_x3} : (tensor<2x3xf16>, tensor<5x3xf16>) -> tensor<2x5xf16>\n}",
            "t:2:8: error: 'ge.MatMulV2' op has no attribute 'transpose_x3' (did you mean 'transpose_x",
        ),
        ("func.func @f() {", "t:1:17: error: expected an operation or '}'"),
        ("\n  1", "t:2:3: error: expected an operation, found '1'"),
        ("func.func @f(%a: i32, %a: i32) {}", "t:1:23: error: SSA value %a is already defined"),
    ],
)
def test_a_fault_is_located_and_says_what_to_do(text: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        parse_module(text, "t")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("level", ["ge", "fused", "tile", "npu"])
def test_a_cut_program_of_any_level_is_an_error_not_a_crash(level: str) -> None:
    whole = Path(__file__).with_name(level).joinpath("ops.mlir").read_bytes()
    for cut in range(0, len(whole), 97):
        message = error_of(whole[:cut])
        assert message is None or re.match(LOCATED, message), (cut, message)


def test_an_attribute_of_another_dialect_is_carried_along() -> None:
    text = 'func.func @f(%a: tensor<2xf16>) {\n%0 = ge.Relu %a {my.note = "hot"} : (tensor<2xf16>) -> tensor<2xf16>\nfunc.return\n}'
    assert 'my.note = "hot"' in str(parse_module(text))


def test_text_that_is_not_utf8_is_an_error_at_its_place() -> None:
    with pytest.raises(CompileError, match=r"^t:2:3: error: this is not UTF-8 text$"):
        parse_module(b"//\n  \xff", "t")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "%0 = arith.addi %a, %1 : i32\n%1 = arith.addi %a, %0 : i32",
            r"t:2:6: error: 'arith.addi' op operand #1 is used before .*\n.*3:6: note",
        ),
        ("%0 = arith.addi %0, %a : i32", r"t:2:6: error: 'arith.addi' op operand #0 is used before it is defined"),
        (
            "scf.if %c {\n  %0 = arith.addi %a, %a : i32\n}\n%1 = arith.addi %0, %a : i32",
            r"t:5:6: error: use of undefined value|t:5:17: error: use of undefined value",
        ),
        (
            "%1 = arith.addi %late, %a : i32\nscf.if %c {\n  %late = arith.addi %a, %a : i32\n}",
            r"t:2:6: error: 'arith.addi' op operand #0 \(%late\) is defined in a region that does not enclose this use\n.*4:11: note",
        ),
        (
            "%i = arith.constant 0 : index\nscf.for %k = %i to %i step %late {\n  %late = arith.constant 1 : index\n}",
            r"t:3:28: error: value is defined in a region that does not enclose this use",
        ),
    ],
)
def test_a_value_is_defined_before_it_is_used(body: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        parse_module(f"func.func @f(%a: i32, %c: i1) {{\n{body}\nfunc.return\n}}", "t")


def test_strings_beyond_ascii_read_back_as_they_are_printed() -> None:
    text = 'builtin.module attributes {"n.ö" = "größe \\00 \\22"} {\n} loc("läyer"("dir \\22/ö.py":3:4))'
    module = parse_module(text, "t")
    stream = StringIO()
    Printer(stream, print_debuginfo=True).print_op(module)
    assert 'loc("l\\C3\\A4yer"("dir \\22/\\C3\\B6.py":3:4))' in stream.getvalue()
    again = parse_module(stream.getvalue(), "t")
    assert (again.location, again.attributes) == (module.location, module.attributes)
    assert module.attributes["n.ö"] == StringAttr('größe \0 "')


def test_bytes_that_are_no_string_stay_bytes() -> None:
    assert parse_module('builtin.module attributes {x = "\\FF"} {}').attributes["x"] == BytesAttr(b"\xff")


def test_a_use_in_a_nested_region_sees_what_encloses_it() -> None:
    text = "func.func @f(%a: i32, %c: i1) {\n%0 = arith.addi %a, %a : i32\nscf.if %c {\n%1 = arith.addi %0, %a : i32\n}\nfunc.return\n}"
    assert len([op for op in parse_module(text).walk() if op.name == "arith.addi"]) == 2


def test_a_definition_must_dominate_across_blocks() -> None:
    context = dialects.context()
    context.allow_unregistered = True
    branch = '"test.br"()[^left, ^right] : () -> ()'
    left = '^left:\n%v = "test.def"() : () -> i32\n"test.end"() : () -> ()'
    right = '^right:\n"test.use"(%v) : (i32) -> ()'
    text = f'"test.region"() ({{\n{branch}\n{left}\n{right}\n}}) : () -> ()'
    with pytest.raises(CompileError, match=r"t:7:1: error: 'test.use' op operand #0 \(%v\) is"):
        parse_module(text, "t", context)


def test_deep_nesting_is_an_error_not_a_crash() -> None:
    with pytest.raises(CompileError, match="nested too deeply"):
        parse_module("builtin.module {" * 5000)


def test_long_indentation_is_read_in_linear_time() -> None:
    text = "builtin.module {\n" + " " * 100_000 + '"test.op"() : () -> ()\n}'
    context = dialects.context()
    context.allow_unregistered = True
    assert len(list(parse_module(text, context=context).walk())) == 2


def test_a_string_that_is_never_closed_is_an_error_in_linear_time() -> None:
    with pytest.raises(CompileError, match=r"^t:1:35: error: end of file reached before closing string literal"):
        parse_module('builtin.module attributes {text = "' + "word " * 20_000, "t")


@pytest.mark.parametrize("text", ["", "func.func @f() {\n  func.return\n}"])
def test_a_module_that_is_not_written_is_where_its_file_begins(text: str) -> None:
    location = parse_module(text, "some.mlir").location
    assert str(location) == 'loc("some.mlir":1:1)'
