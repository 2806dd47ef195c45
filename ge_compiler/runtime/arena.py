"""The arena of global memory in which `@main` places what launches hand on to each other and what each needs for itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import ReinterpretCastOp
from xdsl.ir import Operation, SSAValue

from ge_compiler.dialects.buf import AtOp
from ge_compiler.dialects.fused import lives
from ge_compiler.dialects.memory import Space, bytes_of, mem_of
from ge_compiler.dialects.types import buffer_type


@dataclass(frozen=True)
class Arena:
    """Bytes of the arena: both add up to its size."""

    intermediates: int
    """What one launch writes and others read, with the gaps that the plan leaves."""
    workspace: int
    """What one launch alone uses, when the arena is fullest."""


@dataclass(frozen=True)
class _Held:
    bytes: int
    first: int
    """The first launch that uses it, by number."""
    last: int


def end_of(op: AtOp) -> int:
    """The byte after a buffer and all its slots."""
    return max(op.offsets.get_values()) + bytes_of(buffer_type(op.result))


def arena(main: FuncOp) -> Arena:
    """What the arena of `main` holds; nothing before its buffers have addresses."""
    steps = {op: i for i, op in enumerate(main.body.block.ops)}
    placed = [op for op in steps if isinstance(op, AtOp) and mem_of(op.result.type).space is Space.GM]
    held = [life for op in placed for life in _lives(op, steps)]
    changes: dict[int, list[tuple[int, int]]] = {}
    for buffer in held:
        own = buffer.bytes if buffer.first == buffer.last else 0
        changes.setdefault(buffer.first, []).append((buffer.bytes, own))
        changes.setdefault(buffer.last + 1, []).append((-buffer.bytes, -own))
    most = workspace = now = own_now = 0
    for step in sorted(changes):
        now += sum(change for change, _ in changes[step])
        own_now += sum(own for _, own in changes[step])
        if now > most:
            most, workspace = now, own_now
    return Arena(max((end_of(op) for op in placed), default=0) - workspace, workspace)


def _lives(op: AtOp, steps: dict[Operation, int]) -> list[_Held]:
    """From each launch that gives a buffer new contents to the last one that uses them."""
    users = sorted(set(_users(op.result)), key=steps.__getitem__) or [op]
    return [_Held(bytes_of(buffer_type(op.result)), steps[life[0]], steps[life[-1]]) for life in lives(op.result, users)]


def _users(value: SSAValue) -> Iterator[Operation]:
    for use in value.uses:
        if isinstance(use.operation, ReinterpretCastOp):
            yield from _users(use.operation.result)
        else:
            yield use.operation
