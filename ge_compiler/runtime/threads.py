"""How many threads products may use."""

from __future__ import annotations

import functools
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController  # pyright: ignore[reportMissingTypeStubs]


@functools.cache
def _blas() -> Any:
    # Looking for the libraries costs milliseconds: once a process.
    controller: Any = ThreadpoolController()
    return controller.select(user_api="blas")


@contextmanager
def one_blas_thread() -> Generator[None]:
    """One BLAS thread: two pools of two threads spin against each other, and bits must not depend on the machine's cores."""
    with _blas().limit(limits=1):
        yield
