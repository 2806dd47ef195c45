"""Floor 0: the five levels, the target, the semantics tables."""

from __future__ import annotations

if __name__ == "dialects":
    raise ImportError("write ge_compiler.dialects: imported under its bare name, this package would make a second copy of every class")
