"""Concats of pieces that are computed apart: each piece is written into its part of one tensor.

%c = fused.kernel(%a, %b) {ops = ["ConcatD"]} ...             // yields fused.concat %a, %b
// becomes
%e = tensor.empty()
%0 = fused.kernel(%a, %e) {ops = ["ConcatD"]} ...             // yields fused.insert %a into %e
%c = fused.kernel(%b, %0) {ops = ["ConcatD"]} ...             // yields fused.insert %b into %0
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Block, BlockArgument, SSAValue

from ge_compiler.dialects import fused
from ge_compiler.dialects.diagnostics import remark
from ge_compiler.dialects.locations import located
from ge_compiler.dialects.types import tensor_type
from ge_compiler.transforms.grouping.cost import LAUNCH, bytes_of_tensor
from ge_compiler.transforms.grouping.grouping import Grouping, Refusal
from ge_compiler.transforms.grouping.merging import kernel_of, name_of
from ge_compiler.transforms.grouping.simplification import is_light, simplify


def split_concats(grouping: Grouping, pass_name: str) -> None:
    """Split the concats of a function whose pieces are better written apart, or have to be."""
    for kernel in grouping.kernels():
        concat = kernel.yielded.values[0].owner if len(kernel.outputs) == 1 else None
        if isinstance(concat, fused.ConcatOp) and kernel.runs_on is fused.Engine.AICORE:
            _split(grouping, kernel, concat, pass_name)


@dataclass
class _Piece:
    """A piece, and the kernel that writes it into its part."""

    kernel: fused.KernelOp
    producer: fused.KernelOp | None
    """The kernel that makes the piece, if it is nothing else."""
    bytes: int


def _split(grouping: Grouping, kernel: fused.KernelOp, concat: fused.ConcatOp, pass_name: str) -> None:
    empty = located(EmptyOp([], kernel.outputs[0].type), kernel.location)
    pieces: list[_Piece] = []
    into: SSAValue = empty.tensor
    for number in sorted(range(len(concat.pieces)), key=lambda i: _place(grouping, kernel, concat.pieces[i])):
        pieces.append(_piece(kernel, concat, number, into))
        into = pieces[-1].kernel.results[0]
    direct = [p for p in pieces if p.producer is not None and _is_legal(grouping, p.producer, p.kernel)]
    if isinstance(grouping.cost(kernel), int) and _together(grouping, kernel, pieces) <= _apart(pieces, direct):
        for piece in reversed(pieces):
            piece.kernel.erase()
        empty.erase()
        return
    for piece in pieces:
        if piece not in direct:
            _explain(grouping, kernel, piece, pass_name)
    grouping.order.insert_before([empty, *(piece.kernel for piece in pieces)], kernel)
    kernel.results[0].replace_all_uses_with(into)
    into.name_hint = kernel.results[0].name_hint
    grouping.erase(kernel)


def _explain(grouping: Grouping, kernel: fused.KernelOp, piece: _Piece, pass_name: str) -> None:
    verdict = grouping.together(piece.producer, piece.kernel) if piece.producer is not None else None
    reason = f"{verdict.code}: {verdict.reason}" if isinstance(verdict, Refusal) else "it is not what a kernel makes"
    remark(pass_name, kernel, "copy", f"a piece of {name_of(kernel)} is copied, which moves {2 * piece.bytes} bytes: {reason}")


def _source(kernel: fused.KernelOp, piece: SSAValue) -> SSAValue | None:
    """The value outside that a piece is, if it is nothing else."""
    return kernel.inputs[piece.index] if isinstance(piece, BlockArgument) else None


def _place(grouping: Grouping, kernel: fused.KernelOp, piece: SSAValue) -> int:
    """Where a piece is made: kernels that make pieces come in their order."""
    source = _source(kernel, piece)
    return -1 if source is None else grouping.order.places.get(source.owner, -1)  # pyright: ignore


def _piece(kernel: fused.KernelOp, concat: fused.ConcatOp, number: int, into: SSAValue) -> _Piece:
    d, piece = concat.dimension.value.data, concat.pieces[number]
    block = Block(arg_types=[x.type for x in (*kernel.inputs, into)])
    for argument, old in zip(block.args, kernel.body.block.args, strict=False):
        argument.name_hint = old.name_hint
    inside: dict[SSAValue, SSAValue] = dict(zip(kernel.body.block.args, block.args, strict=False))
    for op in kernel.body.block.ops:
        if op is not concat and op is not kernel.yielded:
            block.add_op(located(op.clone(inside), op.location))
    offset = sum(tensor_type(before).get_shape()[d] for before in concat.pieces[:number])
    rank = len(tensor_type(into).get_shape())
    insert = fused.InsertOp(inside[piece], block.args[-1], [offset if i == d else 0 for i in range(rank)], [1] * rank)
    block.add_op(located(insert, concat.location))
    block.add_op(located(fused.YieldOp([insert.result]), kernel.location))
    simplify(block)
    inputs = [x for x, argument in zip((*kernel.inputs, into), block.args, strict=True) if argument.uses]
    for argument in [argument for argument in block.args if not argument.uses]:
        block.erase_arg(argument)
    source = _source(kernel, piece)
    producer = source.owner if source is not None and isinstance(source.owner, fused.KernelOp) else None
    return _Piece(kernel_of(block, inputs, kernel), producer, bytes_of_tensor(piece))


def _is_legal(grouping: Grouping, producer: fused.KernelOp, consumer: fused.KernelOp) -> bool:
    return isinstance(grouping.together(producer, consumer), int)


def _apart(pieces: list[_Piece], direct: list[_Piece]) -> int:
    """What it costs to copy the pieces that their kernels cannot write in place."""
    return sum(LAUNCH + 2 * piece.bytes for piece in pieces if piece not in direct)


def _together(grouping: Grouping, kernel: fused.KernelOp, pieces: list[_Piece]) -> int:
    """What it costs to have one kernel for the concat, which does what elementwise kernels before it do, too."""
    merged = [p for p in pieces if p.producer is not None and _is_simple(p.producer) and _is_legal(grouping, p.producer, kernel)]
    return LAUNCH * (1 - len(merged)) + sum(2 * piece.bytes for piece in pieces if piece not in merged)


def _is_simple(kernel: fused.KernelOp) -> bool:
    """Whether a kernel goes with any other, and has one user."""
    users = {use.operation for result in kernel.results for use in result.uses if use.operation.parent is not None}
    return len(users) == 1 and is_light(kernel.body.block)
