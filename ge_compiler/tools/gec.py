"""
gec: compiles PyTorch models, runs and times the programs, compares their levels.

Exit status: 0 done, 1 a fault of the input, 2 a command line that cannot be carried out, 3 a tolerance missed, 130 interrupted.
"""

from __future__ import annotations

import argparse
import re
import sys
from importlib import import_module
from typing import NoReturn

from ge_compiler import __version__
from ge_compiler.tools.ending import status_of

COMMANDS = {
    "compile": "compile a PyTorch model or a .mlir file to an .om file",
    "run": "execute an .om file, and compare it with PyTorch",
    "compare": "execute a model at every level and compare them",
    "profile": "tell how long a program takes on the chip, and why",
    "operators": "list the PyTorch operators that do not need the host",
}

_EPILOG = """\
examples:
  gec compile examples/mlp.py:SimpleMLP --input 'x=f16[32,768]' -o mlp.om
  gec run mlp.om --golden torch
  gec compare examples/mlp.py:SimpleMLP --input 'x=f16[32,768]' --levels all
  gec profile mlp.om --trace mlp.json
"""


def main(arguments: list[str] | None = None) -> int:
    """Runs gec and returns its exit status; never a traceback, unless the environment variable GE_DEBUG is set."""
    return status_of("gec", lambda: _run(sys.argv[1:] if arguments is None else arguments))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        from ge_compiler.dialects.diagnostics import did_you_mean

        unknown = message.removeprefix("unrecognized arguments: ").split("=")[0].split(" ")[0]
        if unknown.startswith("--"):
            message += did_you_mean(unknown, (option for option in self._option_string_actions if option.startswith("--")))
        if (choice := re.search(r"COMMAND: invalid choice: '([^']*)'", message)) is not None:
            message = f"unknown command '{choice[1]}'{did_you_mean(choice[1], COMMANDS)}; commands: {', '.join(COMMANDS)}"
        sys.stderr.write(f"{self.prog}: error: {message}\n")
        raise SystemExit(2)


def _run(arguments: list[str]) -> int:
    parser = _Parser(
        prog="gec",
        description="Compiles PyTorch models for a simulated NPU.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gec {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    parsers = {
        name: commands.add_parser(name, help=text, description=f"gec {name}: {text}.", allow_abbrev=False)
        for name, text in COMMANDS.items()
    }
    named = next((argument for argument in arguments if argument in COMMANDS), None)
    if named is not None:
        # Only the command that is meant is imported: help must come at once.
        import_module(f"ge_compiler.tools.commands.{named}").add_arguments(parsers[named])
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        parsers[options.command].error(f"unrecognized arguments: {' '.join(unknown)}")
    return import_module(f"ge_compiler.tools.commands.{options.command}").run(options)


if __name__ == "__main__":
    raise SystemExit(main())
