"""Bandwidth that cores share: shares that stay the same within a phase.

All clusters that are at work take equal parts of HBM and L2, and within a cluster all pipes that move bytes at the same time. A phase ends
when a class of clusters is through; the others then have more. Beside that, no kernel is faster than its bytes through HBM and through L2.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import Any

from ge_compiler.dialects.instruction_costs import Shares
from ge_compiler.dialects.target_timing import Timing
from ge_compiler.runtime.timing.concurrency import Move, mean_shares, rounded, steady
from ge_compiler.runtime.timing.fold import Folding
from ge_compiler.runtime.timing.program import ALL_CORES, Body, Cluster, KernelProgram, work_counts
from ge_compiler.runtime.timing.scoreboard import Board, Costs, Event
from ge_compiler.runtime.timing.traffic import Traffic

_ROUNDS, _UNDAMPED = 6, 2
_TOGETHER = Fraction(49, 50)
"""Clusters with at least this part of the most work finish with those that have the most."""
_OFTEN = 0.15
"""Two pipes that move bytes for more than this part of the time are looked at together, others one by one."""
_FEW = 8
"""One in so many clusters that are through are enough to end a phase."""


Maker = Callable[[Cluster, Costs, int], Board]
"""Makes the board on which a cluster runs, from its costs and the depth of its queues."""


Flow = tuple[float, float, frozenset[int]]
"""A pipe that moves bytes: the parts of the time in which it takes them from HBM and from L2, and its works."""


@dataclass(frozen=True)
class Phase:
    """A time in which the same clusters are at work."""

    end: Fraction
    """Which part of the most work is done when it ends."""
    clusters: int
    shares: tuple[Shares, ...]
    """Of each work."""
    costs: Costs


@dataclass(frozen=True)
class Outcome:
    """A kernel's time on its cores."""

    ticks: int
    board: Board
    """The cluster that takes longest, after its run."""
    phases: tuple[Phase, ...]
    floors: dict[str, int]
    """Ticks that the bytes through `hbm` and `l2` take at least."""


