"""Inserts ops before another one, at its location."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from xdsl.ir import Operation

OpT = TypeVar("OpT", bound=Operation)


@dataclass(frozen=True)
class Inserter:
    """Called with a new op, it puts the op before `anchor`, with its location, and gives the op back."""

    anchor: Operation

    def __call__(self, op: OpT, hint: str | None = None) -> OpT:
        block = self.anchor.parent
        assert block is not None, "the anchor is in no block"
        op.location = self.anchor.location
        # A layer of an nn.Sequential is named by a number, which no value may be.
        if op.results and op.results[0].is_valid_name(hint):
            op.results[0].name_hint = hint
        block.insert_op_before(op, self.anchor)
        return op
