"""Who holds what of a memory that is too small, and the smallest change of the schedule that makes it fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Attribute

from ge_compiler.dialects.ge.shapes import show
from ge_compiler.dialects.memory import DEFAULT_LAYOUT, Space, element_bytes, tile_bytes

_BLOCK = 16
"""Rows and columns of the cube's blocks: tiles are lowered to multiples of it."""

_KEYS: dict[Space, tuple[tuple[str, tuple[int, ...]], ...]] = {
    Space.L1: (("k", (1, 0)),),
    Space.L0A: (("k0", (1,)), ("m", (0,))),
    Space.L0B: (("k0", (0,)), ("n", (1,))),
    Space.L0C: (("n", (1,)), ("m", (0,))),
    Space.UB: (("n", (1,)), ("m", (0,))),
}
"""Which keys of a schedule size the tiles in a memory, and the axis of the tile that each sizes: the first of these that has its size."""


_SLOT_KEYS = {Space.L1: "l1", Space.L0A: "l0", Space.L0B: "l0", Space.UB: "ub"}
"""Which key of a schedule says how many slots the tiles in a memory have."""


@dataclass(frozen=True)
class Row:
    """A buffer at the moment at which a memory overflows."""

    label: str
    space: Space
    shape: tuple[int, ...]
    element: Attribute
    lines: str = ""
    """Where it is held, as lines of the source; empty where that is not known."""
    slots: int = 1

    @property
    def bytes(self) -> int:
        """Bytes of all slots."""
        return self.slots * tile_bytes(self.shape, element_bytes(self.element), self.space, DEFAULT_LAYOUT[self.space])

    @property
    def what(self) -> str:
        """`96x128xf16`, and how often where there are several slots."""
        return f"{show(self.shape)}x{self.element}{f' x {self.slots}' if self.slots > 1 else ''}"


def byte_table(rows: Sequence[Row], capacity: int) -> str:
    """A line for each buffer, the largest first, then their sum and the limit, in bytes."""
    ordered = sorted(rows, key=lambda row: (-row.bytes, row.label))
    cells = [(row.label, row.what, str(row.bytes), row.lines and f"lines {row.lines}") for row in ordered]
    cells += [("total", "", str(sum(row.bytes for row in rows)), ""), ("limit", "", str(capacity), "")]
    widths = [max(len(cell[i]) for cell in cells) for i in range(3)]
    return "\n".join(f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c:>{widths[2]}}  {d}".rstrip() for a, b, c, d in cells)


def smallest_fix(rows: Sequence[Row], capacity: int, schedule: Mapping[str, int]) -> str | None:
    """
    `lower k0 to 128 (needs 65536 bytes of l0b)`: the key of `schedule` that must give way least for the rows to fit into `capacity` bytes.

    The rows are of one memory. `None` if no single key helps.
    """
    fixes: list[tuple[float, str]] = []
    space = rows[0].space
    for key, axes in _KEYS.get(space, ()):
        for size in _lower(key, schedule):
            needed = sum(_resized(row, axes, schedule[key], size).bytes for row in rows)
            if needed <= capacity:
                fixes.append((schedule[key] / size, f"lower {key} to {size} (needs {needed} bytes of {space.value})"))
                break
    fixes += _fewer_slots(rows, capacity, schedule)
    return min(fixes, key=lambda fix: fix[0])[1] if fixes else None


def _fewer_slots(rows: Sequence[Row], capacity: int, schedule: Mapping[str, int]) -> Iterator[tuple[float, str]]:
    """The largest number of slots with which the rows fit, where that helps: what gives way, and the advice."""
    key, space = _SLOT_KEYS.get(rows[0].space, ""), rows[0].space.value
    for slots in range(schedule.get(key, 1) - 1, schedule.get("skew", 0) if key == "l1" else 0, -1):
        needed = sum(replace(row, slots=min(row.slots, slots)).bytes for row in rows)
        if needed <= capacity:
            yield schedule[key] / slots, f"lower {key} to {slots} (needs {needed} bytes of {space})"
            return


def _lower(key: str, schedule: Mapping[str, int]) -> Sequence[int]:
    """Smaller values of a key, the largest first; k stays a multiple of k0, and k0 divides k where it did."""
    old, k, k0 = (schedule.get(name, 0) for name in (key, "k", "k0"))
    step = k0 if key == "k" and k0 and k % k0 == 0 else _BLOCK
    values = range((old - 1) // step * step, 0, -step)
    return [value for value in values if k % value == 0] if key == "k0" and old and k % old == 0 else values


def _resized(row: Row, axes: Sequence[int], old: int, new: int) -> Row:
    axis = next((axis for axis in axes if row.shape[axis] == old), None)
    return row if axis is None else replace(row, shape=(*row.shape[:axis], new, *row.shape[axis + 1 :]))
