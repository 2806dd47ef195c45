"""How a command ends: with a status, and a line for whoever asked; never a traceback, unless the environment variable GE_DEBUG is set."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable

INTERRUPTED = 130
"""The status of a command that was interrupted."""

_PLEASE_REPORT = "please report it (GE_DEBUG=1 shows the traceback)"


def status_of(name: str, command: Callable[[], int]) -> int:
    """
    Runs a command, and says on stderr as `name` what went wrong.

    Its status: that of the command, 1 for a fault of the input, 2 for a command line that cannot be carried out, 130 where it was
    interrupted, 141 where nobody reads what it writes.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY))  # closed by whoever started us: to write there is to fail
    try:
        status = command()
        sys.stdout.flush()
        return status
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 2
    except KeyboardInterrupt:
        sys.stderr.write(f"{name}: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        _abandon_output()  # whoever read it has enough
        return 141
    except Exception as error:
        if os.environ.get("GE_DEBUG"):
            raise
        return _report(name, error)


def _abandon_output() -> None:
    """What standard output still holds goes nowhere, so that the interpreter does not complain when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(name: str, error: Exception) -> int:
    from ge_compiler.dialects.diagnostics import CompileError, format_diagnostic
    from ge_compiler.tools.opt.pass_manager import InternalError
    from ge_compiler.tools.opt.registry import UsageError

    match error:
        case CompileError():
            sys.stderr.write(f"{format_diagnostic(error)}\n")
        case UsageError():
            sys.stderr.write(f"{name}: error: {error}\n")
            return 2
        case ModuleNotFoundError(name="torch"):
            sys.stderr.write(f"{name}: error: this command needs PyTorch: pip install 'ge-compiler[torch]'\n")
        case MemoryError():
            sys.stderr.write(f"{name}: error: there is not enough memory: {error}\n")
        case io.UnsupportedOperation():
            sys.stderr.write(f"{name}: error: cannot write the output: standard output is closed\n")
        case OSError(filename=str(path)):
            sys.stderr.write(f"{name}: error: cannot open '{path}': {error.strerror}\n")
        case OSError():
            sys.stderr.write(f"{name}: error: cannot write the output: {error.strerror}\n")
            _abandon_output()
        case InternalError():
            sys.stderr.write(f"{name}: {error}; {_PLEASE_REPORT}\n")
        case _:
            sys.stderr.write(f"{name}: internal error: {type(error).__name__}: {' '.join(str(error).split())}; {_PLEASE_REPORT}\n")
    return 1
