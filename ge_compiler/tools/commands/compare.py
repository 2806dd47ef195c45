"""gec compare: a model executed at each level, against an f64 evaluation, eager PyTorch, and the level above."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ge_compiler.dialects import LEVELS
from ge_compiler.dialects.diagnostics import did_you_mean
from ge_compiler.runtime.accuracy import Metrics, identical
from ge_compiler.runtime.signature import Array, TensorSpec
from ge_compiler.tools.api import Program
from ge_compiler.tools.commands.factory import model_output
from ge_compiler.tools.commands.shared import Progress, add_compilation_options, program_of_factory
from ge_compiler.tools.commands.table import cosine, figure, table
from ge_compiler.tools.opt.registry import UsageError

EXACT = ("buf", "npu")
"""Levels that must give the bits of the level above."""


@dataclass(frozen=True)
class Row:
    """One output at one level, or the new contents of a state."""

    level: str
    output: str
    metrics: Metrics
    identical_to_above: bool | None
    """`None` where the rule does not ask for it, or the level above was not executed."""

    @property
    def failures(self) -> tuple[str, ...]:
        differs = ("differs from the level above, which must give the same bits",) if self.identical_to_above is False else ()
        return (*self.metrics.failures, *differs)

    def to_json(self) -> dict[str, Any]:
        own = {"level": self.level, "output": self.output, "identical_to_above": self.identical_to_above}
        return own | self.metrics.to_json() | {"within": not self.failures, "failures": list(self.failures)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("model", metavar="FILE.py:NAME", help="a class or function that makes a torch model")
    add_compilation_options(parser)
    parser.add_argument("--levels", default="all", metavar="LEVELS", help=f"all, or some of {','.join(LEVELS)}")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="the form of the result (default: text)")


def run(options: argparse.Namespace) -> int:
    """Compares; 3 if the rule is broken."""
    from ge_compiler.tools.commands.golden import golden_in, narrowed_dtype

    levels = _levels(options.levels)
    progress = Progress()
    compiled = program_of_factory(options, progress, levels[-1])
    inputs = inputs_of_imported(compiled.imported.inputs)
    with model_output():
        truth = golden_in(narrowed_dtype(compiled.program), compiled.imported)
    progress.done("ran the model in PyTorch, and in f64")
    rows: list[Row] = []
    above: tuple[str, Sequence[Array]] | None = None
    for level in levels:
        outputs = compiled.program.run(inputs, level)
        progress.done(f"executed {level}")
        rows += _rows(compiled.program, level, outputs, truth, above)
        above = level, outputs
    _write(rows, compiled.program.signature.results, options.format)
    return 3 if any(row.failures for row in rows) else 0


def inputs_of_imported(tensors: Sequence[Any]) -> list[Array]:
    """The example inputs as arrays."""
    from ge_compiler.lowering.from_torch.dtypes import to_numpy

    return [to_numpy(tensor) for tensor in tensors]


def _levels(text: str) -> list[str]:
    if text == "all":
        return list(LEVELS)
    names = [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if name not in LEVELS]:
        raise UsageError(f"--levels: unknown level '{unknown[0]}'{did_you_mean(unknown[0], LEVELS)}; levels: all, {', '.join(LEVELS)}")
    return [level for level in LEVELS if level in names]


def _rows(program: Program, level: str, outputs: Sequence[Array], truth: Any, above: tuple[str, Sequence[Array]] | None) -> list[Row]:
    from ge_compiler.tools.commands.golden import compare

    neighbour = LEVELS[LEVELS.index(level) - 1]
    exact = level in EXACT and above is not None and above[0] == neighbour
    metrics = compare(program, outputs, truth)
    names = [spec.name for spec in program.signature.results]
    same = [identical(x, y) for x, y in zip(outputs, above[1], strict=True)] if exact and above is not None else [None] * len(names)
    return [Row(level, *row) for row in zip(names, metrics, same, strict=True)]


def _write(rows: Sequence[Row], outputs: Sequence[TensorSpec], form: str) -> None:
    if form == "json":
        result = {"rows": [row.to_json() for row in rows], "within": not any(row.failures for row in rows)}
        sys.stdout.write(json.dumps(result, indent=2) + "\n")
        return
    cells = [_cells(row, len(outputs) > 1) for row in rows]
    header = ("level", "output", "max error", "allowed", "ulp", "cosine", "to PyTorch", "ulp", "cosine", "left out", "bits as above", "")
    sys.stdout.write("against an f64 evaluation of the model with the same rounded weights and inputs, and against PyTorch itself\n")
    sys.stdout.write(table(header, cells, right=range(2, 10)) + "\n")
    sys.stdout.write("ulp: the largest error in units in the last place of the tensor's largest value\n")
    for name, m in {row.output: row.metrics for row in rows}.items():
        where = f" in {name}" if len(outputs) > 1 else ""
        sys.stdout.write(f"PyTorch's own error{where}: max {figure(m.eager_max_abs)}, rms {figure(m.eager_rms)}\n")
    for row in rows:
        sys.stdout.writelines(f"{row.level}, {row.output}: {failure}\n" for failure in row.failures)


def _cells(row: Row, several: bool) -> tuple[str, ...]:
    m = row.metrics
    return (
        row.level,
        row.output if several else "",
        figure(m.max_abs),
        figure(m.allowed_max_abs),
        f"{m.max_ulp:.1f}",
        cosine(m.cosine),
        figure(m.max_abs_to_eager),
        f"{m.max_ulp_to_eager:.1f}",
        cosine(m.cosine_to_eager),
        str(m.left_out) if m.left_out else "",
        {True: "identical", False: "DIFFERENT", None: ""}[row.identical_to_above],
        "WRONG" if row.failures else "ok",
    )
