"""The sizes of an attention kernel's tiles, what they hold of each on-chip memory, and which sizes are chosen where none are given.

Rows are queries, which the vector lanes share out; a block of keys is `keys` long. All of a head's elements, of queries and keys (`d`) and
of values (`dv`), are on chip at once; the cube takes them, and the keys, in steps of `k0`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

from xdsl.dialects.builtin import f32, i1, i32
from xdsl.ir import Attribute

from ge_compiler.dialects.functions import FUNCTIONS
from ge_compiler.dialects.fused import AttentionOp
from ge_compiler.dialects.memory import Space, round_up
from ge_compiler.lowering.tiling.attention_block import Facts, emit_block, emit_result, emit_start
from ge_compiler.lowering.tiling.shapes import TileShape
from ge_compiler.transforms.iteration.domain import Domain, Window


@dataclass(frozen=True)
class AttentionShape:
    """Sizes in elements, and the slots of tiles that are brought into each memory."""

    rows: int
    """Queries of a tile."""
    keys: int
    """Keys of a block."""
    k0: int
    """Elements that one cube instruction sums, of a head and of a block of keys."""
    d: int
    dv: int
    sk: int
    """All keys."""
    lanes: int = 1
    l1: int = 1
    l0: int = 1
    ub: int = 1

    @property
    def part(self) -> int:
        """Queries of one lane."""
        return -(-self.rows // self.lanes)

    @staticmethod
    def of(domain: Domain, shape: TileShape) -> AttentionShape:
        """The sizes of a kernel whose tiles have `shape`: its rows are queries, its columns a head's elements."""
        d, keys = (group.size for group in domain.inner)
        slots = shape.l1, shape.l0, shape.ub
        return AttentionShape(shape.rows, shape.keys, shape.k0, d, shape.columns, keys, shape.lanes, *slots)

    def step(self, room: int) -> int:
        """Elements that one instruction sums of `room`."""
        return max(1, min(self.k0, room))


# ---- what tiles hold ------------------------------------------------------------------------------------------------


class TileRecorder(Protocol):
    """Notes when tiles in the unified buffer are made and last read."""

    def new(self, label: str, shape: tuple[int, int], element: Attribute, operands: list[Any]) -> Any:
        """A tile that an op makes of others."""
        ...

    def brought(self, label: str, shape: tuple[int, int], element: Attribute) -> Any:
        """A tile that comes from another memory, with the schedule's slots."""
        ...

    def computed(self, label: str, shape: tuple[int, int], element: Attribute, operands: list[Any]) -> Any:
        """The result of a function, which may take the place of an operand of its type that is not needed any more."""
        ...

    def kept(self, tiles: Sequence[Any]) -> None:
        """The tiles are needed up to here."""
        ...


@dataclass(frozen=True)
class _Measured:
    """A sink of the arithmetic that writes nothing. A handle is what the recorder made, with its shape and element type."""

    recorder: TileRecorder
    shape: AttentionShape
    facts: Facts
    masked: tuple[bool, bool]
    """Whether the mask has more than one row, and more than one column."""

    def start(self, value: float, name: str) -> Any:
        return self.recorder.new(name, (self.shape.part, self.shape.dv if name == "o" else 1), f32, [])

    def scores(self) -> Any:
        return self.recorder.brought("s", (self.shape.part, self.shape.keys), f32)

    def mask(self) -> Any:
        rows, columns = self.masked
        assert self.facts.mask is not None
        return self.recorder.brought("mask", (self.shape.part if rows else 1, self.shape.keys if columns else 1), self.facts.mask)

    def ahead(self) -> Any:
        return self.recorder.new("ahead", (self.shape.part, self.shape.keys), i32, [])

    def constant(self, value: float, element: Attribute) -> Any:
        return self.recorder.new("constant", (1, 1), element, [])

    def function(self, name: str, operands: list[Any], scalar: float | None = None) -> Any:
        rows, columns = (max(sizes) for sizes in zip(*(x.shape for x in operands), strict=True))
        element = i1 if FUNCTIONS[name].is_predicate else operands[-1].element
        return self.recorder.computed(name, (rows, columns), element, operands)

    def reduce(self, kind: str, x: Any) -> Any:
        return self.recorder.new(kind, (self.shape.part, 1), f32, [x])

    def cast(self, x: Any, element: Attribute) -> Any:
        return x if x.element == element else self.recorder.new(f"{x.label}_{element}", x.shape, element, [x])

    def product(self, weights: Any) -> Any:
        self.recorder.kept([weights])
        return self.recorder.brought("pv", (self.shape.part, self.shape.dv), f32)


