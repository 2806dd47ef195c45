"""
ge-opt: reads a module, runs passes over it, prints it.

Exit status: 0 done, 1 a fault of the input (or of a pass), 2 a command line that cannot be carried out, 130 interrupted.
"""

from __future__ import annotations

import atexit
import gc
import re
import sys
from argparse import Namespace
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from ge_compiler.tools.ending import status_of
from ge_compiler.tools.opt.command_line import parse_command_line

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ge_compiler.dialects.diagnostics import CompileError, Remark
    from ge_compiler.tools.opt.pass_manager import PassManager

_SPLIT = re.compile(r"^// -----.*$", re.MULTILINE)
_STDIN = "<stdin>"


def main(arguments: list[str] | None = None) -> int:
    """Runs ge-opt and returns its exit status; never a traceback, unless the environment variable GE_DEBUG is set."""
    if arguments is None:
        _collect_rarely()
    return status_of("ge-opt", lambda: _run(parse_command_line(arguments)))


def _collect_rarely() -> None:
    """For a process of one command: what it makes mostly stays until the end, and looking for garbage is a fifth of a short run."""
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)  # the interpreter collects twice more when it ends


def _run(options: Namespace) -> int:
    if (listing := _listing(options)) is not None:
        sys.stdout.writelines(f"{line}\n" for line in listing)
        return 0
    session = _Session(options)
    name, text = _read(options.input)
    pieces = _split(text) if options.split_input_file else [text]
    printed = [session.process(name, piece) for piece in pieces]
    if session.status == 0 or not options.output:
        _write(options.output, "// -----\n".join(piece for piece in printed if piece is not None))
    session.report_timing()
    return session.status


def _listing(options: Namespace) -> Iterable[str] | None:
    if options.version:
        from importlib.metadata import version

        return [f"ge-opt {version('ge-compiler')}"]
    if not (options.show_dialects or options.show_passes or options.show_pipeline or options.show_targets):
        return None
    from ge_compiler.tools.opt import listings

    if options.show_dialects:
        return listings.show_dialects()
    if options.show_passes:
        return listings.show_passes()
    if options.show_targets:
        return listings.show_targets()
    return listings.show_pipeline(options.show_pipeline)


def _read(path: str) -> tuple[str, str]:
    from ge_compiler.dialects.parser import decode

    name = _STDIN if path == "-" else path
    return name, decode(sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes(), name)


def _split(text: str) -> list[str]:
    """The pieces of a text; empty lines stand for what lies before, so that lines count as in the file."""
    pieces: list[str] = []
    start = 0
    for end in [*(match.start() for match in _SPLIT.finditer(text)), len(text)]:
        pieces.append("\n" * text.count("\n", 0, start) + text[start:end])
        start = text.find("\n", end) + 1 or len(text)
    return pieces


def _write(path: str | None, text: str) -> None:
    if path is None or path == "-":
        sys.stdout.write(text)
        return
    from ge_compiler.runtime.files import write_beside

    with write_beside(path) as file:
        file.write(text.encode())


class _Session:
    """One run: the passes, resolved before anything is read, and what has gone wrong so far."""

    def __init__(self, options: Namespace) -> None:
        self.options = options
        self.status = 0
        self.passes: PassManager | None = None
        self.watcher = None
        if options.target is not None:
            _check_target(options.target)
        if pipeline := options.passes or options.pass_pipeline:
            from ge_compiler.tools.opt.pass_manager import PassManager
            from ge_compiler.tools.opt.watcher import PassWatcher

            self.watcher = PassWatcher(options)
            self.passes = PassManager(pipeline, verify_each=options.verify_each, observer=self.watcher)

    def process(self, name: str, text: str) -> str | None:
        """The printed result of one module, None where it failed."""
        from ge_compiler.dialects.diagnostics import CompileError, collect_remarks, format_diagnostic

        module, failure = None, None
        with collect_remarks() as remarks:
            try:
                module = self._compile(name, text)
            except CompileError as error:
                failure = error
        if self.options.remarks:
            sys.stderr.writelines(f"{remark}\n" for remark in remarks)
        if self.options.verify_diagnostics:
            self._compare(name, text, failure, remarks)
        elif failure is not None:
            sys.stderr.write(f"{format_diagnostic(failure, {name: text})}\n")
            self.status = 1
        return None if module is None else self._print(module)

    def _compile(self, name: str, text: str) -> ModuleOp:
        from ge_compiler import dialects
        from ge_compiler.dialects.parser import parse_module
        from ge_compiler.dialects.verifier import verify_module

        context = dialects.context()
        context.allow_unregistered = self.options.allow_unregistered_dialect
        module = parse_module(text, name, context, verify=False)
        if self.options.target is not None:
            from xdsl.dialects.builtin import StringAttr

            module.attributes["ge.target"] = StringAttr(self.options.target)
        # Only now is it known which pipes and memories there are.
        verify_module(module)
        if self.passes is not None:
            self.passes.run(context, module)
        return module

    def _compare(self, name: str, text: str, failure: CompileError | None, remarks: list[Remark]) -> None:
        from ge_compiler.dialects.diagnostics import format_diagnostic
        from ge_compiler.tools.opt.expected import diagnostics_of, expectations, mismatches

        for mismatch in mismatches(expectations(text, name), diagnostics_of(failure, remarks)):
            sys.stderr.write(f"{format_diagnostic(mismatch, {name: text})}\n")
            self.status = 1

    def _print(self, module: ModuleOp) -> str:
        from xdsl.printer import Printer

        stream = StringIO()
        printer = Printer(stream, print_generic_format=self.options.generic, print_debuginfo=self.options.debuginfo)
        printer.print_op(module)
        return stream.getvalue() + "\n"

    def report_timing(self) -> None:
        if self.options.timing and self.watcher is not None:
            self.watcher.report_timing()


def _check_target(name: str) -> None:
    from ge_compiler.dialects.diagnostics import CompileError
    from ge_compiler.dialects.target import load_target
    from ge_compiler.tools.opt.registry import UsageError

    try:
        load_target(name)
    except CompileError as error:
        if name.endswith(".toml"):
            raise
        raise UsageError(error.message) from error


if __name__ == "__main__":
    raise SystemExit(main())
