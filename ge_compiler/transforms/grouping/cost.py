"""What a kernel costs, in bytes that could move through global memory instead.

That is what it reads and writes, plus a launch, plus what its vector instructions take. An argument that does not follow a group of the
domain is read again for each tile along that group.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation, SSAValue

from ge_compiler.dialects import fused
from ge_compiler.dialects.functions import FUNCTIONS
from ge_compiler.dialects.memory import element_bytes
from ge_compiler.dialects.types import tensor_type
from ge_compiler.transforms.iteration.accesses import yielded
from ge_compiler.transforms.iteration.affine import Access, Role
from ge_compiler.transforms.iteration.domain import Domain

LAUNCH = 1 << 18
"""What could be moved while a kernel starts and ends."""

BURST = 32
"""The fewest bytes that a load or a store moves at once."""

CUBE_TILE = (128, 256)
"""Rows and columns that one tile of an anchor may have."""

VECTOR_TILE = 1 << 13
"""Elements that one tile of a vector kernel may have."""

PRODUCTS_PER_BYTE = 128
"""Multiplications of the cube while a byte moves."""

ELEMENTS_PER_BYTE = 4
"""Elements that one vector instruction handles while a byte moves."""

EXPANSION = 8
"""Instructions of a function that is an expansion, about."""


def cost_of(domain: Domain) -> int:
    """What a kernel costs, in bytes."""
    return _Costs(domain).total()


def bytes_of_tensor(value: SSAValue) -> int:
    """Bytes of all elements of a tensor."""
    type_ = tensor_type(value)
    return type_.element_count() * element_bytes(type_.get_element_type())


class _Costs:
    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.tile = self._tile()
        self.trips = self._trips()
        self.chosen = self._chosen()

    def total(self) -> int:
        domain = self.domain
        arguments = domain.kernel.body.block.args
        read = sum(self._moved(arg, access) for arg in arguments for access in domain.needed(arg))
        results = yielded(domain.kernel).operands
        written = sum(self._moved(results[output.result], output.place, is_read=False) for output in domain.outputs)
        return LAUNCH + read * self._phases() + written + self._work() // ELEMENTS_PER_BYTE + self._products() // PRODUCTS_PER_BYTE

    def _tile(self) -> tuple[int, int]:
        rows, columns = self.domain.sizes[-2:]
        if self.domain.anchor is not None:
            return min(rows, CUBE_TILE[0]), min(columns, CUBE_TILE[1])
        columns = min(columns, VECTOR_TILE)
        return min(rows, max(1, VECTOR_TILE // max(columns, 1))), columns

    def _trips(self) -> list[int]:
        """Tiles along each group; a reduced group is gone through inside of one tile."""
        steps = [*(1 for _ in self.domain.sizes[:-2]), *self.tile]
        counts = [-(-size // max(step, 1)) for size, step in zip(self.domain.sizes, steps, strict=True)]
        return [1 if group.reduced else count for group, count in zip(self.domain.groups, counts, strict=True)]

    def _chosen(self) -> dict[object, tuple[bool, ...]]:
        """For each dimension whose entries data choose, the groups along which the indices vary."""
        choices = [(chosen, self.domain.follows(indices)) for chosen, indices in self.domain.accesses.choices]
        return {d: follows for chosen, follows in choices for index in chosen for d in index.dimensions if d.role is Role.GATHERED}

    def _moved(self, value: SSAValue, access: Access, is_read: bool = True) -> int:
        """Bytes that move for an argument or a result."""
        window = self.domain.window(value, access)
        follows = [stride != 0 for stride in window.strides]
        for index in access:
            for d in index.dimensions:
                follows = [a or b for a, b in zip(follows, self.chosen.get(d, ()), strict=False)] if d in self.chosen else follows
        inner = prod(group.size for group, stride in zip(self.domain.inner, window.inner, strict=False) if stride)
        count = inner * prod(size for size, varies in zip(self.domain.sizes, follows, strict=True) if varies)
        again = prod(trips for trips, varies in zip(self.trips, follows, strict=True) if not varies) if is_read else 1
        size = element_bytes(tensor_type(value).get_element_type())
        in_one_piece = size * self._run(window.strides, window.inner)
        return count * again * size * max(1, BURST // max(in_one_piece, 1))

    def _run(self, strides: tuple[int, ...], inner: tuple[int, ...]) -> int:
        """Elements that lie one behind the other in a tile; a single element counts as many."""
        sizes = [*self.tile, *(group.size for group in self.domain.inner)]
        runs = [size for size, stride in zip(sizes, [*strides[-2:], *inner], strict=False) if stride == 1]
        return max(runs) if runs else (1 if any([*strides, *inner]) else BURST)

    def _phases(self) -> int:
        """How often the operands of reductions are read: once if a row stays on chip."""
        row = prod(group.size for group in self.domain.groups if group.reduced)
        if row <= 2 * VECTOR_TILE or not self.domain.accesses.reduced:
            return 1
        levels: dict[SSAValue, int] = {}
        for op in self.domain.kernel.body.block.ops:
            depth = max((levels.get(x, 0) for x in op.operands), default=0) + isinstance(op, fused.ReduceOp)
            levels |= dict.fromkeys(op.results, depth)
        return 1 + max(levels.values())

    def _work(self) -> int:
        """Elements that vector instructions handle, those that are computed again included."""
        total = 0
        for (op, access), _ in self.domain.accesses.operands.items():
            weight = _weight(op)
            if weight:
                follows = self.domain.follows(access)
                count = prod(size if varies else trips for size, trips, varies in zip(self.domain.sizes, self.trips, follows, strict=True))
                total += weight * count
        return total

    def _products(self) -> int:
        return prod((*self.domain.sizes, *(group.size for group in self.domain.inner))) if self.domain.anchor is not None else 0


def _weight(op: Operation) -> int:
    match op:
        case fused.FusedElementwiseOp():
            return 1 if FUNCTIONS[op.FUNCTION].is_native else EXPANSION
        case fused.CastOp() | fused.ReduceOp():
            return 1
        case _:
            return 0
