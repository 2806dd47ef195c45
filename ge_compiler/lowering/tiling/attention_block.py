"""The arithmetic of attention: blocks of keys, one after the other, under one tile of queries.

For every query three things are carried in the unified buffer: the largest score so far (m), the sum of the exponentials (l) and the sum of
the values that they weight (o), both relative to m:

    s  = scale * q·kᵀ + mask          the scores of a block of keys
    m' = max(m, max of s)
    p  = exp(s - m')
    l' = l * exp(m - m') + sum of p
    o' = o * exp(m - m') + p·v

and in the end the result is o / l. m starts at the lowest finite number, so that a query without any key, all of whose scores are -inf,
gives exp(-inf) = 0 and never -inf - -inf; its l stays 0, and its result is 0.

This is written once, for whatever makes tiles of it or only measures them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from xdsl.dialects.builtin import f32, i1, i32
from xdsl.ir import Attribute

from ge_compiler.dialects.fused import AttentionOp
from ge_compiler.dialects.types import tensor_type

LOWEST = -3.4028234663852886e38
"""The lowest finite f32."""
SMALLEST = 1.1754943508222875e-38
"""The smallest normal f32: what a sum is at least that something is divided by."""


@dataclass(frozen=True)
class Facts:
    """What an attention is, whatever its sizes."""

    element: Attribute
    """Of queries, keys and values."""
    mask: Attribute | None
    """The element type of the mask, if there is one."""
    scale: float
    causal: bool

    @staticmethod
    def of(op: AttentionOp) -> Facts:
        mask = None if op.mask is None else tensor_type(op.mask).get_element_type()
        return Facts(tensor_type(op.v).get_element_type(), mask, op.scale.value.data, op.causal is not None)


class AttentionSink(Protocol):
    """Where the tiles of an attention go. A handle stands for a lane's rows, in the unified buffer."""

    def start(self, value: float, name: str) -> Any:
        """One value for each query; for `o`, one for each element of a head too."""
        ...

    def scores(self) -> Any:
        """q·kᵀ."""
        ...

    def mask(self) -> Any:
        """The mask under the scores, in its own element type; it may be a single row or column."""
        ...

    def ahead(self) -> Any:
        """By how many places each key stands behind the query's own number, in i32."""
        ...

    def constant(self, value: float, element: Attribute) -> Any:
        """A single element."""
        ...

    def function(self, name: str, operands: list[Any], scalar: float | None = None) -> Any:
        """A function of the table on operands that repeat where they are single rows, columns or elements."""
        ...

    def reduce(self, kind: str, x: Any) -> Any:
        """One value for each query."""
        ...

    def cast(self, x: Any, element: Attribute) -> Any:
        """The tile in another element type."""
        ...

    def product(self, weights: Any) -> Any:
        """p·v."""
        ...


def emit_start(sink: AttentionSink) -> list[Any]:
    """m, l and o before the first block."""
    return [sink.start(LOWEST, "m"), sink.start(0.0, "l"), sink.start(0.0, "o")]


def emit_block(facts: Facts, sink: AttentionSink, m: Any, total: Any, weighted: Any) -> list[Any]:
    """m, l and o after one more block of keys."""
    scores = _scores(facts, sink)
    largest = sink.reduce("max", scores)
    new = sink.function("max", [m, largest])
    shrink = sink.function("exp", [sink.function("sub", [m, new])])
    # The same once more, now that m is not needed any longer: this one takes its place.
    kept = sink.function("max", [m, largest])
    weights = sink.function("exp", [sink.function("sub", [scores, new])])
    total = sink.function("add", [sink.function("mul", [total, shrink]), sink.reduce("sum", weights)])
    product = sink.product(sink.cast(weights, facts.element))
    weighted = sink.function("add", [sink.function("mul", [weighted, shrink]), product])
    return [kept, total, weighted]


def emit_result(sink: AttentionSink, total: Any, weighted: Any) -> Any:
    """The result after the last block, in f32."""
    return sink.function("div", [weighted, sink.function("maxs", [total], SMALLEST)])


def _scores(facts: Facts, sink: AttentionSink) -> Any:
    """scale * q·kᵀ + mask, -inf where a query does not see a key."""
    scores = sink.scores()
    if facts.scale != 1.0:
        scores = sink.function("muls", [scores], facts.scale)
    if facts.mask == i1:
        scores = sink.function("select", [sink.mask(), scores, sink.constant(float("-inf"), f32)])
    elif facts.mask is not None:
        scores = sink.function("add", [scores, sink.cast(sink.mask(), f32)])
    if facts.causal:
        seen = sink.function("le", [sink.ahead(), sink.constant(0, i32)])
        scores = sink.function("select", [seen, scores, sink.constant(float("-inf"), f32)])
    return scores
