"""Timelines: what is jumped over is what would have been there, rows do not overlap, arrows lead from a flag's setter to its receiver."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ge_compiler.dialects import context
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.fused import kernels
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import target_of
from ge_compiler.runtime.timing import KernelTime, time_kernel
from ge_compiler.runtime.timing import timeline as timelines
from ge_compiler.runtime.timing.timeline import Kind, Row, Timeline, timeline
from ge_compiler.tools.opt.pass_manager import PassManager

ROOT = Path(__file__).parents[3]

PRODUCT = """
builtin.module attributes {{ge.target = "{target}"}} {{
  func.func @main(%x: tensor<{m}x{k}xf16>, %w: tensor<{k}x{n}xf16>) -> tensor<{m}x{n}xf16> {{
    %y = ge.MatMulV2 %x, %w : (tensor<{m}x{k}xf16>, tensor<{k}x{n}xf16>) -> tensor<{m}x{n}xf16>
    func.return %y : tensor<{m}x{n}xf16>
  }}
}}
"""


def by_hand(name: str) -> ModuleOp:
    return parse_module((ROOT / f"test/npu/{name}.mlir").read_text(), name)


def product(target: str, m: int, n: int, k: int) -> ModuleOp:
    module = parse_module(PRODUCT.format(target=target, m=m, n=n, k=k), "product")
    PassManager("to-npu", verify_each=False).run(context(), module)
    return module


def perceptron() -> ModuleOp:
    module = parse_module((ROOT / "test/pipelines/mlp.mlir").read_text(), "mlp")
    PassManager("to-npu", verify_each=False).run(context(), module)
    return module


def one_instruction() -> ModuleOp:
    """A loop that begins with an instruction: what comes behind a jump has a slice at once."""
    tile = "memref<4x64xf32, #npu.mem<ub>>"
    text = f"""
    func.func private @k(%x: memref<4x64xf32>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c400 = arith.constant 400 : index
      %a = buf.at "a" [0] : {tile}
      tile.forall (%i) in (1) {{
        npu.vdup 0.0 : f32 outs(%a : {tile})
        scf.for %k = %c0 to %c400 step %c1 {{
          npu.vexp ins(%a : {tile}) outs(%a : {tile})
        }}
      }}
      func.return
    }}"""
    return parse_module(text, "one_instruction")


PROGRAMS = {
    "steady, one instruction": one_instruction,
    "elementwise": lambda: by_hand("elementwise"),
    "matmul by hand": lambda: by_hand("matmul_split_chip"),
    "barriers of all cores": lambda: by_hand("split_k"),
    "lanes that differ": lambda: product("Ascend910B2", 17 * 16, 96, 512),
    "steady": lambda: product("Ascend910B2", 2048, 1024, 16384),
    "steady, classes of clusters": lambda: product("Ascend910B2", 1920, 1000, 8000),
    "steady, unified cores": lambda: product("Ascend910A", 1024, 1024, 8192),
    "perceptron": perceptron,
}


def timed(module: ModuleOp) -> Iterator[tuple[FuncOp, KernelTime]]:
    for kernel in kernels(module):
        yield kernel, time_kernel(kernel, target_of(module))


def is_in_order(row: Row) -> bool:
    return all(a.start < a.end <= b.start for a, b in zip(row.slices, row.slices[1:], strict=False))


def outside(row: Row, steady: Row) -> list[tuple[int, int, str]]:
    """The slices of a row that are not within the steady loops of another."""
    loops = [part for part in steady.slices if part.kind is Kind.STEADY]
    kept = [part for part in row.slices if not any(loop.start < part.end and part.start < loop.end for loop in loops)]
    return [(part.start, part.end, part.name) for part in kept if part.kind is not Kind.STEADY]


def busy(row: Row) -> int:
    """Ticks in which a pipe is held, steady loops included."""
    return sum(
        part.busy * ((part.end - part.start) // part.period) if part.kind is Kind.STEADY else part.end - part.start
        for part in row.slices
        if part.kind is not Kind.WAIT
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_steady_loop_stands_for_what_is_listed_in_full(name: str) -> None:
    steady = 0
    for kernel, time in timed(PROGRAMS[name]()):
        pairs = list(zip(timeline(time, kernel), timeline(time, kernel, full=True), strict=True))
        assert max(short.end for short, _ in pairs) == time.outcome.board.end
        for short, full in pairs:
            assert short.end == full.end
            for folded, row in zip(short.rows, full.rows, strict=True):
                assert is_in_order(folded), folded.pipe
                assert is_in_order(row), row.pipe
                assert outside(folded, folded) == outside(row, folded), folded.pipe
                assert busy(folded) == busy(row), folded.pipe
                steady += sum(part.kind is Kind.STEADY for part in folded.slices)
            assert set(arrows(short)) <= set(arrows(full))
    assert (steady > 0) == name.startswith("steady")


def arrows(one: Timeline) -> list[tuple[str, str, int, str, int]]:
    """Flags with the pipes between which they go, when the setter's instruction ends and the receiver's starts."""
    found: list[tuple[str, str, int, str, int]] = []
    for arrow in one.arrows:
        source, target = one.rows[arrow.source.row], one.rows[arrow.target.row]
        found.append((arrow.flag, source.pipe, source.slices[arrow.source.slice].end, target.pipe, target.slices[arrow.target.slice].start))
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_arrows_lead_from_the_setter_to_the_receiver(name: str) -> None:
    for kernel, time in timed(PROGRAMS[name]()):
        for one in timeline(time, kernel):
            for flag, source, left, target, arrived in arrows(one):
                assert left <= arrived, flag
                assert source != target or "cross-core" in flag
                if flag.startswith("flag"):
                    assert flag.startswith(f"flag <{source}>, <{target}>"), flag


def test_a_product_has_arrows_along_its_way() -> None:
    ((kernel, time),) = timed(product("Ascend910B2", 256, 256, 512))
    ways = {(source, target) for one in timeline(time, kernel) for _, source, _, target, _ in arrows(one)}
    assert {("aic.mte2", "aic.mte1"), ("aic.mte1", "aic.m"), ("aic.m", "aic.fix"), ("aic.fix", "aiv.mte2")} <= ways


def test_slices_name_what_they_move() -> None:
    ((kernel, time),) = timed(product("Ascend910B2", 256, 256, 512))
    names = {part.name for one in timeline(time, kernel) for row in one.rows for part in row.slices}
    assert {"load %x", "load %w", "mmad"} <= names
    assert any(name.startswith("wait: flag <aic.mte2>, <aic.mte1>") for name in names)


def test_too_much_to_list_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timelines, "MOST_ITEMS", 50)
    ((kernel, time),) = timed(product("Ascend910B2", 2048, 1024, 16384))
    timeline(time, kernel)
    with pytest.raises(CompileError, match=r"a trace holds at most 50: leave out --trace-full"):
        timeline(time, kernel, full=True)
