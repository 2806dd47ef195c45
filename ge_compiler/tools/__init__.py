"""Floor 4: what somebody starts: ge-opt, gec, the torch backend, the public API."""

from __future__ import annotations

if __name__ == "tools":
    raise ImportError("write ge_compiler.tools: imported under its bare name, this package would make a second copy of every class")
