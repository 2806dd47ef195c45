"""Files that are whole or not there: written beside their place, then renamed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ge_compiler.dialects.diagnostics import CompileError

if TYPE_CHECKING:
    from typing_extensions import Buffer


class write_beside:
    """
    Opens a file beside `path` that takes its place when the block ends, and is removed if it does not end well.

    A device or a pipe is written directly. Raises `CompileError` where the file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.replaces = not self.path.exists() or self.path.is_file()
        self.written = self.path.with_name(f".{self.path.name}.{os.getpid()}.part") if self.replaces else self.path

    def __enter__(self) -> BinaryIO:
        try:
            self.file = self.written.open("w+b" if self.replaces else "wb")
        except OSError as error:
            raise self._failed(error) from None
        return self.file

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        try:
            self.file.close()
            if kind is None and self.replaces:
                self.written.replace(self.path)
        except OSError as failure:
            kind, error = type(failure), failure
        if kind is not None and self.replaces:
            self.written.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> CompileError:
        return CompileError(f"cannot write {self.path}: {error.strerror or error}")


def write_chunks(file: BinaryIO, chunks: Iterable[Buffer]) -> int:
    """Writes `chunks`; the number of bytes."""
    return sum(file.write(chunk) for chunk in chunks)
