"""Which ops may appear at which stage: one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ge_compiler.dialects.functions import FUNCTIONS, NATIVE


@dataclass(frozen=True)
class Stage:
    """What a module holds at the end of a stage, as names of ops; `dialect.*` stands for all of a dialect."""

    main: frozenset[str]
    """In `@main` and other public functions."""
    kernels: frozenset[str]
    """In kernels, which are private functions."""
    values: str
    """`tensor` or `memref`: the shaped type that values have."""
    before: str
    """What to run when something is left of the stage above."""


_EVERYWHERE = frozenset({"ge.load_weight", "ge.Const", "func.return"})
_LOOPS = frozenset(
    {"arith.*", "scf.for", "scf.yield", "tile.forall", "tile.grid_loop", "npu.block_idx", "npu.sub_block_idx", "func.return"}
)
_MEMORY = frozenset({"buf.at", "memref.subview", "memref.reinterpret_cast"})
_MOVES = frozenset({"tile.load", "tile.move", "tile.store", "tile.assemble", "tile.load_rows", "tile.store_rows"})
_TILE_OPS = _MOVES | {"tile.mmad", "tile.cast", "tile.full", "tile.broadcast", "tile.reduce", "tile.iota", "tile.transpose"}
_TILE_FUNCTIONS = frozenset(f"tile.{name}" for name in NATIVE)
_ANCHORS = frozenset({"fused.matmul", "fused.attention"})
_VALUES = frozenset({"fused.cast", "fused.broadcast", "fused.full", "fused.iota", "fused.reduce", "fused.gather", "fused.scatter"})
_VIEWS = frozenset({"fused.reshape", "fused.transpose", "fused.slice", "fused.concat", "fused.insert"})
_FUSED = _ANCHORS | _VALUES | _VIEWS | {f"fused.{name}" for name in FUNCTIONS}
_LAUNCHES = _EVERYWHERE | {"fused.launch"}

STAGES: Mapping[str, Stage] = {
    "ge": Stage(_EVERYWHERE | {"ge.*"}, frozenset(), "tensor", ""),
    "fused": Stage(
        _LAUNCHES | {"tensor.empty"}, _FUSED | {"func.return"}, "tensor", "convert-ge-to-fused, group-kernels and outline-kernels"
    ),
    "tile": Stage(
        _LAUNCHES | {"tensor.empty", "tile.view"},
        _LOOPS | _TILE_OPS | _TILE_FUNCTIONS | {"tile.undef", "tile.view", "tensor.empty"},
        "tensor",
        "convert-fused-to-tile and expand-math",
    ),
    "buf": Stage(_LAUNCHES | _MEMORY, _LOOPS | _MEMORY | _TILE_OPS | _TILE_FUNCTIONS, "memref", "bufferize-tile and plan-memory"),
    "npu": Stage(_LAUNCHES | _MEMORY, _LOOPS | _MEMORY | {"npu.*"}, "memref", "convert-buf-to-npu"),
}

KEPT = Stage(frozenset(), frozenset({"ge.*", "func.return"}), "tensor", "")
"""A kernel for another engine than the AI Cores, at every stage below `ge`."""


def allows(names: frozenset[str], op_name: str) -> bool:
    """Whether a set of names holds `op_name` or its whole dialect."""
    return op_name in names or op_name.partition(".")[0] + ".*" in names
