"""Bytes through global memory, from counts and sizes alone: who asks for how many, and how many of them L2 does not hold.

A tensor's first reading comes from HBM, further ones from L2 as far as the kernel's tensors fit there; what the kernel itself writes before
it is read, such as a workspace, is in L2. Writes stay in L2 as long as it has room. Times have no say in this.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import FuncOp

from ge_compiler.dialects.memory import bytes_of
from ge_compiler.dialects.target_timing import Timing
from ge_compiler.dialects.types import buffer_type, is_shaped
from ge_compiler.runtime.timing.program import KernelProgram, Work, work_counts


@dataclass(frozen=True)
class Traffic:
    """What all clusters together move."""

    read: int
    """Bytes from L2 or from behind it."""
    written: int
    hbm_read: Fraction
    hbm_written: Fraction
    needed: Fraction
    """Bytes that any program for the kernel would read from HBM: what is not in L2 of its tensors once."""
    once: int
    """Bytes of its tensors once, without workspaces: what goes through L2 at least."""
    whole: frozenset[int]
    """The arguments of which no byte is left out."""
    misses: tuple[Fraction, ...]
    """For each work, the part of its bytes that is not in L2."""

    @property
    def hbm_bytes(self) -> int:
        return round(self.hbm_read + self.hbm_written)


def tensor_bytes(kernel: FuncOp) -> tuple[int, ...]:
    """The bytes of each argument of a kernel."""
    types = [buffer_type(argument) if is_shaped(argument.type) else None for argument in kernel.body.block.args]
    return tuple(bytes_of(t) if t is not None and DYNAMIC_INDEX not in t.get_shape() else 0 for t in types)


def traffic_of(program: KernelProgram, sizes: tuple[int, ...], timing: Timing, resident: Collection[int]) -> Traffic:
    """The traffic of a kernel whose arguments have `sizes` bytes; those in `resident` are in L2 when it starts."""
    asked: dict[tuple[int | None, bool], int] = {}
    for work, count in _all_works(program):
        traffic = work.cost.traffic
        if traffic is not None:
            key = (work.argument, traffic.writes)
            asked[key] = asked.get(key, 0) + count * traffic.bytes
    missing = _missing(asked, sizes, int(timing.value("l2.size", "bytes")), resident)
    misses = tuple(Fraction(0) if w.cost.traffic is None else missing[w.argument, w.cost.traffic.writes] for w in program.works)
    read, written = (sum(n for (_, writes), n in asked.items() if writes is is_write) for is_write in (False, True))
    hbm = [sum((missing[key] * n for key, n in asked.items() if key[1] is is_write), Fraction(0)) for is_write in (False, True)]
    needed = (Fraction(min(missing[key] * n, _once(key[0], n, sizes))) for key, n in asked.items() if not key[1])
    both = {argument for argument, writes in asked if writes and (argument, False) in asked}
    once = sum(_once(argument, n, sizes) for (argument, _), n in asked.items() if argument not in both)
    whole = frozenset(argument for (argument, _), n in asked.items() if argument is not None and n >= sizes[argument])
    return Traffic(read, written, hbm[0], hbm[1], sum(needed, Fraction(0)), once, whole, misses)


def _all_works(program: KernelProgram) -> list[tuple[Work, int]]:
    """Every work with how often all clusters together do it."""
    return [
        (program.works[work], count * stream.copies * cluster.count)
        for cluster in program.clusters
        for stream in cluster.streams
        for work, count in work_counts(stream.body).items()
    ]


def _once(argument: int | None, asked: int, sizes: tuple[int, ...]) -> int:
    return asked if argument is None else min(asked, sizes[argument])


def _missing(
    asked: Mapping[tuple[int | None, bool], int], sizes: tuple[int, ...], capacity: int, resident: Collection[int]
) -> dict[tuple[int | None, bool], Fraction]:
    """The part of each tensor's bytes, read or written, that is not in L2."""
    arguments = {argument for argument, _ in asked}
    held = sum(max(_once(a, n, sizes) for (b, _), n in asked.items() if b == a) for a in arguments)
    crowding, found = Fraction(held, capacity), dict[tuple[int | None, bool], Fraction]()
    for (argument, writes), n in asked.items():
        stays = argument in resident if not writes else False
        if n == 0 or stays or (argument, not writes) in asked:
            found[argument, writes] = Fraction(0)
        elif writes:
            found[argument, writes] = min(Fraction(1), max(Fraction(0), crowding - 1))
        else:
            found[argument, writes] = min(Fraction(1), Fraction(_once(argument, n, sizes), n) * max(Fraction(1), crowding))
    return found
