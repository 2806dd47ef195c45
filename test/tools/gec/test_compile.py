"""gec compile: the report, the texts, the file, the choices of the user."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from xdsl.dialects.func import FuncOp

import ge_compiler as ge
from ge_compiler.dialects import LEVELS
from ge_compiler.dialects.parser import parse_module

Gec = Callable[..., Any]

TINY = ("models.py:Tiny", "--input", "x=f16[5,24]")


@pytest.mark.parametrize(("options", "chip"), [([], "Ascend910B2"), (["--target", "Ascend910A"], "Ascend910A")])
def test_the_report_says_what_was_made(options: list[str], chip: str, gec: Gec) -> None:
    outcome = gec("compile", *TINY, "-o", "m.om", *options)
    assert outcome.status == 0
    line = 1 + next(i for i, text in enumerate(Path("models.py").read_text().splitlines()) if "gelu" in text)
    for words in (
        f"models.py:Tiny for {chip}: x=f16[5,24] -> y=f16[5,24]",
        "3 operators imported",
        f"fc1   MatMulV2  tensor<5x40xf16>  models.py:{line}",
        "2 kernels formed, 2 launches",
        f"fc1 (models.py:{line}), gelu (models.py:{line})",
        "bytes of on-chip memory",
        "HBM peak",
        "instructions in all kernels",
        "next: gec run m.om --golden torch",
    ):
        assert words in outcome.out
    assert f"gec: compiled for {chip}" in outcome.err


def test_the_report_as_json(gec: Gec) -> None:
    report = json.loads(gec("compile", *TINY, "--format", "json").out)
    assert [row["operator"] for row in report["operators"]] == ["MatMulV2", "GeluV2", "MatMulV2"]
    first = report["kernels"][0]
    assert first["name"] == "MatMulV2Gelu"
    assert first["operators"] == ["MatMulV2", "GeluV2"]
    assert set(first["schedule"]) >= {"m", "n", "k", "k0"}
    assert set(first["bytes"]) == {"l1", "l0a", "l0b", "l0c", "ub"}
    assert report["hbm"]["weights"] == 2 * (24 * 40 + 40 + 40 * 24 + 24)
    assert report["hbm"]["inputs"] == report["hbm"]["outputs"] == 2 * 5 * 24
    assert report["hbm_peak"] == sum(report["hbm"].values())
    assert report["instructions"] == sum(kernel["instructions"] for kernel in report["kernels"])


@pytest.mark.parametrize("level", LEVELS)
def test_the_text_of_a_level_is_all_of_the_output(level: str, gec: Gec) -> None:
    outcome = gec("compile", *TINY, "--emit", level)
    assert outcome.status == 0
    module = parse_module(outcome.out, "emitted")
    assert "main" in [op.sym_name.data for op in module.body.block.ops if isinstance(op, FuncOp)]
    assert f"{level}." in outcome.out


def test_what_a_model_prints_is_no_result(gec: Gec, tmp_path: Path) -> None:
    models = tmp_path / "models.py"
    lines = [
        'print("at import")',
        "class Loud(Tiny):",
        "  def forward(self, x):",
        '    print("in forward")',
        "    return super().forward(x)",
    ]
    factory = ["def loud():", '  print("in factory")', "  return Loud()"]
    models.write_text("\n".join([models.read_text(), *lines, *factory]))
    outcome = gec("compile", "models.py:loud", "--input", "x=f16[5,24]", "--emit", "ge")
    assert outcome.out.startswith("builtin.module")
    for words in ("at import\n", "in factory\n", "in forward\n"):
        assert words in outcome.err
    outcome = gec("compare", "models.py:loud", "--input", "x=f16[5,24]", "--levels=ge", "--format=json")
    assert json.loads(outcome.out)["within"] is True


def test_tile_sizes_are_taken_and_the_rest_is_chosen(gec: Gec) -> None:
    report = json.loads(gec("compile", *TINY, "--format", "json", "--tiling", "MatMulV2Gelu=n:16,k0:16", "--tiling", "MatMulV2=n:16").out)
    first, second = (kernel["schedule"] for kernel in report["kernels"])
    assert (first["n"], first["k0"], second["n"]) == (16, 16, 16)
    assert first["m"] >= 1


@pytest.mark.parametrize(("chip", "limit"), [("Ascend910A", "262144"), ("Ascend910B2", "131072")])
def test_an_illegal_tile_size_shows_who_holds_the_bytes(chip: str, limit: str, gec: Gec) -> None:
    sizes = ("--input", "x=f16[1024,1024]", "--tiling", "MatMulV2=m:512,n:512", "--target", chip)
    outcome = gec("compile", "models.py:Large", *sizes)
    assert outcome.status == 1
    for words in ("needs", limit, "total", "limit", "smallest fix", "models.py:"):
        assert words in outcome.err


def test_dtype_of_the_model_follows_the_inputs_unless_it_is_given(gec: Gec) -> None:
    assert "x=f16[5,24]" in gec("compile", "models.py:Tiny", "--input", "x=f32[5,24]", "--dtype", "f16").out


def test_inputs_may_come_from_files(gec: Gec, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((5, 24), np.float16))
    assert gec("compile", "models.py:Tiny", "--input", "x=@x.npy").status == 0


def test_a_module_with_its_weights_beside_it(gec: Gec, tmp_path: Path) -> None:
    program = ge.compile(torch.nn.Linear(8, 4).half(), (torch.zeros(3, 8).half(),))
    (tmp_path / "m.mlir").write_text(program.text("ge"))
    program.weights.save(tmp_path / "m.safetensors")
    outcome = gec("compile", "m.mlir", "-o", "m.om")
    assert outcome.status == 0
    assert "next: gec run m.om\n" in outcome.out
    x = np.ones((3, 8), np.float16)
    np.testing.assert_array_equal(ge.load(tmp_path / "m.om")(x), program(x))


def test_a_module_below_ge_is_taken_from_where_it_is(gec: Gec, tmp_path: Path) -> None:
    program = ge.compile(torch.nn.ReLU(), (torch.zeros(3, 8).half(),))
    (tmp_path / "m.mlir").write_text(program.text("tile"))
    assert gec("compile", "m.mlir", "-o", "m.om").status == 0
    loaded = ge.load(tmp_path / "m.om")
    assert loaded.levels == ("tile", "buf", "npu")
    assert loaded.text("npu") == program.text("npu")


@pytest.mark.parametrize(
    ("level", "edit", "options", "words"),
    [
        ("npu", (r"npu.set_flag <mte2>, <v>\[0\]", ""), "", r"'npu.wait_flag' op deadlock"),
        ("npu", (r"npu.(set|wait)_flag <mte2>, <v>\[0\]", ""), "", r"'npu.vconv' op RAW race"),
        ("npu", ("", ""), "--target=Ascend910B2", r"Ascend910B2 has no pipe <mte2>"),
        ("buf", (r"\[0\]", "[9999968]"), "", r"'buf.at' op .*9999968"),
        ("tile", ("", ""), "--tiling=Relu=m:1", r"tile sizes have no effect on a module at level 'tile'"),
        ("fused", ("", ""), "--precision-mode=allow_fp32_to_fp16", r"the precision mode has no effect on a module at level 'fused'"),
    ],
)
def test_a_module_of_a_user_is_checked_at_its_level(
    level: str, edit: tuple[str, str], options: str, words: str, gec: Gec, tmp_path: Path
) -> None:
    program = ge.compile(torch.nn.ReLU(), (torch.zeros(3, 8).half(),), target="Ascend910A")
    (tmp_path / "m.mlir").write_text(re.sub(*edit, program.text(level)))
    outcome = gec("compile", "m.mlir", *options.split(), "-o", "m.om")
    assert (outcome.status, outcome.out) == (1, "")
    assert re.search(words, outcome.err), outcome.err
    assert not (tmp_path / "m.om").exists()


def test_a_module_is_compiled_for_the_chip_that_it_names_unless_another_is_asked_for(gec: Gec, tmp_path: Path) -> None:
    program = ge.compile(torch.nn.ReLU(), (torch.zeros(3, 8).half(),), target="Ascend910A")
    (tmp_path / "m.mlir").write_text(program.text("ge"))
    assert "m.mlir for Ascend910A:" in gec("compile", "m.mlir").out
    assert "m.mlir for Ascend910B2:" in gec("compile", "m.mlir", "--target", "Ascend910B2").out
    (tmp_path / "m.mlir").write_text(program.text("ge").replace("Ascend910A", "Ascend910C"))
    outcome = gec("compile", "m.mlir")
    assert outcome.status == 1
    assert "m.mlir:1:1: error: unknown target 'Ascend910C'" in outcome.err


def test_help_needs_no_torch_and_no_model(gec: Gec) -> None:
    assert "compile a PyTorch model" in gec("--help").out
    assert "--tiling" in gec("compile", "--help").out
    assert gec("--version").out.startswith("gec ")


def test_supported_operators_are_listed(gec: Gec) -> None:
    outcome = gec("operators")
    assert outcome.status == 0
    assert "\n  aten.scaled_dot_product_attention.default\n" in outcome.out
    assert json.loads(gec("operators", "softmax", "--format=json").out)["reductions"] == [
        "aten._log_softmax.default",
        "aten._softmax.default",
        "aten.log_softmax.int",
        "aten.softmax.int",
    ]
    outcome = gec("operators", "aten.conv2d.default")
    assert (outcome.status, outcome.out) == (1, "")
    assert "no operator of ge has 'aten.conv2d.default' in its name: it runs on the host" in outcome.err
