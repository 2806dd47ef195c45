"""A table of what a module defines, for those who look up many names while the module stays as it is."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

Symbols = Mapping[str, Operation]
"""The names of kernels, weights and other functions -> what defines them."""

_TABLE: ContextVar[tuple[Operation, Symbols] | None] = ContextVar("symbols", default=None)


@contextmanager
def symbols_unchanged(module: ModuleOp) -> Generator[None]:
    """Within, nobody adds, drops or renames a symbol of `module`, in which all names differ: `symbols_of` has its table."""
    named = ((op.properties.get("sym_name"), op) for op in module.body.ops)
    previous = _TABLE.set((module, {name.data: op for name, op in named if isinstance(name, StringAttr)}))
    try:
        yield
    finally:
        _TABLE.reset(previous)


def symbols_of(module: Operation | None) -> Symbols | None:
    """The table of `module` if it is known not to change now; a symbol must be searched for otherwise."""
    known = _TABLE.get()
    return known[1] if known is not None and known[0] is module else None