def matrix_strides(window: Window) -> tuple[tuple[int, int], ...]:
    """The strides from row to row and from column to column of a matrix of queries, keys, values and the mask, where a window is that."""
    (d, keys), (rows, columns) = window.inner, window.strides[-2:]
    return (rows, d), (keys, d), (keys, columns), (rows, keys)


def is_turned_matrix(domain: Domain, number: int) -> bool:
    """Whether the rows of an operand of the products, and not its columns, lie one behind the other."""
    row, column = matrix_strides(domain.operand(number)[1])[number]
    return row == 1 and column > 1


def measure(recorder: TileRecorder, domain: Domain, shape: TileShape) -> Any:
    """Records the tiles of the unified buffer, from the start to the handle of the result."""
    assert isinstance(domain.anchor, AttentionOp)
    facts = Facts.of(domain.anchor)
    rows, columns = (0, 0) if facts.mask is None else matrix_strides(domain.operand(3)[1])[3]
    sink = _Measured(recorder, AttentionShape.of(domain, shape), facts, (rows != 0, columns != 0))
    carried = emit_block(facts, sink, *emit_start(sink))
    recorder.kept(carried)
    return emit_result(sink, carried[1], carried[2])


@dataclass(frozen=True)
class CubeTile:
    """A buffer of the cube's memories, held in the product `first` to the product `last` of a block: 0 is q·kᵀ, 1 is p·v."""

    label: str
    space: Space
    shape: tuple[int, int]
    element: Attribute
    first: int
    last: int
    slots: int = 1


def cube_tiles(domain: Domain, tile_shape: TileShape) -> Iterator[CubeTile]:
    """The buffers of the cube's memories."""
    assert isinstance(domain.anchor, AttentionOp)
    shape, facts = AttentionShape.of(domain, tile_shape), Facts.of(domain.anchor)
    rows, keys, d, dv = shape.rows, shape.keys, shape.d, shape.dv
    tiles = ("q", (rows, d), 0, 1), ("k", (keys, d), 0, 0), ("v", (keys, dv), 1, 1), ("p", (rows, keys), 1, 1)
    for number, (label, size, first, last) in enumerate(tiles):
        is_turned = label != "p" and is_turned_matrix(domain, number)
        # With two slots a tile is there for the next block too.
        span = (first, last) if shape.l1 == 1 else (0, 1)
        yield CubeTile(label, Space.L1, (size[1], size[0]) if is_turned else size, facts.element, *span, shape.l1)
    for product, (name, room, columns) in enumerate((("s", d, keys), ("pv", keys, dv))):
        step = shape.step(room)
        span = (product, product) if shape.l0 == 1 or step < room else (0, 1)
        yield CubeTile(f"a0 of {name}", Space.L0A, (rows, step), facts.element, *span, shape.l0)
        yield CubeTile(f"b0 of {name}", Space.L0B, (step, columns), facts.element, *span, shape.l0)
        yield CubeTile(name, Space.L0C, (rows, columns), f32, product, product)


# ---- which sizes are chosen -----------------------------------------------------------------------------------------

