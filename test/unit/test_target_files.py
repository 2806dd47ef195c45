"""Table files of targets: the shipped ones, a user's own, and everything that can be wrong with one."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from ge_compiler.dialects.diagnostics import CompileError, location_text
from ge_compiler.dialects.memory import Space
from ge_compiler.dialects.target import available_targets, load_target
from ge_compiler.dialects.target_timing import Confidence

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_npu.toml"


@pytest.mark.parametrize("name", [*available_targets(), str(EXAMPLE)])
def test_every_target_moves_an_accumulator_to_the_unified_buffer_and_back_to_memory(name: str) -> None:
    target = load_target(name)
    assert target.cores >= 1
    assert all(target.route(*ends) for ends in ((Space.GM, Space.L0A), (Space.L0C, Space.UB), (Space.UB, Space.GM)))
    assert {path.unit for path in target.paths} <= set(target.units.values())


def test_a_users_chip_has_what_its_file_says() -> None:
    target = load_target(str(EXAMPLE))
    assert (target.name, target.cores, target.vec_per_cube, target.is_split) == ("MyNpu", 12, 3, True)
    assert target.capacity(Space.L0C) == 65536
    assert not target.units["aiv.v"].in_order


def test_a_unified_chip_reaches_the_unified_buffer_directly_and_a_split_one_through_memory() -> None:
    assert [path.destination for path in load_target("Ascend910A").route(Space.L0C, Space.UB)] == [Space.UB]
    assert [path.destination for path in load_target("Ascend910B2").route(Space.L0C, Space.UB)] == [Space.GM, Space.UB]


def test_a_table_based_on_another_says_only_what_differs(tmp_path: Path) -> None:
    file = tmp_path / "chip.toml"
    file.write_text(
        'based_on = "Ascend910B2"\nname = "Fast"\nsummary = "a faster one"\n[spaces.ub]\nbytes = 4096\nalignment = 64\n'
        '[timing]\nclock = { mhz = 2000, assumed = "a wish" }\n'
    )
    target, base = load_target(str(file)), load_target("Ascend910B2")
    assert target.timing is not None
    assert base.timing is not None
    assert (target.name, target.capacity(Space.UB), target.paths) == ("Fast", 4096, base.paths)
    assert target.timing.value("clock", "mhz") == 2000
    assert target.timing.constants.keys() == base.timing.constants.keys()
    gap, taken = base.timing.constants["cube.gap"], target.timing.constants["cube.gap"]
    assert (taken.values, taken.confidence, taken.source) == (gap.values, Confidence.ASSUMED, f"as Ascend910B2: {gap.source}")
    file.write_text(file.read_text().replace("name =", "same_cores = true\nname =", 1))
    same = load_target(str(file)).timing
    assert same is not None
    assert same.constants["cube.gap"] == gap


def test_a_chip_with_other_cores_claims_only_its_own_calibration() -> None:
    timing = load_target("Ascend950PR").timing
    assert timing is not None
    assert [constant.key for constant in timing.by_confidence()[Confidence.CALIBRATED]] == ["moves.gm_l1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "X"\nbased_on = "Ascend910B"', "based_on must be a chip that ships, got 'Ascend910B' (did you mean"),
        ('name = "X"\nbased_on = "Ascend910B1"', "must be a chip whose table is complete, but Ascend910B1 is based on Ascend910B2"),
        ('name = "X"\nbased_on = 910', "based_on must be a string, got 910"),
    ],
)
def test_a_base_must_be_a_complete_table_that_ships(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "chip.toml"
    file.write_text(text)
    with pytest.raises(CompileError) as caught:
        load_target(str(file))
    assert message in caught.value.message
    assert location_text(caught.value.location) == f"{file}:2:1"


BAD = {
    "cores = 12|cores = 0": "cores must be at least 1, got 0",
    "cores = 12|cores = true": "cores must be an integer, got True",
    'name = "MyNpu"|': "name is missing",
    "vec_per_cube = 3|vec_per_cubes = 3": "did you mean 'vec_per_cube'",
    'unit = "aic.fix"|unit = "aic.fox"': "did you mean 'aic.fix'",
    "alignment = 512|alignment = 500": "must be a power of two, got 500",
    "[cube]|[cube": "not a table file",
    'to = "l0a"|to = "l0d"': "does not know 'l0d'",
    'layouts = ["nd", "nz"]|layouts = ["nd"]': "must name two layouts",
    'layouts = ["nd", "nz"]|layouts = ["nd", "ny"]': "does not know 'ny'",
    'f16 = "f32"|f16 = "f64"': "cube.f16 does not know 'f64'",
    '"aiv.v" = { in_order = false }|"aiv.v" = { in_order = 1 }': "must be true or false",
    '"aiv.v" = { in_order = false }|"npu.v" = {}': "must be a name such as mte2",
    '"aic.m" = {}|m = {}': "is of one core for everything",
    'unit = "aiv.mte3"|unit = "aic.fix"': "must be of aiv",
    "[spaces.l0a]|[spaces.l0x]": "l0a is missing",
    'dtypes = ["f16"|dtypes = [16': "must hold strings only",
    'dtypes = ["f16"|dtypes = ["float16"': "does not know 'float16'",
    'f16 = "f32"|fp16 = "f32"': "fp16 means nothing here (did you mean 'f16'?)",
    "[spaces.gm]|[spaces.l2]\nbytes = 1\nalignment = 32\n[spaces.gm]": "spaces.l2 means nothing here",
}


@pytest.mark.parametrize("change", list(BAD))
def test_a_fault_is_reported_with_its_line(change: str, tmp_path: Path) -> None:
    before, _, after = change.partition("|")
    text = EXAMPLE.read_text()
    assert before in text
    file = tmp_path / "chip.toml"
    file.write_text(text.replace(before, after, 1))
    with pytest.raises(CompileError) as caught:
        load_target(str(file))
    assert BAD[change] in caught.value.message
    place, line, _ = location_text(caught.value.location).rsplit(":", 2)
    assert place == str(file)
    if after:
        assert after.split("\n")[0] in file.read_text().splitlines()[int(line) - 1] or "missing" in caught.value.message


def test_a_unified_chip_has_one_lane(tmp_path: Path) -> None:
    shipped = files("ge_compiler.dialects").joinpath("targets", "Ascend910A.toml").read_text()
    (tmp_path / "chip.toml").write_text(shipped.replace("vec_per_cube = 1", "vec_per_cube = 2"))
    with pytest.raises(CompileError, match="vec_per_cube must be 1 where cube and vector are one core"):
        load_target(str(tmp_path / "chip.toml"))


def test_a_file_that_cannot_be_read_and_a_name_that_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"cannot read the target file .*: No such file"):
        load_target(str(tmp_path / "none.toml"))
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(CompileError, match="not UTF-8"):
        load_target(str(tmp_path / "binary.toml"))
    with pytest.raises(CompileError, match="did you mean 'Ascend910A'"):
        load_target("Ascend910a")
