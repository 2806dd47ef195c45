"""What verify-sync costs on compiled programs: processor time for each instruction visited, the least of several runs."""

from __future__ import annotations

from pathlib import Path
from time import process_time

from xdsl.dialects.builtin import ModuleOp

from ge_compiler.dialects.fused import kernels
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import target_of
from ge_compiler.runtime.checks import Coverage, check_sync
from ge_compiler.tools.compilation import Options, lower

RUNS = 5
LIMIT = 150.0
"""Microseconds an instruction visited."""
TARGETS = ("Ascend910A", "Ascend910B2")
MLP = Path(__file__).parents[1] / "test/pipelines/mlp.mlir"
MATMUL = """\
func.func @main(%x: tensor<2048x2048xf16>, %w: tensor<2048x2048xf16>) -> tensor<2048x2048xf16> {
  %0 = ge.MatMulV2 %x, %w : (tensor<2048x2048xf16>, tensor<2048x2048xf16>) -> tensor<2048x2048xf16>
  func.return %0 : tensor<2048x2048xf16>
}
"""
MODELS = {"MLP": MLP.read_text(), "2048 x 2048 matmul": MATMUL}


def measure(module: ModuleOp) -> tuple[float, list[Coverage]]:
    """Seconds to check all kernels of a program, and what was covered."""
    target, functions = target_of(module), kernels(module)
    best, coverage = float("inf"), list[Coverage]()
    for _ in range(RUNS):
        start = process_time()
        reports = [check_sync(kernel, target) for kernel in functions]
        best = min(best, process_time() - start)
        assert not any(report.faults for report in reports)
        coverage = [report.coverage for report in reports]
    return best, coverage


def main() -> None:
    print(f"{'program':<22}{'chip':<14}{'instructions':>13}{'sync ops':>10}{'ms':>9}{'µs each':>9}{'limit':>7}")
    for target in TARGETS:
        for name, text in MODELS.items():
            *_, (_, module) = lower(parse_module(text), Options(target=target))
            seconds, coverage = measure(module)
            instructions, sync = sum(c.instructions for c in coverage), sum(c.synchronisations for c in coverage)
            each = seconds / instructions * 1e6
            row = f"{name:<22}{target:<14}{instructions:>13}{sync:>10}{seconds * 1e3:>9.1f}{each:>9.1f}{LIMIT:>7.0f}"
            print(row + ("" if each <= LIMIT else "  OVER"))


if __name__ == "__main__":
    main()
