"""Shares that stay the same within a phase, against bandwidth that is divided anew whenever a move starts or ends."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest

from ge_compiler.dialects.instruction_costs import Cost, Traffic, overheads_of
from ge_compiler.dialects.npu import SyncAllOp
from ge_compiler.dialects.target import load_target
from ge_compiler.runtime.timing.program import INSTRUCTION, SET, WAIT, Body, Channel, Cluster, Item, KernelProgram, Pool, Stream, Work
from ge_compiler.runtime.timing.reference import unrolled
from ge_compiler.runtime.timing.sharing import Sharing
from ge_compiler.runtime.timing.traffic import Traffic as Bytes

TARGET = load_target("Ascend910B2")
ISSUE, FLAG = 256, 64


# ---- kernels ----------------------------------------------------------------------------------------------------------


@dataclass
class Kernel:
    """Clusters of a kernel under construction: costs, the parts of their bytes that L2 does not have, and flags."""

    pool: Pool = field(default_factory=Pool)
    works: list[Work] = field(default_factory=list[Work])
    pipes: list[int] = field(default_factory=list[int])
    misses: list[Fraction] = field(default_factory=list[Fraction])
    channels: list[Channel] = field(default_factory=list[Channel])

    def work(self, pipe: int, cost: Cost, miss: Fraction = Fraction(0)) -> Item:
        self.works.append(Work(cost, None, SyncAllOp()))
        self.pipes.append(pipe)
        self.misses.append(miss)
        return (INSTRUCTION, pipe, ISSUE, len(self.works) - 1)

    def move(self, pipe: int, count: int, rate: int, miss: Fraction, writes: bool = False) -> Item:
        """Of `count` bytes at `rate` bytes a cycle."""
        return self.work(pipe, Cost(0, 20 * 64, 40 * 64, Traffic(count, writes, rate / 64, 0)), miss)

    def flags(self, slots: int, receiver: int, across: bool = False) -> list[int]:
        first = len(self.channels)
        self.channels += [Channel(f"flag {first + i}", receiver, across) for i in range(slots)]
        return list(range(first, first + slots))

    def chain(self, core: int, stages: Sequence[tuple[int, Sequence[Item]]], slots: int, count: int) -> list[Item]:
        """Stages on pipes of a core that hand `slots` slots on to each other, `count` times."""
        links = [(self.flags(slots, core), self.flags(slots, core)) for _ in stages[1:]]
        arms = [(SET, stages[i + 1][0], FLAG, (flag,), 0) for i, (_, back) in enumerate(links) for flag in back]
        bodies: list[Body] = []
        for k in range(count):
            items: list[Item] = []
            for i, (pipe, works) in enumerate(stages):
                items += [(WAIT, pipe, FLAG, (links[i - 1][0][k % slots],))] if i else []
                items += [(WAIT, pipe, FLAG, (links[i][1][k % slots],))] if i < len(links) else []
                items += works
                items += [(SET, pipe, FLAG, (links[i][0][k % slots],), 0)] if i < len(links) else []
                items += [(SET, pipe, FLAG, (links[i - 1][1][k % slots],), 0)] if i else []
            bodies.append(self.pool.body(items))
        return [*arms, *self.pool.sequence(bodies)]

    def program(self, clusters: Sequence[Cluster]) -> KernelProgram:
        return KernelProgram("k", tuple(clusters), tuple(self.works), tuple(self.pipes), overheads_of(TARGET), TARGET.cores)


def of_classes(kernel: Kernel, classes: Sequence[tuple[int, list[Item]]], pipes: int) -> KernelProgram:
    """Clusters of one stream each: how many do what."""
    names = tuple(f"aic.p{i}" for i in range(pipes))
    clusters = [Cluster((Stream("aic", names, kernel.pool.body(items)),), tuple(kernel.channels), n) for n, items in classes]
    return kernel.program(clusters)


def matmul(classes: Sequence[tuple[int, int]], miss: Fraction) -> tuple[Kernel, KernelProgram]:
    """Tiles of 128 x 256 x 256: two loads, two moves to the operands, a product."""
    k = Kernel()
    loads = [k.move(0, 128 * 512, 88, miss), k.move(0, 256 * 512, 88, miss)]
    moves, product = [k.work(1, Cost(0, 412 * 4 * 64, 0))], [k.work(2, Cost(54 * 64, 4 * 521 * 64, 0))]
    made = [(n, k.chain(0, [(0, loads), (1, moves), (2, product)], 2, count)) for n, count in classes]
    return k, of_classes(k, made, 3)


def elementwise(n: int, count: int, slots: int, vector: int) -> tuple[Kernel, KernelProgram]:
    """Tiles of 16 KB that are loaded, worked on for so many cycles, and stored."""
    k = Kernel()
    load, store = k.move(0, 16384, 66, Fraction(1)), k.move(2, 16384, 30, Fraction(1), writes=True)
    stages = [(0, [load]), (1, [k.work(1, Cost(0, vector * 64, 0))]), (2, [store])]
    return k, of_classes(k, [(n, k.chain(0, stages, slots, count))], 3)


def attention(n: int, count: int) -> tuple[Kernel, KernelProgram]:
    """A cube that loads and multiplies, and two lanes that take its scores through L2."""
    k = Kernel()
    load, product = k.move(0, 32768, 88, Fraction(1, 2)), k.work(1, Cost(0, 1100 * 64, 0))
    out, scores, vector = k.move(2, 131072, 71, Fraction(0), True), k.move(0, 65536, 66, Fraction(0)), k.work(1, Cost(0, 2500 * 64, 0))
    ready, room = k.flags(1, 1, True), k.flags(1, 0, True)
    cube = k.chain(0, [(0, [load]), (1, [product])], 2, 1)
    step = [*cube, (WAIT, 2, FLAG, tuple(room)), out, (SET, 2, FLAG, tuple(ready), 330 * 64)]
    cube_items = k.pool.loop(count, k.pool.body(step))
    lane = k.pool.body([(WAIT, 0, FLAG, tuple(ready)), scores, (SET, 0, FLAG, tuple(room), 330 * 64), vector])
    lane_items = [(SET, 0, FLAG, tuple(room), 0), *k.pool.loop(count, lane)]
    streams = (
        Stream("aic", ("aic.mte2", "aic.m", "aic.fix"), k.pool.body(cube_items)),
        Stream("aiv", ("aiv.mte2", "aiv.v"), k.pool.body(lane_items), 2),
    )
    return k, k.program([Cluster(streams, tuple(k.channels), n)])


# ---- fluid ------------------------------------------------------------------------------------------------------------


@dataclass
class _Move:
    """What a pipe is doing: until when at least, and bytes that are still to come from L2 and from HBM."""

    item: Item
    least: float
    left: list[float]
    rate: float = math.inf
    writes: bool = False
    lanes: int = 1


@dataclass
class _Pipe:
    queue: deque[tuple[Item, float]] = field(default_factory=deque[tuple[Item, float]])
    moved: float = 0.0
    free: float = 0.0
    done: float = 0.0
    move: _Move | None = None


class Fluid:
    """Clusters of all classes at once; equal clusters do the same at the same time, and take a share each."""

    def __init__(self, kernel: Kernel, program: KernelProgram) -> None:
        self.kernel, self.program, self.depth = kernel, program, program.overheads.queue
        timing = TARGET.timing
        assert timing is not None
        self.read, self.mixed, self.l2 = (float(timing.shared_rate(k)) for k in ("hbm.read", "hbm.mixed", "l2.total"))
        self.streams = [(cluster, stream) for cluster in program.clusters for stream in cluster.streams]
        self.code = [unrolled(stream.body) for _, stream in self.streams]
        self.next: list[Any] = [next(code, None) for code in self.code]
        self.ready = [0.0 for _ in self.streams]
        self.pipes = [[_Pipe() for _ in stream.pipes] for _, stream in self.streams]
        self.flags = [[deque[float]() for _ in cluster.channels] for cluster in program.clusters]
        self.owner = [program.clusters.index(cluster) for cluster, _ in self.streams]
        self.now = 0.0

    def run(self) -> float:
        while True:
            while any(
                [self._issue(i) for i in range(len(self.streams))] + [self._work(i, p) for i, ps in enumerate(self.pipes) for p in ps]
            ):
                pass
            rates = self._rates()
            ahead = [t for t in self._times() if t > self.now]
            ahead += [self.now + self._left(m, rates) for m in self._moves()]
            if not ahead:
                return max(self.now, *(p.done for ps in self.pipes for p in ps))
            step = max(min(ahead), self.now + 1e-6)
            for move in self._moves():
                part = 0 if move.left[0] > 0 else 1
                move.left[part] = max(0.0, move.left[part] - (step - self.now) * rates[id(move)])
                if move.left[part] < 1e-6:
                    move.left[part] = 0.0
            self.now = step

    def _moves(self) -> list[_Move]:
        found = [p.move for ps in self.pipes for p in ps if p.move is not None]
        return [m for m in found if sum(m.left) > 0 and self.now >= m.least]

    def _left(self, move: _Move, rates: dict[int, float]) -> float:
        return move.left[0 if move.left[0] > 0 else 1] / rates[id(move)]

    def _times(self) -> list[float]:
        times = [r for r, item in zip(self.ready, self.next, strict=True) if item is not None]
        for pipes in self.pipes:
            for p in pipes:
                times += [p.done, p.free] + ([p.move.least] if p.move else []) + [issued for _, issued in list(p.queue)[:1]]
        return times + [t for flags in self.flags for queue in flags for t in list(queue)[:1]]

    def _rates(self) -> dict[int, float]:
        """Max-min fair rates of all moves that are under way."""
        moves, rates = self._moves(), dict[int, float]()
        for is_l2, capacity in ((True, self.l2), (False, self.mixed)):
            flows = sorted((m for m in moves if (m.left[0] > 0) is is_l2), key=lambda m: m.rate)
            left, count = capacity, sum(m.lanes for m in flows)
            for m in flows:
                rates[id(m)] = min(m.rate, left / count)
                left, count = left - rates[id(m)] * m.lanes, count - m.lanes
        readers = [m for m in moves if m.left[0] <= 0 and not m.writes]
        total = sum(rates[id(m)] * m.lanes for m in readers)
        for m in readers:
            rates[id(m)] *= min(1.0, self.read / total)
        return rates

    def _issue(self, i: int) -> bool:
        item, progress = self.next[i], False
        while item is not None and self.ready[i] <= self.now:
            number: int = item[1]
            pipe = self.pipes[i][number]
            if len(pipe.queue) >= self.depth:
                break
            self.ready[i] = self.now + item[2]
            pipe.queue.append((item, self.ready[i]))
            item = self.next[i] = next(self.code[i], None)
            progress = True
        return progress

    def _work(self, i: int, p: _Pipe) -> bool:
        if p.move is not None:
            if p.move.least > self.now + 1e-9 or sum(p.move.left) > 0:
                return False
            work: int = p.move.item[3]
            p.free, p.done, p.move = self.now, max(p.done, self.now + self.program.works[work].cost.latency), None
        if not p.queue or p.queue[0][1] > self.now or not self._start(i, p, *p.queue[0]):
            return False
        p.queue.popleft()
        p.moved = self.now
        return True

    def _start(self, i: int, p: _Pipe, item: Item, issued: float) -> bool:
        flags = self.flags[self.owner[i]]
        if item[0] == WAIT:
            awaited: tuple[int, ...] = item[3]
            if not all(flags[c] and flags[c][0] <= self.now for c in awaited):
                return False
            for c in awaited:
                flags[c].popleft()
        elif item[0] == SET:
            given: tuple[int, ...] = item[3]
            for c in given:
                flags[c].append(max(self.now, p.done) + item[4])
        else:
            self._begin(i, p, item, issued)
        return True

    def _begin(self, i: int, p: _Pipe, item: Item, issued: float) -> None:
        work: int = item[3]
        cost, miss = self.program.works[work].cost, float(self.kernel.misses[work])
        start = max(p.free, max(issued, p.moved) + cost.fill)
        cluster, stream = self.streams[i]
        p.move = _Move(item, start + cost.occupancy, [0.0, 0.0], lanes=cluster.count * stream.copies)
        if cost.traffic is not None:
            t = cost.traffic
            p.move.left, p.move.rate, p.move.writes = [t.bytes * (1 - miss), t.bytes * miss], float(t.rate), t.writes


def compare(made: tuple[Kernel, KernelProgram]) -> float:
    """The relative error of phase-static shares against fluid ones."""
    kernel, program = made
    assert TARGET.timing is not None
    bytes_ = Bytes(0, 0, Fraction(0), Fraction(0), Fraction(0), 0, frozenset(), tuple(kernel.misses))
    ours = Sharing(program, TARGET.timing, bytes_).run().ticks
    return ours / Fluid(kernel, program).run() - 1


@pytest.mark.parametrize("miss", [Fraction(1), Fraction(3, 10), Fraction(0)])
@pytest.mark.parametrize("classes", [[(24, 40)], [(8, 30), (16, 20)], [(5, 24)]])
def test_products_and_decoding(classes: list[tuple[int, int]], miss: Fraction) -> None:
    assert abs(compare(matmul(classes, miss))) <= 0.02


@pytest.mark.parametrize("vector", [54, 600, 1200])
def test_elementwise_in_two_slots(vector: int) -> None:
    assert abs(compare(elementwise(48, 60, 2, vector))) <= 0.02


@pytest.mark.parametrize("vector", [54, 600])
def test_elementwise_in_one_slot(vector: int) -> None:
    assert abs(compare(elementwise(48, 60, 1, vector))) <= 0.06


def test_attention() -> None:
    assert abs(compare(attention(24, 40))) <= 0.06


def product_through_l2(n: int, tiles: int, steps: int) -> tuple[Kernel, KernelProgram]:
    """Tiles of a product that the cube hands to two lanes through L2, which holds nearly everything."""
    k = Kernel()
    loads = [k.move(0, 65536, 88, Fraction(1, 50)), k.move(0, 131072, 88, Fraction(1, 50))]
    product, out = k.work(1, Cost(54 * 64, 4 * 521 * 64, 0)), k.move(2, 131072, 71, Fraction(0), True)
    scores, vector, store = k.move(0, 65536, 66, Fraction(0)), k.work(1, Cost(0, 600 * 64, 0)), k.move(2, 32768, 30, Fraction(0), True)
    ready, room = k.flags(1, 1, True), k.flags(1, 0, True)
    chain = k.chain(0, [(0, loads), (1, [product])], 2, steps)
    done, empty, worked, stored = k.flags(1, 0), k.flags(1, 0), k.flags(1, 1), k.flags(1, 1)
    end: list[Item] = [(SET, 1, FLAG, tuple(done), 0), (WAIT, 2, FLAG, tuple(done)), (WAIT, 2, FLAG, tuple(room)), out]
    end += [(SET, 2, FLAG, tuple(ready), 330 * 64), (SET, 2, FLAG, tuple(empty), 0)]
    tile = k.pool.body([(WAIT, 1, FLAG, tuple(empty)), *chain[2:], *end])
    cube = [*chain[:2], (SET, 2, FLAG, tuple(empty), 0), *k.pool.loop(tiles, tile)]
    lane: list[Item] = [(WAIT, 0, FLAG, tuple(ready)), scores, (SET, 0, FLAG, tuple(room), 330 * 64), (SET, 0, FLAG, tuple(worked), 0)]
    lane += [(WAIT, 1, FLAG, tuple(worked)), vector, (SET, 1, FLAG, tuple(stored), 0), (WAIT, 2, FLAG, tuple(stored)), store]
    streams = (
        Stream("aic", ("aic.mte2", "aic.m", "aic.fix"), k.pool.body(cube)),
        Stream(
            "aiv",
            ("aiv.mte2", "aiv.v", "aiv.mte3"),
            k.pool.body([(SET, 0, FLAG, tuple(room), 0), *k.pool.loop(tiles, k.pool.body(lane))]),
            2,
        ),
    )
    return k, k.program([Cluster(streams, tuple(k.channels), n)])


@pytest.mark.parametrize("steps", [2, 4, 16])
def test_products_that_are_handed_on_through_l2(steps: int) -> None:
    assert abs(compare(product_through_l2(24, 20, steps))) <= 0.03
