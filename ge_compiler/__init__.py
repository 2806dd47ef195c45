"""
A graph compiler from PyTorch to the instructions of an NPU.

`import ge_compiler as ge` offers `ge.compile`, `ge.load`, `ge.Program` and `ge.CompileError`. They are resolved when first used:
importing a floor runs this file first, so it must neither load torch nor climb to the tools.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ge_compiler.tools.api import CompileError as CompileError
    from ge_compiler.tools.api import Program as Program
    from ge_compiler.tools.api import compile as compile
    from ge_compiler.tools.api import load as load

    __version__: str

_PUBLIC = ("CompileError", "Program", "compile", "load")


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("importlib.metadata").version("ge-compiler")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'ge_compiler' has no attribute '{name}'; it offers {', '.join(_PUBLIC)}")
    return getattr(import_module("ge_compiler.tools.api"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
