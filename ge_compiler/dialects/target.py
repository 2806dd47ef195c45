"""The target is data: one frozen `NpuTarget` a chip, read from a table file in `targets/`.

Tiling, verifiers, planners, the cost model and the simulator read sizes, paths and units from here; no pass knows a chip by name. A
module names its target in the attribute `ge.target`.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr

from ge_compiler.dialects.diagnostics import CompileError, did_you_mean
from ge_compiler.dialects.memory import Layout, Space

DEFAULT_TARGET = "Ascend910A"
TARGET_ATTRIBUTE = "ge.target"


@dataclass(frozen=True)
class SpaceInfo:
    """One memory of the chip."""

    bytes: int
    alignment: int
    """Bytes; a buffer starts on a multiple of it."""


@dataclass(frozen=True)
class Unit:
    """A pipe: a unit of one core kind that executes its own queue of instructions."""

    name: str
    core: str
    """`ai` on a unified core, else `aic` or `aiv`."""

    def __str__(self) -> str:
        return self.name if self.core == "ai" else f"{self.core}.{self.name}"


@dataclass(frozen=True)
class Path:
    """One legal move between memories and the unit that does it."""

    source: Space
    destination: Space
    source_layout: Layout
    destination_layout: Layout
    unit: Unit


@dataclass(frozen=True)
class NpuTarget:
    """Everything the compiler and the simulator know about a chip."""

    name: str
    summary: str
    cores: int
    """Clusters of one cube and its vector lanes; on a unified chip, AI Cores."""
    vec_per_cube: int
    event_ids: int
    spaces: Mapping[Space, SpaceInfo]
    cube_dtypes: Mapping[str, str]
    """Operand element type -> accumulator element type."""
    vector_dtypes: tuple[str, ...]
    units: Mapping[str, Unit]
    paths: tuple[Path, ...]

    def capacity(self, space: Space) -> int:
        return self.spaces[space].bytes

    def path(self, source: Space, destination: Space) -> Path | None:
        """The direct path from `source` to `destination`, if the chip has one."""
        return next((p for p in self.paths if p.source is source and p.destination is destination), None)

    def route(self, source: Space, destination: Space) -> tuple[Path, ...]:
        """The shortest chain of paths from `source` to `destination`; empty if there is none or they are the same."""
        frontier: list[tuple[Path, ...]] = [(p,) for p in self.paths if p.source is source]
        seen = {source}
        while frontier:
            chain = frontier.pop(0)
            end = chain[-1].destination
            if end is destination:
                return chain
            if end not in seen:
                seen.add(end)
                frontier += [(*chain, p) for p in self.paths if p.source is end]
        return ()


def available_targets() -> tuple[str, ...]:
    """The names of the targets that ship with the compiler, sorted."""
    files = resources.files("ge_compiler.dialects").joinpath("targets").iterdir()
    return tuple(sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml")))


@functools.cache
def load_target(name: str) -> NpuTarget:
    """The target `name`. Raises `CompileError` with the nearest name if there is none."""
    if name not in available_targets():
        raise CompileError(f"unknown target '{name}'{did_you_mean(name, available_targets())}; targets: {', '.join(available_targets())}")
    return _target_of_table(tomllib.loads(resources.files("ge_compiler.dialects").joinpath("targets", f"{name}.toml").read_text()))


def target_of(module: ModuleOp) -> NpuTarget:
    """The target that `module` names in `ge.target`, else the default one."""
    name = module.attributes.get(TARGET_ATTRIBUTE)
    if name is not None and not isinstance(name, StringAttr):
        raise CompileError.at(module, f"attribute {TARGET_ATTRIBUTE} must be a string, got {name}")
    return load_target(DEFAULT_TARGET if name is None else name.data)


def _target_of_table(table: dict[str, Any]) -> NpuTarget:
    units = {name: Unit(name, row["core"]) for name, row in table["units"].items()}
    return NpuTarget(
        name=table["name"],
        summary=table["summary"],
        cores=table["cores"],
        vec_per_cube=table["vec_per_cube"],
        event_ids=table["event_ids"],
        spaces={Space(name): SpaceInfo(**row) for name, row in table["spaces"].items()},
        cube_dtypes=table["cube"],
        vector_dtypes=tuple(table["vector"]["dtypes"]),
        units=units,
        paths=tuple(
            Path(Space(row["from"]), Space(row["to"]), Layout(row["layouts"][0]), Layout(row["layouts"][1]), units[row["unit"]])
            for row in table["paths"]
        ),
    )
