"""The same model as an event simulation, for tests: time goes forward, and what can happen at a time happens.

Nothing here is shared with the recurrence but the form of programs. Loops are run out; queues are queues; a pipe looks at the head of its
queue whenever something has changed.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ge_compiler.runtime.timing.program import (
    ALL_CORES,
    BARRIER_ALL,
    LOOP,
    SCALAR,
    Body,
    Cluster,
    Item,
    Loop,
)


def simulate(cluster: Cluster, costs: Sequence[tuple[int, int, int]], queue: int) -> int:
    """Ticks until everything that a cluster does is complete. Raises `RuntimeError` on a deadlock."""
    return _Simulation(cluster, costs, queue).run()


def unrolled(body: Body) -> Iterator[Item]:
    """Every item in order, loops run out."""
    for item in body.items:
        if item[0] == LOOP:
            loop: Loop = item[1]
            for _ in range(loop.count):
                yield from unrolled(loop.body)
        else:
            yield item


@dataclass
class _Pipe:
    queue: deque[tuple[Item, int]] = field(default_factory=deque[tuple[Item, int]])
    """Items with the times at which they were issued."""
    moved: int = 0
    """When the head of the queue last went."""
    free: int = 0
    done: int = 0


class _Simulation:
    def __init__(self, cluster: Cluster, costs: Sequence[tuple[int, int, int]], depth: int) -> None:
        self.costs, self.depth = costs, depth
        self.programs = [unrolled(stream.body) for stream in cluster.streams]
        self.next = [next(program, None) for program in self.programs]
        self.ready = [0 for _ in self.programs]
        self.pipes = [[_Pipe() for _ in stream.pipes] for stream in cluster.streams]
        self.flags: list[deque[int]] = [deque() for _ in cluster.channels]
        self.times = [0]

    def run(self) -> int:
        while self.times:
            now = heapq.heappop(self.times)
            while self.times and self.times[0] == now:
                heapq.heappop(self.times)
            while sum(self._issue(core, now) for core in range(len(self.programs))) or self._work(now):
                pass
        if any(item is not None for item in self.next) or any(pipe.queue for pipes in self.pipes for pipe in pipes):
            raise RuntimeError("deadlock")
        return max(*self.ready, *(time for pipes in self.pipes for pipe in pipes for time in (pipe.moved, pipe.done)))

    def _at(self, time: int) -> None:
        heapq.heappush(self.times, time)

    def _issue(self, core: int, now: int) -> bool:
        """Lets a core hand out what it can at this time."""
        progress = False
        while (item := self.next[core]) is not None and self.ready[core] <= now and self._take(core, item, now):
            self.next[core] = next(self.programs[core], None)
            self._at(self.ready[core])
            progress = True
        return progress

    def _take(self, core: int, item: Item, now: int) -> bool:
        kind, pipes = item[0], self.pipes[core]
        if kind == SCALAR:
            self.ready[core] = now + item[1]
            return True
        if kind in (BARRIER_ALL, ALL_CORES):
            self.ready[core] = now
            return not any(pipe.queue or pipe.done > now for pipe in pipes)
        number: int = item[1]
        pipe = pipes[number]
        if len(pipe.queue) >= self.depth:
            return False
        self.ready[core] = now + item[2]
        pipe.queue.append((item, self.ready[core]))
        return True

    def _work(self, now: int) -> bool:
        return sum(self._head(pipe, now) for pipes in self.pipes for pipe in pipes) > 0

    def _head(self, pipe: _Pipe, now: int) -> bool:
        """Lets a pipe take up the heads of its queue that can go at this time."""
        progress = False
        while pipe.queue and pipe.queue[0][1] <= now and self._start(pipe, pipe.queue[0][0], max(pipe.queue[0][1], pipe.moved), now):
            pipe.queue.popleft()
            pipe.moved = now
            progress = True
        return progress

    def _start(self, pipe: _Pipe, item: Item, arrived: int, now: int) -> bool:
        match item[0]:
            case 0:  # an instruction
                return self._instruction(pipe, item[3], arrived, now)
            case 1:  # a wait
                awaited: tuple[int, ...] = item[3]
                if not all(self.flags[channel] and self.flags[channel][0] <= now for channel in awaited):
                    return False
                for channel in awaited:
                    self.flags[channel].popleft()
                return True
            case 2:  # a set, seen when everything before it is complete
                seen = max(now, pipe.done) + item[4]
                given: tuple[int, ...] = item[3]
                for channel in given:
                    self.flags[channel].append(seen)
                self._at(seen)
                return True
            case _:  # a barrier of the pipe
                return pipe.done <= now

    def _instruction(self, pipe: _Pipe, work: int, arrived: int, now: int) -> bool:
        if pipe.free > now:
            return False
        fill, occupancy, latency = self.costs[work]
        pipe.free = max(pipe.free, arrived + fill) + occupancy
        pipe.done = max(pipe.done, pipe.free + latency)
        self._at(pipe.free)
        self._at(pipe.done)
        return True
