"""The sizes of a kernel's tiles: its schedule, held to its domain."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp

from ge_compiler.dialects import fused, tile
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.memory import Space, round_up
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.transforms.iteration.domain import Domain


@dataclass(frozen=True)
class TileShape:
    """Sizes in elements: a tile of the domain, and the parts of the contraction that L1 and L0 hold. Slots of the tiles in each memory."""

    rows: int
    columns: int
    k: int
    k0: int
    lanes: int = 1
    """Vector lanes that share a tile."""
    lane_axis: int = 0
    """Whether they share out its rows (0) or its columns (1)."""
    l1: int = 1
    l0: int = 1
    ub: int = 1
    splits: int = 1
    """Parts of the contraction that are summed apart, and added up by a second grid."""
    leaves_through_ub: bool = False
    """Whether an accumulator reaches global memory through the unified buffer only."""
    k_part: int = 0
    """Elements of the contraction in each part; the last may have fewer."""
    keys: int = 0
    """Keys of a block of an attention, whose tiles have all columns."""

    @property
    def matrix(self) -> tuple[int, int]:
        """Rows and columns of a tile."""
        return self.rows, self.columns

    @property
    def part(self) -> tuple[int, int]:
        """Rows and columns of one lane's part of a tile."""
        share = [size if axis != self.lane_axis else -(-size // self.lanes) for axis, size in enumerate(self.matrix)]
        return share[0], share[1]

    def is_more(self, have: tuple[bool, bool], wanted: tuple[bool, bool]) -> bool:
        """Whether a tile that follows the axes `wanted` is another one than a tile that follows `have`.

        Where a lane has room for one row or column, it may still have none; a tile that does not follow that axis has one in every lane.
        """
        new = [axis for axis in (0, 1) if wanted[axis] and not have[axis]]
        return any(self.part[axis] > 1 or (self.lanes > 1 and axis == self.lane_axis) for axis in new)

    def grid(self, domain: Domain) -> tuple[int, ...]:
        """Tiles along each point of the domain, its rows and its columns; what is reduced is one tile, or a loop of its own."""
        last = zip(domain.groups[-2:], self.matrix, strict=True)
        tiles = [1 if group.reduced else -(-group.size // size) for group, size in last]
        return (*(domain.sizes[i] for i in domain.points), *tiles)


def keys_of(domain: Domain) -> tuple[str, ...]:
    """The keys of a schedule that mean something for this kernel."""
    if isinstance(domain.anchor, fused.AttentionOp):
        return ("m", "n", "k0", "l1", "l0", "ub")
    return tuple(tile.SCHEDULE_KEYS) if domain.anchor is not None else ("m", "n", "ub")


def clip(domain: Domain, values: dict[str, int], target: NpuTarget) -> TileShape:
    """The tiles that a complete schedule gives: no larger than the domain, and never empty.

    Lanes share out the rows; the columns of a vector kernel where it reduces its rows, or has only one.
    """
    rows, columns = domain.groups[-2:]
    if isinstance(domain.anchor, fused.AttentionOp):
        return _clip_attention(domain, values, target)
    k = max(1, min(values.get("k", 1), domain.contraction))
    m, n = max(1, min(values["m"], rows.size)), max(1, min(values["n"], columns.size))
    axis = 1 if domain.anchor is None and (rows.reduced or (rows.size == 1 and not columns.reduced)) else 0
    l1, l0, ub = (values.get(key, 1) for key in tile.SLOT_KEYS)
    k0 = min(values.get("k0", 1), k)
    k_part = max(1, round_up(-(-domain.contraction // values.get("splits", 1)), k0))
    through_ub = any(path.destination is Space.UB for path in target.route(Space.L0C, Space.GM))
    splits = max(1, -(-domain.contraction // k_part))
    return TileShape(m, n, min(k, k_part), k0, target.vec_per_cube, axis, l1, l0, ub, splits, through_ub, k_part)


def _clip_attention(domain: Domain, values: dict[str, int], target: NpuTarget) -> TileShape:
    """The tiles of an attention: `m` queries, all of a head, and blocks of `n` keys."""
    m, keys = max(1, min(values["m"], domain.sizes[-2])), max(1, min(values["n"], domain.inner[1].size))
    l1, l0, ub = (values.get(key, 1) for key in tile.SLOT_KEYS)
    k = max(1, domain.contraction)
    return TileShape(m, max(1, domain.sizes[-1]), k, values.get("k0", 1), target.vec_per_cube, 0, l1, l0, ub, k_part=k, keys=keys)


def tile_shape(domain: Domain, kernel: FuncOp, target: NpuTarget) -> TileShape:
    """The tile sizes of a scheduled kernel. Raises `CompileError` if its schedule is incomplete."""
    schedule = tile.schedule_of(kernel)
    values = {} if schedule is None else schedule.values()
    missing = [key for key in keys_of(domain) if key in tile.SIZE_KEYS and key not in values]
    if missing:
        raise CompileError.at(kernel, f"@{kernel.sym_name.data} has no {', '.join(missing)} in its schedule; run select-schedule first")
    return clip(domain, values, target)
