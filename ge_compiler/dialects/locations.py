"""Carrying locations through rewrites, which drop them: every op that a pass makes says which ops it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC, FusedLoc, LocationAttr, NoneAttr, UnknownLoc
from xdsl.ir import Operation

OperationT = TypeVar("OperationT", bound=Operation)


def located(op: OperationT, location: LocationAttr) -> OperationT:
    """`op`, at `location`."""
    op.location = location
    return op


def fuse_locations(locations: Iterable[LocationAttr]) -> LocationAttr:
    """One location for something that stems from several: each once, in order, nested fusions flattened."""
    flat: dict[LocationAttr, None] = {}
    for location in locations:
        for part in _parts(location):
            flat.setdefault(part)
    flat.pop(UNKNOWN_LOC, None)
    if len(flat) <= 1:
        return next(iter(flat), UNKNOWN_LOC)
    return FusedLoc(tuple(flat), NoneAttr())


def _parts(location: LocationAttr) -> Iterable[LocationAttr]:
    if isinstance(location, UnknownLoc):
        return ()
    if isinstance(location, FusedLoc):
        return (part for inner in location.locations for part in _parts(inner))  # pyright: ignore
    return (location,)
