"""The target is data: one frozen `NpuTarget` a chip, read from a table file in `targets/`.

Tiling, verifiers, planners, the cost model and the simulator read sizes, paths and units from here; no pass knows a chip by name. A
module names its target in the attribute `ge.target`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp, StringAttr

from ge_compiler.dialects.diagnostics import CompileError, did_you_mean
from ge_compiler.dialects.memory import Layout, Space
from ge_compiler.dialects.target_table import Table
from ge_compiler.dialects.target_timing import Timing, read_timing, taken_over
from ge_compiler.dialects.types import ELEMENTS

DEFAULT_TARGET = "Ascend910B2"
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
class DataPath:
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
    paths: tuple[DataPath, ...]
    timing: Timing | None = None
    """The constants of time, where the table gives any."""

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

    def path(self, source: Space, destination: Space) -> DataPath | None:
        """The direct path from `source` to `destination`, if the chip has one."""
        return next((p for p in self.paths if p.source is source and p.destination is destination), None)

    def route(self, source: Space, destination: Space) -> tuple[DataPath, ...]:
        """The shortest chain of paths from `source` to `destination`; empty if there is none or they are the same."""
        frontier: list[tuple[DataPath, ...]] = [(p,) for p in self.paths if p.source is source]
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


_SHIPPED = Path(__file__).parent / "targets"


@functools.cache
def available_targets() -> tuple[str, ...]:
    """The names of the targets that ship with the compiler, sorted."""
    return tuple(sorted(file.stem for file in _SHIPPED.glob("*.toml")))


def complete_targets() -> tuple[str, ...]:
    """The targets that ship with a table of their own; any other has the memories, paths and pipes of one of these, in other numbers."""
    return tuple(name for name in available_targets() if "\nbased_on = " not in _shipped(name))


@functools.cache
def _shipped(name: str) -> str:
    return (_SHIPPED / f"{name}.toml").read_text(encoding="utf-8")


def table_digest(name: str) -> str | None:
    """The SHA-256 of the table file `name`, `None` for a target that ships. Raises `CompileError` if the file cannot be read."""
    import hashlib

    return hashlib.sha256(_read_table(name).encode()).hexdigest() if name.endswith(".toml") else None


def _read_table(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise CompileError(f"cannot read the target file '{name}': {reason}") from error


def load_target(name: str) -> NpuTarget:
    """
    The target `name`, or the one in the table file `name` if that ends in `.toml`.

    Raises `CompileError` with the nearest name if there is none, or with the line of the file that is wrong.
    """
    if name.endswith(".toml"):
        return _parse(_read_table(name), name)
    if name not in available_targets():
        names = ", ".join(available_targets())
        raise CompileError(f"unknown target '{name}'{did_you_mean(name, available_targets())}; targets: {names}, or a table file NAME.toml")
    return _parse(_shipped(name), f"{name}.toml")


def target_name_of(module: ModuleOp) -> str:
    """What `module` names in `ge.target`, else the default target. Raises `CompileError` where that is not a string."""
    name = module.attributes.get(TARGET_ATTRIBUTE)
    if name is not None and not isinstance(name, StringAttr):
        raise CompileError.at(module, f"attribute {TARGET_ATTRIBUTE} must be a string, got {name}")
    return DEFAULT_TARGET if name is None else name.data


def target_of(module: ModuleOp) -> NpuTarget:
    """The target that `module` names in `ge.target`, else the default one."""
    name = target_name_of(module)
    try:
        return load_target(name)
    except CompileError as error:
        # The line of a table file is worth more than the module's.
        raise error if error.location != UNKNOWN_LOC else CompileError(error.message, module.location) from error


@functools.lru_cache(maxsize=16)
def _parse(text: str, filename: str) -> NpuTarget:
    table = Table.parse(text, filename)
    if "based_on" not in table.values:
        return _target_of(table)
    base = table.get("based_on", str)
    if base not in available_targets():
        table.fail("based_on", f"must be a chip that ships, got {base!r}{did_you_mean(base, available_targets())}")
    shipped = Table.parse(_shipped(base), f"{base}.toml")
    if "based_on" in shipped.values:
        table.fail("based_on", f"must be a chip whose table is complete, but {base} is based on {shipped.get('based_on', str)}")
    if "timing" in shipped.values and not table.get("same_cores", bool, False):
        shipped = replace(shipped, values={**shipped.values, "timing": taken_over(shipped.values["timing"], base)})
    return _target_of(table.over(shipped))


def _target_of(table: Table) -> NpuTarget:
    table.only(*_KEYS)
    units = {name: _unit(table.table("units"), name) for name in table.table("units").values}
    cube, vector, elements = table.table("cube"), table.table("vector"), _words(map(str, ELEMENTS))
    vector.only("dtypes")
    cube.only(*elements)
    _check_cores(table, units)
    return NpuTarget(
        name=table.get("name", str),
        summary=table.get("summary", str),
        cores=table.number("cores"),
        vec_per_cube=table.number("vec_per_cube"),
        event_ids=table.number("event_ids"),
        cross_core_ids=table.number("cross_core_ids", 0, 0),
        spaces=_spaces(table.table("spaces")),
        cube_dtypes={element: cube.word(element, _words(("f32", "i32"))) for element in cube.values},
        vector_dtypes=tuple(vector.choice("dtypes", element, elements) for element in vector.strings("dtypes")),
        units=units,
        paths=tuple(table.tables("paths", lambda row: _path(row, units))),
        timing=read_timing(table.table("timing"), table.get("name", str)) if "timing" in table.values else None,
    )


def _check_cores(table: Table, units: Mapping[str, Unit]) -> None:
    """A chip is unified, with one lane a core, or split: then every unit says which of the two core kinds it belongs to."""
    kinds = {unit.core for unit in units.values()}
    if UNIFIED in kinds and len(kinds) > 1:
        mixed = next(name for name, unit in units.items() if unit.core == UNIFIED)
        table.table("units").fail(mixed, f"is of one core for everything, but others are of {CUBE} or {VECTOR}; give it a core kind")
    if kinds == {UNIFIED} and table.number("vec_per_cube") != 1:
        table.fail("vec_per_cube", f"must be 1 where cube and vector are one core, got {table.number('vec_per_cube')}")


_KEYS = ("name", "summary", "cores", "vec_per_cube", "event_ids", "cross_core_ids", "spaces", "cube", "vector", "units", "paths", "timing")


def _words(names: Iterable[str]) -> dict[str, str]:
    return {name: name for name in names}


def _spaces(table: Table) -> dict[Space, SpaceInfo]:
    spaces = {space: _space(table.table(space.value)) for space in Space}
    table.only(*(space.value for space in Space))
    return spaces


def _space(table: Table) -> SpaceInfo:
    table.only("bytes", "alignment")
    alignment = table.number("alignment")
    if alignment & (alignment - 1):
        table.fail("alignment", f"must be a power of two, got {alignment}")
    return SpaceInfo(table.number("bytes"), alignment)


def _unit(units: Table, name: str) -> Unit:
    row = units.table(name)
    row.only("in_order")
    core, dot, unit = name.rpartition(".")
    if dot and core not in (CUBE, VECTOR):
        units.fail(name, f"must be a name such as mte2, {CUBE}.mte2 or {VECTOR}.mte2")
    return Unit(unit, core or UNIFIED, row.get("in_order", bool, True))


def _path(row: Table, units: Mapping[str, Unit]) -> DataPath:
    row.only("from", "to", "layouts", "unit")
    spaces, layouts = {s.value: s for s in Space}, {value.value: value for value in Layout}
    pair = [row.choice("layouts", value, layouts) for value in row.strings("layouts")]
    if len(pair) != 2:
        row.fail("layouts", f"must name two layouts, before and after the move, got {len(pair)}")
    path = DataPath(row.word("from", spaces), row.word("to", spaces), pair[0], pair[1], row.word("unit", units))
    core = VECTOR if Space.UB in (path.source, path.destination) else CUBE
    if path.unit.core not in (UNIFIED, core):
        row.fail("unit", f"must be of {core}, whose memory {path.source} → {path.destination} uses, got {path.unit}")
    return path
