"""What the tiles of a kernel hold of each on-chip memory, measured without writing any IR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, BlockArgument, Operation

from ge_compiler.dialects.functions import FUNCTIONS, expand
from ge_compiler.dialects.fused import AttentionOp
from ge_compiler.dialects.memory import DEFAULT_LAYOUT, Space, element_bytes, tile_bytes
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.dialects.types import accumulator_of, tensor_type
from ge_compiler.lowering.tiling.attention_shape import cube_tiles, measure
from ge_compiler.lowering.tiling.emission import emit
from ge_compiler.lowering.tiling.matmul import Side
from ge_compiler.lowering.tiling.shapes import TileShape
from ge_compiler.lowering.tiling.sink import ROWS, Follows, Scalar
from ge_compiler.lowering.tiling.turned import is_turned
from ge_compiler.transforms.iteration.domain import Domain, Window


@dataclass(eq=False)
class Held:
    """A buffer, and the first and last step of the kernel at which it holds something."""

    label: str
    space: Space
    shape: tuple[int, int]
    element: Attribute
    first: int
    last: int
    slots: int = 1
    loop: tuple[int, int] | None = None
    """The first and the last step of the loop over chunks that it is made in."""

    @property
    def bytes(self) -> int:
        """Bytes of one slot."""
        return tile_bytes(self.shape, element_bytes(self.element), self.space, DEFAULT_LAYOUT[self.space])


@dataclass
class Recorder:
    """Follows the emission of a kernel and notes when each tile is written and last read."""

    domain: Domain
    shape: TileShape
    held: list[Held] = field(default_factory=list[Held])
    step: int = 0
    functions: list[tuple[Held, tuple[Held, ...]]] = field(default_factory=list[tuple["Held", "tuple[Held, ...]"]])
    """Results of elementwise functions and their operands, over which they may be written."""
    carried: set[Held] = field(default_factory=set["Held"])
    """Tiles that loops carry: what updates them has their bytes."""

    # ---- what tiles are made, and of what

    def new(self, label: str, shape: tuple[int, int], element: Attribute, operands: Sequence[Held]) -> Held:
        """A tile that an op makes of others."""
        self.step += 1
        self._read(operands)
        made = Held(label, Space.UB, shape, element, self.step, self.step)
        self.held.append(made)
        return made

    def brought(self, label: str, shape: tuple[int, int], element: Attribute) -> Held:
        """A tile that comes from another memory, with the schedule's slots."""
        made = self.new(label, shape, element, [])
        made.slots = self.shape.ub
        return made

    def computed(self, label: str, shape: tuple[int, int], element: Attribute, operands: Sequence[Held]) -> Held:
        """The result of a function, which may take the place of an operand of its type that is not needed any more."""
        made = self.new(label, shape, element, operands)
        self.functions.append((made, tuple(operands)))
        return made

    def kept(self, tiles: Sequence[Held]) -> None:
        """The tiles are needed up to here."""
        self.step += 1
        self._read(tiles)

    def _read(self, tiles: Sequence[Held]) -> None:
        for tile in tiles:
            tile.last = self.step

    def in_place(self) -> None:
        """Lets results take over the bytes of operands that are not needed any more, as the planner does."""
        for result, operands in self.functions:
            made = result.first
            for x in operands:
                if (
                    x in self.held
                    and x.last == made
                    and (x.shape, x.element, x.slots, result.slots) == (result.shape, result.element, 1, 1)
                ):
                    self.held.remove(x)
                    result.first, result.label = x.first, x.label
                    break

    # ---- the sink of the emission

    def at(self, op: Operation) -> None:
        pass

    def room(self, follows: Sequence[bool]) -> tuple[int, int]:
        rows, columns = (room if f else 1 for room, f in zip(self.shape.part, follows, strict=True))
        return rows, columns

    def load(self, argument: BlockArgument, window: Window, follows: Follows) -> Held:
        (rows, columns), element, label = self.room(follows), tensor_type(argument).get_element_type(), argument.name_hint or "x"
        if not is_turned(window):
            return self.brought(label, (rows, columns), element)
        return self.new(label, (rows, columns), element, [self.brought(label, (columns, rows), element)])

    def load_rows(self, argument: BlockArgument, window: Window, indices: Held, follows: Follows) -> Held:
        made = self.brought(argument.name_hint or "x", self.room(follows), tensor_type(argument).get_element_type())
        self._read([indices])
        return made

    def iota(self, element: Attribute, offset: int, strides: tuple[int, ...], follows: Follows) -> Held:
        return self.new("iota", self.room(follows), element, [])

    def accumulator(self) -> Held:
        anchor = self.domain.anchor
        assert anchor is not None
        if isinstance(anchor, AttentionOp):
            return measure(self, self.domain, self.shape)
        return self.brought("acc", self.shape.part, tensor_type(anchor.result).get_element_type())

    def partial(self, part: int) -> Held:
        assert self.domain.anchor is not None
        return self.brought("partial", self.shape.part, tensor_type(self.domain.anchor.result).get_element_type())

    def apply(self, name: str, *operands: Held, scalar: float | None = None) -> Held:
        rows, columns = (max(sizes) for sizes in zip(*(x.shape for x in operands), strict=True))
        element = i1 if FUNCTIONS[name].is_predicate else operands[-1].element
        return self.computed(name, (rows, columns), element, operands)

    def function(self, name: str, operands: list[Held], scalar: Scalar | None) -> Held:
        return expand(self, name, operands)

    def cast(self, x: Held, element: Attribute) -> Held:
        return self.new(f"{x.label}_{element}", x.shape, element, [x])

    def full(self, value: Scalar) -> Held:
        return self.new("full", (1, 1), value.type, [])

    def broadcast(self, x: Held, follows: Follows) -> Held:
        return self.new("repeated", self.room(follows), x.element, [x])

    def initial(self, kind: str, element: Attribute, follows: Follows) -> Held:
        return self.new(kind, self.room(follows), element, [])

    def reduce(self, kind: str, x: Held, axis: int) -> Held:
        return self.new(kind, (1, x.shape[1]) if axis == ROWS else (x.shape[0], 1), x.element, [x])

    def loops(self, groups: Sequence[int], carried: list[Held], body: Callable[[list[Held]], list[Held]]) -> list[Held]:
        before, start = list(self.held), self.step
        self.carried.update(carried)
        updated = body(carried)
        self.step += 1
        for tile in self.held[len(before) :]:
            tile.loop = start + 1, self.step
        for tile in before:  # what one trip reads, the next one reads again
            if tile.last > start:
                tile.last = self.step
        for old, new in zip(carried, updated, strict=True):
            self.held.remove(new)
            self.functions = [(made, operands) for made, operands in self.functions if made is not new]
            old.last = self.step
        return carried

    def store(self, x: Held, result: int, window: Window) -> None:
        self._leaves(self.new("turned", (x.shape[1], x.shape[0]), x.element, [x]) if is_turned(window) else x)

    def store_rows(self, x: Held, indices: Held, result: int, window: Window) -> None:
        self._leaves(x)
        self._read([indices])

    def _leaves(self, x: Held) -> None:
        self.kept([x])
        if x not in self.carried:
            x.slots = self.shape.ub


