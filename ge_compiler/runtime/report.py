"""What a compiled program consists of, read from its IR: operators with their Python lines, kernels, bytes of each memory, instructions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import PurePath
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, FusedLoc, LocationAttr, ModuleOp, NameLoc
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable

from ge_compiler.dialects import buf, fused, ge, tile
from ge_compiler.dialects.diagnostics import Remark, source_location
from ge_compiler.dialects.memory import Space, bytes_of, mem_of
from ge_compiler.dialects.states import states
from ge_compiler.dialects.target import NpuTarget, target_of
from ge_compiler.dialects.types import shaped_type
from ge_compiler.runtime.arena import arena, end_of
from ge_compiler.runtime.border import result_count
from ge_compiler.runtime.engines import EngineRow, engine_rows


@dataclass(frozen=True)
class OperatorRow:
    """An operator of `@main` at `ge`."""

    name: str
    """The path of the module in the model: `fc1`."""
    operator: str
    result: str
    line: str
    """`mlp.py:14`, empty if unknown."""


@dataclass(frozen=True)
class KernelRow:
    """A kernel, and what its launches compute."""

    name: str
    launches: int
    engine: str
    operators: tuple[str, ...]
    source: tuple[str, ...]
    """`fc1 (mlp.py:14)` of every operator of the first launch."""
    schedule: Mapping[str, int]
    blocks: int | None
    bytes: Mapping[str, int]
    """On-chip memory -> bytes in use at the peak; empty above `buf`."""
    instructions: int | None
    """In its code; how often they run depends on loops. `None` above `npu`."""


@dataclass(frozen=True)
class Report:
    """One program."""

    target: str
    operators: tuple[OperatorRow, ...]
    kernels: tuple[KernelRow, ...]
    engines: tuple[EngineRow, ...]
    """What does not run on the AI Cores; empty above `fused`."""
    capacities: Mapping[str, int]
    """Memory -> its bytes on the target."""
    hbm: Mapping[str, int]
    """What lies in global memory -> bytes: what the caller gives and gets, the intermediates between launches, the launches' workspace."""

    @property
    def hbm_peak(self) -> int:
        return sum(self.hbm.values())

    @property
    def instructions(self) -> int | None:
        counts = [kernel.instructions for kernel in self.kernels if kernel.instructions is not None]
        return sum(counts) if counts else None

    def to_json(self) -> dict[str, Any]:
        own = {"engines": [row.to_json() for row in self.engines], "hbm_peak": self.hbm_peak, "instructions": self.instructions}
        return asdict(replace(self, engines=())) | own


def report(modules: Mapping[str, ModuleOp], remarks: Sequence[Remark] = ()) -> Report:
    """The report of a program from its modules by level and what passes said; what the levels given do not say is left out."""
    lowest = list(modules.values())[-1]
    target = target_of(lowest)
    operators = _operators(modules["ge"]) if "ge" in modules else ()
    on_chip = [space for space in target.spaces if space is not Space.GM]
    return Report(
        target=target.name,
        operators=tuple(operators),
        kernels=tuple(_kernels(lowest, target)),
        engines=tuple(engine_rows(lowest, remarks)),
        capacities={space.value: target.capacity(space) for space in (*on_chip, Space.GM)},
        hbm=_hbm(lowest),
    )


def sources(location: LocationAttr) -> list[tuple[str, str]]:
    """The (name, `file.py:line`) pairs that a location is made of; either may be empty."""
    match location:
        case FusedLoc(locations=ArrayAttr(data=parts)):
            found = [source for part in parts for source in sources(cast("LocationAttr", part))]
            return list(dict.fromkeys(found))
        case NameLoc():
            return [(location.desc.data, line_text(location))]
        case _:
            line = line_text(location)
            return [("", line)] if line else []


