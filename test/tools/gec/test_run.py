"""gec run: inputs, outputs, and the comparison with PyTorch."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ge_compiler as ge
from ge_compiler.dialects import LEVELS

Gec = Callable[..., Any]


@pytest.fixture
def tiny(gec: Gec) -> str:
    assert gec("compile", "models.py:Tiny", "--input", "x=f16[5,24]", "-o", "m.om").status == 0
    return "m.om"


@pytest.fixture
def two(gec: Gec) -> str:
    assert gec("compile", "models.py:Two", "--input", "y=f16[8]", "--input", "x=f16[5,8]", "-o", "two.om").status == 0
    return "two.om"


def test_the_result_agrees_with_pytorch(gec: Gec, tiny: str) -> None:
    outcome = gec("run", tiny, "--golden", "torch")
    assert outcome.status == 0
    for words in (
        "y=f16[5,24]",
        "instructions in 2 kernel launches",
        "against an f64 evaluation",
        "PyTorch's own",
        "cosine",
        "ok",
        "next: gec compare models.py:Tiny --input 'x=f16[5,24]'\n",
    ):
        assert words in outcome.out


def test_the_result_as_json(gec: Gec, two: str) -> None:
    result = json.loads(gec("run", two, "--golden", "torch", "--format=json").out)
    assert result["within"] is True
    assert [row["name"] for row in result["outputs"]] == ["y0", "y1"]
    assert result["outputs"][1]["golden"]["max_abs"] <= result["outputs"][1]["golden"]["allowed_max_abs"]
    assert result["instructions"] > 0


def test_outputs_are_written_in_order(gec: Gec, two: str, tmp_path: Path) -> None:
    x, y = np.full((5, 8), 2, np.float16), np.arange(8, dtype=np.float16)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    assert gec("run", two, "--input", "x=@x.npy", "--input", "y=@y.npy", "--output", "sum.npy", "--output", "product.npy").status == 0
    np.testing.assert_array_equal(np.load(tmp_path / "sum.npy"), x + y)
    np.testing.assert_array_equal(np.load(tmp_path / "product.npy"), ge.load(tmp_path / two)(x, y)["product"])


def test_what_happened_to_states_is_told(gec: Gec, tmp_path: Path) -> None:
    np.save(tmp_path / "row.npy", np.array([3]))
    arguments = ("models.py:Counter", "--input", "x=f16[4]", "--input", "row=i64[1]=@row.npy", "-o", "m.om")
    assert gec("compile", *arguments).status == 0
    outcome = gec("run", "m.om", "--input", "row=@row.npy", "--golden", "torch")
    assert outcome.status == 0, outcome.err
    assert re.search(r"new contents of state +mean +min +max +elements changed\n", outcome.out)
    assert re.search(r"calls=i64\[\] +1 +1 +1 +1\n", outcome.out)
    assert re.search(r"rows=f16\[10,4\] .* 4\n", outcome.out)
    states = json.loads(gec("run", "m.om", "--input", "row=@row.npy", "--format=json").out)["states"]
    assert [(row["name"], row["changed"]) for row in states] == [("calls", 1), ("rows", 4)]
    assert gec("run", "m.om", "--output", "y.npy", "--output", "z.npy").status == 2


def test_random_inputs_are_always_the_same(gec: Gec, tiny: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((5, 24), np.float32).astype(np.float16))
    outputs = [gec("run", tiny, "--input", f"x={value}").out for value in ("f16[5,24]=rand:0", "f16[5,24]", "@x.npy")]
    assert outputs[0] == outputs[1] == outputs[2] == gec("run", tiny).out
    assert outputs[0] != gec("run", tiny, "--input", "x=f16[5,24]=rand:1").out


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_can_be_run(level: str, gec: Gec, tiny: str) -> None:
    assert gec("run", tiny, "--golden", "torch", "--level", level).status == 0


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("--input", "z=f16[5,24]"), 2, "--input z: the program has no such input; it takes x=f16[5,24]"),
        (("--input", "x=f16[5,23]"), 2, "input 'x' must be x=f16[5,24], got x=f16[5,23]"),
        (("--input", "x=f32[5,24]"), 2, "input 'x' must be x=f16[5,24], got x=f32[5,24]"),
        (("--output", "y.bin"), 1, "cannot write y.bin: outputs are written as .npy files"),
        (("--output", "none/y.npy"), 1, "cannot write none/y.npy: there is no folder none"),
        (("--output", "folder.npy"), 1, "cannot write folder.npy: Is a directory"),
        (("--output", "a.npy", "--output", "b.npy"), 2, "2 times --output, but the program has 1 output"),
    ],
)
def test_a_wrong_call_is_one_message(arguments: tuple[str, ...], status: int, words: str, gec: Gec, tiny: str, tmp_path: Path) -> None:
    (tmp_path / "folder.npy").mkdir()
    outcome = gec("run", tiny, *arguments)
    assert outcome.status == status
    assert words in outcome.err
    assert "executed" not in outcome.err
    assert outcome.out == ""


def test_all_outputs_are_written_or_none(gec: Gec, two: str, tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    for other, status in (("none/z.npy", 1), ("z.bin", 1), ("./y.npy", 2)):
        outcome = gec("run", two, "--output", "y.npy", "--output", other)
        assert (outcome.status, outcome.out, outcome.err.count("error: ")) == (status, "", 1)
        assert set(tmp_path.iterdir()) == before


def test_a_chip_that_cannot_be_timed_is_told_before_the_work(gec: Gec, tmp_path: Path) -> None:
    (tmp_path / "untimed.toml").write_text((Path(__file__).parents[3] / "examples/my_npu.toml").read_text())
    assert gec("compile", "models.py:Tiny", "--input", "x=f16[5,24]", "--target", "untimed.toml", "-o", "m.om").status == 0
    outcome = gec("run", "m.om", "--time", "--output", "y.npy")
    assert (outcome.status, outcome.out) == (1, "")
    assert "cannot be timed: its table has no [timing]" in outcome.err
    assert "executed" not in outcome.err
    assert not (tmp_path / "y.npy").exists()


def test_a_changed_factory_is_told(gec: Gec, tiny: str, tmp_path: Path) -> None:
    models = tmp_path / "models.py"
    models.write_text(models.read_text() + "\n# changed\n")
    outcome = gec("run", tiny, "--golden", "torch")
    assert outcome.status == 1
    assert "models.py has changed since m.om was compiled from it" in outcome.err
    models.unlink()
    outcome = gec("run", tiny, "--golden", "torch")
    assert outcome.status == 1
    assert "there is no file models.py here" in outcome.err
    assert gec("run", tiny).status == 0


def test_a_changed_table_of_a_chip_is_told(gec: Gec, tmp_path: Path) -> None:
    chip = tmp_path / "chip.toml"
    chip.write_bytes(resources.files("ge_compiler.dialects").joinpath("targets", "Ascend910A.toml").read_bytes())
    assert gec("compile", "models.py:Tiny", "--input", "x=f16[5,24]", "--target", "chip.toml", "-o", "m.om").status == 0
    assert gec("run", "m.om").status == 0
    chip.write_text(chip.read_text() + "\n# changed\n")
    outcome = gec("run", "m.om")
    assert (outcome.status, outcome.out) == (1, "")
    assert "error: chip.toml has changed since m.om was compiled for it: compile it again" in outcome.err
    chip.unlink()
    outcome = gec("run", "m.om")
    assert (outcome.status, outcome.out) == (1, "")
    assert "error: cannot read the target file 'chip.toml': No such file or directory" in outcome.err


def test_names_of_files_may_be_anything(gec: Gec, tmp_path: Path) -> None:
    folder = tmp_path / 'größe "2"'
    folder.mkdir()
    (tmp_path / "models.py").rename(folder / "models.py")
    outcome = gec("compile", f"{folder.name}/models.py:Tiny", "--input", "x=f16[5,24]", "-o", "m 1.om")
    assert outcome.status == 0
    assert re.search(r"fc1 +MatMulV2 +tensor<5x40xf16> +models.py:\d+\n", outcome.out)
    assert "next: gec run 'm 1.om' --golden torch\n" in outcome.out
    outcome = gec("run", "m 1.om", "--golden", "torch")
    assert outcome.status == 0
    assert """next: gec compare 'größe "2"/models.py:Tiny' --input""" in outcome.out


def test_a_program_without_a_factory_has_no_golden(gec: Gec, tmp_path: Path) -> None:
    ge.compile(torch.nn.ReLU(), (torch.zeros(3).half(),)).save(tmp_path / "m.om")
    outcome = gec("run", "m.om", "--golden", "torch")
    assert outcome.status == 1
    assert "m.om was not compiled from a PyTorch model" in outcome.err


def test_what_pytorch_cannot_evaluate_is_no_fault_of_ours(gec: Gec) -> None:
    arguments = ("models.py:Bessel", "--input", "x=f32[3]", "--precision-mode", "allow_fp32_to_fp16")
    assert gec("compile", *arguments, "-o", "m.om").status == 0
    for command in (("run", "m.om", "--golden", "torch"), ("compare", *arguments, "--levels", "ge")):
        outcome = gec(*command)
        assert (outcome.status, outcome.out) == (1, "")
        assert re.search(r"models.py:\d+:\d+: error: PyTorch cannot evaluate the model: .* not implemented for 'Half'\n", outcome.err)


def test_the_weights_of_the_file_are_what_pytorch_runs_with(gec: Gec, tiny: str, tmp_path: Path) -> None:
    program = ge.load(tmp_path / tiny)
    changed = {name: (array + 1).astype(array.dtype) for name, array in program.weights.items()}
    program.weights = type(program.weights)(changed, program.weights.keys_of)
    program.save(tmp_path / tiny)
    outcome = gec("run", tiny, "--golden", "torch")
    assert outcome.status == 0, outcome.out


def test_a_missed_tolerance_is_status_3(gec: Gec, tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ge.Program.run

    def shifted(program: ge.Program, inputs: Any, level: str | None, statistics: Any, **others: Any) -> Any:
        return [y + y.dtype.type(0.5) for y in run(program, inputs, level, statistics, **others)]

    monkeypatch.setattr(ge.Program, "run", shifted)
    outcome = gec("run", tiny, "--golden", "torch")
    assert outcome.status == 3
    assert "WRONG" in outcome.out
    assert "y: max error 0.5 exceeds" in outcome.out
