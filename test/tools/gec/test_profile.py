"""gec profile and gec run --time: reports, tables, traces, pictures, and the comparison of two programs."""

from __future__ import annotations

import csv
import itertools
import json
import shutil
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from ge_compiler.tools.commands.profiling.op_summary import HEADER
from ge_compiler.tools.gec import main

Gec = Callable[..., Any]

MODELS = Path(__file__).with_name("models.py")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with programs that many tests read."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "models.py").write_bytes(MODELS.read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for model, spec in (("Tiny", "x=f16[5,24]"), ("Deep", "x=f16[512,8192]"), ("Large", "x=f16[512,1024]")):
            assert main(["compile", f"models.py:{model}", "--input", spec, "-o", f"{model.lower()}.om"]) == 0
    return folder


@pytest.fixture
def tiny(compiled: Path, tmp_path: Path) -> str:
    shutil.copy(compiled / "tiny.om", tmp_path / "m.om")
    return "m.om"


@pytest.fixture
def deep(compiled: Path, tmp_path: Path) -> str:
    shutil.copy(compiled / "deep.om", tmp_path / "deep.om")
    return "deep.om"


@pytest.fixture
def large(compiled: Path, tmp_path: Path) -> str:
    shutil.copy(compiled / "large.om", tmp_path / "large.om")
    return "large.om"


def profiled(gec: Gec, *arguments: str) -> dict[str, Any]:
    outcome = gec("profile", *arguments, "--format=json")
    assert outcome.status == 0, outcome.err
    return json.loads(outcome.out)


# ---- reports ----------------------------------------------------------------------------------------------------------


def test_the_report_says_what_takes_how_long_and_why(gec: Gec, tiny: str) -> None:
    outcome = gec("profile", tiny)
    assert outcome.status == 0, outcome.err
    for words in (
        "m.om on Ascend910B2, launched as a graph: ",
        "2 launches, ",
        "of the roofline; launched by a host, one at a time: ",
        "MatMulV2Gelu         1  fc1 (models.py:19), gelu (models.py:19)",
        "-bound",
        "aic.mte2  cube",
        "what the critical path consists of",
        "constants of Ascend910B2, by what they rest on",
        "  calibrated (",
        "  derived (",
        "  assumed (",
    ):
        assert words in outcome.out


def test_the_figures_add_up(gec: Gec, tiny: str) -> None:
    result = profiled(gec, tiny)
    total, launches = result["total"], result["launches"]
    assert [(row["name"], row["operators"]) for row in launches] == [("fc1", ["MatMulV2", "GeluV2"]), ("fc2", ["MatMulV2"])]
    assert total["us"] == total["graph_us"] < total["host_us"]
    assert total["us"] == pytest.approx(launches[-1]["start_us"] + launches[-1]["us"], abs=1e-5)
    assert total["kernels_us"] == pytest.approx(sum(row["kernel_us"] for row in launches), abs=1e-5)
    for kernel in result["kernels"]:
        assert sum(kernel["critical_path"].values()) == pytest.approx(1, abs=1e-4)
        assert 0 < kernel["achieved"] <= 1
        assert all(0 <= part <= 1 for part in kernel["busy"].values())
        assert kernel["us"] == pytest.approx(kernel["cycles"] / 1800, abs=1e-5)
    assert {len(keys) > 0 for keys in result["constants"].values()} == {True}


@pytest.mark.parametrize("rows", [300, 900, 1000])
def test_clusters_that_run_longer_than_others_have_a_path_that_adds_up(gec: Gec, rows: int) -> None:
    (kernel,) = profiled(gec, "models.py:Large", "--input", f"x=f16[{rows},1024]")["kernels"]
    assert all(0 < part <= 1 for part in kernel["critical_path"].values())
    assert sum(kernel["critical_path"].values()) == pytest.approx(1, abs=1e-4)


