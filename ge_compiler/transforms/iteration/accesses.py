"""Under which accesses every value of a kernel is needed: from its results up, through views, to its arguments."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ge_compiler.dialects import fused
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.ge.shapes import show
from ge_compiler.dialects.types import tensor_type
from ge_compiler.transforms.iteration.affine import Access, AffineIndex, Dimension, Role, linear, resolve, unlinear

Kernel = FuncOp | fused.KernelOp
Needed = tuple[SSAValue, Access]


class NoDomain(CompileError):
    """A region that is no kernel: `code` says which condition it breaks."""

    code: str

    @staticmethod
    def because(code: str, op: Operation, message: str) -> NoDomain:
        error = CompileError.at(op, message)
        made = NoDomain(error.message, error.location)
        made.code = code
        return made


@dataclass(frozen=True)
class Output:
    """A part of a result of the kernel: `value` under `access`, stored where `place` says."""

    result: int
    value: SSAValue
    access: Access
    place: Access
    """In the result, perhaps numbered row-major; along a dimension whose entries data choose, `Role.GATHERED` stands for them."""
    rows: Needed | None = None
    """The indices that choose those entries."""
    tied: BlockArgument | None = None
    """The argument whose contents the result keeps where nothing is stored."""


@dataclass
class Accesses:
    """All accesses of a kernel."""

    kernel: Kernel
    outputs: list[Output] = field(default_factory=list[Output])
    needed: dict[SSAValue, list[Access]] = field(default_factory=dict[SSAValue, list[Access]])
    """For each value, the accesses under which it is needed."""
    operands: dict[tuple[Operation, Access], list[Needed]] = field(default_factory=dict[tuple[Operation, Access], "list[Needed]"])
    """For an op and an access of its result, what is needed of its operands."""
    reduced: list[tuple[fused.ReduceOp, tuple[Dimension, ...]]] = field(
        default_factory=list[tuple[fused.ReduceOp, "tuple[Dimension, ...]"]]
    )
    """The dimensions that each reduction runs over."""
    roots: list[Dimension] = field(default_factory=list[Dimension])
    """The dimensions that the domain began with, in its order."""

    def dimension(self, size: int, role: Role) -> Dimension:
        made = Dimension(size, role)
        self.roots.append(made)
        return made

    def index(self, size: int, role: Role) -> AffineIndex:
        """An index of its own over `size` elements."""
        return AffineIndex() if size == 1 else AffineIndex.of(self.dimension(size, role))

    @property
    def body(self) -> Block:
        return self.kernel.body.block

    @property
    def choices(self) -> list[tuple[Access, Access]]:
        """Where data choose entries: an access with `Role.GATHERED`, of a table or a place in a result, and that of the indices."""
        gathered = [(needs[0][1], needs[1][1]) for (op, _), needs in self.operands.items() if isinstance(op, fused.GatherOp)]
        return gathered + [(output.place, output.rows[1]) for output in self.outputs if output.rows is not None]


def accesses_of(kernel: Kernel) -> Accesses:
    """All accesses of a kernel. Raises `NoDomain` where one is not affine, or its results do not run over the same elements."""
    found = Accesses(kernel)
    _Analysis(found).run()
    found.outputs = [_resolved(output) for output in found.outputs]
    found.needed = {value: list(dict.fromkeys(map(resolve, accesses))) for value, accesses in found.needed.items()}
    found.operands = {(op, resolve(a)): [(x, resolve(b)) for x, b in needs] for (op, a), needs in found.operands.items()}
    found.reduced = [(op, tuple(leaf for d in dimensions for leaf in d.leaves())) for op, dimensions in found.reduced]
    return found


def _resolved(output: Output) -> Output:
    rows = None if output.rows is None else (output.rows[0], resolve(output.rows[1]))
    return Output(output.result, output.value, resolve(output.access), resolve(output.place), rows, output.tied)


def yielded(kernel: Kernel) -> Operation:
    """The op that ends a kernel and names its results."""
    last = kernel.body.block.last_op
    assert last is not None
    return last


@dataclass
class _Analysis:
    found: Accesses

    def run(self) -> None:
        for output in self._outputs():
            self._need(output.value, output.access)
            if output.rows is not None:
                self._need(*output.rows)
        for op in reversed(list(self.found.body.ops)):
            for result in op.results:
                for access in [resolve(a) for a in self.found.needed.get(result, ())]:
                    self.found.operands[op, access] = needs = self._operands(op, access)
                    for value, wanted in needs:
                        self._need(value, wanted)

    def _need(self, value: SSAValue, access: Access) -> None:
        known = self.found.needed.setdefault(value, [])
        if resolve(access) not in map(resolve, known):
            known.append(access)

    # ---- results

    def _outputs(self) -> list[Output]:
        last = yielded(self.found.kernel)
        parts = [part for i, value in enumerate(last.operands) for part in _parts(i, value)]
        widest = max((tensor_type(value).get_shape() for _, value, _ in parts), key=prod)
        own = tuple(self.found.index(size, Role.POINT) for size in widest)
        for result, value, path in parts:
            access = _aligned(own, widest, value)
            if access is None and path and isinstance(path[0][0], fused.ReshapeOp):
                value, path = path[0][0].result, ()  # its own shape fits where that of its operand does not
                access = _aligned(own, widest, value)
            if access is None:
                raise NoDomain.because(
                    "domain",
                    last,
                    f"has a result of {value.type} and one of {show(widest)} elements; "
                    "the results of a kernel run over the same elements, its domain",
                )
            self.found.outputs.append(self._output(result, value, path, access))
        return self.found.outputs

    def _output(self, result: int, value: SSAValue, path: Path, access: Access) -> Output:
        place, rows, tied = access, None, None
        for op, number in path:
            match op:
                case fused.ConcatOp():
                    d = op.dimension.value.data
                    start = sum(tensor_type(piece).get_shape()[d] for piece in op.pieces[:number])
                    place = _moved(place, [start if i == d else 0 for i in range(len(place))], [1] * len(place))
                case fused.InsertOp():
                    place, tied = _moved(place, op.offsets.get_values(), op.strides.get_values()), _tied(op.dest)
                case fused.ScatterOp():
                    d, tied = op.dimension.value.data, _tied(op.dest)
                    rows = op.indices, (place[d],)
                    entry = AffineIndex.of(self.found.dimension(tensor_type(op.dest).get_shape()[d], Role.GATHERED))
                    place = (*place[:d], entry, *place[d + 1 :])
                case _:
                    place = (linear(place, tensor_type(value).get_shape()),)
        return Output(result, value, access, place, rows, tied)

    # ---- operands

    def _operands(self, op: Operation, access: Access) -> list[Needed]:
        match op:
            case fused.FusedElementwiseOp() | fused.CastOp() | fused.FullOp():
                return [(x, access) for x in op.operands]
            case fused.IotaOp():
                return []
            case fused.BroadcastOp():
                return [(op.x, _narrowed(op, access))]
            case fused.TransposeOp():
                order = op.permutation.get_values()
                return [(op.x, tuple(access[order.index(d)] for d in range(len(order))))]
            case fused.SliceOp():
                return [(op.x, _moved(access, op.offsets.get_values(), op.strides.get_values()))]
            case fused.ReshapeOp():
                return [(op.x, self._reshaped(op, access))]
            case fused.ReduceOp():
                return self._reduced(op, access)
            case fused.GatherOp():
                return self._gathered(op, access)
            case fused.MatmulOp() | fused.AttentionOp():
                return self._anchored(op, access)
            case _:
                raise NoDomain.because("primitive", op, "is not a primitive that a kernel can be made of, or not in its middle")

    def _reshaped(self, op: fused.ReshapeOp, access: Access) -> Access:
        shape = tensor_type(op.x).get_shape()
        if not prod(shape):
            return tuple(AffineIndex() for _ in shape)
        number = linear(access, tensor_type(op.result).get_shape())
        inner = unlinear(number, shape)
        if inner is None and isinstance(_without_reshapes(op.x), BlockArgument):
            return (number,)
        if inner is None:
            raise NoDomain.because("reshape", op, f"has no access map: {op.x.type} in the order of {op.result.type} is not affine here")
        return inner

    def _reduced(self, op: fused.ReduceOp, access: Access) -> list[Needed]:
        shape = tensor_type(op.x).get_shape()
        if not prod(shape):
            return []
        kept = iter(access)
        partial = [None if d in op.reduced else next(kept) for d in range(len(shape))]
        whole = self._known(op, partial)
        if whole is None:
            whole = tuple(self.found.index(size, Role.REDUCED) if x is None else x for x, size in zip(partial, shape, strict=True))
        self.found.reduced.append((op, tuple(d for i in op.reduced for d in whole[i].dimensions)))
        return [(op.x, whole)]

    def _known(self, op: fused.ReduceOp, partial: list[AffineIndex | None]) -> Access | None:
        """An access that runs over whole dimensions where `partial` leaves them open, and under which a value of that shape is needed."""
        shape = tensor_type(op.x).get_shape()
        kept = {leaf for x in partial if x is not None for leaf in x.resolved().dimensions}
        for value in dict.fromkeys([op.x, *self.found.needed]):
            for access in self.found.needed.get(value, ()) if tensor_type(value).get_shape() == shape else ():
                if len(access) == len(shape) and all(
                    x.covers(size) and not kept.intersection(x.resolved().dimensions)
                    if wanted is None
                    else x.resolved() == wanted.resolved()
                    for x, wanted, size in zip(access, partial, shape, strict=True)
                ):
                    return access
        return None

    def _gathered(self, op: fused.GatherOp, access: Access) -> list[Needed]:
        if not is_in_memory(op.table):
            raise NoDomain.because("gather", op, "must read its table from global memory: from an argument of the kernel, or a view of one")
        rank = len(tensor_type(op.indices).get_shape())
        entry = AffineIndex.of(self.found.dimension(tensor_type(op.table).get_shape()[0], Role.GATHERED))
        return [(op.table, (entry, *access[rank:])), (op.indices, access[:rank])]

    def _anchored(self, op: fused.Anchor, access: Access) -> list[Needed]:
        shape = tensor_type(op.result).get_shape()
        if not all(index.covers(size) for index, size in zip(access, shape, strict=True)) or len(self.found.needed[op.result]) > 1:
            raise NoDomain.because("anchor", op, "must be needed whole and once: its result must not be repeated, sliced or reduced")
        if isinstance(op, fused.MatmulOp):
            k = self.found.index(op.extents()[2], Role.CONTRACTED)
            a = (k, access[-2]) if op.transpose_a is not None else (access[-2], k)
            b = (access[-1], k) if op.transpose_b is not None else (k, access[-1])
            return [(op.a, (*_batches(op.a, access, 2), *a)), (op.b, (*_batches(op.b, access, 2), *b))]
        d = self.found.index(tensor_type(op.q).get_shape()[-1], Role.CONTRACTED)
        keys = self.found.index(tensor_type(op.k).get_shape()[-2], Role.KEYS)
        masks = [] if op.mask is None else [(op.mask, _batches(op.mask, (*access[:-1], keys), 0))]
        q, k, v = ((x, _batches(x, access, 2)) for x in (op.q, op.k, op.v))
        return [(q[0], (*q[1], access[-2], d)), (k[0], (*k[1], keys, d)), (v[0], (*v[1], keys, access[-1])), *masks]


Path = tuple[tuple[Operation, int], ...]
"""The ops that put a part of a result into its place, the innermost first, each with the number of its operand."""


def _aligned(own: Access, shape: tuple[int, ...], value: SSAValue) -> Access | None:
    """The access under which `value` runs over the elements that `own` names in a tensor of `shape`, in their order."""
    other = tensor_type(value).get_shape()
    if other == shape:
        return own
    return unlinear(linear(own, shape), other) if prod(other) == prod(shape) else None


def _parts(result: int, value: SSAValue) -> list[tuple[int, SSAValue, Path]]:
    """What a kernel computes of a result: the pieces of a concat, the part of a destination, or the whole, whatever its shape."""
    match value.owner:
        case fused.ConcatOp() as op:
            return [(result, piece, ((op, i),)) for i, piece in enumerate(op.pieces)]
        case fused.InsertOp() | fused.ScatterOp() as op if isinstance(op.x.owner, fused.ConcatOp):
            return [(result, piece, (*path, (op, 0))) for _, piece, path in _parts(result, op.x)]
        case fused.InsertOp() | fused.ScatterOp() as op:
            return [(result, op.x, ((op, 0),))]
        case fused.ReshapeOp() as op:
            return [(result, _without_reshapes(value), ((op, 0),))]
        case _:
            return [(result, value, ())]


def is_in_memory(value: SSAValue) -> bool:
    """Whether a value is an argument of its kernel, or a view of one."""
    while isinstance(value.owner, fused.View):
        value = value.owner.x
    return isinstance(value, BlockArgument)


def _without_reshapes(value: SSAValue) -> SSAValue:
    """What a value is another shape of."""
    while isinstance(value.owner, fused.ReshapeOp):
        value = value.owner.x
    return value


def _tied(value: SSAValue) -> BlockArgument:
    if not isinstance(value, BlockArgument):
        assert isinstance(value.owner, Operation)
        raise NoDomain.because("destination", value.owner, "is a destination, which must be an argument of the kernel")
    return value


def _moved(access: Access, offsets: tuple[int, ...] | list[int], strides: tuple[int, ...] | list[int]) -> Access:
    """The access of a whole of which `access` names elements of a window."""
    return tuple(
        AffineIndex.total([(index, stride), (AffineIndex(offset), 1)])
        for index, offset, stride in zip(access, offsets, strides, strict=True)
    )


def _narrowed(op: fused.BroadcastOp, access: Access) -> Access:
    sizes = tensor_type(op.x).get_shape()
    return tuple(AffineIndex() if size == 1 else access[d] for d, size in zip(op.dimensions.get_values(), sizes, strict=True))


def _batches(value: SSAValue, access: Access, matrix: int) -> Access:
    """The indices of an operand's batch dimensions, aligned at the last of `access`; those of size 1 follow nothing."""
    shape = tensor_type(value).get_shape()
    sizes, indices = shape[: len(shape) - matrix], access[: len(access) - matrix]
    aligned = indices[len(indices) - len(sizes) :]
    return tuple(AffineIndex() if size == 1 else index for size, index in zip(sizes, aligned, strict=True))
