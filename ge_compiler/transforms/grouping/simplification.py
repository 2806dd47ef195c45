"""Simplifies the body of a kernel: equal primitives once, views that do nothing and unused ones not at all, concats towards the results."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from ge_compiler.dialects import fused
from ge_compiler.transforms.grouping.concats import sink_concats


def simplify(block: Block) -> None:
    """Rewrites a body of pure primitives in place; its values stay the same."""
    _forward(block)
    if any(op.name == fused.ConcatOp.name for op in block.ops):
        sink_concats(block)
        _forward(block)
    _drop_unused(block)


def _forward(block: Block) -> None:
    """Use what is there already: the operand of a view that changes nothing, or the result of an equal primitive."""
    known: dict[Hashable, Operation] = {}
    for op in list(block.ops):
        if not op.results:
            continue
        _shorten(op)
        value = _unchanged(op)
        if value is None:
            first = known.setdefault(_key(op), op)
            value = first.results[0] if first is not op else None
        if value is not None:
            op.results[0].replace_all_uses_with(value)
            op.detach()
            op.erase()


def _key(op: Operation) -> Hashable:
    return op.name, tuple(op.operands), op.results[0].type, frozenset(op.properties.items())


def _unchanged(op: Operation) -> SSAValue | None:
    """The value that the result of `op` is anyway."""
    rule = _RULES.get(type(op))
    return rule(op) if rule is not None else None


def _of_one_type(op: Operation) -> SSAValue | None:
    return op.operands[0] if op.operands[0].type == op.results[0].type else None


def _turned(op: fused.TransposeOp) -> SSAValue | None:
    """What is transposed back, or not at all."""
    order = list(op.permutation.get_values())
    if order == sorted(order):
        return op.x
    before = op.x.owner
    if isinstance(before, fused.TransposeOp) and [before.permutation.get_values()[d] for d in order] == sorted(order):
        return before.x
    return None


def _single(op: fused.ConcatOp) -> SSAValue | None:
    return op.pieces[0] if len(op.pieces) == 1 else None


_RULES: dict[type[Operation], Callable[[Any], SSAValue | None]] = {
    **dict.fromkeys((fused.ReshapeOp, fused.SliceOp, fused.BroadcastOp, fused.CastOp), _of_one_type),
    fused.TransposeOp: _turned,
    fused.ConcatOp: _single,
}


def _shorten(op: Operation) -> None:
    """Of reshapes in a row only the last one counts."""
    if op.name == fused.ReshapeOp.name and isinstance(before := op.operands[0].owner, fused.ReshapeOp):
        op.operands[0] = before.x


def _drop_unused(block: Block) -> None:
    for op in reversed(list(block.ops)):
        if op.results and not any(result.uses for result in op.results):
            op.detach()
            op.erase()


def is_view(block: Block) -> bool:
    """Whether all that a body does is to show an argument in another way."""
    *ops, last = block.ops
    return bool(ops) and len(last.operands) == 1 and all(isinstance(op, fused.View) for op in ops)


def is_light(block: Block) -> bool:
    """Whether a body goes with any other and is cheap to compute again: it has no anchor and no reduction."""
    return not any(isinstance(op, fused.Anchor | fused.ReduceOp) for op in block.ops)
