"""Tests of ge-opt's options, its listings, and what it says to a command line that cannot be carried out."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import ReturnOp
from xdsl.passes import ModulePass

from ge_compiler.dialects.diagnostics import remark
from ge_compiler.lowering import pipelines
from ge_compiler.lowering.pipelines import Pipeline, Step
from ge_compiler.tools.opt import pass_manager

GeOpt = Callable[..., SimpleNamespace]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-p", "canonicalise"], "unknown pass 'canonicalise' (did you mean 'canonicalize'?); --show-passes lists passes and pipelines"),
        (["-p", "to-tiles"], "unknown pass 'to-tiles' (did you mean 'to-tile'?)"),
        (["-p", "cse{x=1}"], "pass 'cse' has no option 'x'; it takes no options"),
        (["-p", "verify-sync{cores=0}"], "pass 'verify-sync': cores must be at least 1, got 0"),
        (["-p", "verify-sync{trips=0,-1}"], "pass 'verify-sync': trips cannot be negative, got -1"),
        (["-p", "group-kernels{max-ops=0}"], "pass 'group-kernels': max-ops must be at least 1, got 0"),
        (["-p", "to-tile{x=1}"], "pipeline 'to-tile' takes no options"),
        (["-p", "cse,"], "in the pipeline at column 5: expected the name of a pass\n  cse,\n      ^"),
        (["--pass-pipeline=builtin.module(func.func(cse))"], "in the pipeline at column 25: passes run on the whole module"),
        (["--pass-pipeline=builtin.module(cse"], "in the pipeline at column 19: expected ',' or the ')' that closes 'builtin.module('"),
        (["-p", "cse", "--pass-pipeline=cse"], "argument --pass-pipeline: not allowed with argument -p/--passes"),
        (["--target", "ascend910a"], "unknown target 'ascend910a' (did you mean 'Ascend910A'?)"),
        (["--show-pipeline", "to-bud"], "unknown pipeline 'to-bud' (did you mean 'to-buf'?)"),
        (["--mlir-print-ir-after=cs", "-p", "cse"], "unknown pass 'cs' (did you mean 'cse'?)"),
        (["--verify-diagnostic"], "unrecognized arguments: --verify-diagnostic (did you mean '--verify-diagnostics'?)"),
        (["-o"], "argument -o/--output: expected one argument"),
    ],
)
def test_a_wrong_command_line_exits_with_2_and_a_hint(ge_opt: GeOpt, arguments: list[str], message: str) -> None:
    result = ge_opt(*arguments)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(f"ge-opt: error: {message}")


def test_listings(ge_opt: GeOpt) -> None:
    assert "canonicalize" in ge_opt("--show-passes").out
    assert "to-npu" in ge_opt("--show-passes").out
    assert ge_opt("--show-dialects").out.startswith("arith ")
    assert ge_opt("--show-targets").out.startswith("Ascend910A ")
    assert ge_opt("--show-pipeline", "to-npu").status == 0


def test_the_target_is_recorded_and_overrides(ge_opt: GeOpt) -> None:
    result = ge_opt("--target", "Ascend910A", stdin='builtin.module attributes {ge.target = "other"} {}')
    assert 'attributes {ge.target = "Ascend910A"}' in result.out


def test_debug_information(ge_opt: GeOpt, tmp_path: Path) -> None:
    source = tmp_path / "in.mlir"
    source.write_text("func.func @f() {\n  func.return\n}")
    assert f'func.return loc("{source}":2:3)' in ge_opt(str(source), "--mlir-print-debuginfo").out


def test_a_split_input_keeps_its_lines_and_its_good_pieces(ge_opt: GeOpt) -> None:
    result = ge_opt("--split-input-file", stdin="builtin.module @a {}\n// -----\nfoo.bar\n// ----- more\nbuiltin.module @b {}\n")
    assert result.status == 1
    assert result.err.startswith("<stdin>:3:1: error: unknown operation 'foo.bar'")
    assert result.out == "builtin.module @a {\n}\n// -----\nbuiltin.module @b {\n}\n"


@pytest.mark.parametrize(
    ("text", "report"),
    [
        ("func.func @f() {\n  foo.bar // expected-error {{of no known dialect}}\n}", ""),
        (
            "foo.bar // expected-error {{something else}}",
            "<stdin>:1:1: error: unexpected error: unknown .*\n(.*\n)*.*:1:12: error: expected error",
        ),
        ("foo.bar // expected-warning {{unknown}}", "(.*\n)*.*unexpected error(.*\n)*.*expected warning"),
        ("// expected-error@+2 {{never}}\n", '<stdin>:1:4: error: expected error "never" was not produced\n'),
        ("// expected-error@below 2 {{of no}}\nfoo.bar", '<stdin>:1:4: error: expected error "of no" was not produced\n'),
        ("foo.bar\n// expected-error-re@-1 {{^unknown op.*dialect}}", ""),
        ("// expected-error@above oops", "<stdin>:1:4: error: cannot read this expectation"),
        ("foo.bar", "<stdin>:1:1: error: unexpected error: unknown operation 'foo.bar'"),
    ],
)
def test_expected_diagnostics(ge_opt: GeOpt, text: str, report: str) -> None:
    result = ge_opt("--verify-diagnostics", stdin=text)
    assert result.status == (1 if report else 0)
    assert re.match(report, result.err) if report else result.err == "", result.err


# ---- passes made up for the tests -------------------------------------------------------------------------------------


class StampPass(ModulePass):
    """Stamp the module."""

    name = "stamp"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes["stamped"] = UnitAttr()
        remark("stamp", op, "stamped", "was bare")


class InvalidatePass(ModulePass):
    """Leave an invalid module."""

    name = "invalidate"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.body.block.add_op(ReturnOp())


class BreakPass(ModulePass):
    """Break."""

    name = "break"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes["half_done"] = StringAttr("yes")
        raise KeyError("missing\nentry")


PASSES: dict[str, type[ModulePass]] = {made.name: made for made in (StampPass, InvalidatePass, BreakPass)}


@pytest.fixture(autouse=True)
def _made_up_passes(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    from ge_compiler.tools.opt import pipeline_text, registry

    real, load = registry.available_passes(), registry.load_pass
    monkeypatch.setattr(pass_manager, "available_passes", lambda: {**real, **dict.fromkeys(PASSES, ("", ""))})

    def load_made_up(name: str) -> type[ModulePass]:
        return PASSES.get(name) or load(name)

    monkeypatch.setattr(pipeline_text, "load_pass", load_made_up)


def test_a_pass_that_leaves_an_invalid_module_is_named(ge_opt: GeOpt) -> None:
    result = ge_opt("-p", "stamp,invalidate", "--mlir-print-ir-after-failure")
    assert result.status == 1
    assert "'func.return' op " in result.err
    assert "(after pass invalidate)" in result.err
    assert "IR Dump After invalidate Failed" in result.err
    assert ge_opt("-p", "invalidate", "--no-verify-each").status == 0


def test_a_pass_that_breaks_is_one_line(ge_opt: GeOpt, monkeypatch: pytest.MonkeyPatch) -> None:
    result = ge_opt("-p", "stamp,break")
    assert (result.status, result.out) == (1, "")
    assert (
        result.err
        == "ge-opt: internal error in pass break: KeyError: 'missing\\nentry'; please report it (GE_DEBUG=1 shows the traceback)\n"
    )
    monkeypatch.setenv("GE_DEBUG", "1")
    with pytest.raises(pass_manager.InternalError):
        ge_opt("-p", "break")


def test_remarks_are_printed_and_can_be_expected(ge_opt: GeOpt) -> None:
    text = "builtin.module {} // expected-remark {{[stamp] stamped: was bare}}"
    assert ge_opt("-p", "stamp", "--verify-diagnostics", stdin=text).status == 0
    assert ge_opt("-p", "cse", "--verify-diagnostics", stdin=text).status == 1
    assert ge_opt("-p", "stamp", "--remarks", stdin=text).err == "<stdin>:1:1: remark: [stamp] stamped: was bare\n"


def test_a_pipeline_starts_at_the_level_of_the_module(ge_opt: GeOpt) -> None:
    first = Pipeline("fused", "first", (Step("stamp", "it comes first"),))
    second = Pipeline("tile", "second", (Step("cse", "it comes second"),), first)
    with patch.dict(pipelines.PIPELINES, {"to-tile": second}):
        result = ge_opt("-p", "to-tile", "--mlir-print-ir-after-all")
        listing = ge_opt("--show-pipeline", "to-tile")
    assert [line for line in result.err.splitlines() if "Dump" in line] == [
        "// -----// IR Dump After stamp //----- //",
        "// -----// IR Dump After cse //----- //",
    ]
    assert listing.out == "stamp  it comes first\ncse    it comes second\n"
    assert [step.pass_spec for step in second.steps("fused")] == ["cse"]
    assert second.steps("tile") == second.steps("npu") == ()
