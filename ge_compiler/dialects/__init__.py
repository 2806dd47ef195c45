"""
Floor 0: the five levels, the target, the semantics tables.

`context()` makes an xDSL context in which the dialects are registered and none is loaded: each is imported when a text first names it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.ir import Dialect

if __name__ == "dialects":
    raise ImportError("write ge_compiler.dialects: imported under its bare name, this package would make a second copy of every class")

LEVELS = ("ge", "fused", "tile", "buf", "npu")
"""Our dialects, from the graph down to instructions."""

_MODULES = {
    **{name.lower(): ("xdsl.dialects." + name.lower(), name) for name in ("Arith", "Builtin", "Func", "MemRef", "Scf", "Tensor")},
    **{name: ("ge_compiler.dialects." + name, name.upper()) for name in LEVELS},
}
DIALECTS = tuple(sorted(_MODULES))
"""Every dialect that a text may use."""


def load_dialect(name: str) -> Dialect:
    """Imports the dialect `name`, one of `DIALECTS`."""
    module, attribute = _MODULES[name]
    return getattr(import_module(module), attribute)


def context() -> Context:
    """A context with every dialect of `DIALECTS` registered."""
    from xdsl.context import Context

    def factory(name: str) -> Callable[[], Dialect]:
        return lambda: load_dialect(name)

    made = Context()
    for name in DIALECTS:
        made.register_dialect(name, factory(name))
    return made
