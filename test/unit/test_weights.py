"""The weight store: shared, mapped and written bytes, and what it says of files that are not right."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.parser import parse_module
from ge_compiler.runtime.files import write_beside
from ge_compiler.runtime.signature import DTYPES
from ge_compiler.runtime.weights import WeightStore, load_beside

MODULE = """
ge.weight @a : tensor<3x4xf16>
ge.weight @b : tensor<2xi64>
"""


def store() -> WeightStore:
    arrays = {"a": np.arange(12, dtype=np.float16).reshape(3, 4), "b": np.array([7, -7]), "empty": np.zeros((0, 2), np.float32)}
    return WeightStore(arrays, {"a": ("model.a", "model.tied")})


def test_every_dtype_survives_a_file(tmp_path: Path) -> None:
    saved = WeightStore({name: np.arange(6).reshape(2, 3).astype(dtype) for name, dtype in DTYPES.items()})
    saved.save(tmp_path / "w.safetensors")
    loaded = WeightStore.load(tmp_path / "w.safetensors")
    assert list(loaded) == list(saved)
    for name in saved:
        assert loaded[name].dtype == saved[name].dtype
        np.testing.assert_array_equal(loaded[name], saved[name])


def test_names_of_the_model_survive_a_file(tmp_path: Path) -> None:
    store().save(tmp_path / "w.safetensors")
    loaded = WeightStore.load(tmp_path / "w.safetensors")
    assert loaded.keys_of == {"a": ("model.a", "model.tied")}
    assert loaded.bytes == 24 + 16


def test_others_read_our_files_and_we_read_theirs(tmp_path: Path) -> None:
    store().save(tmp_path / "ours.safetensors")
    theirs = safetensors.numpy.load((tmp_path / "ours.safetensors").read_bytes())
    np.testing.assert_array_equal(theirs["a"], store()["a"])
    (tmp_path / "theirs.safetensors").write_bytes(safetensors.numpy.save({"a": store()["a"]}))
    np.testing.assert_array_equal(WeightStore.load(tmp_path / "theirs.safetensors")["a"], store()["a"])


def test_strided_arrays_are_written_row_major(tmp_path: Path) -> None:
    transposed = np.arange(12, dtype=ml_dtypes.bfloat16).reshape(3, 4).T
    WeightStore({"t": transposed}).save(tmp_path / "w.safetensors")
    np.testing.assert_array_equal(WeightStore.load(tmp_path / "w.safetensors")["t"], transposed)


def test_a_module_finds_its_weights_beside_it(tmp_path: Path) -> None:
    store().save(tmp_path / "m.safetensors")
    loaded = load_beside(parse_module(MODULE, "m.mlir"), tmp_path / "m.mlir")
    np.testing.assert_array_equal(loaded["b"], [7, -7])


def test_a_module_without_weights_needs_no_file(tmp_path: Path) -> None:
    assert not load_beside(parse_module("", "m.mlir"), tmp_path / "m.mlir")


def test_a_missing_file_is_told_at_the_first_weight(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"m.mlir:2:1: error: 'ge.weight' op the bytes of weight @a are missing: there is no file"):
        load_beside(parse_module(MODULE, "m.mlir"), tmp_path / "m.mlir")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"a": np.zeros((3, 4), np.float16)}, r"weight @b is not in"),
        ({"a": np.zeros((4, 3), np.float16)}, r"declared as a=f16\[3,4\], but .* has a=f16\[4,3\]"),
        ({"a": np.zeros((3, 4), np.float32)}, r"has a=f32\[3,4\]"),
    ],
)
def test_weights_that_do_not_fit_are_told(arrays: dict[str, np.ndarray], words: str, tmp_path: Path) -> None:
    WeightStore(arrays).save(tmp_path / "m.safetensors")
    with pytest.raises(CompileError, match=words):
        load_beside(parse_module(MODULE, "m.mlir"), tmp_path / "m.mlir")


def test_a_file_cut_anywhere_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    WeightStore({"a": np.arange(4, dtype=np.int8)}).save(path)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(CompileError, match=r"weight file .*w\.safetensors"):
            WeightStore.load(path)


@pytest.mark.parametrize(
    "header",
    [
        b"[]",
        b"nonsense",
        b'{"a":{}}',
        b'{"a":3}',
        b'{"a":{"dtype":"F65","shape":[1],"data_offsets":[0,8]}}',
        b'{"a":{"dtype":"I8","shape":[-1],"data_offsets":[0,1]}}',
        b'{"a":{"dtype":"I8","shape":[3],"data_offsets":[0,2]}}',
        b'{"a":{"dtype":"I8","shape":["x"],"data_offsets":[0,2]}}',
        b'{"__metadata__":3}',
        b'{"__metadata__":{"keys":"["}}',
    ],
)
def test_a_foreign_file_is_one_error(header: bytes, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    with pytest.raises(CompileError, match=r"weight file .*w\.safetensors"):
        WeightStore.load(path)


def test_tensors_that_programs_do_not_have_trouble_who_loads_them_only(tmp_path: Path) -> None:
    store().save(tmp_path / "m.safetensors")
    whole = (tmp_path / "m.safetensors").read_bytes()
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    end = max(entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__")
    header["unused"] = {"dtype": "F64", "shape": [2], "data_offsets": [end, end + 16]}
    text = json.dumps(header).encode()
    (tmp_path / "m.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + whole[8 + length :] + bytes(16))
    loaded = load_beside(parse_module(MODULE, "m.mlir"), tmp_path / "m.mlir")
    np.testing.assert_array_equal(loaded["b"], [7, -7])
    assert loaded.foreign == {"unused": "F64"}
    needy = MODULE.replace("@b", "@unused")
    with pytest.raises(CompileError, match=r"weight @unused is declared as .*, but .* has it as F64"):
        load_beside(parse_module(needy, "m.mlir"), tmp_path / "m.mlir")


def test_an_unreadable_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="cannot read weights: No such file or directory"):
        WeightStore.load(tmp_path / "none.safetensors")


def test_a_file_takes_its_place_only_when_whole(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("before")

    def stopped_half_way() -> None:
        with write_beside(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped_half_way()
    assert path.read_text() == "before"
    with write_beside(path) as file:
        file.write(b"whole")
    assert path.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [path]


def test_a_device_is_written_to_and_stays() -> None:
    with write_beside("/dev/null") as file:
        file.write(b"anything")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("name", ["none/out", "."])
def test_an_unwritable_place_is_told(name: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="cannot write"), write_beside(tmp_path / name):
        pass
