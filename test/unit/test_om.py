"""The `.om` file: what goes in comes out, the same bytes each time, and every broken file is one clear error."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.runtime.om import VERSION, Artifact
from ge_compiler.runtime.weights import WeightStore


def artifact() -> Artifact:
    weights = WeightStore({"w": np.arange(5, dtype=np.float32), "e": np.zeros((0,), np.int8)}, {"w": ("fc.weight",)})
    return Artifact({"target": "Ascend910A", "b": 1, "a": [1, None]}, {"ge": "builtin.module {\n}\n", "npu": "// ×\n"}, weights)


def saved(tmp_path: Path) -> Path:
    artifact().save(tmp_path / "m.om")
    return tmp_path / "m.om"


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    loaded = Artifact.load(saved(tmp_path))
    assert loaded.header == artifact().header
    assert loaded.texts == artifact().texts
    assert loaded.weights.keys_of == {"w": ("fc.weight",)}
    np.testing.assert_array_equal(loaded.weights["w"], artifact().weights["w"])


def test_the_same_program_gives_the_same_bytes(tmp_path: Path) -> None:
    first = saved(tmp_path).read_bytes()
    assert saved(tmp_path).read_bytes() == first
    assert len(first) % 64 == 0


def test_an_artifact_without_weights(tmp_path: Path) -> None:
    Artifact({}, {}, WeightStore({})).save(tmp_path / "m.om")
    assert not Artifact.load(tmp_path / "m.om").weights


def test_a_file_cut_anywhere_is_one_error(tmp_path: Path) -> None:
    path = saved(tmp_path)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(CompileError, match=r"m\.om is (truncated or corrupt|not an \.om file)"):
            Artifact.load(path)


def test_any_byte_changed_is_one_error(tmp_path: Path) -> None:
    path = saved(tmp_path)
    whole = path.read_bytes()
    for i in range(len(whole)):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 0x40]) + whole[i + 1 :])
        with pytest.raises(CompileError, match=r"m\.om (is truncated or corrupt|is not an \.om file|has format version)"):
            Artifact.load(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'["header"', b'["haeder"'),
        (b'["weights"', b'["wieghts"'),
        (b'[["header"', b'[["header '),
        (b'"target"', b'"target '),
        (b"builtin.module", b"\xffuiltin.module"),
    ],
)
def test_a_whole_file_that_is_no_program_is_one_error(old: bytes, new: bytes, tmp_path: Path) -> None:
    path = saved(tmp_path)
    data = path.read_bytes().replace(old, new, 1)
    unsigned = data[:16] + bytes(32) + data[48:]
    path.write_bytes(data[:16] + hashlib.sha256(unsigned).digest() + data[48:])
    with pytest.raises(CompileError, match=r"m\.om is not a program of this compiler \(.+\); compile it again"):
        Artifact.load(path)


def test_a_pipe_gets_the_same_bytes(tmp_path: Path) -> None:
    read, write = os.pipe()
    artifact().save(f"/dev/fd/{write}")
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == saved(tmp_path).read_bytes()


def test_a_newer_file_says_so(tmp_path: Path) -> None:
    path = saved(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:8] + (VERSION + 1).to_bytes(4, "little") + whole[12:])
    with pytest.raises(CompileError, match=f"format version {VERSION + 1}; this compiler reads up to {VERSION}: update"):
        Artifact.load(path)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 something else", b"builtin.module {}"])
def test_a_foreign_file_says_so(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.om").write_bytes(data)
    with pytest.raises(CompileError, match=r"x\.om is not an \.om file of this compiler"):
        Artifact.load(tmp_path / "x.om")


@pytest.mark.parametrize("name", ["none.om", "."])
def test_an_unreadable_file_says_so(name: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="cannot read"):
        Artifact.load(tmp_path / name)
