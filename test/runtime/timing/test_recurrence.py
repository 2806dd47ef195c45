"""
The recurrence, with and without folding, against the event simulation: not a tick of difference.

The programs are random, as the compiler writes them and worse: pipelined nests of loops on one core, or on several that hand tiles on.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from ge_compiler.runtime.timing import fold
from ge_compiler.runtime.timing.fold import Folding
from ge_compiler.runtime.timing.program import (
    BARRIER,
    BARRIER_ALL,
    INSTRUCTION,
    SCALAR,
    SET,
    WAIT,
    Body,
    Channel,
    Cluster,
    Item,
    Pool,
    Stream,
)
from ge_compiler.runtime.timing.reference import simulate
from ge_compiler.runtime.timing.scoreboard import Board

BATCHES, SIZE, LONGEST = 12, 25, 12_000
PIPES = 5
Costs = list[tuple[int, int, int]]
Iteration = Callable[[int, int], list[Item]]
"""The items of iteration k of a loop inside iteration t of another one."""


@dataclass
class RandomCluster:
    """A cluster with its costs and the length of its queues."""

    cluster: Cluster
    costs: Costs
    queue: int


@dataclass
class _Writer:
    rng: random.Random
    issue: int
    pool: Pool = field(default_factory=Pool)
    channels: list[Channel] = field(default_factory=list[Channel])
    costs: Costs = field(default_factory=list[tuple[int, int, int]])

    def channel(self, receiver: int, across: bool = False) -> int:
        self.channels.append(Channel(f"flag {len(self.channels)}", receiver, across))
        return len(self.channels) - 1

    def instruction(self, pipe: int) -> Item:
        rng = self.rng
        self.costs.append((rng.choice([0, rng.randint(0, 300)]), rng.randint(1, 3000), rng.choice([0, rng.randint(0, 900)])))
        return (INSTRUCTION, pipe, rng.choice([0, 64, 256]), len(self.costs) - 1)

    def set(self, pipe: int, *channels: int, latency: int = 0) -> Item:
        return (SET, pipe, self.issue, channels, latency)

    def wait(self, pipe: int, *channels: int) -> Item:
        return (WAIT, pipe, self.issue, channels)


def pipelined(rng: random.Random, cores: int = 1) -> RandomCluster:
    """Nests of one or two loops, of stages that hand slots on to each other; with several cores, handing tiles on among them too."""
    w = _Writer(rng, rng.choice([0, 1, 64]))
    outer, inner = rng.randint(1, 12), rng.randint(2, 120)
    handover = _handover(w, cores) if cores > 1 else None
    streams: list[Stream] = []
    for core in range(cores):
        arms, iteration = _stages(w, core)
        extra = _extras(w, inner)
        count = inner if core == 0 else rng.randint(1, 4)
        bodies = [_nest(w, core, t, count, iteration, extra, handover) for t in range(outer)]
        first = handover[0][core] if handover else []
        body = w.pool.body([*arms, *first, *w.pool.sequence(bodies)])
        streams.append(Stream("ai", tuple(f"p{i}" for i in range(PIPES)), body))
    return RandomCluster(Cluster(tuple(streams), tuple(w.channels)), w.costs, rng.choice([2, 4, 8, 16, 32]))


def _stages(w: _Writer, core: int) -> tuple[list[Item], Iteration]:
    """What arms a chain of two to four pipes, and its iteration: a flag to the next pipe for each slot, and one back."""
    rng = w.rng
    stages = rng.sample(range(PIPES), rng.randint(2, 4))
    work, through = {pipe: w.instruction(pipe) for pipe in stages}, rng.random() < 0.5
    arms: list[Item] = []
    links: list[tuple[int, int, list[int], list[int]]] = []
    for a, b in itertools.pairwise(stages):
        slots = rng.choice([1, 2, 3])
        there, back = [w.channel(core) for _ in range(slots)], [w.channel(core) for _ in range(slots)]
        depth = rng.randint(1, 3) if slots == 1 else 1
        arms += [w.set(b, flag) for flag in back for _ in range(depth)]
        links.append((a, b, there, back))

    def iteration(t: int, k: int) -> list[Item]:
        items: list[Item] = []
        for i, (a, b, there, back) in enumerate(links):
            slot = (k + (t if through else 0)) % len(there)
            items += [w.wait(a, back[slot]), *([work[a]] if i == 0 else []), w.set(a, there[slot]), w.wait(b, there[slot])]
            items += [work[b], w.set(b, back[slot])]
        return items

    return arms, iteration


def _extras(w: _Writer, inner: int) -> Iteration:
    """What else may stand in an iteration: a last one that differs, a scalar, a barrier, a small loop."""
    rng = w.rng
    last, other = w.instruction(rng.randrange(PIPES)), w.instruction(rng.randrange(PIPES))
    guard, scalar, barrier, small = (rng.random() < p for p in (0.4, 0.3, 0.2, 0.2))
    ticks, pipe, count = rng.randint(1, 6000), rng.randrange(PIPES), rng.randint(2, 6)

    def iteration(t: int, k: int) -> list[Item]:
        items: list[Item] = [last if k == inner - 1 else other] if guard else []
        items += [(SCALAR, ticks)] if scalar else []
        items += [(BARRIER, pipe, w.issue)] if barrier else []
        items += w.pool.loop(count, w.pool.body([other, last])) if small else []
        return items

    return iteration


Handover = tuple[list[list[Item]], list[tuple[list[Item], list[Item]]]]
"""What each core does before its loops, and before and behind its part of every outer iteration."""


def _handover(w: _Writer, cores: int) -> Handover:
    """The first core gives every other one a tile in each iteration, may wait for what they make of it, and for room."""
    rng = w.rng
    there, back = [w.channel(c, True) for c in range(1, cores)], [w.channel(0, True) for _ in range(1, cores)]
    depth, pipes = rng.randint(1, 3), [rng.randrange(PIPES) for _ in range(4)]
    late, latency = rng.random() < 0.5, rng.choice([0, 2000])
    room = [w.set(pipes[2], flag, latency=latency) for flag in back]
    before = [[], *([item] * depth for item in room)]
    give, take = w.set(pipes[0], *there, latency=latency), [w.wait(pipes[1], flag) for flag in there]
    wait = w.wait(pipes[3], *back)
    of_first: tuple[list[Item], list[Item]] = ([], [give, wait]) if late else ([wait], [give])
    return before, [of_first, *(([t], [r]) for t, r in zip(take, room, strict=True))]


def _nest(w: _Writer, core: int, t: int, count: int, iteration: Iteration, extra: Iteration, handover: Handover | None) -> Body:
    before, behind = handover[1][core] if handover else ([], [])
    bodies = [w.pool.body([*iteration(t, k), *extra(t, k)]) for k in range(count)]
    ends: list[Item] = [(BARRIER_ALL,)] if w.rng.random() < 0.02 else []
    return w.pool.body([*before, *w.pool.sequence(bodies), *behind, *ends])


def board_of(made: RandomCluster, folding: Folding | None = None) -> Board:
    board = Board(made.cluster, made.costs, made.queue, folding)
    board.run()
    return board


def programs(seed: int, count: int) -> list[RandomCluster]:
    """Programs of one core and of three, none of which is too long to simulate."""
    rng, found = random.Random(seed), list[RandomCluster]()
    while len(found) < count:
        made = pipelined(rng, rng.choice([1, 1, 2, 3]))
        if sum(stream.body.length for stream in made.cluster.streams) <= LONGEST:
            found.append(made)
    return found


def check(seed: int, count: int) -> None:
    jumped = 0
    for i, made in enumerate(programs(seed, count)):
        expected = simulate(made.cluster, made.costs, made.queue)
        plain, folded = board_of(made), board_of(made, Folding())
        assert plain.end == expected, (seed, i)
        assert folded.end == expected, (seed, i)
        assert [core.busy for core in folded.cores] == [core.busy for core in plain.cores], (seed, i)
        jumped += folded.evaluated < plain.evaluated
    assert jumped >= count / 2


@pytest.mark.parametrize("seed", range(BATCHES))
def test_every_tick_is_that_of_the_event_simulation(seed: int) -> None:
    check(seed, SIZE)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 180))
def test_every_tick_is_that_of_the_event_simulation_more_often(seed: int) -> None:
    check(seed, SIZE)


def test_circuits_that_drift_are_taken_ahead_by_powers() -> None:
    """Two circuits of nearly the same length: the state does not come back for thousands of iterations."""
    pool, costs = Pool(), [(0, 500_000, 0), (0, 500_000, 0), (0, 499_999, 0), (0, 500_000, 0)]
    channels = tuple(Channel(f"flag {i}", 0, False) for i in range(4))
    arms: list[Item] = [(SET, 1, 64, (0,), 0), (SET, 3, 64, (2,), 0)]
    items: list[Item] = []
    for a, b, there, back in ((0, 1, 1, 0), (2, 3, 3, 2)):
        items += [(WAIT, a, 64, (back,)), (INSTRUCTION, a, 64, a), (SET, a, 64, (there,), 0)]
        items += [(WAIT, b, 64, (there,)), (INSTRUCTION, b, 64, b), (SET, b, 64, (back,), 0)]
    body = pool.body([*arms, *pool.loop(20_000, pool.body(items))])
    made = RandomCluster(Cluster((Stream("ai", tuple(f"p{i}" for i in range(PIPES)), body),), channels), costs, 4)
    plain, folded = board_of(made), board_of(made, Folding())
    assert folded.end == plain.end
    assert [core.busy for core in folded.cores] == [core.busy for core in plain.cores]
    assert folded.evaluated * 10 < plain.evaluated


def test_powers_are_exact_on_several_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    leaps: list[bool] = []
    real = fold.leap
    monkeypatch.setattr(fold, "leap", lambda *arguments: leaps.append(real(*arguments)) or leaps[-1])  # pyright: ignore
    monkeypatch.setattr(fold, "_DRIFTING", 5)
    monkeypatch.setattr(fold, "_WORTH", 0)
    for made in programs(7, 120):
        if sum(len(stream.pipes) * made.queue for stream in made.cluster.streams) > 150:
            continue
        plain, folded = board_of(made), board_of(made, Folding())
        assert folded.end == plain.end
        assert [core.busy for core in folded.cores] == [core.busy for core in plain.cores]
    assert sum(leaps) >= 5


def test_a_core_that_has_handed_everything_out_long_ago_does_so_no_later() -> None:
    """What a pipe takes up next may have been in its queue for long, although the loop is looked at just then."""
    pool, costs = Pool(), [(0, 5000, 0), (0, 1, 0), (0, 1, 0), (300, 1, 0)]
    token, back, there = 0, 1, 2
    channels = (Channel("token", 1, True), Channel("back", 0, True), Channel("there", 1, False))
    giver: list[Item] = [(WAIT, 0, 64, (back,)), (INSTRUCTION, 0, 64, 0), (SET, 0, 64, (token,), 0)]
    taker: list[Item] = [(INSTRUCTION, 1, 64, 3), (SET, 1, 64, (back,), 0), (WAIT, 0, 64, (token,)), (INSTRUCTION, 0, 64, 1)]
    taker += [(SET, 0, 64, (there,), 0), (WAIT, 1, 64, (there,)), (INSTRUCTION, 1, 64, 2)]
    bodies = [pool.body(pool.loop(60, pool.body(items))) for items in (giver, taker)]
    made = RandomCluster(Cluster(tuple(Stream("ai", ("p0", "p1"), body) for body in bodies), channels), costs, 32)
    folded = board_of(made, Folding())
    assert folded.end == simulate(made.cluster, made.costs, made.queue)
    assert folded.jumps