def line_text(location: Attribute) -> str:
    """`file.py:line` of a location, empty if it names no file."""
    place = source_location(location)
    return "" if place is None else f"{PurePath(place.filename.data).name}:{place.line.data}"


def _operators(module: ModuleOp) -> Sequence[OperatorRow]:
    main = _main(module)
    ops = [op for op in main.body.block.ops if isinstance(op, ge.GeOp) and not isinstance(op, ge.ConstOp)] if main is not None else []
    return [OperatorRow(_name(op), _operator(op), str(op.results[0].type), line_text(op.location)) for op in ops]


def _operator(op: ge.GeOp) -> str:
    return op.overload.data if isinstance(op, ge.AtenFallbackOp) else op.name.removeprefix("ge.")


def _name(op: Operation) -> str:
    return op.location.desc.data if isinstance(op.location, NameLoc) else ""


def _main(module: ModuleOp) -> FuncOp | None:
    main = SymbolTable.lookup_symbol(module, "main")
    return main if isinstance(main, FuncOp) and not main.is_declaration else None


def _kernels(module: ModuleOp, target: NpuTarget) -> Sequence[KernelRow]:
    launches: dict[str, list[fused.LaunchOp]] = {}
    for op in module.walk():
        if isinstance(op, fused.LaunchOp):
            launches.setdefault(op.kernel_name, []).append(op)
    kernels = {kernel.sym_name.data: kernel for kernel in fused.kernels(module)}
    return [_kernel(kernels[name], found, target) for name, found in launches.items() if name in kernels]


def _kernel(kernel: FuncOp, launches: Sequence[fused.LaunchOp], target: NpuTarget) -> KernelRow:
    first = launches[0]
    ops = list(kernel.walk())
    grids = [op.grid for op in ops if isinstance(op, tile.ForallOp | tile.GridLoopOp)]
    schedule = kernel.attributes.get(tile.SCHEDULE_ATTRIBUTE)
    instructions = sum(op.dialect_name() == "npu" for op in ops)
    peaks = {space.value: _peak(ops, space) for space in target.spaces if space is not Space.GM}
    return KernelRow(
        name=kernel.sym_name.data,
        launches=len(launches),
        engine=first.engine.data.value,
        operators=tuple(name.data for name in first.ops),
        source=tuple(f"{name} ({line})" if name and line else name or line for name, line in sources(first.location)),
        schedule=schedule.values() if isinstance(schedule, tile.ScheduleAttr) else {},
        blocks=sum(math.prod(grid) for grid in grids) if grids else None,
        bytes={space: peak for space, peak in peaks.items() if peak},
        instructions=instructions or None,
    )


def _peak(ops: Sequence[Operation], space: Space) -> int:
    """Bytes up to the end of the last buffer in `space`."""
    return max((end_of(op) for op in ops if isinstance(op, buf.AtOp) and mem_of(op.result.type).space is space), default=0)


def _hbm(module: ModuleOp) -> dict[str, int]:
    main = _main(module)
    if main is None:
        return {}
    last, arguments, of_states = main.body.block.last_op, list(main.body.block.args), states(main)
    count = result_count(main)
    inputs, outputs = arguments[: len(arguments) - count], [value.type for value in arguments[len(arguments) - count :]]
    if not count and last is not None:
        outputs = [value.type for i, value in enumerate(last.operands) if i not in of_states.values()]
    held = arena(main)
    return {
        "weights": sum(bytes_of(weight.type) for weight in ge.weights(module))
        + sum(bytes_of(shaped_type(op.y)) for op in main.body.block.ops if isinstance(op, ge.ConstOp)),
        "inputs": sum(bytes_of(shaped_type(value)) for i, value in enumerate(inputs) if i not in of_states),
        "states": sum(bytes_of(shaped_type(arguments[i])) for i in of_states),
        "outputs": sum(bytes_of(shaped_type(type_)) for type_ in outputs),
        "intermediates": held.intermediates,
        "workspace": held.workspace,
    }
