"""Sequences of bodies as loops: what they say is what was given."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from ge_compiler.runtime.timing.program import LOOP, SCALAR, Item, Pool

repeated = st.tuples(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([1, 40])), min_size=1, max_size=5), st.integers(1, 12))
"""A few bodies, each a number and how many items it has, and how often they come."""


def written_out(items: Sequence[Item]) -> list[Item]:
    found: list[Item] = []
    for item in items:
        found += written_out(item[1].body.items) * item[1].count if item[0] == LOOP else [item]
    return found


@given(st.lists(repeated, max_size=8))
def test_loops_stand_for_the_bodies_that_they_were_made_of(parts: list[tuple[list[tuple[int, int]], int]]) -> None:
    pool = Pool()
    bodies = [pool.body([(SCALAR, number)] * length) for unit, count in parts for number, length in unit * count]
    made = pool.body(pool.sequence(bodies))
    assert written_out(made.items) == [item for body in bodies for item in body.items]
    assert made.length == sum(body.length for body in bodies)
    assert made.scalar == sum(body.scalar for body in bodies)


def test_what_repeats_is_one_loop() -> None:
    pool = Pool()
    a, b = pool.body([(SCALAR, 1)] * 40), pool.body([(SCALAR, 2)] * 40)
    assert [item[0] for item in pool.sequence([a, b] * 30 + [a])] == [LOOP, *(SCALAR for _ in a.items)]
    assert [item[1].count for item in pool.sequence(([a] * 9 + [b]) * 5) if item[0] == LOOP] == [5]
