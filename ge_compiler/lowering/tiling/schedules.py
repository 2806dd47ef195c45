"""Choosing the sizes of tiles and their slots.

The rule: of all tile sizes whose buffers fit, take those that make the busiest core load the least — for a matmul, with sides that are
multiples of 16 (up to 512), waves × (m + n), where a wave is one tile on every core; for a vector kernel, waves × (m × n + a fixed cost),
times the chunks and the passes over them where a tile does not hold all that is reduced. Ties go to the larger tile. Then k0 is the
longest step of the contraction whose operands fit L0A and L0B, and k at most four such steps that fit L1.

Tiles get two slots wherever there is a next trip to fill the second for, and it fits: else one. Without a second slot the tiles of a
vector kernel are loaded, computed and stored one after the other, which counts double. Loads are not skewed unless asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import prod

from ge_compiler.dialects.fused import AttentionOp
from ge_compiler.dialects.memory import BLOCK_BYTES, Space, element_bytes, round_up
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.dialects.types import tensor_type
from ge_compiler.lowering.tiling.attention_shape import choose_attention
from ge_compiler.lowering.tiling.emission import chunked_groups
from ge_compiler.lowering.tiling.footprint import Held, by_space, footprint, of_anchor
from ge_compiler.lowering.tiling.shapes import TileShape, clip
from ge_compiler.transforms.iteration.domain import Domain, Group
from ge_compiler.transforms.planning.planner import Request, lower_bound, peak, plan

Schedule = dict[str, int]

LARGEST = 512
"""The longest side of a tile that the rule considers."""

LONGEST = 8192
"""The longest row of a tile of a vector kernel that the rule considers, unless a reduction runs over all of it."""

PASSES = 3
"""How often a vector kernel counts as reading chunks: one reduction that depends on another, and the results."""

TILE_COST = 512
"""The fixed cost of a tile of a vector kernel, in elements: what its instructions take to start."""


def requests_of(held: list[Held], alignment: int) -> list[Request]:
    """What the planner is asked for."""
    return [Request(h.bytes, h.first, h.last + 1).stacked(h.slots, alignment) for h in held]


def _peak(held: list[Held], alignment: int) -> int:
    """Bytes that the planner needs for `held`."""
    requests = requests_of(held, alignment)
    return peak(requests, plan(requests, alignment))


def peaks(domain: Domain, schedule: Schedule, target: NpuTarget) -> dict[Space, int]:
    """Bytes of each on-chip memory that a complete schedule takes."""
    held = by_space(footprint(domain, clip(domain, schedule, target)), target)
    return {space: _peak(buffers, target.spaces[space].alignment) for space, buffers in held.items()}


def overflow(domain: Domain, schedule: Schedule, target: NpuTarget) -> Space | None:
    """A memory that is too small for the schedule."""
    return next((space for space, peak in peaks(domain, schedule, target).items() if peak > target.capacity(space)), None)


def step_of(domain: Domain) -> int:
    """Elements of the contraction that one block of a fractal holds: k0 is a multiple of it."""
    assert domain.anchor is not None
    return max(1, BLOCK_BYTES // element_bytes(tensor_type(domain.anchor.operands[0]).get_element_type()))


def choose(domain: Domain, given: Schedule, target: NpuTarget) -> Schedule | None:
    """The schedule of the rule in which the `given` keys stand as they are; `None` if nothing fits."""
    if isinstance(domain.anchor, AttentionOp):
        return choose_attention(domain, given, target.cores, step_of(domain), partial(_attention_fits, domain, target))
    slots = [given["ub"]] if "ub" in given else [2, 1]
    candidates = [{**given, "m": rows, "n": columns, "ub": ub} for rows, columns in _sides(domain, given) for ub in slots]
    too_large: list[Schedule] = []
    for candidate in sorted(candidates, key=lambda schedule: _rank(domain, schedule, target)):
        if "ub" not in given and candidate["ub"] > min(2, _trips(domain, candidate, target)):
            continue
        if any(_contains(candidate, other) for other in too_large):
            continue
        if not _fits_without_k(domain, candidate, target):
            too_large.append(candidate)
            continue
        for schedule in _complete(domain, candidate, target):
            if overflow(domain, schedule, target) is None:
                return schedule
    return None


def _attention_fits(domain: Domain, target: NpuTarget, schedule: Schedule, spaces: tuple[Space, ...]) -> bool:
    """Whether the tiles of an attention fit into some memories; into all, where none are named."""
    if not spaces:
        return overflow(domain, schedule, target) is None
    held = by_space(of_anchor(domain, clip(domain, schedule, target)), target)
    return all(_peak(held[space], target.spaces[space].alignment) <= target.capacity(space) for space in spaces)


def _contains(candidate: Schedule, other: Schedule) -> bool:
    """Whether a tile is at least as large as another one in every way."""
    return all(candidate[key] >= other[key] for key in ("m", "n", "ub"))


def _fits_without_k(domain: Domain, candidate: Schedule, target: NpuTarget) -> bool:
    """Whether the tiles fit whose size k does not change: most candidates end here, before k is chosen."""
    if domain.anchor is not None and not _anchor_fits(domain, candidate, target, Space.L0C):
        return False
    held = by_space(footprint(domain, clip(domain, candidate, target)), target)[Space.UB]
    return lower_bound(requests_of(held, target.spaces[Space.UB].alignment)) <= target.capacity(Space.UB)


def _sides(domain: Domain, given: Schedule) -> Iterator[tuple[int, int]]:
    rows, columns = domain.groups[-2:]
    if domain.anchor is None:
        row_choices = _lengths(rows, 1, LARGEST)
        column_choices = _lengths(columns, 16, LONGEST)
    else:
        row_choices, column_choices = _multiples(rows.size), _multiples(columns.size)
    for m in [given["m"]] if "m" in given else row_choices:
        for n in [given["n"]] if "n" in given else column_choices:
            yield m, n


def _lengths(group: Group, least: int, most: int) -> list[int]:
    """Powers of two, and for short groups multiples of 16 in between; all of a group if it is reduced, or no longer than that."""
    powers = [1 << i for i in range(most.bit_length()) if least <= 1 << i <= most]
    between = _multiples(group.size) if least > 1 and not group.reduced else []
    whole = [max(group.size, 1)] if group.reduced or group.size <= most else []
    return sorted({v for v in (*powers, *between) if v < group.size} | set(whole)) or [least]


def _multiples(size: int) -> list[int]:
    """Multiples of 16, up to `size` rounded up and at most `LARGEST`."""
    limit = min(round_up(max(size, 1), 16), LARGEST)
    return [v for v in range(16, limit + 1, 16) if v <= 256 or v % 32 == 0]


def _waves(domain: Domain, shape: TileShape, target: NpuTarget) -> int:
    """Tiles that the busiest core computes."""
    return -(-prod(shape.grid(domain)) // target.cores)


def _chunks(domain: Domain, shape: TileShape) -> int:
    """Chunks of what is reduced, that a tile runs over one after the other."""
    groups = chunked_groups(domain, shape)
    sides = {len(domain.groups) - 2: shape.rows, len(domain.groups) - 1: shape.columns}
    return prod(-(-domain.sizes[group] // sides.get(group, 1)) for group in groups)


def _trips(domain: Domain, schedule: Schedule, target: NpuTarget) -> int:
    """How often the busiest core fills its tiles anew."""
    shape = clip(domain, schedule, target)
    return _waves(domain, shape, target) * _chunks(domain, shape)


def _rank(domain: Domain, schedule: Schedule, target: NpuTarget) -> tuple[int, int, int, int]:
    shape = clip(domain, schedule, target)
    waves = _waves(domain, shape, target)
    if domain.anchor is not None:
        cost = waves * (shape.rows + shape.columns)
    else:
        chunks = _chunks(domain, shape)
        passes = PASSES if chunked_groups(domain, shape) else 1
        overlap = 1 if schedule["ub"] > 1 or waves * chunks == 1 else 2
        cost = overlap * passes * waves * chunks * (shape.part[0] * shape.part[1] + TILE_COST)
    return cost, -shape.rows * shape.columns, schedule["m"], -schedule["ub"]


def _complete(domain: Domain, schedule: Schedule, target: NpuTarget) -> Iterator[Schedule]:
    """The schedule with all other keys chosen: first with a second slot, then without."""
    if domain.anchor is None:
        yield schedule
        return
    skew, waves = schedule.get("skew", 0), _waves(domain, clip(domain, schedule, target), target)
    for slots in (2, 1):
        whole = {"l1": max(slots, 1 + skew), "l0": slots, **schedule, "skew": skew}
        whole["k0"] = schedule.get("k0") or _longest_step(domain, whole, target)
        whole["k"] = schedule.get("k") or _chunk(domain, whole, target)
        for key, size in (("l1", "k"), ("l0", "k0")):
            if key not in schedule and whole[size] >= domain.contraction and waves == 1 and not skew:
                whole[key] = 1
        yield whole


def _longest_step(domain: Domain, schedule: Schedule, target: NpuTarget) -> int:
    step = step_of(domain)
    total = round_up(domain.contraction, step)
    limit = min(256, total, schedule.get("k", total))
    fitting = [v for v in range(step, limit + 1, step) if _anchor_fits(domain, {**schedule, "k": v, "k0": v}, target, Space.L0A, Space.L0B)]
    return _even_or_longest(fitting, domain.contraction, min(step, limit))


def _chunk(domain: Domain, schedule: Schedule, target: NpuTarget) -> int:
    k0 = schedule["k0"]
    counts = [c for c in (1, 2, 3, 4) if (c - 1) * k0 < domain.contraction]
    fitting = [c * k0 for c in counts if _anchor_fits(domain, {**schedule, "k": c * k0}, target, Space.L1)]
    return _even_or_longest(fitting, domain.contraction, k0)


def _even_or_longest(fitting: list[int], total: int, default: int) -> int:
    """The longest of the fitting lengths, or the longest that divides `total` if that is at least half as long."""
    longest = max(fitting, default=default)
    return max((v for v in fitting if total % v == 0 and 2 * v >= longest), default=longest)


def _anchor_fits(domain: Domain, schedule: Schedule, target: NpuTarget, *spaces: Space) -> bool:
    held = of_anchor(domain, clip(domain, schedule, target))
    return all(sum(h.bytes * h.slots for h in held if h.space is space) <= target.capacity(space) for space in spaces)
