"""The iteration domain of a kernel: which elements it runs over, and how every operand is accessed there.

A kernel's results all have the shape of its domain. An *access* says, for each dimension of a value, which dimension of the domain it
follows (`None` where it is repeated). Neighbouring dimensions that every operand follows alike are merged into *groups*; the last two
groups are the rows and the columns of a tile, the others are points of the grid.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.utils.hints import isa

from ge_compiler.dialects import fused
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.types import Tensor, tensor_type

Access = tuple[int | None, ...]
"""For each dimension of a value, the dimension of the domain that it follows."""


@dataclass(frozen=True)
class Operand:
    """A matrix operand of the anchor."""

    argument: BlockArgument
    transposed: bool
    groups: tuple[bool, ...]
    """Which groups of the domain it follows; of rows and columns, one."""


@dataclass(frozen=True)
class Domain:
    """A kernel, its domain, and the accesses of all its values."""

    kernel: FuncOp
    shape: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    """Dimensions of `shape` that form each group; at least two groups, the last being rows and columns."""
    demands: dict[SSAValue, list[Access]]
    """The accesses under which each value is needed."""
    anchor: fused.MatmulOp | None

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Elements along each group."""
        return tuple(prod(self.shape[d] for d in group) for group in self.groups)

    @cached_property
    def contraction(self) -> int:
        """K of the anchor; 0 without one."""
        return 0 if self.anchor is None else self.anchor.extents()[2]

    def follows(self, access: Iterable[int | None]) -> tuple[bool, ...]:
        """Whether an access varies along each group."""
        dimensions = {d for d in access if d is not None}
        return tuple(any(d in dimensions for d in group) for group in self.groups)

    @cached_property
    def operands(self) -> tuple[Operand, Operand]:
        """The left and right operands of the anchor."""
        anchor = self.anchor
        assert anchor is not None
        sides = ((anchor.a, anchor.transpose_a is not None), (anchor.b, anchor.transpose_b is not None))
        accesses = _matmul_accesses(anchor)
        return tuple(  # pyright: ignore[reportReturnType]
            Operand(_argument(anchor, x), transposed, self.follows(access)) for (x, transposed), access in zip(sides, accesses, strict=True)
        )


def _argument(anchor: fused.MatmulOp, value: SSAValue) -> BlockArgument:
    if not isinstance(value, BlockArgument):
        raise CompileError.at(anchor, "must take its operands from the kernel's arguments: a matmul reads them from memory")
    return value


def domain_of(kernel: FuncOp) -> Domain:
    """The domain of a kernel function at `fused`. Raises `CompileError` where it is not one kernel."""
    name, last = kernel.sym_name.data, kernel.get_return_op() if kernel.body.blocks else None
    if last is None:
        raise CompileError.at(kernel, f"@{name} has no body: a kernel is a list of primitives that ends with func.return")
    types: list[Attribute] = [value.type for value in (*kernel.body.block.args, *last.operands)]
    for type_ in types:
        if not isa(type_, Tensor) or DYNAMIC_INDEX in type_.get_shape():
            raise CompileError.at(kernel, f"@{name}: a kernel takes and gives tensors of static shapes, got {type_}")
    results = [tensor_type(v) for v in last.operands]
    if not results or any(r.get_shape() != results[0].get_shape() for r in results):
        raise CompileError.at(kernel, f"@{name}: the results of a kernel must have one shape, the kernel's domain")
    shape = results[0].get_shape()
    anchors = [op for op in kernel.body.block.ops if isinstance(op, fused.MatmulOp)]
    if len(anchors) > 1:
        raise CompileError.at(anchors[1], "is the second matmul of its kernel; a kernel has at most one anchor")
    anchor = anchors[0] if anchors else None
    demands = _demands(kernel, len(shape))
    if anchor is not None and not _is_whole(anchor, shape, demands):
        raise CompileError.at(anchor, "must have the shape of the kernel's results and not be repeated")
    return Domain(kernel, shape, _groups(shape, _accesses(kernel, demands), anchor), demands, anchor)


