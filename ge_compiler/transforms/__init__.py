"""Floor 2: passes with the same dialect in and out. Each file here is one pass; helpers live in sub-packages."""

from __future__ import annotations

if __name__ == "transforms":
    raise ImportError("write ge_compiler.transforms: imported under its bare name, this package would make a second copy of every class")
