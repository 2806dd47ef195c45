"""Output files that are either whole or not there."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp


def write_atomically(path: Path, content: str | bytes) -> None:
    """
    Writes beside `path` and renames, so that no reader ever sees a part of it. Raises `OSError` naming `path`.

    A device or a pipe is written directly: it can be neither replaced nor left half done.
    """
    data = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    try:
        handle, beside = mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(beside).chmod(0o666 & ~_umask())
        Path(beside).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(beside).unlink()
        raise


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