@dataclass
class Sharing:
    """Times a kernel on shared memory."""

    program: KernelProgram
    timing: Timing
    traffic: Traffic
    _counts: dict[Body, Counter[int]] = field(default_factory=dict[Body, Counter[int]], init=False)
    _misses: tuple[float, ...] = field(init=False)
    """For each work, the part of its bytes that is not in L2."""
    _watched: set[Cluster] = field(default_factory=set[Cluster], init=False)
    """Clusters whose pipes move bytes at the same time, so that their instructions are of interest."""
    _known: list[tuple[Costs, Folding, dict[Cluster, Board]]] = field(default_factory=list[Any], init=False)

    def __post_init__(self) -> None:
        self._misses = tuple(map(float, self.traffic.misses))

    def run(self) -> Outcome:
        """The time of the kernel. Raises `CompileError` where its flags never come."""
        floors = self._floors()
        ranked = self._ranked()
        if not ranked:
            raise ValueError(f"@{self.program.name} has no instructions")
        if any(item[0] == ALL_CORES for cluster in self.program.clusters for stream in cluster.streams for item in stream.body.items):
            phase = self._phase(ranked[0][0], sum(c.count for c, _ in ranked), Fraction(1))
            board = max(self._with_barriers([cluster for cluster, _ in ranked], phase.costs), key=lambda b: b.end)
            phases: tuple[Phase, ...] = (phase,)
        else:
            phases = self._phases(ranked)
            boards = [self._timed(cluster, phases) for cluster in self._longest(ranked, phases[0].costs)]
            board = max(boards, key=lambda b: b.end)
        return Outcome(max(board.end, *floors.values()), board, phases, floors)

    def with_hbm(self, outcome: Outcome, factor: float) -> int:
        """The ticks of the same kernel, with all pipes moving bytes as they did, if HBM were `factor` times as fast."""
        if outcome.board.held:
            costs = self._costs([share.with_hbm(factor) for share in outcome.phases[0].shares])
            return max(*(b.end for b in self._with_barriers(self.program.clusters, costs)), *self._floors(factor).values())
        shares = [tuple(share.with_hbm(factor) for share in phase.shares) for phase in outcome.phases]
        phases = [replace(phase, shares=s, costs=self._costs(s)) for phase, s in zip(outcome.phases, shares, strict=True)]
        return max(self._timed(outcome.board.cluster, phases).end, *self._floors(factor).values())

    def recorded(self, outcome: Outcome, make: Maker) -> list[Board]:
        """The same run again, a board for each cluster of the program, for what a board of `make` sees of it."""
        if outcome.board.held:
            return self._with_barriers(self.program.clusters, outcome.phases[0].costs, make)
        return [self._timed(cluster, outcome.phases, make) for cluster in self.program.clusters]

    # ---- classes of clusters ------------------------------------------------------------------------------------------

    def _ranked(self) -> list[tuple[Cluster, Fraction]]:
        """Clusters with the part of the most work that each has, the most first."""
        costs = self._costs(self._alone(self._budget(sum(cluster.count for cluster in self.program.clusters))))
        loads = [(cluster, max(max(pipes) for pipes in self._load(cluster, costs))) for cluster in self.program.clusters]
        most = max((load for _, load in loads), default=0)
        return sorted(((c, Fraction(load, max(1, most))) for c, load in loads), key=lambda item: -item[1])

    def _load(self, cluster: Cluster, costs: Costs) -> list[list[int]]:
        """Ticks that each pipe of each stream is held."""
        loads: list[list[int]] = []
        for stream in cluster.streams:
            loads.append([0 for _ in stream.pipes])
            for work, count in work_counts(stream.body, self._counts).items():
                loads[-1][self.program.pipes[work]] += count * costs[work][1]
        return loads

    def _longest(self, ranked: Sequence[tuple[Cluster, Fraction]], costs: Costs) -> list[Cluster]:
        """The clusters that may take longest: not those whose every pipe has less to do than that of another one."""
        kept: list[tuple[Cluster, list[int]]] = []
        for cluster, part in ranked:
            load = [sum(pipes) for pipes in zip(*(self._load(cluster, costs)), strict=False)] if part >= _TOGETHER else []
            if load and not any(all(mine <= other for mine, other in zip(load, theirs, strict=False)) for _, theirs in kept):
                kept.append((cluster, load))
        return [cluster for cluster, _ in kept]

    # ---- shares -------------------------------------------------------------------------------------------------------

    def _budget(self, clusters: int) -> Shares:
        """What a cluster has if that many are at work."""
        rate = self.timing.shared_rate
        return Shares(*(float(rate(key) / max(1, clusters)) for key in ("hbm.read", "hbm.mixed", "l2.total")))

    def _costs(self, shares: Sequence[Shares]) -> Costs:
        works = zip(self.program.works, self._misses, shares, strict=True)
        return [(w.cost.fill, w.cost.occupied(share, missing), w.cost.latency) for w, missing, share in works]

    def _phase(self, cluster: Cluster, clusters: int, end: Fraction) -> Phase:
        """Shares that fit to which pipes of a cluster move bytes at the same time, which depends on the shares."""
        budget = self._budget(clusters)
        shares, costs = self._guess(cluster, budget)
        for turn in range(_ROUNDS):
            found = self._found(cluster, budget, shares, costs)
            if _close(costs, self._costs(found)):
                break
            shares = tuple(a.between(b) for a, b in zip(shares, found, strict=True)) if turn >= _UNDAMPED else found
            costs = self._costs(shares)
        return Phase(end, clusters, shares, costs)

    def _guess(self, cluster: Cluster, budget: Shares) -> tuple[tuple[Shares, ...], Costs]:
        """Shares and costs if the pipe with most to do never waited."""
        shares = self._alone(budget)
        costs = self._costs(shares)
        for _ in range(_ROUNDS):
            flows = self._flows(cluster, shares, max(1, *(max(pipes) for pipes in self._load(cluster, costs))))
            if self._meet(flows):
                self._watched.add(cluster)
                break
            earlier, shares = costs, self._now_and_then(flows, budget)
            costs = self._costs(shares)
            if _close(earlier, costs):
                break
        return shares, costs

    def _alone(self, budget: Shares) -> tuple[Shares, ...]:
        return tuple(budget for _ in self.program.works)

    def _found(self, cluster: Cluster, budget: Shares, shares: Sequence[Shares], costs: Costs) -> tuple[Shares, ...]:
        """The share of each work in a cluster that runs with these shares."""
        board = self._board(cluster, costs)
        flows = self._flows(cluster, shares, max(1, board.end))
        if not self._meet(flows) or board.events is None:
            return self._now_and_then(flows, budget)
        events, period = steady(board)
        found = mean_shares([self._move(board, event, shares) for event in events if self._moves(event.item[3])], period, budget)
        return tuple(found.get(work, share) for work, share in enumerate(self._now_and_then(flows, budget)))

    def _meet(self, flows: Sequence[Flow]) -> bool:
        """Whether it matters when pipes move bytes."""
        return sum(hbm + l2 > _OFTEN for hbm, l2, _ in flows) >= 2

    def _now_and_then(self, flows: Sequence[Flow], budget: Shares) -> tuple[Shares, ...]:
        """Shares where pipes meet by chance: each finds the others under way for their part of the time."""
        shares = list(self._alone(budget))
        total_hbm, total_l2 = sum(hbm for hbm, _, _ in flows), sum(l2 for _, l2, _ in flows)
        for hbm, l2, works in flows:
            of_hbm, of_l2 = max(1.0, 1 + total_hbm - hbm), max(1.0, 1 + total_l2 - l2)
            everyone = budget.hbm_write / of_hbm
            mine = Shares(rounded(min(budget.hbm_read, everyone)), rounded(everyone), rounded(budget.l2 / of_l2))
            for work in works:
                shares[work] = mine
        return tuple(shares)

    def _moves(self, work: int) -> bool:
        return self.program.works[work].cost.traffic is not None

    def _move(self, board: Board, event: Event, shares: Sequence[Shares]) -> Move:
        work: int = event.item[3]
        hbm, l2 = self._times(work, shares[work])
        held, traffic = max(1, event.end - event.start), self.program.works[work].cost.traffic
        assert traffic is not None
        from_hbm, from_l2 = (min(1.0, time / held) for time in (hbm, l2))
        copies = board.cores[event.core].stream.copies
        return Move(event.start, event.end, work, from_hbm, from_l2, traffic.rate, traffic.writes, copies)

    def _times(self, work: int, shares: Shares) -> tuple[float, float]:
        """Ticks for the bytes of a work from HBM, and for those from L2."""
        traffic, missing = self.program.works[work].cost.traffic, self._misses[work]
        if traffic is None:
            return 0.0, 0.0
        off_chip = min(traffic.rate, shares.hbm_write if traffic.writes else shares.hbm_read)
        moved = traffic.bytes * traffic.lines
        return moved * missing / off_chip, moved * (1 - missing) / min(traffic.rate, shares.l2)

    def _flows(self, cluster: Cluster, shares: Sequence[Shares], ticks: int) -> list[Flow]:
        flows: list[Flow] = []
        for stream in cluster.streams:
            times, works = [[0.0, 0.0] for _ in stream.pipes], [set[int]() for _ in stream.pipes]
            for work, count in work_counts(stream.body, self._counts).items():
                if self._moves(work):
                    pipe = self.program.pipes[work]
                    works[pipe].add(work)
                    for i, ticks_of_one in enumerate(self._times(work, shares[work])):
                        times[pipe][i] += count * ticks_of_one
            for (hbm, l2), done in zip(times, works, strict=True):
                flows += [(hbm / ticks, l2 / ticks, frozenset(done)) for _ in range(stream.copies if done else 0)]
        return flows

    def _floors(self, factor: float = 1.0) -> dict[str, int]:
        t, rate = self.traffic, self.timing.shared_rate
        hbm = max(t.hbm_read / rate("hbm.read"), (t.hbm_read + t.hbm_written) / rate("hbm.mixed"))
        return {"hbm": ceil(hbm / factor), "l2": ceil((t.read + t.written) / rate("l2.total"))}

    # ---- runs ---------------------------------------------------------------------------------------------------------

    def _board(self, cluster: Cluster, costs: Costs) -> Board:
        """A cluster's run from start to end under the same costs."""
        boards = self._under(costs)[2]
        if cluster not in boards or (cluster in self._watched and boards[cluster].events is None):
            events: list[Event] | None = [] if cluster in self._watched else None
            boards[cluster] = Board(cluster, costs, self.program.overheads.queue, self._under(costs)[1], events=events)
            boards[cluster].run()
        return boards[cluster]

    def _under(self, costs: Costs) -> tuple[Costs, Folding, dict[Cluster, Board]]:
        """What is known under these costs: loops, and whole runs."""
        found = next((known for known in self._known if known[0] == costs), None)
        if found is None:
            found = (costs, Folding(), dict[Cluster, Board]())
            self._known.append(found)
        return found

    def _phases(self, ranked: Sequence[tuple[Cluster, Fraction]]) -> tuple[Phase, ...]:
        """Which clusters are at work until when. The end of a few clusters alone ends no phase."""
        working = sum(c.count for c, part in ranked if part > 1 - _TOGETHER)
        ends, through = [Fraction(0)], 0
        for cluster, part in reversed(ranked):
            through += cluster.count if 1 - _TOGETHER < part < _TOGETHER else 0
            if through * _FEW >= working:
                ends, working, through = [*ends, part], working - through, 0
        first = self._phase(ranked[0][0], sum(c.count for c, part in ranked if part > 1 - _TOGETHER), Fraction(1))
        phases: list[Phase] = []
        for before, end in itertools.pairwise([*ends, Fraction(1)]):
            clusters = sum(c.count for c, part in ranked if part > max(before, 1 - _TOGETHER))
            shares = tuple(share.among(clusters / first.clusters) for share in first.shares)
            phases.append(Phase(end, clusters, shares, self._costs(shares)))
        return tuple(phases)

    def _timed(self, cluster: Cluster, phases: Sequence[Phase], make: Maker | None = None) -> Board:
        """A cluster's run through the phases, whose lengths are those that their work would take under their own shares."""
        if all(phase.costs == phases[0].costs for phase in phases):
            if make is None:
                return self._board(cluster, phases[0].costs)
            phases = phases[-1:]
        start, done, board = 0, Fraction(0), None
        for phase in phases:
            until = None
            if phase.end < 1:
                alone = self._board(cluster, phase.costs)
                start, done = start + int((phase.end - done) * alone.end), phase.end
                until = start - self._rest(alone)
            if board is None:
                board = (make or Board)(cluster, phase.costs, self.program.overheads.queue)
            board.costs, board.until = phase.costs, until
            board.folding = board.folding if make else self._under(phase.costs)[1]
            board.forget()
            board.run()
        assert board is not None
        return board

    def _rest(self, board: Board) -> int:
        """How long before its end a cluster has moved its last bytes."""
        moving = {pipe for pipe, work in zip(self.program.pipes, self.program.works, strict=True) if work.cost.traffic is not None}
        return board.end - max(time for core in board.cores for pipe, time in enumerate(core.free) if pipe in moving)

    def _with_barriers(self, clusters: Sequence[Cluster], costs: Costs, make: Maker | None = None) -> list[Board]:
        """Runs all clusters from one barrier of all cores to the next."""
        boards = [(make or Board)(cluster, costs, self.program.overheads.queue) for cluster in clusters]
        for board in boards:
            board.held = frozenset({ALL_CORES})
            board.folding = board.folding if make else self._under(costs)[1]
        while True:
            for board in boards:
                board.run()
            if all(board.finished for board in boards):
                return boards
            together = max(board.end for board in boards) + self.program.overheads.all_cores
            for board in boards:
                board.release(together)


def _close(before: Costs, after: Costs) -> bool:
    """Whether no instruction's time differs by more than a fiftieth."""
    return all(abs(a[1] - b[1]) * 50 <= a[1] for a, b in zip(before, after, strict=True))
