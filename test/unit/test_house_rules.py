"""The rules of the house that no tool knows: names, sizes, documentation, what every op and pass owes, and what may be imported."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ge_compiler import dialects
from ge_compiler.dialects import fused, ge, npu, tile
from ge_compiler.lowering.pipelines import PIPELINES
from ge_compiler.tools.opt.pipeline_text import build_pass, parse_pipeline
from ge_compiler.tools.opt.registry import available_passes, class_name, load_pass, pass_options, pass_summary

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "ge_compiler").rglob("*.py"))
TESTS = [path for path in sorted((ROOT / "test").rglob("*")) if path.suffix in (".mlir", ".py") and path != Path(__file__)]
OUR_PASSES = [name for name, (module, _) in available_passes().items() if module.startswith("ge_compiler.")]
OUR_OPS = [op for level in dialects.LEVELS for op in dialects.load_dialect(level).operations]

FILE_LINES = 400
FUNCTION_LINES = 40
OP_LINES = 40


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


# ---- sizes ------------------------------------------------------------------------------------------------------------


def definitions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node


def length(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    """The lines of a definition without its decorators."""
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_files_and_functions_are_short(path: Path) -> None:
    functions = [node for node in definitions(path) if not isinstance(node, ast.ClassDef)]
    too_long = [f"{node.name}: {length(node)} lines" for node in functions if length(node) > FUNCTION_LINES]
    assert not too_long, f"at most {FUNCTION_LINES} lines a function"
    assert len(path.read_text().splitlines()) <= FILE_LINES, f"at most {FILE_LINES} lines a file: one idea"


@pytest.mark.parametrize("path", [path for path in SOURCES if "dialects" in path.parts], ids=relative)
def test_ops_are_short(path: Path) -> None:
    ops = [node for node in definitions(path) if isinstance(node, ast.ClassDef) and node.name.endswith("Op")]
    assert not [f"{node.name}: {length(node)} lines" for node in ops if length(node) > OP_LINES], f"at most {OP_LINES} lines an op"


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_every_file_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), "a module starts with a docstring"


# ---- passes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OUR_PASSES)
def test_a_pass_is_named_as_its_file(name: str) -> None:
    module, _ = available_passes()[name]
    file_name = module.rsplit(".", 1)[1]
    pass_class = load_pass(name)
    assert issubclass(pass_class, ModulePass)
    assert pass_class.name == name == file_name.replace("_", "-")
    assert pass_class.__name__ == class_name(file_name)


@pytest.mark.parametrize("name", OUR_PASSES)
def test_a_pass_says_in_a_sentence_what_it_does(name: str) -> None:
    summary = pass_summary(load_pass(name))
    assert re.fullmatch(r"[A-Z][^\n]{10,}\.", summary), "a docstring that starts with one sentence"
    assert [option.name for option in pass_options(load_pass(name)) if not option.summary] == [], "a string under every option"


@pytest.mark.parametrize("name", OUR_PASSES)
def test_a_pass_has_its_test(name: str) -> None:
    module, _ = available_passes()[name]
    _, floor, file_name = module.split(".")
    assert (ROOT / "test" / floor / f"{file_name}.mlir").exists()


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_can_be_built_and_gives_its_reasons(name: str) -> None:
    for step in PIPELINES[name].steps():
        for call in parse_pipeline(step.pass_spec):
            build_pass(call)
        assert len(step.reason.split()) > 3


# ---- ops --------------------------------------------------------------------------------------------------------------


@functools.cache
def words_of_tests() -> frozenset[str]:
    return frozenset(word for path in TESTS for word in re.findall(r"[A-Za-z_][\w.]*", path.read_text()))


GENERATED = [op for table in (ge.ELEMENTWISE, fused.ELEMENTWISE, tile.ELEMENTWISE, npu.VECTOR) for op in table.values()]
"""`test_elementwise.py` goes through these tables."""


@pytest.mark.parametrize("op", [op for op in OUR_OPS if op not in GENERATED], ids=lambda op: op.name)
def test_an_op_is_exercised_by_a_test(op: type[Operation]) -> None:
    dialect = op.dialect_name()
    assert words_of_tests() & {op.name, op.__name__, f"{dialect}.{op.__name__}"}, "name it in a test that prints, verifies or runs it"


@pytest.mark.parametrize("op", OUR_OPS, ids=lambda op: op.name)
def test_an_op_is_documented_and_its_verifier_runs(op: type[Operation]) -> None:
    assert (op.__dict__.get("__doc__") or "").strip(), "a docstring of its own"
    assert not hasattr(op, "_verify"), "xDSL calls verify_, never _verify"


# ---- imports ----------------------------------------------------------------------------------------------------------

LOADED = "print(sorted({'numpy', 'torch', 'ml_dtypes', 'safetensors'} & set(sys.modules)), file=sys.stderr)"


def heavy_modules_after(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", f"import sys\n{code}\n{LOADED}"], capture_output=True, text=True, check=True)
    return result.stderr.strip()


def test_dialects_and_passes_import_no_numpy() -> None:
    code = (
        "from ge_compiler import dialects\n"
        "from ge_compiler.tools.opt.registry import available_passes, load_pass\n"
        "for name in dialects.DIALECTS: dialects.load_dialect(name)\n"
        "for name in available_passes(): load_pass(name)"
    )
    assert heavy_modules_after(code) == "[]"


def test_text_in_text_out_imports_no_numpy(tmp_path: Path) -> None:
    source = tmp_path / "three.mlir"
    source.write_text(
        "func.func @main(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {\n"
        "  %0 = ge.Relu %x : (tensor<4x8xf16>) -> tensor<4x8xf16>\n"
        "  %1 = ge.Add %0, %x : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x8xf16>\n"
        "  func.return %1 : tensor<4x8xf16>\n"
        "}\n"
    )
    code = f"from ge_compiler.tools.ge_opt import main\nassert main([{str(source)!r}, '-p', 'to-fused']) == 0"
    assert heavy_modules_after(code) == "[]"