def test_a_host_that_launches_costs_time(gec: Gec, tiny: str) -> None:
    graph, host = profiled(gec, tiny), profiled(gec, tiny, "--launch=host")
    assert host["total"]["us"] == graph["total"]["host_us"] > graph["total"]["us"]
    starts = [row["start_us"] for row in host["launches"]]
    assert starts[1] - starts[0] >= host["launches"][0]["us"]
    assert [row["us"] for row in host["launches"]] == [row["us"] for row in graph["launches"]]
    assert "launched by a host, one at a time: " in gec("profile", tiny, "--launch=host").out.splitlines()[0]


def test_a_run_tells_the_time_as_well(gec: Gec, tiny: str) -> None:
    report = gec("profile", tiny).out
    outcome = gec("run", tiny, "--time")
    assert outcome.status == 0
    assert report in outcome.out
    assert json.loads(gec("run", tiny, "--time", "--format=json").out)["time"] == profiled(gec, tiny)
    assert "time" not in json.loads(gec("run", tiny, "--format=json").out)


def test_models_and_modules_are_profiled_without_a_file(gec: Gec, tiny: str, tmp_path: Path) -> None:
    compiled = gec("compile", "models.py:Tiny", "--input", "x=f16[5,24]", "--emit", "ge")
    (tmp_path / "m.mlir").write_text(compiled.out)  # without the bytes of its weights
    figures = [profiled(gec, *arguments)["total"] for arguments in ((tiny,), ("models.py:Tiny", "--input", "x=f16[5,24]"), ("m.mlir",))]
    assert figures[0] == figures[1] == figures[2]


def test_what_runs_elsewhere_is_named(gec: Gec, deep: str) -> None:
    assert "\nnot in these figures: 1 launch on aicpu\n" in gec("profile", deep).out
    assert profiled(gec, deep)["total"]["untimed"] == {"aicpu": 1}
    product, sums = csv.DictReader(StringIO(gec("profile", deep, "--format=csv").out))
    assert (product["Task Type"], sums["Task Type"], sums["Task Duration(us)"]) == ("MIX_AIC", "AI_CPU", "N/A")


# ---- tables -----------------------------------------------------------------------------------------------------------


def test_the_table_has_the_columns_of_op_summary(gec: Gec, tiny: str) -> None:
    text = gec("profile", tiny, "--format=csv").out
    assert text.splitlines()[0] == HEADER
    first, second = csv.DictReader(StringIO(text))
    assert (first["Op Name"], first["Task Type"], first["Input Shapes"]) == ("fc1", "MIX_AIC", "5,24;40,24;40")
    assert (first["Input Data Types"], first["Output Shapes"]) == ("FLOAT16;FLOAT16;FLOAT16", "5,40")
    assert float(second["Task Start Time(us)"]) >= float(first["Task Start Time(us)"]) + float(first["Task Duration(us)"])
    cycles, cores, mean = int(first["aic_total_cycles"]), int(first["Block Num"]), float(first["aicore_time(us)"])
    assert mean == pytest.approx(cycles / cores / 1800, abs=2e-3)
    ratios = [float(value) for row in (first, second) for name, value in row.items() if name.endswith("_ratio")]
    assert all(0 <= ratio <= 1 for ratio in ratios)
    assert max(ratios) > 0


def test_unified_cores_have_one_time(gec: Gec) -> None:
    outcome = gec("profile", "models.py:Tiny", "--input", "x=f16[5,24]", "--target", "Ascend910A", "--format=csv")
    for row in csv.DictReader(StringIO(outcome.out)):
        assert row["Task Type"] == "AI_CORE"
        assert row["aicore_time(us)"] == row["aiv_time(us)"] != "0.000"


# ---- traces -----------------------------------------------------------------------------------------------------------

KEYS = {
    "M": {"ph", "name", "pid", "args"},
    "X": {"ph", "name", "cat", "pid", "tid", "ts", "dur", "args"},
    "s": {"ph", "name", "cat", "id", "pid", "tid", "ts"},
    "f": {"ph", "name", "cat", "id", "pid", "tid", "ts", "bp"},
}


