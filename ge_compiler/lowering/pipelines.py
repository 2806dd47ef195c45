"""
The map of the compiler: which passes run in which order, and why each stands where it does.

A pipeline `to-<level>` leads to its level from whatever level the module is at: the stages that lie behind are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from ge_compiler.dialects import LEVELS


@dataclass(frozen=True)
class Step:
    """One pass of a pipeline."""

    pass_spec: str
    """As in `ge-opt -p`: `insert-sync{mode=barrier-all}`."""
    reason: str
    """Why it stands here, in a sentence."""


@dataclass(frozen=True)
class Pipeline:
    """The way to one level: its own stage starts at the level above, where `before` ends."""

    level: str
    summary: str
    stage: tuple[Step, ...]
    before: Pipeline | None = None

    @property
    def name(self) -> str:
        return f"to-{self.level}"

    def steps(self, level: str = LEVELS[0]) -> tuple[Step, ...]:
        """The steps that a module at `level` still has to take."""
        if LEVELS.index(level) >= LEVELS.index(self.level):
            return ()
        earlier = () if self.before is None else self.before.steps(level)
        return (*earlier, *self.stage)


def module_level(module: ModuleOp) -> str:
    """The lowest level of which the module holds an op: kernels decide, since `@main` keeps its launches at every level."""
    levels = {level: depth for depth, level in enumerate(LEVELS)}
    return LEVELS[max((levels.get(op.dialect_name(), 0) for op in module.walk()), default=0)]


TO_FUSED = Pipeline("fused", "group the operators into kernels", ())
TO_TILE = Pipeline("tile", "choose grids, loops, tiles and memory spaces", (), TO_FUSED)
TO_BUF = Pipeline("buf", "give every tile a buffer and an address", (), TO_TILE)
TO_NPU = Pipeline("npu", "select instructions and synchronize the pipes", (), TO_BUF)

PIPELINES = {pipeline.name: pipeline for pipeline in (TO_FUSED, TO_TILE, TO_BUF, TO_NPU)}
