"""The published timings, their programs and the constants that rest on them; no time of this machine is looked at."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from statistics import median

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import itertools

import calibration
from calibration import LARGE, LEFT_OUT_LIMIT, LIMIT, Row, changed, modelled, read_rows, without
from published import programs
from published.attention import attention
from published.programs import Tiles
from published.rows import CASES, PARAMETERS, TITLES
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from ge_compiler.dialects import context
from ge_compiler.dialects.target import TARGET_ATTRIBUTE, load_target
from ge_compiler.dialects.target_timing import Confidence
from ge_compiler.tools.opt.pass_manager import PassManager

ROWS = read_rows()


@pytest.fixture(scope="module")
def errors() -> dict[Row, float]:
    return {row: row.error(modelled(row)) for row in ROWS}


def test_every_row_has_a_program_and_every_program_a_row() -> None:
    assert len(ROWS) == 40
    assert {(row.op, row.shape, row.chip) for row in ROWS} == set(CASES)
    assert {row.source for row in ROWS} == set(TITLES)


def test_a_table_holds_what_its_first_evidence_says_and_calls_it_calibrated() -> None:
    timing = load_target("Ascend910B1").timing
    assert timing is not None
    for parameter in PARAMETERS:
        for key, unit in parameter.entries:
            assert timing.value(key, unit) == Fraction(str(parameter.evidence[0].value)), (key, unit)
    calibrated = {constant.key for constant in timing.by_confidence()[Confidence.CALIBRATED]}
    assert calibrated <= {key for parameter in PARAMETERS for key, _ in parameter.entries}


def test_rows_that_fix_constants_name_them() -> None:
    keys = {key for parameter in PARAMETERS for key, _ in parameter.entries}
    for row in ROWS:
        assert row.predicted or any(key in row.case.fixes for key in keys), row.op


def test_predicted_rows_are_close(errors: dict[Row, float]) -> None:
    predicted = {row: abs(error) for row, error in errors.items() if row.predicted}
    assert len(predicted) == 30
    assert median(predicted.values()) <= LIMIT
    assert all(error <= LARGE or row.case.reason for row, error in predicted.items())


def test_variants_of_a_program_keep_their_order(errors: dict[Row, float]) -> None:
    for op in ("gemm", "matmul", "datacopy_302MB", "datacopy_L2reuse_1208MB", "add"):
        for chip in {row.chip for row in ROWS if row.op == op}:
            rows = sorted((row for row in ROWS if row.op == op and row.chip == chip), key=lambda row: row.measured)
            times = [row.measured * (1 + errors[row]) for row in rows]
            assert all(b > 0.999 * a for a, b in itertools.pairwise(times)), (op, chip, times)


def test_rows_are_predicted_from_other_sources() -> None:
    absences = [without(source, ROWS) for source in TITLES]
    assert sum(len(absence.errors) for absence in absences) >= 25
    assert all(median(map(abs, a.errors.values())) <= LEFT_OUT_LIMIT for a in absences if a.errors)
    missing = {TITLES[a.source]: a.undetermined for a in absences}
    assert missing["asc-devkit add"] == ["moves.gm_ub latency", "moves.ub_gm rate", "hbm.mixed gb_s"]
    assert missing["pto-isa unit tests"] == []


@pytest.mark.parametrize(
    "kernel",
    [
        programs.product(512, 512, 512, (2, 2), Tiles(128, 256, 256, 64, 2)),
        programs.product(512, 1024, 512, (2, 2), Tiles(64, 256, 256, 64, 2, 2)),
        programs.product(256, 256, 256, (1, 1), Tiles(64, 64, 64, 64, 1)),
        programs.sums(1, 2),
        programs.sums(2, 2),
        attention(1024, 1, 24),
        attention(2048, 3, 24),
    ],
)
def test_programs_that_are_written_out_have_the_flags_that_they_need(kernel: FuncOp, tmp_path: Path) -> None:
    chip = tmp_path / "roomy.toml"
    chip.write_text('based_on = "Ascend910B2"\nname = "Roomy"\nsummary = "wide lanes"\n[spaces.ub]\nbytes = 262144\nalignment = 32\n')
    module = ModuleOp([kernel.clone()], {TARGET_ATTRIBUTE: StringAttr(str(chip))})
    PassManager("verify-sync").run(context(), module)


def test_another_constant_gives_another_time() -> None:
    row = next(row for row in ROWS if row.shape.startswith("6144"))
    slow = {("moves.gm_l1", "rate"): Fraction(46)}
    assert modelled(row, slow) > 1.5 * modelled(row)
    target = load_target("Ascend910B1")
    assert changed(target, {}) == target


def test_the_report_says_what_is_predicted_and_what_is_not() -> None:
    text = calibration.report(markdown=True)
    assert text == calibration.report(markdown=True)
    assert sum(" | predicted | " in line for line in text.splitlines()) == 30
    assert sum(" | fixes " in line for line in text.splitlines()) == 10
    assert "MISSED" not in text


def test_the_page_on_the_model_shows_these_times(errors: dict[Row, float]) -> None:
    page = (Path(__file__).parents[2] / "docs/timing-model.md").read_text()
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    shown = {cells[0]: cells for cells in lines if len(cells) == 6}
    for row, cells in zip(ROWS, calibration.row_lines(ROWS, {r: r.measured * (1 + e) for r, e in errors.items()}), strict=True):
        documented = shown[cells[0]]
        assert [documented[1], *documented[4:]] == [cells[1], *cells[4:]]
        assert float(documented[2]) == pytest.approx(row.measured * (1 + errors[row]), rel=0.02), row
