"""The checker against models of its parts, and against execution: what it lets pass gives the same bytes in every order."""

from __future__ import annotations

import itertools
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.fused import kernels
from ge_compiler.dialects.memory import Layout, Space, placement
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import load_target
from ge_compiler.runtime.checks import Report, check_sync
from ge_compiler.runtime.checks.faults import NOTES, Fault, Faults
from ge_compiler.runtime.checks.footprints import ChipView, GlobalObject, GlobalView, Owner, in_blocks, merged, partition
from ge_compiler.runtime.checks.recorder import Recorder
from ge_compiler.runtime.checks.replay import Replay

ROOT = Path(__file__).parents[2]
TARGET = load_target("Ascend910A")


def parse(text: str) -> ModuleOp:
    aliases = "".join(f"{line}\n" for line in text.splitlines() if line.startswith("!"))
    body = "\n".join(line for line in text.splitlines() if not line.startswith("!"))
    return parse_module(f'{aliases}builtin.module attributes {{ge.target = "{TARGET.name}"}} {{\n{body}\n}}')


def check(text: str) -> Report:
    (kernel,) = kernels(parse(text))
    return check_sync(kernel, TARGET)


# ---- bytes ------------------------------------------------------------------------------------------------------------

LAYOUTS = [(Space.UB, Layout.ND), (Space.L1, Layout.NZ), (Space.L0A, Layout.ZZ), (Space.L0B, Layout.ZN), (Space.L0C, Layout.NZ)]


def bytes_of_ranges(ranges: tuple[tuple[int, int], ...]) -> set[int]:
    return {byte for start, end in ranges for byte in range(start, end)}


@given(st.sampled_from(LAYOUTS), st.sampled_from([1, 2, 4]), st.data())
def test_the_bytes_of_a_view_are_those_of_its_elements(where: tuple[Space, Layout], size: int, data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 70))
    row, column = data.draw(st.integers(0, rows)), data.draw(st.integers(0, columns))
    height, width = data.draw(st.integers(0, rows - row)), data.draw(st.integers(0, columns - column))
    how = placement(rows, columns, size, *where)
    owner = Owner(where[0], "a", 96, ModuleOp([]))
    view = ChipView(owner, how, size, 0, 0, (rows, columns)).part([row, column], [height, width])
    elements = itertools.product(range(row, row + height), range(column, column + width))
    expected = {96 + how.address(r, c) + byte for r, c in elements for byte in range(size)}
    assert bytes_of_ranges(view.exact) == expected
    assert {byte // 32 for byte in bytes_of_ranges(view.blocks)} == {byte // 32 for byte in expected}


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.data())
def test_the_bytes_of_a_global_view_are_those_of_its_elements(shape: list[int], data: st.DataObject) -> None:
    array = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    view = GlobalView(GlobalObject("%x", 0, array.nbytes), 4, 0, tuple(shape), tuple(s // 4 for s in array.strides))
    starts = [data.draw(st.integers(0, n)) for n in shape]
    sizes = [data.draw(st.integers(0, n - s)) for n, s in zip(shape, starts, strict=True)]
    part = array[tuple(slice(s, s + n) for s, n in zip(starts, sizes, strict=True))]
    expected = {4 * int(element) + byte for element in part.flat for byte in range(4)}
    assert bytes_of_ranges(view.part(starts, sizes, 0).exact) == expected


RANGES = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 30)).map(lambda r: (r[0], r[0] + r[1])), max_size=6).map(merged)


@given(st.lists(RANGES, max_size=8))
def test_atoms_are_disjoint_and_add_up_to_every_view(footprints: list[tuple[tuple[int, int], ...]]) -> None:
    atoms = partition(footprints)
    sets = [bytes_of_ranges(tuple(extent)) for extent in atoms.extents]
    assert sum(map(len, sets)) == len(set[int]().union(*sets))
    for ranges in footprints:
        assert bytes_of_ranges(ranges) == set[int]().union(*(sets[atom] for atom in atoms.of[ranges]))


@given(RANGES)
def test_blocks_are_whole(ranges: tuple[tuple[int, int], ...]) -> None:
    assert all(start % 32 == 0 and end % 32 == 0 for start, end in in_blocks(ranges))


# ---- loops in part ----------------------------------------------------------------------------------------------------


@given(st.integers(0, 200), st.integers(1, 8))
def test_long_loops_run_their_first_and_their_last_iterations(count: int, period: int) -> None:
    recorder = Recorder(TARGET, Faults(), period)
    op = ModuleOp([])
    run = list(recorder.iterations(op, count))
    assert run == sorted(set(run))
    if len(run) == count:
        assert run == list(range(count))
        return
    jumps = [b - a - 1 for a, b in itertools.pairwise(run) if b - a > 1]
    assert run[0] == 0
    assert run[-1] == count - 1
    assert run[: max(3, period + 1)] == list(range(max(3, period + 1)))
    assert len(jumps) == 1
    assert jumps[0] % period == 0, "what repeats with the slots goes on as if nothing were left out"
    assert op in recorder.shortened


