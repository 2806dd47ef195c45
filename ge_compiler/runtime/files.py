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
    """Opens a file beside `path` that takes its place when the block ends, and is removed if it does not end well."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")

    def __enter__(self) -> BinaryIO:
        try:
            if self.path.is_dir():
                raise IsADirectoryError(21, "Is a directory")
            self.file = self.temporary.open("w+b")
        except OSError as error:
            raise CompileError(f"cannot write {self.path}: {error.strerror}") from None
        return self.file

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        try:
            self.file.close()
            if kind is None:
                self.temporary.replace(self.path)
        except OSError as failure:
            self.temporary.unlink(missing_ok=True)
            raise CompileError(f"cannot write {self.path}: {failure.strerror}") from None
        if kind is not None:
            self.temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise CompileError(f"cannot write {self.path}: {error.strerror}") from None


def write_chunks(file: BinaryIO, chunks: Iterable[Buffer]) -> int:
    """Writes `chunks`; the number of bytes."""
    return sum(file.write(chunk) for chunk in chunks)
