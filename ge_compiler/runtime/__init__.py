"""Floor 1: execution, timing and checks; never changes IR."""

from __future__ import annotations

if __name__ == "runtime":
    raise ImportError("write ge_compiler.runtime: imported under its bare name, this package would make a second copy of every class")