def test_coverage_says_what_was_run() -> None:
    text = """
    func.func private @k(%x: memref<4x8xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c100 = arith.constant 100 : index
      %a = buf.at "a" [0] : memref<4x8xf32, #npu.mem<ub>>
      scf.for %i = %c0 to %c100 step %c1 {
        npu.vdup 1.0 : f32 outs(%a : memref<4x8xf32, #npu.mem<ub>>)
        npu.pipe_barrier <v>
      }
      func.return
    }"""
    (kernel,) = kernels(parse(text))
    report = check_sync(kernel, TARGET, cores=2, trips=(0, 2))
    assert not report.faults
    assert report.coverage.instructions == 2 * (0 + 2 + 4)
    assert "(0 to 2 and 99 of 100)" in str(report.coverage)
    assert "every loop also with 0, 2 iterations" in str(report.coverage)
    assert report.error() is None


def test_further_faults_are_notes_up_to_a_limit() -> None:
    faults = [Fault("race", ModuleOp([]), f"fault {i}") for i in range(NOTES + 5)]
    error = Report(faults, check("func.func private @k() {\n npu.pipe_barrier <v>\n func.return\n}").coverage).error()
    assert error is not None
    assert error.message.endswith("fault 0")
    assert len(error.notes) == NOTES + 1
    assert error.notes[-1].message == "and 4 more faults"


def test_the_core_that_differs_is_named() -> None:
    text = """
    func.func private @k(%x: memref<100x8xf32>) {
      tile.grid_loop %t (%i) in (33) {
        npu.set_flag <mte2>, <v>[0]
        npu.wait_flag <mte2>, <v>[0]
      }
      func.return
    }"""
    assert "%i = 32" in check(text).faults[0].message
    assert check(text.replace("33", "32")).faults == []


def test_a_strange_op_is_refused_with_its_name() -> None:
    with pytest.raises(CompileError, match=r"tile\.store.*no meaning"):
        check(
            'func.func private @k(%x: memref<4x8xf32>) {\n %a = buf.at "a" [0] : memref<4x8xf32, #npu.mem<ub>>\n'
            "tile.store %a into %x[0, 0] : memref<4x8xf32, #npu.mem<ub>> into memref<4x8xf32>\n func.return\n}"
        )


def test_a_tensor_that_a_launch_gives_twice_is_one_tensor() -> None:
    text = """
    func.func private @k(%x: memref<8x8xf32>, %y: memref<8x8xf32>) {
      %a = buf.at "a" [0] : memref<8x8xf32, #npu.mem<ub>>
      tile.forall (%i) in (1) {
        npu.load <nd> ins(%x : memref<8x8xf32>) outs(%a : memref<8x8xf32, #npu.mem<ub>>)
        npu.pipe_barrier <all>
        npu.store ins(%a : memref<8x8xf32, #npu.mem<ub>>) outs(%y : memref<8x8xf32>)
        npu.load <nd> ins(%x : memref<8x8xf32>) outs(%a : memref<8x8xf32, #npu.mem<ub>>)
      }
      func.return
    }
    func.func @main(%x: memref<8x8xf32>, %out0: memref<8x8xf32>) attributes {results = 1 : i64} {
      fused.launch @k(%x) into (%DESTINATION) on aicore {ops = ["Abs"], op_name = "k"} : (memref<8x8xf32>) into (memref<8x8xf32>)
      func.return
    }"""
    assert {fault.message.split()[0] for fault in check(text.replace("%DESTINATION", "%out0")).faults} == {"WAR"}
    assert {fault.message.split()[0] for fault in check(text.replace("%DESTINATION", "%x")).faults} == {"WAR", "RAW"}


def test_checking_changes_nothing() -> None:
    module = parse("func.func private @k() {\n  npu.pipe_barrier <v>\n  func.return\n}\n")
    before = str(module)
    check_sync(kernels(module)[0], TARGET)
    assert str(module) == before


def test_the_inserter_shares_no_code_with_the_checker() -> None:
    transforms = ROOT / "ge_compiler/transforms"
    names = ("insert_sync", "remove_redundant_sync", "allocate_events")
    inserter = [*(transforms / f"{name}.py" for name in names), *(transforms / "synchronization").rglob("*.py")]
    checker = [transforms / "verify_sync.py", *(ROOT / "ge_compiler/runtime/checks").rglob("*.py")]
    assert [path for path in inserter if "runtime.checks" in path.read_text() or "verify_sync" in path.read_text()] == []
    assert [path for path in checker if re.search("synchronization|insert_sync|ge_compiler.transforms", path.read_text())] == []


def test_checking_imports_no_numpy() -> None:
    code = "import sys, ge_compiler.runtime.checks\nassert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- against execution ------------------------------------------------------------------------------------------------

PIPE = {"load": "mte2", "store": "mte3", "v": "v"}
OFFSETS = (0, 128, 256, 192)