def nanoseconds(event: dict[str, Any]) -> tuple[int, int]:
    start = round(event["ts"] * 1000)
    return start, start + round(event.get("dur", 0) * 1000)


def check_trace(path: Path) -> list[dict[str, Any]]:
    """The slices of a trace that is as the format asks."""
    events = json.loads(path.read_text())["traceEvents"]
    for event in events:
        assert KEYS[event["ph"]] == set(event) - ({"tid"} if event["ph"] == "M" else set()), event
    slices = [event for event in events if event["ph"] == "X"]
    named = {event["tid"] for event in events if event["name"] == "thread_name"}
    assert {event["tid"] for event in slices} == named
    assert {event["pid"] for event in slices} == {event["pid"] for event in events if event["name"] == "process_name"}
    check_rows(slices)
    check_flows(events, slices)
    return slices


def check_rows(slices: list[dict[str, Any]]) -> None:
    by_row = itertools.groupby(sorted(slices, key=lambda e: (e["tid"], *nanoseconds(e))), key=lambda e: e["tid"])
    for tid, row in by_row:
        times = [nanoseconds(event) for event in row]
        assert all(a[0] <= a[1] <= b[0] for a, b in itertools.pairwise(times)), tid


def check_flows(events: list[dict[str, Any]], slices: list[dict[str, Any]]) -> None:
    """Every arrow has both ends, each within a slice, and does not lead back in time."""
    ends = {phase: {event["id"]: event for event in events if event["ph"] == phase} for phase in "sf"}
    assert ends["s"].keys() == ends["f"].keys() != set()
    assert len(ends["s"]) + len(ends["f"]) == sum(event["ph"] in "sf" for event in events)
    covered = {(event["tid"], time) for event in slices for time in range(*nanoseconds(event))}
    for number, source in ends["s"].items():
        target = ends["f"][number]
        assert {(end["tid"], nanoseconds(end)[0]) for end in (source, target)} <= covered
        assert source["name"] == target["name"]
        assert source["ts"] < target["ts"]
        assert source["tid"] != target["tid"]


def test_a_trace_has_rows_slices_and_arrows(gec: Gec, tiny: str, tmp_path: Path) -> None:
    assert gec("profile", tiny, "--trace", "t.json").status == 0
    slices = check_trace(tmp_path / "t.json")
    assert {"launching fc1", "fc1", "launching fc2", "fc2", "mmad", "load %x"} <= {event["name"] for event in slices}
    assert {event["cat"] for event in slices} == {"launch", "kernel", "instruction", "wait"}
    assert any(event["args"].get("from") == "models.py:19" for event in slices if event["cat"] == "instruction")


def test_a_host_has_a_row_of_its_own(gec: Gec, tiny: str, tmp_path: Path) -> None:
    assert gec("profile", tiny, "--trace", "t.json", "--launch=host").status == 0
    slices = check_trace(tmp_path / "t.json")
    assert [event["name"] for event in slices if event["pid"] == 1] == ["launch fc1", "launch fc2"]


def test_steady_loops_are_one_slice_unless_asked(gec: Gec, deep: str, tmp_path: Path) -> None:
    assert gec("profile", deep, "--trace", "short.json").status == 0
    assert gec("profile", deep, "--trace", "full.json", "--trace-full").status == 0
    short, full = (check_trace(tmp_path / f"{name}.json") for name in ("short", "full"))
    steady = [event for event in short if event["cat"] == "steady"]
    assert steady
    assert all("trips, " in event["name"] and event["args"]["period in cycles"] > 0 for event in steady)
    assert not any(event["cat"] == "steady" for event in full)
    assert len(full) > len(short)


# ---- pictures ---------------------------------------------------------------------------------------------------------


