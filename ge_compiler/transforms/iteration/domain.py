"""The iteration domain of a kernel: dimensions in groups, of which the last two are the rows and the columns of a tile.

Neighbouring dimensions that lie in one piece in every argument and result are one *group*. The columns are the group along which most
bytes lie one behind the other; the rows the group that a reduction runs over if the columns are not, else the longest that is left. The
other groups are points of the grid, or loops where they are reduced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.utils.hints import isa

from ge_compiler.dialects import fused
from ge_compiler.dialects.memory import element_bytes
from ge_compiler.dialects.types import Tensor, tensor_type
from ge_compiler.transforms.iteration.accesses import Accesses, Kernel, Needed, NoDomain, Output, accesses_of, is_in_memory, yielded
from ge_compiler.transforms.iteration.affine import Access, AffineIndex, Dimension, Role, linear


@dataclass(frozen=True)
class Group:
    """Dimensions of the domain that lie in one piece in every argument and result."""

    dimensions: tuple[Dimension, ...] = ()
    reduced: bool = False

    @cached_property
    def size(self) -> int:
        return prod(d.size for d in self.dimensions)


@dataclass(frozen=True)
class Window:
    """Where the elements of a tensor in global memory lie that a kernel uses: element numbers, counted row-major."""

    offset: int
    strides: tuple[int, ...]
    """For each group of the domain; 0 where the value is the same along it."""
    inner: tuple[int, ...] = ()
    """For each of the anchor's own groups."""
    entries: tuple[int, int] | None = None
    """Stride and number of the entries that data choose."""

    def follows(self, group: int) -> bool:
        return self.strides[group] != 0