Schedule = dict[str, int]
MOST_ROWS, MOST_KEYS = 128, 512
"""The longest tile and block that the rule considers."""
BLOCK_COST, ROW_COST = 24576, 256
"""The fixed cost of a block of keys, for which cube and lanes wait for each other twice, and of each query in it, in elements moved."""


Fits = Callable[[Schedule, tuple[Space, ...]], bool]
"""Whether the tiles of a complete schedule fit into some memories; into all, where none are named."""


def choose_attention(domain: Domain, given: Schedule, cores: int, step: int, fits: Fits) -> Schedule | None:
    """The sizes of the least cost that fit, in which the `given` keys stand; `None` if none do.

    The cost is what the busiest core moves: for each block of keys its keys and values, its scores twice (to the lanes and back) and its
    products. `step` is what k0 is a multiple of.
    """
    too_large: list[Schedule] = []
    for candidate in sorted(_candidates(domain, given), key=lambda schedule: _cost(domain, schedule, cores)):
        if any(candidate["m"] >= other["m"] and candidate["n"] >= other["n"] for other in too_large):
            continue
        for slots in (2, 1):
            schedule = {"l1": slots, "l0": slots, "ub": 1, **candidate}
            k0 = given.get("k0") or _longest_step(domain, schedule, step, fits)
            if k0 is not None and fits({**schedule, "k0": k0}, ()):
                return {**schedule, "k0": k0}
        too_large.append(candidate)
    return None


def _candidates(domain: Domain, given: Schedule) -> Iterator[Schedule]:
    for m in [given["m"]] if "m" in given else _multiples(domain.sizes[-2], MOST_ROWS):
        for n in [given["n"]] if "n" in given else _multiples(domain.inner[1].size, MOST_KEYS):
            yield {**given, "m": m, "n": n}


def _multiples(size: int, most: int) -> list[int]:
    limit = min(round_up(max(size, 1), 16), most)
    return [v for v in range(16, limit + 1, 16) if v <= 128 or v % 64 == 0 or v == limit]


def _cost(domain: Domain, schedule: Schedule, cores: int) -> tuple[int, int, int]:
    (d, keys), (rows, dv) = (group.size for group in domain.inner), domain.sizes[-2:]
    m, n, heads = min(schedule["m"], max(rows, 1)), min(schedule["n"], max(keys, 1)), prod(domain.sizes[:-2])
    assert isinstance(domain.anchor, AttentionOp)
    if domain.anchor.causal is None:
        blocks = -(-heads * -(-rows // m) // cores) * -(-keys // n)
    else:
        seen = sum(-(-min(keys, behind, rows) // n) for behind in range(m, rows + m, m))
        blocks = -(-heads * seen // cores)
    return blocks * (BLOCK_COST + n * (d + dv) + m * (ROW_COST + 2 * n + dv)), -m * n, m


def _longest_step(domain: Domain, schedule: Schedule, step: int, fits: Fits) -> int | None:
    """The longest k0 that fits, or the longest that leaves no rest of a head or a block if that is at least half as long."""
    d, keys = domain.inner[0].size, min(schedule["n"], domain.inner[1].size)
    longest = min(256, round_up(max(d, keys, 1), step))
    fitting = [k0 for k0 in range(longest, 0, -step) if fits({**schedule, "k0": k0}, (Space.L0A, Space.L0B))]
    even = [k0 for k0 in fitting if 2 * k0 >= fitting[0] and all(k0 >= size or size % k0 == 0 for size in (d, keys))]
    return next(iter([*even, *fitting]), None)


def broken_rule(domain: Domain, schedule: Schedule, step: int) -> str | None:
    """What is wrong with a schedule whatever the sizes of memories, and what to do."""
    longest = max(domain.inner[0].size, min(schedule["n"], domain.inner[1].size))
    if schedule["k0"] % step and schedule["k0"] < longest:
        return f"k0 = {schedule['k0']} must be a multiple of {step}; use {round_up(schedule['k0'], step)}"
    return None