class Program:
    """A random kernel: loads, vector instructions and stores on buffers that may overlap, in and outside loops, with random flags."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.rows = itertools.count()
        self.density = self.random.choice((0.6, 0.9, 1.0, 1.0))

    def text(self) -> str:
        self._body(depth=0)
        buffers = [f'%b{i} = buf.at "b{i}" [{offset}] : !t' for i, offset in enumerate(OFFSETS[: self.random.choice((3, 4))])]
        constants = [f"%c{n} = arith.constant {n} : index" for n in (0, 1, 2, 3)]
        # Every buffer holds something before anything happens.
        start = [line for i in range(len(buffers)) for line in (f"npu.vdup {i}.0 : f32 outs(%b{i} : !t)", "npu.pipe_barrier <all>")]
        body = "\n".join(line.replace("%b3", "%b2") if len(buffers) == 3 else line for line in [*constants, *buffers, *start, *self.lines])
        return (
            "!t = memref<4x8xf32, #npu.mem<ub>>\n!g = memref<4x8xf32, strided<[8, 1], offset: ?>>\n"
            "func.func private @k(%x: memref<64x4x8xf32>, %y: memref<64x4x8xf32>) {\ntile.grid_loop %t (%g) in (1) {\n"
            f"{body}\n}}\nfunc.return\n}}"
        )

    def _body(self, depth: int) -> None:
        for _ in range(self.random.randint(2, 4)):
            if depth < 2 and self.random.random() < 0.3:
                self._loop(depth)
            else:
                self._instruction()
            self._between()

    def _loop(self, depth: int) -> None:
        bound = self.random.choice((0, 1, 2, 3))
        self.lines.append(f"scf.for %i{depth}_{len(self.lines)} = %c0 to %c{bound} step %c1 {{")
        self._between()
        self._body(depth + 1)
        self.lines.append("}")

    def _instruction(self) -> None:
        a, b = (self.random.randrange(len(OFFSETS)) for _ in range(2))
        row = next(self.rows)
        match self.random.choice(("load", "store", "v", "v")):
            case "load":
                self._view("%x", row)
                self.lines.append(f"npu.load <nd> ins(%s{row} : !g) outs(%b{a} : !t)")
            case "store":
                self._view("%y", row)
                self.lines.append(f"npu.store ins(%b{a} : !t) outs(%s{row} : !g)")
            case _:
                self.lines.append(f"npu.vadd ins(%b{a}, %b{b} : !t, !t) outs(%b{self.random.randrange(len(OFFSETS))} : !t)")

    def _view(self, tensor: str, row: int) -> None:
        self.lines.append(f"%s{row} = memref.subview {tensor}[{row % 64}, 0, 0] [1, 4, 8] [1, 1, 1] : memref<64x4x8xf32> to !g")

    def _between(self) -> None:
        """What orders the neighbours: a barrier, or flags between pipes at random; often nothing, sometimes everything."""
        if self.random.random() >= self.density:
            return
        if self.random.random() < 0.2:
            self.lines.append("npu.pipe_barrier <all>")
            return
        for source, destination in self.random.sample(
            list(itertools.permutations(("mte2", "v", "mte3"), 2)), self.random.choice((2, 6, 6))
        ):
            self.lines.append(f"npu.set_flag <{source}>, <{destination}>[0]")
            self.lines.append(f"npu.wait_flag <{source}>, <{destination}>[0]")
        if self.random.random() < 0.95:
            self.lines.append("npu.pipe_barrier <v>")


def outcomes(programs: Iterator[ModuleOp], orders: int) -> Counter[tuple[bool, bool]]:
    """How many programs were (reported, harmful)."""
    generator = np.random.default_rng(0)
    x = generator.standard_normal((64, 4, 8)).astype(np.float32)
    counts: Counter[tuple[bool, bool]] = Counter()
    for module in programs:
        (kernel,) = kernels(module)
        reported = bool(check_sync(kernel, TARGET, cores=1).faults)
        replay = Replay(kernel, TARGET, [x, None], [0])
        expected = replay.run(None)
        harmful = expected.written is None or any(replay.run(seed) != expected for seed in range(orders))
        assert reported or not harmful, f"passes the check, but depends on the order:\n{module}"
        counts[reported, harmful] += 1
    return counts


def test_what_passes_gives_the_same_bytes_in_every_order() -> None:
    counts = outcomes((parse(Program(seed).text()) for seed in range(50)), orders=6)
    assert counts[False, False] > 4, "some programs must pass"
    assert counts[True, True] > 20, "some must be reported and do harm"


@pytest.mark.slow
def test_what_passes_gives_the_same_bytes_in_many_orders() -> None:
    counts = outcomes((parse(Program(seed).text()) for seed in range(1000, 1600)), orders=20)
    assert counts[False, False] > 50
    assert counts[True, True] > 10 * counts[True, False], "what is reported can nearly always be seen to do harm"