@dataclass(frozen=True, eq=False)
class Domain:
    """A kernel, its domain, and where its values lie there."""

    kernel: Kernel
    accesses: Accesses
    groups: tuple[Group, ...]
    """Points of the grid, then loops, then rows and columns."""
    inner: tuple[Group, ...]
    """The anchor's own: what is contracted, and the keys of an attention."""
    anchor: fused.Anchor | None

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Elements along each group."""
        return tuple(group.size for group in self.groups)

    @property
    def points(self) -> tuple[int, ...]:
        """The numbers of the groups that are neither rows nor columns and not reduced."""
        return tuple(i for i, group in enumerate(self.groups[:-2]) if not group.reduced)

    @property
    def loops(self) -> tuple[int, ...]:
        """The numbers of the groups that are neither rows nor columns, but reduced."""
        return tuple(i for i, group in enumerate(self.groups[:-2]) if group.reduced)

    @property
    def reduced(self) -> tuple[int, ...]:
        """The numbers of all groups that reductions run over."""
        return tuple(i for i, group in enumerate(self.groups) if group.reduced)

    @cached_property
    def updated(self) -> frozenset[BlockArgument]:
        """The arguments that some launch of the kernel writes over."""
        numbers = fused.updated_inputs(self.kernel) if isinstance(self.kernel, FuncOp) else ()
        return frozenset(self.kernel.body.block.args[number] for number in numbers)

    @property
    def outputs(self) -> list[Output]:
        return self.accesses.outputs

    @cached_property
    def contraction(self) -> int:
        """K of a matmul, D of an attention; 0 without an anchor."""
        return self.inner[0].size if self.anchor is not None else 0

    def needed(self, value: SSAValue) -> list[Access]:
        """The accesses under which a value is needed."""
        return self.accesses.needed.get(value, [])

    def operands(self, op: Operation, access: Access) -> list[Needed]:
        """What is needed of the operands of `op` for its result under `access`."""
        return self.accesses.operands[op, access]

    def follows(self, access: Access) -> tuple[bool, ...]:
        """Whether an access varies along each group."""
        used = {d for index in access for d in index.dimensions}
        return tuple(not used.isdisjoint(group.dimensions) for group in self.groups)

    def strides(self, index: AffineIndex) -> tuple[int, ...]:
        """By how much an index grows along each group."""
        return tuple(_stride(index, group) for group in self.groups)

    def window(self, value: SSAValue, access: Access) -> Window:
        """Where `value`, a tensor in global memory, is needed under `access`."""
        shape = tensor_type(value).get_shape()
        index = linear(access, shape)
        chosen = [(d, c) for d, c in index.terms if d.role is Role.GATHERED]
        entries = (chosen[0][1], chosen[0][0].size) if chosen else None
        return Window(index.offset, self.strides(index), tuple(_stride(index, group) for group in self.inner), entries)

    def operand(self, number: int) -> tuple[BlockArgument, Window]:
        """The argument that an operand of the anchor is a view of, and where it lies there."""
        assert self.anchor is not None
        return self.argument(*self.operands(self.anchor, self.needed(self.anchor.result)[0])[number])

    def argument(self, value: SSAValue, access: Access) -> tuple[BlockArgument, Window]:
        """The argument that a value in global memory is a view of, and where it lies there."""
        while not isinstance(value, BlockArgument):
            assert isinstance(value.owner, Operation)
            ((value, access),) = self.operands(value.owner, access)
        return value, self.window(value, access)


def _stride(index: AffineIndex, group: Group) -> int:
    """What the innermost dimension of a group adds to an index."""
    terms = dict(index.terms)
    return next((terms[d] for d in reversed(group.dimensions) if d in terms), 0)


def domain_of(kernel: Kernel) -> Domain:
    """The domain of a kernel at `fused`. Raises `NoDomain` where it has none."""
    _check_types(kernel)
    anchor = _anchor(kernel)
    accesses = accesses_of(kernel)
    if anchor is not None:
        _check_operands(anchor, accesses)
    reduced = _reduced(accesses, anchor)
    leaves = list(dict.fromkeys(leaf for root in accesses.roots for leaf in root.leaves()))
    indices = _indices(accesses)
    roles = _roles(accesses, anchor)
    outer = [d for d in leaves if d.role in (Role.POINT, Role.REDUCED)]
    groups = [Group(g, g[0] in reduced) for g in _grouped(outer, indices, lambda d: (d in reduced, roles.get(d)))]
    inner = tuple(
        _single(anchor, role, _grouped([d for d in leaves if d.role is role], indices, lambda d: None)) for role in _inner_roles(anchor)
    )
    refusals: list[NoDomain] = []
    for rows, columns in _sides(groups, accesses, roles, anchor):
        domain = Domain(kernel, accesses, _ordered(groups, rows, columns), inner, anchor)
        refusal = _bad_strides(domain)
        if refusal is None:
            return domain
        refusals.append(refusal)
    raise refusals[0]


def _check_types(kernel: Kernel) -> None:
    if not kernel.body.blocks:
        raise NoDomain.because("body", kernel, f"{_name(kernel)} has no body: a kernel is a list of primitives that ends with func.return")
    for value in (*kernel.body.block.args, *yielded(kernel).operands):
        if not isa(value.type, Tensor) or DYNAMIC_INDEX in value.type.get_shape():
            raise NoDomain.because("types", kernel, f"{_name(kernel)}: a kernel takes and gives tensors of static shapes, got {value.type}")
    if not yielded(kernel).operands:
        raise NoDomain.because("domain", kernel, f"{_name(kernel)}: a kernel has at least one result, whose elements are its domain")


def _name(kernel: Kernel) -> str:
    return f"@{kernel.sym_name.data}" if isinstance(kernel, FuncOp) else kernel.op_name.data


def _anchor(kernel: Kernel) -> fused.Anchor | None:
    anchors = [op for op in kernel.body.block.ops if isinstance(op, fused.Anchor)]
    if len(anchors) > 1:
        raise NoDomain.because("anchor", anchors[1], "is the second anchor of its kernel; a kernel has one matmul or attention at most")
    return anchors[0] if anchors else None


def _check_operands(anchor: fused.Anchor, accesses: Accesses) -> None:
    """The cube reads its operands from global memory: arguments of the kernel, or views of them."""
    if not accesses.needed.get(anchor.result):
        raise NoDomain.because("anchor", anchor, "is not used by any result of its kernel")
    (access,) = accesses.needed[anchor.result]
    own = {d for index in access for d in index.dimensions}
    if any(leaf not in own for root in accesses.roots if root.role is Role.POINT for leaf in root.leaves()):
        raise NoDomain.because("anchor", anchor, "must have the elements of the kernel's results and not be repeated")
    if not all(map(is_in_memory, anchor.operands)):
        raise NoDomain.because(
            "anchor", anchor, "must read its operands from global memory: from arguments of the kernel, or views of them"
        )


def _reduced(accesses: Accesses, anchor: fused.Anchor | None) -> set[Dimension]:
    """The dimensions that reductions run over: the same for all of them."""
    found = [(op, frozenset(dimensions)) for op, dimensions in accesses.reduced]
    if found and anchor is not None:
        raise NoDomain.because("reduction", found[0][0], "reduces the result of an anchor, of which a tile holds a part only")
    for op, dimensions in found[1:]:
        if dimensions != found[0][1]:
            raise NoDomain.because("reduction", op, "runs over other dimensions than another reduction of its kernel")
    return set(found[0][1]) if found else set()


def _inner_roles(anchor: fused.Anchor | None) -> tuple[Role, ...]:
    match anchor:
        case None:
            return ()
        case fused.MatmulOp():
            return (Role.CONTRACTED,)
        case _:
            return (Role.CONTRACTED, Role.KEYS)


def _single(anchor: fused.Anchor | None, role: Role, groups: list[tuple[Dimension, ...]]) -> Group:
    assert anchor is not None
    if len(groups) > 1:
        raise NoDomain.because("contraction", anchor, f"has an operand whose {role.value} dimension does not lie in one piece")
    return Group(groups[0]) if groups else Group()


def _indices(accesses: Accesses) -> list[AffineIndex]:
    """The element numbers of every argument and result, and all other numbers that depend on the place in the domain."""
    found = [linear(a, tensor_type(arg).get_shape()) for arg in accesses.body.args for a in accesses.needed.get(arg, ())]
    results = yielded(accesses.kernel).operands
    found += [linear(output.place, tensor_type(results[output.result]).get_shape()) for output in accesses.outputs]
    found += [index for output in accesses.outputs if output.rows is not None for index in output.rows[1]]
    for op in accesses.body.ops:
        if isinstance(op, fused.IotaOp):
            found += [access[op.dimension.value.data].resolved() for access in accesses.needed.get(op.result, ())]
    return found


def _bad_strides(domain: Domain) -> NoDomain | None:
    """Why the cube cannot read an operand: it takes matrices whose rows or columns lie in one piece."""
    anchor = domain.anchor
    if anchor is None or 0 in (*domain.sizes, *(group.size for group in domain.inner)):
        return None
    sides = [(-2, 0), (-1, 0)] if isinstance(anchor, fused.MatmulOp) else [(-2, 0), (None, 0), (-1, 1)]
    for number, (axis, inner) in enumerate(sides):
        window = domain.operand(number)[1]
        keys = len(domain.inner) - 1
        strides = (window.inner[keys] if axis is None else window.strides[axis], window.inner[inner])
        sizes = (domain.inner[keys].size if axis is None else domain.sizes[axis], domain.inner[inner].size)
        steps = " and ".join(map(str, strides))
        if not any(stride in (0, 1) for stride in strides):
            return NoDomain.because("stride", anchor, f"reads operand #{number} in steps of {steps} elements; one must be 1")
        if any(stride == 0 and size > 1 for stride, size in zip(strides, sizes, strict=True)):
            return NoDomain.because(
                "stride", anchor, f"reads operand #{number} in steps of {steps} elements; a matrix repeats none of its own"
            )
    return None


def _roles(accesses: Accesses, anchor: fused.Anchor | None) -> dict[Dimension, str]:
    """What an anchor, or indices that choose rows, make of dimensions: `rows`, `columns` or `batch`."""
    if anchor is not None:
        (access,) = accesses.needed[anchor.result]
        *batch, rows, columns = access
        found = {
            d: role for role, indices in (("batch", batch), ("rows", [rows]), ("columns", [columns])) for i in indices for d in i.dimensions
        }
        # Rows of a stack that the right operand has once are rows of one matrix; a causal mask counts the rows of each.
        if not (isinstance(anchor, fused.AttentionOp) and anchor.causal is not None):
            shared = {d for _, a in accesses.operands[anchor, access][1:3] for index in a for d in index.dimensions}
            found |= {d: "rows" for d, role in found.items() if role == "batch" and d not in shared}
        return found
    return {d: "rows" for _, indices in accesses.choices for index in indices for d in index.dimensions}


def _grouped(dimensions: list[Dimension], indices: list[AffineIndex], kind: Callable[[Dimension], object]) -> list[tuple[Dimension, ...]]:
    """Neighbours of one kind, merged where every index runs through both in one piece."""
    tables = [dict(index.terms) for index in indices]
    groups: list[tuple[Dimension, ...]] = []
    for d in dimensions:
        before = groups[-1][-1] if groups else None
        if before is not None and kind(before) == kind(d) and all(t.get(before, 0) == t.get(d, 0) * d.size for t in tables):
            groups[-1] = (*groups[-1], d)
        else:
            groups.append((d,))
    return groups


def _sides(
    groups: list[Group], accesses: Accesses, roles: dict[Dimension, str], anchor: fused.Anchor | None
) -> Iterator[tuple[Group, Group]]:
    """Rows and columns of a tile, the best choice first."""
    if anchor is not None:
        yield from product(_longest_first(groups, roles, "rows"), _longest_first(groups, roles, "columns"))
        return
    columns = _columns(groups, accesses, roles)
    rows = _rows([g for g in groups if g is not columns], roles, columns)
    # Lanes share out the rows or the columns, which then are not reduced; a reduced group may also be a loop.
    yield (Group() if _chosen_apart(accesses, rows) or (rows.reduced and columns.reduced) else rows), columns


def _ordered(groups: list[Group], rows: Group, columns: Group) -> tuple[Group, ...]:
    """Points, loops, rows, columns."""
    rest = [g for g in groups if g is not rows and g is not columns]
    return (*(g for g in rest if not g.reduced), *(g for g in rest if g.reduced), rows, columns)


def _chosen_apart(accesses: Accesses, rows: Group) -> bool:
    """
    Whether data choose entries of a tensor that differs from row to row in another dimension too, as when they choose a single one.

    A tile is moved by entries as its rows, so that it then has one row.
    """
    return any(d in rows.dimensions for chosen, _ in accesses.choices for index in chosen for d in index.dimensions)


def _longest_first(groups: Iterable[Group], roles: dict[Dimension, str], role: str) -> list[Group]:
    found = [g for g in reversed(list(groups)) if roles.get(g.dimensions[0]) == role]
    return sorted(found, key=lambda g: -g.size) or [Group()]


def _columns(groups: list[Group], accesses: Accesses, roles: dict[Dimension, str]) -> Group:
    """The group along which most bytes lie one behind the other; the last of several."""
    free = [g for g in groups if roles.get(g.dimensions[0]) != "rows"]
    if not free:
        return Group()
    values = [(arg, a) for arg in accesses.body.args for a in accesses.needed.get(arg, ())]
    results = yielded(accesses.kernel).operands
    values += [(results[output.result], output.place) for output in accesses.outputs]
    contiguous = dict.fromkeys(free, 0)
    for value, access in values:
        type_ = tensor_type(value)
        index = linear(access, type_.get_shape())
        for group in free:
            if _stride(index, group) == 1:
                contiguous[group] += element_bytes(type_.get_element_type()) * prod(d.size for d, _ in index.terms)
    return max(reversed(free), key=lambda g: (contiguous[g], g.reduced))


def _rows(groups: list[Group], roles: dict[Dimension, str], columns: Group) -> Group:
    """The longest group that indices choose entries for, else that is reduced where the columns are not, or the other way round."""
    chosen = [g for g in groups if roles.get(g.dimensions[0]) == "rows"]
    has_reductions = columns.reduced or any(g.reduced for g in groups)
    preferred = [g for g in groups if g.reduced != columns.reduced] if has_reductions else groups
    return max(reversed(chosen or preferred or [Group()]), key=lambda g: g.size)
