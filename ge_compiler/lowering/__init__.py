"""Floor 3: passes from one level to the next. Each file here but pipelines.py is one pass; helpers live in sub-packages."""

from __future__ import annotations

if __name__ == "lowering":
    raise ImportError("write ge_compiler.lowering: imported under its bare name, this package would make a second copy of every class")
