"""
The `.om` file: a program at every level, its weights and where it came from, under a checksum.

    8 bytes   magic
    4 bytes   version of the format, little-endian, as are all numbers
    4 bytes   length of the table
    32 bytes  SHA-256 of the whole file with these 32 bytes zero
    table     JSON: name, offset and size of each section, padded to 64 bytes
    sections  `header` (JSON), `module/<level>` (text with locations), `weights` (safetensors), each at a multiple of 64

The same program gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.runtime.files import write_beside, write_chunks
from ge_compiler.runtime.weights import WeightStore

if TYPE_CHECKING:
    from typing_extensions import Buffer

MAGIC = b"GE-OM\r\n\x1a"
VERSION = 1
_DIGEST = slice(16, 48)
_ALIGNMENT = 64
_LEVEL_PREFIX = "module/"


@dataclass(frozen=True)
class Artifact:
    """What a file holds."""

    header: Mapping[str, Any]
    """Target, dtype, signature, factory, options: values of JSON."""
    texts: Mapping[str, str]
    """Level -> the module's text, from `ge` down."""
    weights: WeightStore

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file, whole or not at all. Raises `CompileError` where that is not possible."""
        sections: list[tuple[str, Sequence[Buffer]]] = [("header", [_json(self.header)])]
        sections += [(_LEVEL_PREFIX + level, [text.encode()]) for level, text in self.texts.items()]
        sections.append(("weights", list(self.weights.chunks())))
        table = _table(sections)
        head = MAGIC + VERSION.to_bytes(4, "little") + len(table).to_bytes(4, "little")
        body = [table, *(chunk for _, chunks in sections for chunk in (*chunks, bytes(-_size(chunks) % _ALIGNMENT)))]
        digest = hashlib.sha256(head + bytes(32))
        for chunk in body:
            digest.update(chunk)
        with write_beside(path) as file:
            write_chunks(file, [head, digest.digest(), *body])

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Artifact:
        """Reads a file; weights stay mapped. Raises `CompileError` if it is missing, foreign, newer, truncated or corrupt."""
        name = os.fspath(path)
        try:
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        except OSError as error:
            raise CompileError(f"cannot read {name}: {error.strerror}") from None
        _check(data, name)
        try:
            places = _read_table(data)
            header = json.loads(_section(data, places, "header"))
            levels = [section.removeprefix(_LEVEL_PREFIX) for section in places if section.startswith(_LEVEL_PREFIX)]
            texts = {level: _section(data, places, _LEVEL_PREFIX + level).decode() for level in levels}
            return Artifact(header, texts, WeightStore.load(path, *places["weights"]))
        except (ValueError, TypeError, LookupError) as error:
            # The checksum is right, so that this is how the file was written.
            raise malformed(name, error) from error


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _table(sections: Sequence[tuple[str, Sequence[Buffer]]]) -> bytes:
    """The table, whose own length decides the offsets that it holds: it grows until they agree."""
    length = 0
    while True:
        offset = _DIGEST.stop + length
        offset += -offset % _ALIGNMENT
        entries: list[tuple[str, int, int]] = []
        for name, chunks in sections:
            size = _size(chunks)
            entries.append((name, offset, size))
            offset += size + -size % _ALIGNMENT
        table = _json(entries)
        table += b" " * (-(_DIGEST.stop + len(table)) % _ALIGNMENT)
        if len(table) <= length:
            return table.ljust(length)
        length = len(table)


def _size(chunks: Iterable[Buffer]) -> int:
    return sum(memoryview(chunk).nbytes for chunk in chunks)


def malformed(name: str, error: Exception) -> CompileError:
    """What to say of a file that is whole, but does not hold what a program does."""
    reason = f"there is no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
    return CompileError(f"{name} is not a program of this compiler ({reason}); compile it again")


def _check(data: bytes | mmap.mmap, name: str) -> None:
    """Raises `CompileError` for a file that is foreign, newer, or not as it was written."""
    if data[: len(MAGIC)] != MAGIC:
        raise CompileError(f"{name} is not an .om file of this compiler")
    version = int.from_bytes(data[8:12], "little")
    if version > VERSION and len(data) >= _DIGEST.stop:
        raise CompileError(f"{name} has format version {version}; this compiler reads up to {VERSION}: update ge-compiler")
    digest = hashlib.sha256(data[: _DIGEST.start] + bytes(32))
    view = memoryview(data)
    digest.update(view[_DIGEST.stop :])
    view.release()
    if digest.digest() != data[_DIGEST]:
        raise CompileError(f"{name} is truncated or corrupt: its checksum does not fit; compile it again")


def _read_table(data: bytes | mmap.mmap) -> dict[str, tuple[int, int]]:
    """Section -> (offset, size)."""
    length = int.from_bytes(data[12:16], "little")
    table = cast("list[tuple[str, int, int]]", json.loads(data[_DIGEST.stop : _DIGEST.stop + length]))
    return {section: (offset, size) for section, offset, size in table}


def _section(data: bytes | mmap.mmap, places: Mapping[str, tuple[int, int]], section: str) -> bytes:
    offset, size = places[section]
    return data[offset : offset + size]