def test_a_picture_is_drawn(gec: Gec, deep: str, tmp_path: Path) -> None:
    assert gec("profile", deep, "--png", "t.png").status == 0
    data = (tmp_path / "t.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    assert width > 1000
    assert height > 300


def drawn(gec: Gec, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    """The figure of a profile, laid out."""
    from matplotlib import figure as module

    kind: Any = module.Figure
    figures: list[Any] = []
    save = kind.savefig

    def saved(self: Any, *args: Any, **kwargs: Any) -> None:
        figures.append(self)
        save(self, *args, **kwargs)

    monkeypatch.setattr(kind, "savefig", saved)
    assert gec("profile", *arguments, "--png", "t.png").status == 0
    (figure,) = figures
    figure.draw_without_rendering()
    return figure


def test_names_of_launches_do_not_touch(gec: Gec, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = drawn(gec, monkeypatch, "models.py:LongNames", "--input", "x=f16[4,16]")
    places = sorted((text.get_window_extent().x0, text.get_window_extent().x1) for text in figure.axes[0].texts)
    assert len(places) == 12
    assert all(one[1] < other[0] for one, other in itertools.pairwise(places))


@pytest.mark.parametrize("name", ["x", "x" * 300])
def test_the_title_fits(gec: Gec, tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    folder = tmp_path.joinpath(*(name[i : i + 100] for i in range(0, len(name), 100)))
    folder.mkdir(parents=True)
    shutil.copy(tmp_path / tiny, folder / tiny)
    figure = drawn(gec, monkeypatch, str((folder / tiny).relative_to(tmp_path)))
    title = figure.axes[0].get_title(loc="left")
    assert title.endswith(f"{tiny} on Ascend910B2: 2 launches, graph mode, {profiled(gec, tiny)['total']['us']:.1f} µs")
    assert figure.axes[0]._left_title.get_window_extent().x1 < figure.bbox.x1


def test_rows_of_lanes_that_differ_are_told_apart(gec: Gec, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = drawn(gec, monkeypatch, "models.py:Row", "--input", "x=f32[3]")
    assert "on Ascend910B2: 1 launch, " in figure.axes[0].get_title(loc="left")
    labels = [label.get_text() for label in figure.axes[1].get_yticklabels()]
    assert {"aiv.v, lane 1", "aiv.v, lane 2"} <= set(labels)
    assert len(labels) == len(set(labels))


def test_a_picture_says_what_it_leaves_out(gec: Gec, deep: str, monkeypatch: pytest.MonkeyPatch) -> None:
    title = drawn(gec, monkeypatch, deep).axes[0].get_title(loc="left")
    assert title.startswith("deep.om on Ascend910B2: 1 launch, graph mode, ")
    assert title.endswith("; not shown: 1 launch on aicpu")


def test_without_matplotlib_a_picture_is_refused(gec: Gec, tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    outcome = gec("profile", tiny, "--png", "t.png")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == "error: drawing needs matplotlib: pip install 'ge-compiler[viz]'\n"
    assert not (tmp_path / "t.png").exists()


# ---- two programs -----------------------------------------------------------------------------------------------------


def test_a_change_is_explained(gec: Gec, large: str) -> None:
    gec("compile", "models.py:Large", "--input", "x=f16[512,1024]", "--tiling", "MatMulV2=m:16,n:80,k:64,k0:32", "-o", "b.om")
    outcome = gec("profile", "b.om", "--compare", large)
    assert outcome.status == 0
    for words in ("large.om on Ascend910B2", "b.om on Ascend910B2", "n ", " → 80", " → 32", "critical path: ", "0 launches as before"):
        assert words in outcome.out
    result = profiled(gec, "b.om", "--compare", large)["compare"]
    (change,) = result["changes"]
    assert change["launches"] == ["fc"]
    assert result["difference_us"] == pytest.approx(change["after_us"] - change["before_us"], abs=1e-5) != 0


def test_what_is_new_gone_or_the_same(gec: Gec, tiny: str) -> None:
    gec("compile", "models.py:Two", "--input", "y=f16[8]", "--input", "x=f16[5,8]", "-o", "two.om")
    reasons = [row["reasons"] for row in profiled(gec, tiny, "--compare", "two.om")["compare"]["changes"]]
    assert ["is a launch only in m.om: MatMulV2, GeluV2"] in reasons
    assert any(reason[0].startswith("was a launch in two.om: ") for reason in reasons)
    same = gec("profile", tiny, "--compare", tiny)
    assert "+0.00 µs (+0.0%)\n\n2 launches as before\n" in same.out


def test_another_chip_is_told(gec: Gec, tiny: str) -> None:
    gec("compile", "models.py:Tiny", "--input", "x=f16[5,24]", "--target", "Ascend910A", "-o", "a.om")
    out = gec("profile", "a.om", "--compare", tiny).out
    assert "chip: Ascend910B2 → Ascend910A, clusters 24 → 32; constants of time that differ: " in out
    assert "aic.mte2 +" not in out


def test_a_program_without_kernels_takes_no_time(gec: Gec, tiny: str, tmp_path: Path) -> None:
    gec("compile", "models.py:Sums", "--input", "x=f16[5,24]", "-o", "none.om")
    outcome = gec("profile", "none.om", "--trace", "t.json", "--png", "t.png")
    assert outcome.status == 0, outcome.err
    assert "0.00 µs = kernels 0.00 µs" in outcome.out
    assert "time of one launch" not in outcome.out
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"] == []
    for arguments in ((tiny, "--compare", "none.om"), ("none.om", "--compare", "none.om")):
        assert gec("profile", *arguments).status == 0


# ---- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("none.om",), 1, "cannot read none.om: No such file or directory"),
        (("m.om", "--input", "x=f16[1]"), 2, "m.om is compiled already; leave --input out"),
        (("m.om", "--target", "Ascend910A"), 2, "m.om is compiled already; leave --target out"),
        (("m.om", "--seed", "3"), 2, "m.om is compiled already; leave --seed out"),
        (("m.mlir", "--seed", "3"), 2, "m.mlir has its weights in a file beside it; leave --seed out"),
        (("m.om", "--compare", "models.py:Tiny"), 2, "--compare models.py:Tiny: name a program; gec compile models.py:Tiny"),
        (("m.om", "--compare", "m.mlir"), 2, "--compare m.mlir: name a program; gec compile m.mlir"),
        (("m.om", "--trace-full"), 2, "--trace-full says how --trace FILE.json is written"),
        (("m.om", "--trace", "t.txt"), 2, "--trace t.txt: name a file that ends in .json"),
        (("m.om", "--trace", "none/t.json"), 1, "cannot write none/t.json: there is no folder none"),
        (("m.om", "--trace", "folder.json"), 1, "cannot write folder.json: Is a directory"),
        (("m.om", "--png", "folder.png", "--trace", "t.json"), 1, "cannot write folder.png: Is a directory"),
        (("m.om", "--png", "t.jpg"), 2, "--png t.jpg: name a file that ends in .png"),
        (("m.om", "--compare", "m.om", "--format=csv"), 2, "--format=csv lists the launches of one program"),
        (("m.om", "--compare", "none.om"), 1, "cannot read none.om"),
        (("m.om", "--launch=device"), 2, "argument --launch: invalid choice: 'device'"),
        (("models.py:Tiny", "--input", "x=f16[5,24]", "--target", "untimed.toml"), 1, "cannot be timed: its table has no [timing]"),
    ],
)
def test_a_mistake_is_one_message(gec: Gec, tiny: str, tmp_path: Path, arguments: tuple[str, ...], status: int, words: str) -> None:
    table = (Path(__file__).parents[3] / "examples/my_npu.toml").read_text()
    (tmp_path / "untimed.toml").write_text(table)
    for folder in ("folder.json", "folder.png"):
        (tmp_path / folder).mkdir()
    before = set(tmp_path.iterdir())
    outcome = gec("profile", *arguments)
    assert (outcome.status, outcome.out) == (status, "")
    assert words in outcome.err
    assert "timed " not in outcome.err
    assert outcome.err.count("error: ") == 1
    assert set(tmp_path.iterdir()) == before
