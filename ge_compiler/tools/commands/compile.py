"""gec compile: a model or a module becomes an `.om` file, and a report of ten seconds' reading."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from pathlib import Path

from ge_compiler.dialects import LEVELS
from ge_compiler.tools.commands.shared import Progress, add_compilation_options, check_writable, program_of_factory, program_of_module
from ge_compiler.tools.opt.registry import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("model", metavar="MODEL", help="FILE.py:NAME, a class or function that makes a torch model, or FILE.mlir")
    add_compilation_options(parser)
    parser.add_argument("-o", "--output", metavar="FILE.om", help="where to write the program")
    parser.add_argument(
        "--emit", choices=LEVELS, metavar="LEVEL", help=f"print the text of a level instead of the report: {', '.join(LEVELS)}"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="the form of the report (default: text)")


def run(options: argparse.Namespace) -> int:
    """Compiles, writes, reports."""
    if options.output is not None:
        _check_output(Path(options.output))
    progress = Progress()
    is_module = options.model.endswith(".mlir")
    stop = options.emit if options.emit is not None and options.output is None else LEVELS[-1]
    program = program_of_module(options, progress, stop) if is_module else program_of_factory(options, progress, stop).program
    if options.output is not None:
        program.save(options.output)
        progress.done(f"wrote {options.output}")
    if options.emit is not None:
        sys.stdout.write(program.text(options.emit))
        return 0
    found = program.report()
    if options.format == "json":
        sys.stdout.write(json.dumps(found.to_json(), indent=2) + "\n")
        return 0
    from ge_compiler.tools.commands.summary import summary

    sys.stdout.write(summary(options.model, program, found))
    sys.stdout.write(_next_steps(options, is_module))
    return 0


def _next_steps(options: argparse.Namespace, is_module: bool) -> str:
    if options.output is None:
        return "\nnext: add -o FILE.om to keep the program; --emit tile prints a level\n"
    size = os.path.getsize(options.output)
    golden = "" if is_module else " --golden torch"
    return f"\nwrote {options.output} ({size} bytes)\nnext: gec run {shlex.quote(str(options.output))}{golden}\n"


def _check_output(path: Path) -> None:
    check_writable(path)
    if path.suffix in (".py", ".mlir", ".safetensors"):
        raise UsageError(f"-o {path} would overwrite a source; name a file that ends in .om")
