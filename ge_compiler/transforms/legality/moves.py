"""Which moves between memories a target has."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.memory import mem_of
from ge_compiler.dialects.target import DataPath, NpuTarget


def require_path(op: Operation, source: Attribute, destination: Attribute, target: NpuTarget) -> DataPath:
    """
    The path by which `op` moves a tile between memories of the types `source` and `destination`.

    Raises `CompileError` with the target's paths if it has none, or if a layout is not the one that the path reads or writes.
    """
    here, there = mem_of(source), mem_of(destination)
    path = target.path(here.space, there.space)
    if path is None:
        legal = ", ".join(f"{p.source}→{p.destination}" for p in target.paths)
        raise CompileError.at(op, f"moves {here.space}→{there.space}, but {target.name} has no such path; its paths are {legal}")
    for name, mem, layout in (("from", here, path.source_layout), ("to", there, path.destination_layout)):
        if mem.layout is not layout:
            raise CompileError.at(op, f"moves {name} {mem.space} in layout {mem.layout}, but {target.name} moves it as {layout}")
    return path
