"""Tests of pipeline texts and of the options of passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ge_compiler.tools.opt import pipeline_text
from ge_compiler.tools.opt.pipeline_text import PassCall, build_pass, parse_pipeline
from ge_compiler.tools.opt.registry import PassOption, UsageError, class_name, pass_options


@dataclass(frozen=True)
class EveryOptionPass(ModulePass):
    """Take every kind of option."""

    name = "every-option"

    count: int
    """How many."""
    ratio: float = 0.5
    """How much."""
    mode: Literal["fast", "exact"] = "exact"
    """Which way."""
    deep: bool = False
    label: str = ""
    limit: int | None = None
    tiles: tuple[int, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@pytest.fixture(autouse=True)
def _one_pass(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    def load(name: str) -> type[ModulePass]:
        return EveryOptionPass

    monkeypatch.setattr(pipeline_text, "load_pass", load)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("", []),
        ("a", ["a"]),
        (" a , b{x=1 y=2} ", ["a", "b{x=1 y=2}"]),
        ("builtin.module(a,b{x})", ["a", "b{x}"]),
        ("builtin.module( builtin.module( a ) , b ),c", ["a", "b", "c"]),
        ("builtin.module()", []),
        ('a{f="x y" g=[1, 2] h=1,2 i=}', ['a{f="x y" g=[1, 2] h=1,2 i=}']),
        ("a{}", ["a"]),
    ],
)
def test_a_pipeline_and_its_text(text: str, calls: list[str]) -> None:
    assert [str(call) for call in parse_pipeline(text)] == calls


@pytest.mark.parametrize("text", ["a,,b", "a b", "a{x=1,y}z", "a{", "a)", "builtin.module(a", "func.func(a)", "{a}", "a{=1}"])
def test_a_malformed_pipeline_shows_its_place(text: str) -> None:
    with pytest.raises(UsageError, match=r"^in the pipeline at column \d+: (?s:.*)\n +\^$"):
        parse_pipeline(text)


def build(options: str) -> EveryOptionPass:
    (call,) = parse_pipeline(f"every-option{{{options}}}")
    made = build_pass(call)
    assert isinstance(made, EveryOptionPass)
    return made


def test_options_of_every_type() -> None:
    made = build('count=0x10 ratio=1e-3 mode=fast deep label="a b" limit=7 tiles=16,128')
    assert made == EveryOptionPass(16, 1e-3, "fast", True, "a b", 7, (16, 128))
    assert build("count=-1 ratio=2 deep=false limit=none label=x tiles=[4]") == EveryOptionPass(-1, 2.0, "exact", False, "x", None, (4,))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "pass 'every-option' needs its option 'count'"),
        ("count=many", "option 'count' of pass 'every-option' takes an integer, got 'many'"),
        ("count", "option 'count' of pass 'every-option' takes a value, got ''"),
        ("count=1 mode=exacd", r"takes one of fast, exact \(did you mean 'exact'\?\), got 'exacd'"),
        ("count=1 deep=2", "takes true or false, got '2'"),
        ("count=1 cound=2", r"has no option 'cound' \(did you mean 'count'\?\); its options are count, ratio, mode"),
        ("count=1 tiles=1,x", "takes an integer"),
    ],
)
def test_a_wrong_option_says_what_is_wanted(options: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build(options)


def test_options_are_documented_by_the_string_under_them() -> None:
    assert pass_options(EveryOptionPass)[:3] == [
        PassOption("count", "int", None, "How many."),
        PassOption("ratio", "float", "0.5", "How much."),
        PassOption("mode", "Literal['fast', 'exact']", "exact", "Which way."),
    ]


def test_names() -> None:
    assert class_name("convert_ge_to_fused") == "ConvertGeToFusedPass"
    assert str(PassCall("a", {"x": None, "y": "1"})) == "a{x y=1}"
