"""gec run: executes an `.om` file, and compares the result with PyTorch if asked."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ge_compiler.dialects import LEVELS
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.runtime.accuracy import Metrics
from ge_compiler.runtime.execute import Statistics
from ge_compiler.runtime.files import write_beside
from ge_compiler.runtime.signature import Array, TensorSpec
from ge_compiler.tools.api import Program, load
from ge_compiler.tools.commands.factory import Factory
from ge_compiler.tools.commands.inputs import fit, parse_inputs, random_array
from ge_compiler.tools.commands.profiling.profile import Profile, profile_of, to_json
from ge_compiler.tools.commands.profiling.text import profile_text
from ge_compiler.tools.commands.shared import Progress, check_writable
from ge_compiler.tools.commands.table import cosine, figure, plural, table
from ge_compiler.tools.opt.registry import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add = parser.add_argument
    add("program", metavar="FILE.om", help="the program")
    add(
        "--input",
        action="append",
        default=[],
        metavar="SPEC",
        help="x=@x.npy or x=f16[32,768]=rand:0 (repeat; default: rand:0, ...)",
    )
    add("--output", action="append", default=[], metavar="FILE.npy", help="where to write an output (repeat, in order)")
    add("--golden", choices=("torch", "none"), default="none", help="compare with PyTorch: eager, and an f64 evaluation")
    add("--level", choices=LEVELS, metavar="LEVEL", help="the level to execute (default: the lowest)")
    add("--check", action="store_true", help="execute instruction by instruction, and check what each reads (slower)")
    add("--shadow-limit", type=_bytes, metavar="SIZE", help="how much of the weights to keep in f32 as well, as 64M (default: all)")
    add("--time", action="store_true", help="tell also how long it takes on the chip, as gec profile does")
    add("--format", choices=("text", "json"), default="text", help="the form of the result (default: text)")


def run(options: argparse.Namespace) -> int:
    """Executes, writes outputs, compares; 3 if the comparison fails."""
    progress = Progress()
    program = load(options.program)
    _check_outputs(options.output)
    if len(options.output) > len(program.signature.outputs):
        raise UsageError(f"{len(options.output)} times --output, but the program has {plural(len(program.signature.outputs), 'output')}")
    factory = Factory.recorded(program.origin, options.program) if options.golden == "torch" else None
    inputs = inputs_of(program, options.input)
    progress.done(f"loaded {options.program}")
    # A chip that cannot be timed is told before the results are computed, not in their place.
    profile = profile_of(options.program, program.module(LEVELS[-1])) if options.time else None
    statistics = Statistics()
    results = program.run(inputs, options.level, statistics, check=options.check, shadow_limit=options.shadow_limit)
    progress.done(f"executed at {options.level or program.levels[-1]}")
    for kernel, reason in statistics.not_lifted.items():
        launches = statistics.launches[kernel] - statistics.lifted[kernel]
        sys.stderr.write(f"remark: {plural(launches, 'launch')} of @{kernel} ran instruction by instruction: {reason}\n")
    for path, array in zip(options.output, results, strict=False):
        _write(Path(path), array)
    metrics = None if factory is None else _compare(program, factory, inputs, results, options.program, progress)
    write = _write_json if options.format == "json" else _write_text
    changed = _changed(program, inputs, results)
    write(program, results, changed, statistics, metrics, profile)
    if options.format == "text" and program.origin is not None:
        specs = " ".join(f"--input '{spec}'" for spec in program.signature.inputs)
        sys.stdout.write(f"\nnext: gec compare {shlex.quote(program.origin['factory'])} {specs}\n")
    return 3 if any(not m.within for m in metrics or ()) else 0


def _bytes(text: str) -> int:
    """A number of bytes; K, M and G stand for 2^10, 2^20 and 2^30."""
    match = re.fullmatch(r"(\d{1,20})([KMG]?)", text, re.IGNORECASE)
    if match is None:
        raise argparse.ArgumentTypeError(f"expected a number of bytes such as 64M, got '{text}'")
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2].upper()]


def inputs_of(program: Program, texts: Sequence[str]) -> list[Array]:
    """The inputs of a run; those not given are random with seeds 0, 1, ... Raises `UsageError` for one that does not fit."""
    given = {i.name: i for i in parse_inputs(texts)}
    specs = program.signature.inputs
    if unknown := [name for name in given if name not in {spec.name for spec in specs}]:
        raise UsageError(f"--input {unknown[0]}: the program has no such input; it takes {program.signature.describe_inputs()}")
    arrays = [fit(given[spec.name].array(), spec) if spec.name in given else random_array(spec, i) for i, spec in enumerate(specs)]
    try:
        program.signature.check(arrays)
    except TypeError as error:
        raise UsageError(str(error)) from None
    return arrays


def _compare(
    program: Program, factory: Factory, inputs: Sequence[Array], results: Sequence[Array], source: str, progress: Progress
) -> list[Metrics]:
    from ge_compiler.tools.commands.golden import compare, golden_of_program, with_weights

    model = with_weights(factory.build(), program.weights, program.dtype, source)
    truth = golden_of_program(program, model, inputs)
    progress.done(f"ran {factory} in PyTorch, and in f64")
    return compare(program, results, truth)


def _changed(program: Program, inputs: Sequence[Array], results: Sequence[Array]) -> list[int]:
    """How many elements of each state the call has changed."""
    before = [inputs[state.argument] if state.initial is None else program.states[state.tensor.name] for state in program.signature.states]
    after = [results[state.result] for state in program.signature.states]
    return [int(np.count_nonzero((old != new) & ((old == old) | (new == new)))) for old, new in zip(before, after, strict=True)]


def _check_outputs(paths: Sequence[str]) -> None:
    """All of them before the work: either every output is written or none."""
    for path in map(Path, paths):
        if path.suffix != ".npy":
            raise CompileError(f"cannot write {path}: outputs are written as .npy files")
        check_writable(path)
    if twice := [path for path in paths if list(map(Path, paths)).count(Path(path)) > 1]:
        raise UsageError(f"--output {twice[0]} is given twice; name a file for each output")


def _write(path: Path, array: Array) -> None:
    is_bf16 = array.dtype.name == "bfloat16"  # which .npy files do not have
    with write_beside(path) as file:
        np.save(file, array.astype(np.float32) if is_bf16 else array)


def _write_json(
    program: Program,
    results: Sequence[Array],
    changed: Sequence[int],
    statistics: Statistics,
    metrics: Sequence[Metrics] | None,
    profile: Profile | None,
) -> None:
    rows: list[dict[str, Any]] = []
    for i, (spec, array) in enumerate(zip(program.signature.results, results, strict=True)):
        row: dict[str, Any] = {"name": spec.name, "dtype": spec.dtype, "shape": list(spec.shape), **_moments(array)}
        rows.append(row if metrics is None else row | {"golden": metrics[i].to_json()})
    count = len(program.signature.outputs)
    states = [row | {"changed": elements} for row, elements in zip(rows[count:], changed, strict=True)]
    result: dict[str, Any] = {"outputs": rows[:count], "states": states}
    result |= {"instructions": statistics.total, "launches": dict(statistics.launches)}
    result |= {"lifted": dict(statistics.lifted), "not_lifted": statistics.not_lifted}
    if metrics is not None:
        result["within"] = all(m.within for m in metrics)
    if profile is not None:
        result["time"] = to_json(profile)
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


def _moments(array: Array) -> dict[str, float | None]:
    values = array.astype(np.float64)
    if not values.size:
        return {"mean": None, "min": None, "max": None}
    figures = {"mean": values.mean(), "min": values.min(), "max": values.max()}
    return {name: float(value) if np.isfinite(value) else None for name, value in figures.items()}


def _write_text(
    program: Program,
    results: Sequence[Array],
    changed: Sequence[int],
    statistics: Statistics,
    metrics: Sequence[Metrics] | None,
    profile: Profile | None,
) -> None:
    specs, count = program.signature.results, len(program.signature.outputs)
    rows = [(str(spec), *map(figure_or_dash, _moments(array).values())) for spec, array in zip(specs, results, strict=True)]
    sys.stdout.write(table(("output", "mean", "min", "max"), rows[:count], right=(1, 2, 3), indent="") + "\n")
    if changed:
        states = [(*row, str(elements)) for row, elements in zip(rows[count:], changed, strict=True)]
        header = ("new contents of state", "mean", "min", "max", "elements changed")
        sys.stdout.write("\n" + table(header, states, right=(1, 2, 3, 4), indent="") + "\n")
    if statistics.total:
        sys.stdout.write(f"{statistics.total} instructions in {plural(statistics.launches.total(), 'kernel launch')}\n")
    if metrics is not None:
        sys.stdout.write("\n" + golden_text(specs, metrics))
    if profile is not None:
        sys.stdout.write("\n" + profile_text(profile))


def figure_or_dash(value: float | None) -> str:
    """A signed figure of four digits."""
    return "-" if value is None else f"{value:.4g}"


def golden_text(specs: Sequence[TensorSpec], metrics: Sequence[Metrics]) -> str:
    """The comparison with PyTorch, a row for each output, and what is wrong where something is."""
    rows = [
        (
            spec.name,
            figure(m.max_abs),
            figure(m.allowed_max_abs),
            figure(m.eager_max_abs),
            figure(m.max_abs_to_eager),
            f"{m.max_ulp:.1f}",
            cosine(m.cosine),
            str(m.left_out) if m.left_out else "",
            "ok" if m.within else "WRONG",
        )
        for spec, m in zip(specs, metrics, strict=True)
    ]
    header = ("output", "max error", "allowed", "PyTorch's own", "to PyTorch", "ulp", "cosine", "left out", "")
    text = "against an f64 evaluation of the model\n" + table(header, rows, right=range(1, 8)) + "\n"
    for spec, m in zip(specs, metrics, strict=True):
        text += "".join(f"{spec.name}: {failure}\n" for failure in m.failures)
    return text
