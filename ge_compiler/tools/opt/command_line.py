"""The command line of ge-opt: its options, with mlir-opt's names."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

_EPILOG = """\
examples:
  ge-opt in.mlir -p 'canonicalize,cse'
  ge-opt in.mlir -p to-tile --mlir-print-ir-after-all
  ge-opt in.mlir -p 'to-buf,insert-sync{mode=barrier-all}' --target Ascend910A -o out.mlir
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        unknown = message.removeprefix("unrecognized arguments: ").split("=")[0].split(" ")[0]
        if unknown.startswith("-"):
            from ge_compiler.dialects.diagnostics import did_you_mean

            message += did_you_mean(unknown, (option for option in self._option_string_actions if option.startswith("--")))
        sys.stderr.write(f"ge-opt: error: {message}\n")
        raise SystemExit(2)


def parse_command_line(arguments: list[str] | None) -> argparse.Namespace:
    """The options of ge-opt. Exits with status 2 on a fault, 0 after `--help` and `--version`."""
    parser = _Parser(
        prog="ge-opt",
        description="Reads a module, runs passes over it and prints it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_input_and_output(parser)
    _add_passes(parser)
    _add_debugging(parser)
    _add_listings(parser)
    return parser.parse_args(arguments)


def _add_input_and_output(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("input", nargs="?", default="-", metavar="FILE", help="the module to read; '-' or nothing: standard input")
    add("-o", "--output", metavar="FILE", help="where to write; written beside it first, then renamed (default: standard output)")
    add("--split-input-file", action="store_true", help="treat the pieces between lines '// -----' as separate modules")
    add("--verify-diagnostics", action="store_true", help="compare errors, notes and remarks with 'expected-error@+1 {{...}}' comments")
    add("--allow-unregistered-dialect", action="store_true", help="accept operations of unknown dialects in generic form")
    add("--mlir-print-op-generic", "--print-op-generic", dest="generic", action="store_true", help="print the generic form")
    add("--mlir-print-debuginfo", "--print-debuginfo", dest="debuginfo", action="store_true", help="print locations")


def _add_passes(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    pipeline = parser.add_mutually_exclusive_group()
    pipeline.add_argument("-p", "--passes", default="", metavar="PASSES", help="passes and pipelines, as 'a,b{x=1 y=2},to-tile'")
    pipeline.add_argument("--pass-pipeline", default="", metavar="PASSES", help="the same, in mlir-opt's form 'builtin.module(a,b)'")
    add("--target", metavar="NAME", help="a chip of --show-targets or a table file CHIP.toml; set as the module's 'ge.target'")
    add("--verify-each", default=True, action=argparse.BooleanOptionalAction, help="verify the module after every pass (default: yes)")


def _add_debugging(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--mlir-print-ir-before-all", dest="print_before_all", action="store_true", help="print the module before every pass, to stderr")
    add("--mlir-print-ir-after-all", dest="print_after_all", action="store_true", help="print the module after every pass, to stderr")
    add("--mlir-print-ir-before", dest="print_before", action="append", default=[], metavar="PASS", help="print it before this pass")
    add("--mlir-print-ir-after", dest="print_after", action="append", default=[], metavar="PASS", help="print it after this pass")
    add("--mlir-print-ir-after-failure", dest="print_failure", action="store_true", help="print what a failing pass left behind")
    add("--mlir-timing", dest="timing", action="store_true", help="print the time of every pass, to stderr")
    add("--remarks", action="store_true", help="print the remarks of passes, to stderr: what they declined to do, and why")


def _add_listings(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--show-dialects", action="store_true", help="list the dialects and exit")
    add("--show-passes", action="store_true", help="list passes with their options, and pipelines, and exit")
    add("--show-pipeline", metavar="NAME", help="list the passes of a pipeline with their reasons and exit")
    add("--show-targets", action="store_true", help="list the chips and exit")
    add("--version", action="store_true", help="print the version and exit")
