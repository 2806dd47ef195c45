"""
The map of the compiler: which passes run in which order, and why each stands where it does.

A pipeline `to-<level>` leads to its level from whatever level the module is at: the stages that lie behind are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, ModuleOp

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


INDICES = ("npu.block_idx", "npu.sub_block_idx")
"""Index values of the core and the lane, which stand at every level that has loops."""


def module_level(module: ModuleOp) -> str:
    """
    The lowest level of which the module holds an op: kernels decide, since `@main` keeps its launches at every level.

    Where no kernel is lowered, launches that take addresses tell `buf` from the levels above.
    """
    levels = {level: depth for depth, level in enumerate(LEVELS)}
    lowest = max((levels.get(op.dialect_name(), 0) for op in module.walk() if op.name not in INDICES), default=0)
    has_addresses = any(isinstance(value.type, MemRefType) for op in module.walk() if op.name == "fused.launch" for value in op.operands)
    return LEVELS[max(lowest, levels["buf"] if has_addresses else 0)]


TO_FUSED = Pipeline(
    "fused",
    "group the operators into kernels",
    (
        Step("infer-shapes", "dimensions that the text leaves open follow from the operands"),
        Step("fold-constants", "positions, masks and tables that no input changes are computed once, here"),
        Step("cse", "an operator that is written twice is computed once"),
        Step("dce", "an operator that nobody uses is not computed"),
        Step("legalize", "what the target's units cannot compute is refused here, with the model's own lines"),
        Step("verify-stage{stage=ge}", "from here on there are operators only, in types that the target has"),
        Step("convert-ge-to-fused", "every operator becomes a kernel of its own, with each rounding written down"),
        Step("elide-views", "kernels read and write through views: grouping then sees who really feeds whom"),
        Step("group-kernels", "kernels join those that use what they make where that moves fewer bytes, so that it stays on chip"),
        Step("elide-roundings", "inside a kernel values stay in the type that they are computed in"),
        Step("insert-copies", "what is overwritten too early or has no memory of its own is known once the order of the kernels is"),
        Step("outline-kernels", "equal kernels become one function: later passes cost nothing for depth"),
        Step("verify-stage{stage=fused}", "kernels hold primitives, @main only launches them"),
    ),
)
TO_TILE = Pipeline(
    "tile",
    "choose grids, loops, tiles and memory spaces",
    (
        Step("select-schedule", "tile sizes that the text leaves open are chosen while a kernel is still a few primitives"),
        Step("convert-fused-to-tile", "the schedule becomes a grid and loops, every tile gets its memory space"),
        Step("expand-math", "functions become vector instructions' before buffers exist, so that intermediate tiles are planned too"),
        Step("pipeline-stages", "grids become one loop a core, in which tiles that units hand on to each other have slots"),
        Step("verify-stage{stage=tile}", "every rounding and every split of a sum is fixed: lower levels keep the bits"),
    ),
    TO_FUSED,
)
TO_BUF = Pipeline(
    "buf",
    "give every tile a buffer and an address",
    (
        Step("bufferize-tile", "every tile becomes a buffer that ops write into, every tensor of @main one in global memory"),
        Step("multi-buffer", "which slot a trip uses is computed once, as a value that addresses and events share"),
        Step("plan-memory", "buffers get offsets; those that are never live together share bytes"),
        Step("verify-memory", "the plan is checked by code that shares nothing with the planner"),
        Step("verify-stage{stage=buf}", "every buffer has an address, aligned and in range"),
    ),
    TO_TILE,
)
TO_NPU = Pipeline(
    "npu",
    "select instructions and synchronize the pipes",
    (
        Step("convert-buf-to-npu", "every op becomes one instruction on the pipe that the target's path table names"),
        Step("insert-sync{mode=flags}", "pipes run at the same time: what depends on each other is ordered by flags"),
        Step("remove-redundant-sync", "flags that others imply cost time and numbers"),
        Step("allocate-events", "flags get the numbers that the target has"),
        Step("verify-sync", "the order is proven by code that shares nothing with what made it"),
        Step("verify-stage{stage=npu}", "nothing but instructions, addresses and loops is left"),
    ),
    TO_BUF,
)

_CHECKS = ("verify-memory", "verify-sync")
"""Passes that prove something of a level and of all below it."""

PIPELINES = {pipeline.name: pipeline for pipeline in (TO_FUSED, TO_TILE, TO_BUF, TO_NPU)}


def checks(level: str) -> str:
    """The passes that a module at `level` must satisfy, whoever wrote it."""
    own = f"verify-stage{{stage={level}}}"
    steps = PIPELINES[f"to-{level}"].steps() if level != LEVELS[0] else ()
    return ",".join(step.pass_spec for step in steps if step.pass_spec in (*_CHECKS, own))
