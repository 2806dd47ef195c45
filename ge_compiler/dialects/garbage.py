"""Holding back Python's garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def garbage_uncollected() -> Generator[None]:
    """For work that makes many objects that stay: looking for garbage among them, and among all of torch's, takes a third of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():  # a program that froze objects wants them to stay so
                # All that was made is old at once; else the next object made would start a search through it as if it were short-lived.
                gc.freeze()
                gc.unfreeze()
            gc.enable()
