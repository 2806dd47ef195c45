"""Watching passes run: the module before and after each, and how long each takes. All of it goes to standard error."""

from __future__ import annotations

import sys
from argparse import Namespace
from io import StringIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from ge_compiler.dialects.diagnostics import did_you_mean
from ge_compiler.tools.opt.pass_manager import PassObserver
from ge_compiler.tools.opt.registry import UsageError, available_passes


class PassWatcher(PassObserver):
    """Prints what the options of ge-opt ask for. Raises `UsageError` where they name an unknown pass."""

    def __init__(self, options: Namespace) -> None:
        self.options = options
        self.times: list[tuple[str, float]] = []
        for name in (*options.print_before, *options.print_after):
            if name not in available_passes():
                raise UsageError(f"unknown pass '{name}'{did_you_mean(name, available_passes())}; --show-passes lists them")

    def before(self, spec: str, module: ModuleOp) -> None:
        if self.options.print_before_all or _name(spec) in self.options.print_before:
            self._dump(f"IR Dump Before {spec}", module)

    def after(self, spec: str, module: ModuleOp, seconds: float) -> None:
        self.times.append((spec, seconds))
        if self.options.print_after_all or _name(spec) in self.options.print_after:
            self._dump(f"IR Dump After {spec}", module)

    def failed(self, spec: str, module: ModuleOp) -> None:
        if self.options.print_failure:
            self._dump(f"IR Dump After {spec} Failed", module)

    def report_timing(self) -> None:
        """A line a pass, in the order they ran: wall time, share, name."""
        total = sum(seconds for _, seconds in self.times)
        sys.stderr.write(f"===- execution time report: {total:.4f} seconds in {len(self.times)} passes -===\n")
        for spec, seconds in self.times:
            sys.stderr.write(f"  {seconds:8.4f} s ({seconds / total if total else 0:6.1%})  {spec}\n")

    def _dump(self, title: str, module: ModuleOp) -> None:
        stream = StringIO()
        Printer(stream, print_generic_format=self.options.generic, print_debuginfo=self.options.debuginfo).print_op(module)
        sys.stderr.write(f"// -----// {title} //----- //\n{stream.getvalue()}\n\n")


def _name(spec: str) -> str:
    return spec.split("{")[0]
