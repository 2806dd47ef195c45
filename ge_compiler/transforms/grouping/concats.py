"""Moves concats towards the results of a kernel, where they are parts that are written apart.

%c = fused.concat %a, %b along 0                          // f(concat(a, b), y)
%r = fused.mul %c, %y
// becomes
%r0 = fused.mul %a, %y[:h]
%r1 = fused.mul %b, %y[h:]
%r = fused.concat %r0, %r1 along 0                        // concat(f(a, y[:h]), f(b, y[h:]))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ge_compiler.dialects import fused
from ge_compiler.dialects.locations import located
from ge_compiler.dialects.types import tensor_type

MOST_PIECES = 8
"""Concats of more pieces stay where they are: every primitive behind them would be written as often."""


def sink_concats(block: Block) -> None:
    """Rewrites a body in place so that as few primitives as possible use the result of a concat."""
    op = block.first_op
    while op is not None:
        following = op.next_op
        uses_concat = any(isinstance(x, OpResult) and x.owner.name == fused.ConcatOp.name for x in op.operands)
        made = _Sinking(op).run() if uses_concat and op.results else None
        if made is None:
            op = following
            continue
        new, value = made
        for inserted in new:
            block.insert_op_before(located(inserted, op.location), op)
        op.results[0].replace_all_uses_with(value)
        op.detach()
        op.erase()
        op = new[0] if new else following


def _shape(value: SSAValue) -> tuple[int, ...]:
    return tensor_type(value).get_shape()


def _concat_of(value: SSAValue) -> fused.ConcatOp | None:
    owner = value.owner
    return owner if isinstance(owner, fused.ConcatOp) and len(owner.pieces) <= MOST_PIECES else None


def _bounds(concat: fused.ConcatOp) -> list[int]:
    """Where its pieces start, and where the last one ends."""
    d = concat.dimension.value.data
    return [0, *accumulate(_shape(piece)[d] for piece in concat.pieces)]


@dataclass
class _Sinking:
    """One primitive that uses a concat, written for each piece instead."""

    op: Operation

    def __post_init__(self) -> None:
        self.made: list[Operation] = []

    def add(self, op: Operation) -> SSAValue:
        self.made.append(op)
        return op.results[0]

    def run(self) -> tuple[list[Operation], SSAValue] | None:
        """New ops and the value that stands for the result, or `None` if `op` stays."""
        value = self._value()
        return None if value is None else (self.made, value)

    def _value(self) -> SSAValue | None:
        match self.op:
            case fused.FusedElementwiseOp() | fused.CastOp():
                return self._pointwise(self.op)
            case fused.BroadcastOp() as op if concat := _concat_of(op.x):
                return self._repeated(op, concat)
            case fused.TransposeOp() as op if concat := _concat_of(op.x):
                order = list(op.permutation.get_values())
                return self._each(concat, order.index(concat.dimension.value.data), lambda piece: fused.TransposeOp(piece, order))
            case fused.SliceOp() as op if concat := _concat_of(op.x):
                return self._sliced(op, concat)
            case fused.ReduceOp() as op if concat := _concat_of(op.x):
                return self._reduced(op, concat)
            case fused.ReshapeOp() as op if concat := _concat_of(op.x):
                return self._reshaped(op, concat)
            case fused.ConcatOp() as op:
                return self._flattened(op)
            case _:
                return None

    def _each(self, concat: fused.ConcatOp, dimension: int, function: Callable[[SSAValue], Operation]) -> SSAValue:
        return self._joined([self.add(function(piece)) for piece in concat.pieces], dimension)

    def _joined(self, pieces: Sequence[SSAValue], dimension: int) -> SSAValue:
        return pieces[0] if len(pieces) == 1 else self.add(fused.ConcatOp(pieces, dimension))

    def _pointwise(self, op: Operation) -> SSAValue | None:
        concats = [concat for x in op.operands if (concat := _concat_of(x)) is not None]
        if not concats:
            return None
        d = concats[0].dimension.value.data
        bounds = sorted({bound for concat in concats if concat.dimension.value.data == d for bound in _bounds(concat)})
        if len(bounds) > MOST_PIECES + 1:
            return None
        pieces: list[SSAValue] = []
        result = tensor_type(op.results[0])
        for start, end in pairwise(bounds):
            shape = [end - start if i == d else size for i, size in enumerate(result.get_shape())]
            operands = [self._part(x, d, start, end) for x in op.operands]
            type_ = TensorType(result.get_element_type(), shape)
            pieces.append(self.add(type(op).create(operands=operands, result_types=[type_], properties=op.properties)))
        return self._joined(pieces, d)

    def _part(self, value: SSAValue, d: int, start: int, end: int) -> SSAValue:
        """The elements `start` to `end` of a value in dimension `d`."""
        shape, owner = _shape(value), value.owner
        sizes = [end - start if i == d else size for i, size in enumerate(shape)]
        if isinstance(owner, fused.FullOp):
            return self.add(fused.FullOp(owner.value, TensorType(tensor_type(value).get_element_type(), sizes)))
        if isinstance(owner, fused.ConcatOp) and owner.dimension.value.data == d and (start, end) in (pairs := _pairs(owner)):
            return owner.pieces[pairs.index((start, end))]
        return self.add(fused.SliceOp(value, [start if i == d else 0 for i in range(len(shape))], [1] * len(shape), sizes))

    def _repeated(self, op: fused.BroadcastOp, concat: fused.ConcatOp) -> SSAValue | None:
        d, dimensions = concat.dimension.value.data, op.dimensions.get_values()
        result = tensor_type(op.result)
        if _shape(op.x)[d] != result.get_shape()[dimensions[d]]:
            return None

        def repeat(piece: SSAValue) -> Operation:
            shape = list(result.get_shape())
            shape[dimensions[d]] = _shape(piece)[d]
            return fused.BroadcastOp(piece, dimensions, TensorType(result.get_element_type(), shape))

        return self._each(concat, dimensions[d], repeat)

    def _reduced(self, op: fused.ReduceOp, concat: fused.ConcatOp) -> SSAValue | None:
        d = concat.dimension.value.data
        if d in op.reduced:
            return None
        kind, reduced = op.kind.kind.data, op.reduced
        return self._each(concat, d - sum(r < d for r in reduced), lambda piece: fused.ReduceOp(kind, piece, reduced))

    def _reshaped(self, op: fused.ReshapeOp, concat: fused.ConcatOp) -> SSAValue | None:
        """Where the new shape has a dimension that the pieces lie along one behind the other, too."""
        old, new, d = _shape(op.x), _shape(op.result), concat.dimension.value.data
        if not prod(old):
            return None
        for along in range(len(new)):
            inner = prod(new[along + 1 :])
            if prod(new[:along]) == prod(old[:d]) and all(_shape(p)[d] * prod(old[d + 1 :]) % inner == 0 for p in concat.pieces):

                def reshape(piece: SSAValue, along: int = along, inner: int = inner) -> Operation:
                    size = _shape(piece)[d] * prod(old[d + 1 :]) // inner
                    return fused.ReshapeOp(piece, [*new[:along], size, *new[along + 1 :]])

                return self._each(concat, along, reshape)
        return None

    def _sliced(self, op: fused.SliceOp, concat: fused.ConcatOp) -> SSAValue:
        d, shape = concat.dimension.value.data, list(_shape(op.result))
        offsets, strides = list(op.offsets.get_values()), list(op.strides.get_values())
        pieces: list[SSAValue] = []
        for piece, (start, end) in zip(concat.pieces, _pairs(concat), strict=True):
            first = max(0, -((op.offsets.get_values()[d] - start) // strides[d]))
            offset = op.offsets.get_values()[d] + first * strides[d]
            count = min(_shape(op.result)[d] - first, -((offset - end) // strides[d]))
            if count > 0:
                offsets[d], shape[d] = offset - start, count
                pieces.append(self.add(fused.SliceOp(piece, offsets, strides, shape)))
        if not pieces:  # no elements at all
            offsets[d], shape[d] = 0, 0
            pieces.append(self.add(fused.SliceOp(concat.pieces[0], offsets, strides, shape)))
        return self._joined(pieces, d)

    def _flattened(self, op: fused.ConcatOp) -> SSAValue | None:
        """A concat of concats along the same dimension."""
        pieces: list[SSAValue] = []
        for piece in op.pieces:
            inner = piece.owner
            is_same = isinstance(inner, fused.ConcatOp) and inner.dimension == op.dimension
            pieces.extend(inner.pieces if is_same else [piece])  # pyright: ignore
        return self.add(fused.ConcatOp(pieces, op.dimension.value.data)) if len(pieces) != len(op.pieces) else None


def _pairs(concat: fused.ConcatOp) -> list[tuple[int, int]]:
    bounds = _bounds(concat)
    return list(pairwise(bounds))
