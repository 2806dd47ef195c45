"""Choosing the sizes of tiles.

The rule: of all tile sizes that are multiples of 16 (up to 512) and whose buffers fit, take those that make the busiest core load the least
— for a matmul, waves × (m + n), where a wave is one tile on every core; for a vector kernel, waves × (m × n + a fixed cost). Ties go to
the larger tile. Then k0 is the longest step of the contraction whose operands fill at most half of L0A and L0B, and k at most four such
steps that fill at most half of L1: the other halves are room for a second slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects.func import FuncOp

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.memory import BLOCK_BYTES, Space, element_bytes, round_up
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.dialects.types import tensor_type
from ge_compiler.lowering.tiling.domain import Domain
from ge_compiler.lowering.tiling.footprint import Held, by_space, footprint, of_anchor
from ge_compiler.lowering.tiling.shapes import clip, keys_of
from ge_compiler.transforms.planning.byte_table import Row, byte_table
from ge_compiler.transforms.planning.planner import Request, most_held, peak, plan

Schedule = dict[str, int]

LARGEST = 512
"""The longest side of a tile that the rule considers."""

TILE_COST = 512
"""The fixed cost of a tile of a vector kernel, in elements: what its instructions take to start."""


def _requests(held: list[Held]) -> list[Request]:
    return [Request(h.bytes, h.first, h.last + 1) for h in held]


def _peak(held: list[Held], alignment: int) -> int:
    """Bytes that the planner needs for `held`."""
    requests = _requests(held)
    return peak(requests, plan(requests, alignment))


def peaks(domain: Domain, schedule: Schedule, target: NpuTarget) -> dict[Space, int]:
    """Bytes of each on-chip memory that a complete schedule takes."""
    held = by_space(footprint(domain, clip(domain, schedule, target)), target)
    return {space: _peak(buffers, target.spaces[space].alignment) for space, buffers in held.items()}


def _overflow(domain: Domain, schedule: Schedule, target: NpuTarget) -> Space | None:
    """A memory that is too small for the schedule."""
    return next((space for space, peak in peaks(domain, schedule, target).items() if peak > target.capacity(space)), None)


def step_of(domain: Domain) -> int:
    """Elements of the contraction that one block of a fractal holds: k0 is a multiple of it."""
    assert domain.anchor is not None
    return max(1, BLOCK_BYTES // element_bytes(tensor_type(domain.anchor.a).get_element_type()))


def choose(domain: Domain, given: Schedule, target: NpuTarget) -> Schedule | None:
    """The schedule of the rule in which the `given` keys stand as they are; `None` if nothing fits."""
    for rows, columns in sorted(_sides(domain, given), key=lambda sides: _rank(domain, sides, target)):
        for schedule in _complete(domain, {**given, "m": rows, "n": columns}, target):
            if _overflow(domain, schedule, target) is None:
                return schedule
    return None


def _sides(domain: Domain, given: Schedule) -> Iterator[tuple[int, int]]:
    rows, columns = domain.sizes[-2:]
    if domain.anchor is None:
        row_choices: Iterable[int] = [1, *_multiples(rows, 2)]
        column_choices: Iterable[int] = [*_multiples(columns, 16), *(c for c in (1024, 2048, 4096, 8192) if c <= columns)]
    else:
        row_choices, column_choices = _multiples(rows, 16), _multiples(columns, 16)
    for m in [given["m"]] if "m" in given else row_choices:
        for n in [given["n"]] if "n" in given else column_choices:
            yield m, n


def _multiples(size: int, step: int) -> list[int]:
    """Powers of two and multiples in between, up to `size` rounded up and at most `LARGEST`."""
    limit = min(round_up(max(size, 1), step), LARGEST)
    if step == 2:
        return [v for v in (1 << i for i in range(1, 10)) if v <= limit]
    return [v for v in range(step, limit + 1, step) if v <= 256 or v % 32 == 0]


def _rank(domain: Domain, sides: tuple[int, int], target: NpuTarget) -> tuple[int, int, int]:
    rows, columns = sides
    shape = clip(domain, {"m": rows, "n": columns}, target)
    tiles = 1
    for extent in shape.grid(domain):
        tiles *= extent
    waves = -(-tiles // target.cores)
    load = shape.rows + shape.columns if domain.anchor is not None else shape.part[0] * shape.part[1] + TILE_COST
    return waves * load, -shape.rows * shape.columns, rows


def _complete(domain: Domain, schedule: Schedule, target: NpuTarget) -> Iterator[Schedule]:
    """The schedule with k0 and k chosen: first with room for a second slot, then without."""
    if domain.anchor is None:
        yield schedule
        return
    for share in (2, 1):
        k0 = schedule.get("k0") or _longest_step(domain, schedule, target, share)
        yield {**schedule, "k0": k0, "k": schedule.get("k") or _chunk(domain, {**schedule, "k0": k0}, target, share)}


def _longest_step(domain: Domain, schedule: Schedule, target: NpuTarget, share: int) -> int:
    step = step_of(domain)
    total = round_up(domain.contraction, step)
    limit = min(256, total, schedule.get("k", total))
    fitting = [v for v in range(step, limit + 1, step) if _fits_l0(domain, {**schedule, "k": v, "k0": v}, target, share)]
    return _even_or_longest(fitting, domain.contraction, step)


def _fits_l0(domain: Domain, schedule: Schedule, target: NpuTarget, share: int) -> bool:
    return _anchor_fits(domain, schedule, target, share, (Space.L0A, Space.L0B))


def _chunk(domain: Domain, schedule: Schedule, target: NpuTarget, share: int) -> int:
    k0 = schedule["k0"]
    counts = [c for c in (1, 2, 3, 4) if (c - 1) * k0 < domain.contraction]
    fitting = [c * k0 for c in counts if _anchor_fits(domain, {**schedule, "k": c * k0}, target, share, (Space.L1,))]
    return _even_or_longest(fitting, domain.contraction, k0)


def _even_or_longest(fitting: list[int], total: int, default: int) -> int:
    """The longest of the fitting lengths, or the longest that divides `total` if that is at least half as long."""
    longest = max(fitting, default=default)
    return max((v for v in fitting if total % v == 0 and 2 * v >= longest), default=longest)


def _anchor_fits(domain: Domain, schedule: Schedule, target: NpuTarget, share: int, spaces: tuple[Space, ...]) -> bool:
    held = of_anchor(domain, clip(domain, schedule, target))
    return all(sum(h.bytes for h in held if h.space is space) * share <= target.capacity(space) for space in spaces)


def check(domain: Domain, kernel: FuncOp, schedule: Schedule, target: NpuTarget) -> None:
    """Raise `CompileError` with a byte table and the smallest fix if a complete schedule is not legal."""
    name = kernel.sym_name.data
    if domain.anchor is not None:
        step, k0, k = step_of(domain), schedule["k0"], schedule["k"]
        if k0 > k:
            raise CompileError.at(kernel, f"@{name}: k0 = {k0} must not exceed k = {k}; lower k0 to {k}")
        if k0 % step and k0 < min(k, domain.contraction):
            raise CompileError.at(kernel, f"@{name}: k0 = {k0} must be a multiple of {step}; use {round_up(k0, step)}")
    space = _overflow(domain, schedule, target)
    if space is None:
        return
    held = by_space(footprint(domain, clip(domain, schedule, target)), target)[space]
    limit = target.capacity(space)
    need = peaks(domain, schedule, target)[space]
    raise CompileError.at(
        kernel,
        f"@{name}: the schedule needs {need} bytes of {space}, {target.name} has {limit}\n"
        f"{byte_table(_at_peak(held), limit)}\n{_fix(domain, schedule, target)}",
    )


def _at_peak(held: list[Held]) -> list[Row]:
    """The buffers that are held when the most bytes are."""
    return [Row(held[i].label, held[i].space, held[i].shape, held[i].element) for i in most_held(_requests(held))]


def _fix(domain: Domain, schedule: Schedule, target: NpuTarget) -> str:
    """The smallest change of one key that makes the schedule legal."""
    best: tuple[float, str, int] | None = None
    for key in keys_of(domain):
        step = step_of(domain) if key in ("k", "k0") else 16
        for value in range((schedule[key] - 1) // step * step, 0, -step):
            trial = {**schedule, key: value}
            if key == "k":
                trial["k0"] = min(trial["k0"], value)
            if _overflow(domain, trial, target) is None:
                ratio = schedule[key] / value
                best = min(best, (ratio, key, value)) if best is not None else (ratio, key, value)
                break
    return f"smallest fix: {best[1]} = {best[2]}" if best is not None else "smallest fix: leave m and n out, so that they are chosen"