def _is_whole(anchor: fused.MatmulOp, shape: tuple[int, ...], demands: dict[SSAValue, list[Access]]) -> bool:
    """Whether the product has the shape of the domain and every use needs it as it is."""
    if tensor_type(anchor.result).get_shape() != shape:
        return False
    return demands.get(anchor.result) in (None, [canonical(anchor.result, range(len(shape)))])


def canonical(value: SSAValue, access: Iterable[int | None]) -> Access:
    """The one spelling of an access: a dimension of size 1 follows nothing."""
    return tuple(None if size == 1 else d for d, size in zip(access, tensor_type(value).get_shape(), strict=True))


def _demands(kernel: FuncOp, rank: int) -> dict[SSAValue, list[Access]]:
    """Under which accesses every value of the kernel is needed, from the results up."""
    demands: dict[SSAValue, list[Access]] = {}

    def demand(value: SSAValue, access: Access) -> None:
        known = demands.setdefault(value, [])
        if canonical(value, access) not in known:
            known.append(canonical(value, access))

    last = kernel.body.block.last_op
    assert last is not None
    for value in last.operands:
        demand(value, tuple(range(rank)))
    for op in reversed(list(kernel.body.block.ops)):
        for access in list(demands.get(op.results[0], ())) if op.results else ():
            for value, wanted in _operand_accesses(op, access):
                demand(value, wanted)
    return demands


def _operand_accesses(op: Operation, access: Access) -> list[tuple[SSAValue, Access]]:
    """The accesses of the operands that give the result of `op` under `access`; a matmul's are its own."""
    if isinstance(op, fused.MatmulOp):
        return []
    if isinstance(op, fused.BroadcastOp):
        return [(op.x, tuple(access[d] for d in op.dimensions.get_values()))]
    if isinstance(op, fused.FusedElementwiseOp | fused.CastOp | fused.FullOp):
        return [(x, access) for x in op.operands]
    raise CompileError.at(op, "is not a primitive that a kernel can be made of")


def _matmul_accesses(anchor: fused.MatmulOp) -> tuple[Access, Access]:
    """Which dimensions of the domain the two operands follow: batches aligned at the last, then rows or columns."""
    rank = len(tensor_type(anchor.result).get_shape())

    def batches(value: SSAValue) -> Access:
        sizes = tensor_type(value).get_shape()[:-2]
        first = rank - 2 - len(sizes)
        return tuple(None if size == 1 else first + i for i, size in enumerate(sizes))

    return (*batches(anchor.a), rank - 2), (*batches(anchor.b), rank - 1)


def _accesses(kernel: FuncOp, demands: dict[SSAValue, list[Access]]) -> list[Access]:
    """All accesses of the kernel's arguments."""
    return [access for arg in kernel.body.block.args for access in demands.get(arg, ())]


def _groups(shape: tuple[int, ...], accesses: list[Access], anchor: fused.MatmulOp | None) -> tuple[tuple[int, ...], ...]:
    rank = len(shape)
    kept = [d for d in range(rank) if shape[d] != 1 or (anchor is not None and d >= rank - 2)]
    matrices = [] if anchor is None else list(_matmul_accesses(anchor))
    groups: list[tuple[int, ...]] = []
    for d in kept:
        # Along a dimension of size 1 only the anchor tells rows from columns; every other operand lies in one piece anyway.
        relevant = matrices if shape[d] == 1 else [*accesses, *matrices]
        if groups and _merges(groups[-1][-1], d, relevant, anchor, rank):
            groups[-1] = (*groups[-1], d)
        else:
            groups.append((d,))
    return ((),) * (2 - len(groups)) + tuple(groups)


def _merges(first: int, second: int, accesses: list[Access], anchor: fused.MatmulOp | None, rank: int) -> bool:
    """Whether every operand follows both dimensions or neither, in memory that lies in one piece."""
    if anchor is not None and second == rank - 2 and anchor.transpose_a is not None:
        return False
    return all((first in access) == (second in access) for access in accesses)