def of_anchor(domain: Domain, shape: TileShape) -> list[Held]:
    """The operands and the accumulators of the anchor; those of a matmul are all held at once."""
    if isinstance(domain.anchor, AttentionOp):
        return [Held(t.label, t.space, t.shape, t.element, t.first, t.last, t.slots) for t in cube_tiles(domain, shape)]
    left, right = Side.of(domain, 0), Side.of(domain, 1)
    element = tensor_type(left.argument).get_element_type()
    wide = accumulator_of(element)
    a = (shape.rows, shape.k) if left.k_is_inner else (shape.k, shape.rows)
    b = (shape.columns, shape.k) if right.k_is_inner else (shape.k, shape.columns)
    # The grid that sums a part brings it to memory through the unified buffer where there is no other way, before the second grid starts.
    partial = [Held("acc", Space.UB, shape.matrix, wide, -1, -1, shape.ub)] if shape.splits > 1 and shape.leaves_through_ub else []
    return [
        *partial,
        Held("a", Space.L1, a, element, 0, 0, shape.l1),
        Held("b", Space.L1, b, element, 0, 0, shape.l1),
        Held("a0", Space.L0A, (shape.rows, shape.k0), element, 0, 0, shape.l0),
        Held("b0", Space.L0B, (shape.k0, shape.columns), element, 0, 0, shape.l0),
        Held("acc", Space.L0C, shape.matrix, wide, 0, 0),
    ]


def footprint(domain: Domain, shape: TileShape) -> list[Held]:
    """Every buffer of the kernel with tiles of `shape`, in the order in which the lowering makes them."""
    recorder = Recorder(domain, shape)
    emit(domain, shape, recorder)
    recorder.in_place()
    for held in recorder.held:
        if held.slots > 1:  # while one slot is used in a trip, the others are for its neighbours
            held.first, held.last = held.loop or (0, recorder.step)
    return recorder.held + (of_anchor(domain, shape) if domain.anchor is not None else [])


def by_space(held: list[Held], target: NpuTarget) -> dict[Space, list[Held]]:
    """The buffers of each on-chip memory of the target."""
    return {space: [h for h in held if h.space is space] for space in target.spaces if space is not Space.GM}
