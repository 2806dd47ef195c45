"""Profiles of modules: launches in time, what cores do, and the same bytes in every process."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from ge_compiler.dialects import context
from ge_compiler.dialects.parser import parse_module
from ge_compiler.runtime.timing.timeline import Kind, timeline
from ge_compiler.tools.commands.profiling.op_summary import core_uses
from ge_compiler.tools.commands.profiling.profile import GRAPH, HOST, LAUNCHES, Profile, profile_of
from ge_compiler.tools.commands.profiling.text import profile_text
from ge_compiler.tools.commands.profiling.trace import trace_events
from ge_compiler.tools.opt.pass_manager import PassManager

ROOT = Path(__file__).parents[2]
MLP = ROOT / "test/pipelines/mlp.mlir"


def lowered(target: str) -> ModuleOp:
    text = MLP.read_text().replace("builtin.module {", f'builtin.module attributes {{ge.target = "{target}"}} {{')
    module = parse_module(text, "mlp.mlir")
    PassManager("to-npu", verify_each=False).run(context(), module)
    return module


@pytest.fixture(scope="module")
def module() -> ModuleOp:
    return lowered("Ascend910B2")


def in_mode(module: ModuleOp, launch: str) -> Profile:
    return profile_of("mlp", module, launch)


def test_a_launch_with_nothing_to_do_takes_no_time() -> None:
    text = """
      func.func @main(%x: tensor<0x24xf16>, %z: tensor<4x24xf16>) -> (tensor<0x24xf16>, tensor<4x24xf16>) {
        %y = ge.Relu %x : (tensor<0x24xf16>) -> tensor<0x24xf16>
        %u = ge.Relu %z : (tensor<4x24xf16>) -> tensor<4x24xf16>
        func.return %y, %u : tensor<0x24xf16>, tensor<4x24xf16>
      }
    """
    module = parse_module(text, "zero.mlir")
    PassManager("to-npu", verify_each=False).run(context(), module)
    profile = in_mode(module, GRAPH)
    assert len(profile.tasks) == 1
    assert profile.time.untimed == {"idle": 1}
    assert "not in these figures: 1 launch with nothing to do" in profile_text(profile)


@pytest.mark.parametrize("launch", LAUNCHES)
def test_launches_follow_each_other_to_the_end_of_the_program(module: ModuleOp, launch: str) -> None:
    profile = in_mode(module, launch)
    for task in profile.tasks:
        assert task.cores - task.ready == task.kernel.launch_ticks
        assert task.end - task.cores == task.kernel.ticks
    for before, after in itertools.pairwise(profile.tasks):
        assert after.waited == after.ready - before.end >= 0
    assert profile.tasks[-1].end == profile.ticks


def test_a_host_has_to_come_to_a_launch_first(module: ModuleOp) -> None:
    host = in_mode(module, HOST)
    each = host.time.timing.ticks_of_microseconds("launch.host")
    assert all(task.ready >= (number + 1) * each for number, task in enumerate(host.tasks))
    assert in_mode(module, GRAPH).tasks[0].ready == 0


@pytest.mark.parametrize("target", ["Ascend910B2", "Ascend910A"])
def test_the_table_and_the_timeline_hold_pipes_for_the_same_time(target: str) -> None:
    profile = in_mode(lowered(target), GRAPH)
    for task in profile.tasks:
        held: dict[tuple[str, str], int] = {}
        for one in timeline(task.kernel, profile.kernels[task.kernel.name], full=True):
            for row in one.rows:
                ticks = sum(part.end - part.start for part in row.slices if part.kind is Kind.INSTRUCTION)
                key = row.stream.kind, row.pipe.rpartition(".")[2]
                held[key] = held.get(key, 0) + one.cluster.count * row.stream.copies * ticks
        uses = core_uses(task.kernel)
        assert held == {(kind, unit): uses[kind].busy[unit] for kind, unit in held}
        assert all(0 < use.busy["scalar"] < use.ticks for use in uses.values())


def test_names_of_rows_come_before_what_stands_in_them(module: ModuleOp) -> None:
    phases = [event["ph"] for event in trace_events(in_mode(module, GRAPH))]
    assert phases.index("X") == phases.count("M")


def test_two_processes_give_the_same_bytes(tmp_path: Path) -> None:
    found: set[bytes] = set()
    for seed in "12":
        arguments = ["profile", str(MLP), "--trace", "t.json", "--png", "t.png", "--launch", "host"]
        command = [sys.executable, "-m", "ge_compiler.tools.gec", *arguments]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        result = subprocess.run(command, capture_output=True, check=True, env=environment, cwd=tmp_path)
        found.add(result.stdout + (tmp_path / "t.json").read_bytes() + (tmp_path / "t.png").read_bytes())
    assert len(found) == 1
