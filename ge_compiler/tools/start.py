"""Where the commands start: an interrupt while their modules are still being imported ends them in silence, by the signal."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager


def gec() -> int:
    """The command `gec`; its exit status."""
    with _interrupts_end_the_process():
        from ge_compiler.tools.gec import main
    return _ended(main())


def ge_opt() -> int:
    """The command `ge-opt`; its exit status."""
    with _interrupts_end_the_process():
        from ge_compiler.tools.ge_opt import main
    return _ended(main())


def _ended(status: int) -> int:
    from ge_compiler.tools.ending import INTERRUPTED

    if status == INTERRUPTED:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an impatient second one must not add a traceback
    return status


@contextmanager
def _interrupts_end_the_process() -> Generator[None]:
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # not where whoever started us has interrupts ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, before)
