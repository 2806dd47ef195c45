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
UNIFIED, CUBE, VECTOR = "ai", "aic", "aiv"
"""Kinds of cores: one for both kinds of work, or one each."""


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
    in_order: bool = True
    """Whether an instruction sees what earlier ones on the pipe wrote without a barrier between them."""

    def __str__(self) -> str:
        return self.name if self.core == UNIFIED else f"{self.core}.{self.name}"


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
    """Events of each ordered pair of pipes of a core."""
    cross_core_ids: int
    """Cross-core flags of a cluster; 0 on a unified chip."""
    spaces: Mapping[Space, SpaceInfo]
    cube_dtypes: Mapping[str, str]
    """Operand element type -> accumulator element type."""
    vector_dtypes: tuple[str, ...]
    units: Mapping[str, Unit]
    """By the name that a pipe is printed with: `mte2`, or `aiv.mte2` on a split chip."""
    paths: tuple[Path, ...]

    @property
    def is_split(self) -> bool:
        """Whether the cube and its vector lanes are cores of their own."""
        return any(unit.core != UNIFIED for unit in self.units.values())

    @property
    def barriers(self) -> tuple[str, ...]:
        """What a pipe barrier may name: a pipe, or all pipes of a core kind."""
        return (*self.units, *((f"{CUBE}.all", f"{VECTOR}.all") if self.is_split else ("all",)))

    def unit_named(self, name: str) -> Unit | None:
        """The unit `name` (such as `m` or `v`) of whatever core kind has it; `None` if none has, or two."""
        found = [unit for unit in self.units.values() if unit.name == name]
        return found[0] if len(found) == 1 else None

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


def _unit(name: str, row: dict[str, Any]) -> Unit:
    core, dot, unit = name.partition(".")
    return Unit(unit, core, **row) if dot else Unit(name, UNIFIED, **row)


def _target_of_table(table: dict[str, Any]) -> NpuTarget:
    units = {name: _unit(name, row) for name, row in table["units"].items()}
    return NpuTarget(
        name=table["name"],
        summary=table["summary"],
        cores=table["cores"],
        vec_per_cube=table["vec_per_cube"],
        event_ids=table["event_ids"],
        cross_core_ids=table.get("cross_core_ids", 0),
        spaces={Space(name): SpaceInfo(**row) for name, row in table["spaces"].items()},
        cube_dtypes=table["cube"],
        vector_dtypes=tuple(table["vector"]["dtypes"]),
        units=units,
        paths=tuple(
            Path(Space(row["from"]), Space(row["to"]), Layout(row["layouts"][0]), Layout(row["layouts"][1]), units[row["unit"]])
            for row in table["paths"]
        ),
    )
