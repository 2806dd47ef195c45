"""The registry of passes: every file of `transforms/` and `lowering/` is one, imported when it is first asked for."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ge_compiler.dialects.diagnostics import did_you_mean

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

_FLOORS = ("transforms", "lowering")
_NO_PASS = ("__init__", "pipelines")
_XDSL_PASSES = {
    "canonicalize": ("xdsl.transforms.canonicalize", "CanonicalizePass"),
    "cse": ("xdsl.transforms.common_subexpression_elimination", "CommonSubexpressionElimination"),
    "dce": ("xdsl.transforms.dead_code_elimination", "DeadCodeElimination"),
}
_XDSL_SUMMARIES = {
    "canonicalize": "Rewrite every op to its simplest form, fold constants, drop dead code.",
    "cse": "Compute equal pure ops once.",
    "dce": "Drop pure ops without uses.",
}


class UsageError(Exception):
    """A command line that cannot be carried out: exit status 2."""


@functools.cache
def available_passes() -> Mapping[str, tuple[str, str]]:
    """Pass name -> (module, class name), sorted by name."""
    package = Path(__file__).parents[2]
    files = [(floor, file.stem) for floor in _FLOORS for file in (package / floor).glob("*.py") if file.stem not in _NO_PASS]
    ours = {stem.replace("_", "-"): (f"ge_compiler.{floor}.{stem}", class_name(stem)) for floor, stem in files}
    return dict(sorted({**_XDSL_PASSES, **ours}.items()))


def class_name(file_name: str) -> str:
    """The class of the pass in the file `fold_constants.py`: `FoldConstantsPass`."""
    return "".join(word.capitalize() for word in file_name.split("_")) + "Pass"


def load_pass(name: str) -> type[ModulePass]:
    """The class of the pass `name`. Raises `UsageError` with the nearest name if there is none."""
    if name not in available_passes():
        raise UsageError(f"unknown pass '{name}'{did_you_mean(name, available_passes())}; --show-passes lists them")
    module, class_ = available_passes()[name]
    return getattr(import_module(module), class_)


@dataclass(frozen=True)
class PassOption:
    """An option of a pass, as documentation shows it."""

    name: str
    type: str
    default: str | None
    """None where the option must be given."""
    summary: str


def pass_options(pass_class: type[ModulePass]) -> list[PassOption]:
    """The options of a pass, in order; the summary is the string under the field."""
    summaries = _field_docstrings(pass_class)
    return [
        PassOption(field.name.replace("_", "-"), str(field.type), _default_text(field), summaries.get(field.name, ""))
        for field in fields(pass_class)
    ]


def _default_text(field: Field[Any]) -> str | None:
    if field.default_factory is not MISSING:
        return str(field.default_factory())
    if field.default is MISSING:
        return None
    return str(field.default).lower() if isinstance(field.default, bool) else str(field.default)


def pass_summary(pass_class: type[ModulePass]) -> str:
    """The first paragraph of the docstring of a pass, on one line."""
    paragraph = _XDSL_SUMMARIES.get(pass_class.name) or (pass_class.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(paragraph.split())


def _field_docstrings(pass_class: type[ModulePass]) -> dict[str, str]:
    import ast
    import inspect
    import textwrap

    definition = ast.parse(textwrap.dedent(inspect.getsource(pass_class))).body[0]
    assert isinstance(definition, ast.ClassDef)
    found: dict[str, str] = {}
    for before, after in zip(definition.body, definition.body[1:], strict=False):
        match before, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = " ".join(text.split())
            case _:
                pass
    return found
