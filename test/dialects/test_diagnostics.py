"""Tests of what a user reads: places, excerpts, carets, notes, remarks."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
)
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern
from xdsl.utils.exceptions import PassFailedException

from ge_compiler.dialects.diagnostics import CompileError, Note, collect_remarks, did_you_mean, format_diagnostic, location_text, remark


def place(name: str, line: int, column: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr(name), IntAttr(line), IntAttr(column))


@pytest.mark.parametrize(
    ("location", "text"),
    [
        (UNKNOWN_LOC, "<unknown>"),
        (place("a.py", 3, 7), "a.py:3:7"),
        (NameLoc(StringAttr("linear"), place("a.py", 3, 7)), "a.py:3:7"),
        (NameLoc(StringAttr("linear"), NoneAttr()), "<unknown>"),
        (CallSiteLoc(place("callee.py", 1, 1), place("caller.py", 2, 2)), "callee.py:1:1"),
        (FusedLoc((UNKNOWN_LOC, place("b.py", 4, 1), place("c.py", 5, 1)), NoneAttr()), "b.py:4:1"),
    ],
)
def test_the_place_of_a_location(location: LocationAttr, text: str) -> None:
    assert location_text(location) == text


def test_an_error_shows_its_line_and_its_notes(tmp_path: Path) -> None:
    source = tmp_path / "model.py"
    source.write_text("x = 1\n\ty = f(x)\n")
    error = CompileError("no such f", place(str(source), 2, 6), (Note("x is here", place("<stdin>", 1, 1)), Note("and nowhere")))
    assert format_diagnostic(error, {"<stdin>": "x"}) == (
        f"{source}:2:6: error: no such f\n\ty = f(x)\n\t    ^\n<stdin>:1:1: note: x is here\nx\n^\nnote: and nowhere"
    )


def test_an_error_at_an_op_names_the_op_once() -> None:
    module = ModuleOp([])
    assert CompileError.at(module, "is empty").message == "'builtin.module' op is empty"
    assert CompileError.at(module, "'builtin.module' op is empty").message == "'builtin.module' op is empty"


def test_a_remark_reaches_the_innermost_collector() -> None:
    module = ModuleOp([])
    module.location = place("m.mlir", 1, 2)
    remark("p", module, "lost", "nobody listens")
    with collect_remarks() as outer:
        with collect_remarks() as inner:
            remark("fuse", module, "multi-use", "2 uses")
        remark("fuse", module, "capacity", "9 > 8")
    assert [str(entry) for entry in inner] == ["m.mlir:1:2: remark: [fuse] multi-use: 2 uses"]
    assert [entry.code for entry in outer] == ["capacity"]


class Failing(RewritePattern):
    def __init__(self, error: Exception) -> None:
        self.error = error

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        raise self.error


def test_a_pattern_that_fails_the_user_is_located_and_a_broken_one_is_not_disguised() -> None:
    with pytest.raises(CompileError, match=r"^error: 'builtin.module' op too large$"):
        PatternRewriteWalker(Failing(PassFailedException("too large"))).rewrite_module(ModuleOp([ModuleOp([])]))
    with pytest.raises(KeyError, match="oops"):
        PatternRewriteWalker(Failing(KeyError("oops"))).rewrite_module(ModuleOp([ModuleOp([])]))


def test_did_you_mean() -> None:
    assert did_you_mean("canonicalise", ["canonicalize", "cse"]) == " (did you mean 'canonicalize'?)"
    assert did_you_mean("ascend910a", ["Ascend910A"]) == " (did you mean 'Ascend910A'?)"
    assert did_you_mean("zzz", ["canonicalize"]) == ""
