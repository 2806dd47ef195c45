"""gec operators: which operators of PyTorch become operators of `ge`; the others run on the host."""

from __future__ import annotations

import argparse
import json
import sys

from ge_compiler.tools.commands.table import plural


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("word", nargs="?", default="", metavar="WORD", help="list only those whose name has this in it")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="the form of the result (default: text)")


def run(options: argparse.Namespace) -> int:
    """Lists them by theme; 1 if none has the word."""
    from ge_compiler.lowering.from_torch.graph import OPERATOR_FILES, nearest_operator, operators_of

    themes = {file.__name__.rpartition(".")[2]: [name for name in operators_of(file) if options.word in name] for file in OPERATOR_FILES}
    count = sum(map(len, themes.values()))
    if options.format == "json":
        sys.stdout.write(json.dumps(themes, indent=2) + "\n")
        return 0 if count else 1
    if not count:
        sys.stderr.write(f"gec: no operator of ge has '{options.word}' in its name: it runs on the host{nearest_operator(options.word)}\n")
        return 1
    for theme, names in themes.items():
        if names:
            sys.stdout.write(f"{theme.replace('_', ' ')}\n" + "".join(f"  {name}\n" for name in names))
    sys.stdout.write(f"{plural(count, 'operator')}; what is not listed runs on the host\n")
    return 0
