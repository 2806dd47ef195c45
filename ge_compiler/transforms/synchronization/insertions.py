"""New ops at gaps between the ops of a kernel, collected first and put in place together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator

from ge_compiler.dialects.locations import located
from ge_compiler.dialects.npu import PipeBarrierOp


class Rank(IntEnum):
    """The order of ops at one gap: what holds no pipe comes first, and a drained event may be armed again after a barrier."""

    SET = 0
    DRAIN = 1
    BARRIER = 2
    ARM = 3
    WAIT = 4


@dataclass
class Insertions:
    """Ops to insert; gap g of a block is before its op g."""

    bodies: dict[Block, Sequence[Operation]]
    """The ops of each block as positions count them."""
    _collected: dict[tuple[Block, int], list[tuple[Rank, Operation]]] = field(
        default_factory=dict[tuple[Block, int], list[tuple[Rank, Operation]]]
    )

    def add(self, block: Block, gap: int, rank: Rank, op: Operation, location: LocationAttr) -> None:
        self._collected.setdefault((block, gap), []).append((rank, located(op, location)))

    def add_barrier(self, block: Block, gap: int, pipe: str, location: LocationAttr) -> None:
        """A barrier of `pipe`, unless there is one at the gap."""
        there = (op for rank, op in self._collected.get((block, gap), ()) if rank is Rank.BARRIER)
        if not any(isinstance(op, PipeBarrierOp) and op.pipe.pipe.data == pipe for op in there):
            self.add(block, gap, Rank.BARRIER, PipeBarrierOp(pipe), location)

    def apply(self) -> None:
        """Puts everything in place."""
        for (block, gap), added in self._collected.items():
            body = self.bodies[block]
            ops = [op for _, op in sorted(added, key=lambda entry: entry[0])]
            following = body[gap] if gap < len(body) else _terminator(block)
            if following is None:
                block.add_ops(ops)
            else:
                block.insert_ops_before(ops, following)
        self._collected.clear()


def _terminator(block: Block) -> Operation | None:
    last = block.last_op
    return last if last is not None and last.has_trait(IsTerminator) else None
