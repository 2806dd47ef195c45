"""gec compare: a row a level, bits where the rule asks for bits, and what happens when it is broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import ge_compiler as ge
from ge_compiler.dialects import LEVELS

Gec = Callable[..., Any]

TINY = ("models.py:Tiny", "--input", "x=f16[5,24]")


def test_a_row_for_every_level(gec: Gec) -> None:
    outcome = gec("compare", *TINY, "--levels", "all")
    assert outcome.status == 0
    rows = [line.split() for line in outcome.out.splitlines() if line.split() and line.split()[0] in LEVELS]
    assert [row[0] for row in rows] == list(LEVELS)
    assert ["identical" in row for row in rows] == [False, False, False, True, True]
    assert "PyTorch's own error" in outcome.out


def test_rows_as_json(gec: Gec) -> None:
    result = json.loads(gec("compare", "models.py:Two", "--input", "x=f16[5,8]", "--input", "y=f16[8]", "--format=json").out)
    assert result["within"] is True
    assert [(row["level"], row["output"]) for row in result["rows"]] == [(level, y) for level in LEVELS for y in ("y0", "y1")]
    assert {row["identical_to_above"] for row in result["rows"] if row["level"] in ("buf", "npu")} == {True}


def test_some_levels(gec: Gec) -> None:
    result = json.loads(gec("compare", *TINY, "--levels", "tile,ge", "--format=json").out)
    assert [row["level"] for row in result["rows"]] == ["ge", "tile"]


def test_levels_below_the_last_one_asked_for_are_not_made(gec: Gec) -> None:
    outcome = gec("compare", "models.py:Counter", "--input", "x=f16[4]", "--input", "row=i64[1]", "--levels", "ge")
    assert outcome.status == 0, outcome.err
    assert [line.split()[:2] for line in outcome.out.splitlines() if line.startswith("  ge")] == [["ge", y] for y in ("y", "calls", "rows")]


def test_states_are_compared_at_every_level(gec: Gec) -> None:
    outcome = gec("compare", "models.py:Counter", "--input", "x=f16[4]", "--input", "row=i64[1]", "--format=json")
    assert outcome.status == 0, outcome.err
    rows = json.loads(outcome.out)["rows"]
    assert [(row["level"], row["output"]) for row in rows] == [(level, name) for level in LEVELS for name in ("y", "calls", "rows")]


NESTED = ("pair.1=f16[4,3]", "rest.1=f16[3]", "rest.0=f16[3]", "named.bias=f16[3]", "pair.0=f16[2,4]")


def test_inputs_nest(gec: Gec) -> None:
    inputs = [argument for text in NESTED for argument in ("--input", text)]
    outcome = gec("compare", "models.py:Nested", *inputs, "--levels", "ge,npu")
    assert outcome.status == 0, outcome.err
    assert gec("compile", "models.py:Nested", *inputs, "-o", "m.om").status == 0
    outcome = gec("run", "m.om", "--golden", "torch")
    assert outcome.status == 0, outcome.err
    assert "--input 'rest.0=f16[3]' --input 'rest.1=f16[3]'" in outcome.out


def test_close_decisions_are_left_out_and_counted(gec: Gec) -> None:
    outcome = gec("compare", "models.py:Decides", "--input", "x=f16[256,64]", "--levels", "ge,tile", "--format=json")
    assert outcome.status == 0, outcome.out
    rows = json.loads(outcome.out)["rows"]
    assert [0 < row["left_out"] < row["elements"] / 10 for row in rows] == [True, False] * 2
    assert "left out" in gec("compare", "models.py:Decides", "--input", "x=f16[256,64]", "--levels", "ge").out


def test_f32_may_run_in_f16_within_the_tolerance_of_f16(gec: Gec) -> None:
    outcome = gec("compare", "models.py:Tiny", "--input", "x=f32[5,24]", "--precision-mode=allow_fp32_to_fp16", "--format=json")
    assert outcome.status == 0, outcome.err
    assert {row["dtype"] for row in json.loads(outcome.out)["rows"]} == {"f16"}


def test_a_broken_rule_is_status_3_and_names_the_level(gec: Gec, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ge.Program.run

    def wrong_bits(program: ge.Program, inputs: Any, level: str) -> Any:
        outputs = run(program, inputs, level)
        if level == "npu":
            outputs[0].view("uint16")[0, 0] ^= 1
        return outputs

    monkeypatch.setattr(ge.Program, "run", wrong_bits)
    outcome = gec("compare", *TINY)
    assert outcome.status == 3
    assert "npu, y: differs from the level above" in outcome.out
    assert "DIFFERENT" in outcome.out
