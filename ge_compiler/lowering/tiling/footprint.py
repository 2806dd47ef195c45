"""What the tiles of a kernel hold of each on-chip memory, measured without writing any IR."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, BlockArgument, Operation

from ge_compiler.dialects.functions import expand
from ge_compiler.dialects.memory import DEFAULT_LAYOUT, Space, element_bytes, tile_bytes
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.dialects.types import accumulator_of, tensor_type
from ge_compiler.lowering.tiling.domain import Domain
from ge_compiler.lowering.tiling.emission import Scalar, emit
from ge_compiler.lowering.tiling.shapes import TileShape


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

    @property
    def bytes(self) -> int:
        """Bytes of one slot."""
        return tile_bytes(self.shape, element_bytes(self.element), self.space, DEFAULT_LAYOUT[self.space])


@dataclass
class _Recorder:
    """Follows the emission of a kernel and notes when each tile is written and last read."""

    shape: TileShape
    element: Attribute
    """The element type of the accumulator."""
    held: list[Held] = field(default_factory=list[Held])
    step: int = 0
    functions: list[tuple[Held, tuple[Held, ...]]] = field(default_factory=list[tuple["Held", "tuple[Held, ...]"]])
    """Results of elementwise functions and their operands, over which they may be written."""

    def _new(self, label: str, shape: tuple[int, int], element: Attribute, operands: list[Held]) -> Held:
        self.step += 1
        for operand in operands:
            operand.last = self.step
        made = Held(label, Space.UB, shape, element, self.step, self.step)
        self.held.append(made)
        return made

    def at(self, op: Operation) -> None:
        pass

    def load(self, argument: BlockArgument, follows: tuple[bool, ...]) -> Held:
        rows, columns = (room if f else 1 for room, f in zip(self.shape.part, follows[-2:], strict=True))
        return self._brought(argument.name_hint or "x", (rows, columns), tensor_type(argument).get_element_type())

    def accumulator(self) -> Held:
        if self.shape.splits == 1:
            return self._brought("acc", self.shape.part, self.element)
        total = self._brought("partial", self.shape.part, self.element)
        for _ in range(1, self.shape.splits):
            total = self.apply("add", total, self._brought("partial", self.shape.part, self.element))
        return total

    def _brought(self, label: str, shape: tuple[int, int], element: Attribute) -> Held:
        made = self._new(label, shape, element, [])
        made.slots = self.shape.ub
        return made

    def apply(self, name: str, *operands: Held, scalar: float | None = None) -> Held:
        rows, columns = (max(sizes) for sizes in zip(*(x.shape for x in operands), strict=True))
        made = self._new(name, (rows, columns), operands[0].element, list(operands))
        self.functions.append((made, operands))
        return made

    def in_place(self) -> None:
        """Lets results take over the bytes of operands that are not needed any more, as the planner does."""
        for result, operands in self.functions:
            made = result.first
            for x in operands:
                if x.last == made and (x.shape, x.element, x.slots, result.slots) == (result.shape, result.element, 1, 1):
                    self.held.remove(x)
                    result.first, result.label = x.first, x.label
                    break

    def function(self, name: str, operands: list[Held], scalar: Scalar | None) -> Held:
        return expand(self, name, operands)

    def cast(self, x: Held, element: Attribute) -> Held:
        return self._new(f"{x.label}_{element}", x.shape, element, [x])

    def full(self, value: Scalar) -> Held:
        return self._new("full", (1, 1), value.type, [])

    def store(self, x: Held, result: int) -> None:
        if self.shape.is_repeated(x.shape):
            x = self._new("repeated", self.shape.part, x.element, [x])
        self.step += 1
        x.last = self.step
        x.slots = self.shape.ub


def of_anchor(domain: Domain, shape: TileShape) -> list[Held]:
    """The operands and the accumulator of the anchor; all are held at once."""
    left, right = domain.operands
    element = tensor_type(left.argument).get_element_type()
    wide = accumulator_of(element)
    a = (shape.k, shape.rows) if left.transposed else (shape.rows, shape.k)
    b = (shape.columns, shape.k) if right.transposed else (shape.k, shape.columns)
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
    element = f32 if domain.anchor is None else tensor_type(domain.anchor.result).get_element_type()
    recorder = _Recorder(shape, element)
    emit(domain, recorder)
    recorder.in_place()
    for held in recorder.held:
        if held.slots > 1:  # while one slot is used in a block, the others are for its neighbours
            held.first, held.last = 0, recorder.step
    return recorder.held + (of_anchor(domain, shape) if domain.anchor is not None else [])


def by_space(held: list[Held], target: NpuTarget) -> dict[Space, list[Held]]:
    """The buffers of each on-chip memory of the target."""
    return {space: [h for h in held if h.space is space] for space in target.spaces if space is not Space.GM}
