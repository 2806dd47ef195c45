"""gec profile: how long a program takes on the chip, and why."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ge_compiler.tools.api import Program, load
from ge_compiler.tools.commands.profiling.profile import GRAPH, LAUNCHES, Profile, profile_of, to_json
from ge_compiler.tools.commands.shared import Progress, add_compilation_options, check_writable, program_of_factory, program_of_module
from ge_compiler.tools.opt.registry import UsageError

FORMATS = ("text", "json", "csv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add = parser.add_argument
    add("program", metavar="PROGRAM", help="FILE.om, or what gec compile takes: FILE.py:NAME or FILE.mlir")
    add(
        "--launch", choices=LAUNCHES, default=GRAPH, help="who launches: the device a whole graph, or a host one at a time (default: graph)"
    )
    add("--compare", metavar="OTHER.om", help="what has changed since that program, and why")
    add("--format", choices=FORMATS, default="text", help="csv has the columns of msprof's op_summary (default: text)")
    add("--trace", metavar="FILE.json", help="write a timeline for ui.perfetto.dev: a row for each pipe, flags as arrows")
    add("--trace-full", action="store_true", help="with every iteration of steady loops in the trace, not one slice for all")
    add("--png", metavar="FILE.png", help="draw the timeline (needs matplotlib: pip install 'ge-compiler[viz]')")
    add_compilation_options(parser)


def run(options: argparse.Namespace) -> int:
    """Times, writes what is asked for, reports."""
    _check(options)
    progress = Progress()
    profile = _profile(options.program, _program(options, progress), options.launch)
    other = None if options.compare is None else _profile(options.compare, load(options.compare), options.launch)
    progress.done(f"timed {options.program}")
    if options.trace is not None:
        from ge_compiler.tools.commands.profiling.trace import write_trace

        write_trace(Path(options.trace), profile, full=options.trace_full)
        progress.done(f"wrote {options.trace}; open it at ui.perfetto.dev")
    if options.png is not None:
        from ge_compiler.tools.commands.profiling.picture import write_picture

        write_picture(Path(options.png), profile)
        progress.done(f"wrote {options.png}")
    sys.stdout.write(_report(options.format, profile, other))
    return 0


def _report(form: str, profile: Profile, other: Profile | None) -> str:
    from ge_compiler.tools.commands.profiling.changes import changes_json, changes_text
    from ge_compiler.tools.commands.profiling.op_summary import op_summary
    from ge_compiler.tools.commands.profiling.text import profile_text

    if form == "csv":
        return op_summary(profile)
    if form == "json":
        compared = {} if other is None else {"compare": changes_json(other, profile)}
        return json.dumps(to_json(profile) | compared, indent=2) + "\n"
    return profile_text(profile) if other is None else changes_text(other, profile)


def _check(options: argparse.Namespace) -> None:
    """Before the work, not after it."""
    if options.trace_full and options.trace is None:
        raise UsageError("--trace-full says how --trace FILE.json is written; give that too")
    if options.compare is not None and options.format == "csv":
        raise UsageError("--format=csv lists the launches of one program; leave --compare out, or use --format=json")
    if options.compare is not None and (".py:" in options.compare or options.compare.endswith((".py", ".mlir"))):
        raise UsageError(f"--compare {options.compare}: name a program; gec compile {options.compare} ... -o OTHER.om makes one")
    for flag, path, ending in (("--trace", options.trace, ".json"), ("--png", options.png, ".png")):
        if path is not None and not path.endswith(ending):
            raise UsageError(f"{flag} {path}: name a file that ends in {ending}")
        if path is not None:
            check_writable(Path(path))
    if options.png is not None:
        from ge_compiler.tools.commands.profiling.picture import check_matplotlib

        check_matplotlib()


def _program(options: argparse.Namespace, progress: Progress) -> Program:
    name: str = options.program
    if name.endswith(".mlir"):
        options.model = name
        return program_of_module(options, progress, with_weights=False)
    if name.endswith(".py") or ".py:" in name:
        options.model = name
        return program_of_factory(options, progress).program
    given = [flag for flag in ("input", "target", "dtype", "seed", "tiling", "precision_mode", "fallback") if getattr(options, flag)]
    if given:
        raise UsageError(f"{name} is compiled already; leave --{given[0].replace('_', '-')} out")
    return load(name)


def _profile(name: str, program: Program, launch: str) -> Profile:
    return profile_of(name, program.module("npu"), launch)
