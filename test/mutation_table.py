"""
How much verify-sync sees: programs with one thing wrong, how many are reported, and how many do harm in random orders of execution.

    python test/mutation_table.py                      # the kernels of test/npu, and what the compiler makes of three models on two chips
    python test/mutation_table.py program.mlir ...     # programs with instructions
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from xdsl.dialects.builtin import ModuleOp

from ge_compiler.dialects.fused import kernels
from ge_compiler.dialects.parser import parse_module
from ge_compiler.runtime.checks.mutation_score import Score, score
from ge_compiler.tools.compilation import Options, lower

ROOT = Path(__file__).parents[1]
HAND_WRITTEN = ("matmul_double_buffered", "matmul_split_chip", "split_k", "elementwise")
MATMUL = """\
func.func @main(%x: tensor<40x512xf16>, %w: tensor<512x96xf16>) -> tensor<40x96xf16> {
  %0 = ge.MatMulV2 %x, %w : (tensor<40x512xf16>, tensor<512x96xf16>) -> tensor<40x96xf16>
  func.return %0 : tensor<40x96xf16>
}
"""
ELEMENTWISE = """\
func.func @main(%x: tensor<1000x200xf16>, %y: tensor<1000x200xf16>) -> tensor<1000x200xf16> {
  %0 = ge.Add %x, %y : (tensor<1000x200xf16>, tensor<1000x200xf16>) -> tensor<1000x200xf16>
  %1 = ge.Sigmoid %0 : (tensor<1000x200xf16>) -> tensor<1000x200xf16>
  func.return %1 : tensor<1000x200xf16>
}
"""
MODELS = (
    ("MLP", (ROOT / "test/pipelines/mlp.mlir").read_text(), ()),
    ("split-K matmul", MATMUL, ("MatMulV2=m:16,n:32,k:64,k0:32,splits:4",)),
    ("elementwise", ELEMENTWISE, ("AddSigmoid=m:16,n:64",)),
)
TARGETS = ("Ascend910A", "Ascend910B2")
HEADER = ("program", "chip", "sync ops", "kind", "mutants", "reported", "harmful", "reported", "seconds")
WIDTHS = (38, 12, 9, 8, 8, 9, 8, 9, 8)


def programs(paths: list[str]) -> Iterator[tuple[str, ModuleOp]]:
    """Programs with instructions, by name."""
    for path in paths or [str(ROOT / "test/npu" / f"{name}.mlir") for name in HAND_WRITTEN]:
        yield Path(path).stem, parse_module(Path(path).read_text())
    if not paths:
        for target in TARGETS:
            for name, text, tiling in MODELS:
                *_, (_, module) = lower(parse_module(text), Options(target=target, tiling=tiling))
                yield name, module


def show(name: str, result: Score, seconds: float) -> int:
    """Prints a row for each kind of mutant; how many harmful ones no check reported."""
    missed = 0
    for kind, row in result.rows.items():
        cells = (f"{name} @{result.kernel}", result.target, result.synchronisations, kind, row.made, row.reported, row.harmful)
        cells = (*cells, row.harmful_reported, f"{seconds:.1f}")
        print(" ".join(f"{cell:<{width}}" for cell, width in zip(cells, WIDTHS, strict=True)), flush=True)
        for what in row.unreported:
            print(f"    not reported: {what}")
        missed += row.harmful - row.harmful_reported
    return missed


def main() -> int:
    print(" ".join(f"{cell:<{width}}" for cell, width in zip(HEADER, WIDTHS, strict=True)))
    missed = 0
    for name, module in programs(sys.argv[1:]):
        for kernel in kernels(module):
            start = perf_counter()
            missed += show(name, score(module, kernel.sym_name.data), perf_counter() - start)
    print(f"harmful mutants without a report: {missed}")
    return 3 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
